//! Why a secret could not be replaced by a stand-in.

use stockade_net::StandInError;
use stockade_policy::RuleRef;

/// A secret could not be replaced by a stand-in; nothing was run. No message holds a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The expression that finds the secret is none.
    #[error(
        "the extract expression for {name} cannot be used: {source}\n  rule: {rule}\nhint: look-around and references back are not supported"
    )]
    Expression {
        /// The variable or file.
        name: String,
        /// What is wrong with it.
        source: Box<regex::Error>,
        /// The rule that holds it.
        rule: Box<RuleRef>,
    },
    /// Nothing was found, and the settings want that to be an error.
    #[error("{name}: {what}\n  rule: {rule}\nhint: mend the rule, or set onExtractNoMatch to deny")]
    NoMatch {
        /// The variable or file.
        name: String,
        /// What was not found.
        what: &'static str,
        /// The rule that looked for it.
        rule: Box<RuleRef>,
    },
    /// Nothing could be made up.
    #[error(transparent)]
    StandIn(#[from] StandInError),
}
