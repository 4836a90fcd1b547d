//! The `credentials` block, which both shapes share: secrets that are taken away, or replaced by a stand-in.

use schemars::JsonSchema;
use serde::Deserialize;

/// Secrets that commands must not see: taken away, or replaced by a stand-in that turns into the secret on its
/// way to chosen hosts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Credentials {
    /// Variables of the caller's environment.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) env_vars: Vec<Credential>,
    /// Files.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) files: Vec<Credential>,
    /// Whether secrets also go out in requests without TLS.
    pub(crate) allow_plaintext_inject: Option<bool>,
    /// Variables with keys that requests are signed with; the signature is made anew on the way out.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) aws_pairs: Vec<AwsPair>,
    /// What becomes of signed requests whose signature cannot be made anew; needs a pair of keys.
    pub(crate) sigv4: Option<SigV4>,
}

/// One secret: a variable has a `name`, a file a `path`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Credential {
    /// The variable (in `envVars`).
    pub(crate) name: Option<String>,
    /// The file (in `files`).
    pub(crate) path: Option<String>,
    /// `deny`: unset, or unreadable. `mask`: a stand-in is seen.
    pub(crate) mode: CredentialMode,
    /// An expression whose first group is the secret's part of the value.
    pub(crate) extract: Option<String>,
    /// What happens where the expression does not fit.
    pub(crate) on_extract_no_match: Option<NoMatch>,
    /// The value is a JSON web token: what is seen instead is one, too, and holds nothing of it.
    pub(crate) decode: Option<Decode>,
    /// Claims of the token that are hidden, with its signature, instead of the whole token.
    pub(crate) mask_claims: Option<Vec<String>>,
    /// Hosts that get the secret; nobody when left out.
    pub(crate) inject_hosts: Option<Vec<String>>,
    /// Whether the same value is hidden wherever else it stands in the file.
    pub(crate) mask_duplicates: Option<bool>,
}

/// What happens to a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CredentialMode {
    /// Unset, or unreadable.
    Deny,
    /// A stand-in is seen.
    Mask,
}

/// What happens where an expression does not fit the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum NoMatch {
    /// The value crosses, and somebody is told.
    Warn,
    /// The secret is taken away.
    Deny,
    /// Nothing runs.
    Error,
}

impl NoMatch {
    /// As it is written.
    pub(crate) fn shown(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Deny => "deny",
            Self::Error => "error",
        }
    }
}

/// How a value is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Decode {
    /// A JSON web token.
    Jwt,
}

/// The variables of one pair of keys.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct AwsPair {
    /// The variable with the key's name.
    #[serde(alias = "accessKeyIdVar")]
    pub(crate) access_key_id: Option<String>,
    /// The variable with the key.
    #[serde(alias = "secretAccessKeyVar")]
    pub(crate) secret_access_key: Option<String>,
    /// The variable with the session's token.
    #[serde(alias = "sessionTokenVar")]
    pub(crate) session_token: Option<String>,
}

/// What becomes of requests that are signed with a stand-in, in ways that cannot be signed anew.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SigV4 {
    /// Bodies that are signed piece by piece.
    pub(crate) streaming: Option<Unsigned>,
    /// Signatures in the address.
    pub(crate) presigned: Option<Unsigned>,
    /// Asymmetric signatures (SigV4A).
    pub(crate) sigv4a: Option<Unsigned>,
}

/// What becomes of a request whose signature cannot be made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Unsigned {
    /// It is refused, which is the default.
    Deny,
    /// It is sent as it is, with stand-ins and a signature that its host will not take.
    Passthrough,
}
