//! One permission.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use stockade_policy::{DomainPattern, Layer, RuleRef, Violation, ViolationKind};

/// A permission that somebody gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Its name when it is listed or taken back.
    pub id: String,
    /// The acts it allows.
    pub kinds: Vec<ViolationKind>,
    /// The exact path, or `host:port`.
    pub subject: String,
    /// How long it lasts.
    #[serde(flatten)]
    pub scope: Scope,
    /// Who gave it.
    pub who: String,
    /// When, in milliseconds since 1970.
    pub when: u64,
    /// What it was given for.
    pub why: String,
    /// The settings file that got an entry for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<PathBuf>,
}

/// How long a grant lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "scope")]
pub enum Scope {
    /// One act.
    Once,
    /// As long as the store lives.
    Session,
    /// Until this moment.
    Until {
        /// Milliseconds since 1970.
        until: u64,
    },
    /// Until it is taken back.
    Permanent,
}

/// What somebody was asked about when they gave a grant.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) kind: ViolationKind,
    pub(crate) subject: String,
    pub(crate) rule: Option<RuleRef>,
    /// The sandbox that waits for it.
    pub(crate) sandbox: String,
    pub(crate) who: String,
    pub(crate) why: String,
}

/// A list of the settings that allows something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// `filesystem.allowRead`.
    Read,
    /// `filesystem.allowWrite`.
    Write,
    /// `network.allowUnixSockets`.
    Unix,
    /// `network.allowedDomains`.
    Domain,
}

/// Everything that `allowWrite` allows.
const WRITING: [ViolationKind; 4] =
    [ViolationKind::Write, ViolationKind::Create, ViolationKind::Unlink, ViolationKind::Rename];

impl List {
    /// The list that allows acts of this kind.
    pub(crate) fn of(kind: ViolationKind) -> Option<Self> {
        match kind {
            ViolationKind::Read => Some(Self::Read),
            kind if WRITING.contains(&kind) => Some(Self::Write),
            ViolationKind::Unix => Some(Self::Unix),
            // A name that is not looked up is not reached, whatever the port.
            ViolationKind::Connect | ViolationKind::Resolve => Some(Self::Domain),
            _ => None,
        }
    }

    /// Everything it allows.
    pub(super) fn kinds(self) -> Vec<ViolationKind> {
        match self {
            Self::Read => vec![ViolationKind::Read],
            Self::Write => WRITING.to_vec(),
            Self::Unix => vec![ViolationKind::Unix],
            Self::Domain => vec![ViolationKind::Connect],
        }
    }

    /// Where it stands in the settings.
    pub(super) fn key(self) -> (&'static str, &'static str) {
        match self {
            Self::Read => ("filesystem", "allowRead"),
            Self::Write => ("filesystem", "allowWrite"),
            Self::Unix => ("network", "allowUnixSockets"),
            Self::Domain => ("network", "allowedDomains"),
        }
    }
}

impl Given {
    /// What would be given by allowing this.
    pub(crate) fn about(violation: &Violation) -> Self {
        Self {
            kind: violation.kind,
            subject: violation.subject.clone(),
            rule: violation.rule.clone(),
            sandbox: violation.sandbox.clone(),
            who: String::new(),
            why: String::new(),
        }
    }

    /// Whether the subject names one thing only. Names that are not text are shown with a replacement
    /// character, which many names share.
    pub(crate) fn is_exact(&self) -> bool {
        !self.subject.contains(char::REPLACEMENT_CHARACTER)
    }

    /// The list that would allow it from now on, or why none does.
    pub(crate) fn keepable(&self) -> Result<List, String> {
        let Some(list) = List::of(self.kind) else {
            return Err("no list of the settings is about single acts of this kind".to_owned());
        };
        if !self.is_exact() {
            return Err("the name is not text, so that settings cannot name it".to_owned());
        }
        if list == List::Domain {
            if let Some(rule) = self.rule.as_ref().filter(|rule| rule.text.starts_with("deniedDomains ")) {
                return Err(format!("{rule} beats every allowedDomains"));
            }
            if self.kind == ViolationKind::Resolve && self.subject.contains(':') {
                return Err("what was asked for has no name".to_owned());
            }
            let parsed = DomainPattern::parse_allowed(&self.subject);
            return parsed.map(|_| list).map_err(|error| error.to_string());
        }
        if !self.subject.starts_with('/') {
            return Err("the subject is not a path".to_owned());
        }
        match &self.rule {
            Some(rule) if list == List::Write && rule.text.starts_with("denyWrite ") => {
                Err(format!("{rule} beats every allowWrite"))
            }
            _ => Ok(list),
        }
    }
}

/// Whether a person may allow what this rule refuses. Engines do not ask where not; this is for those that
/// do all the same.
pub(crate) fn is_grantable(rule: Option<&RuleRef>) -> bool {
    rule.is_none_or(|rule| {
        rule.origin.layer != Layer::Managed
            && !rule.text.starts_with("protected ")
            && !rule.text.starts_with("own directory ")
    })
}

impl Grant {
    /// Whether it allows this act at this moment.
    pub(super) fn allows(&self, kind: ViolationKind, subject: &str, now: u64) -> bool {
        self.lasts(now) && self.subject == subject && self.kinds.contains(&kind)
    }

    /// Whether it has not ended.
    pub(super) fn lasts(&self, now: u64) -> bool {
        match self.scope {
            Scope::Once => false,
            Scope::Session | Scope::Permanent => true,
            Scope::Until { until } => now < until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade_policy::Origin;

    fn rule(layer: Layer, text: &str) -> RuleRef {
        RuleRef { text: text.into(), origin: Origin { layer, source: "s".into(), key: String::new() } }
    }

    #[test]
    fn protection_and_managed_rules_stand() {
        for (layer, text, expected) in [
            (Layer::BuiltIn, "denyRead ~/.ssh", true),
            (Layer::User, "denyWrite /a", true),
            (Layer::Managed, "denyRead /a", false),
            (Layer::BuiltIn, "protected .git/hooks", false),
            (Layer::BuiltIn, "own directory /home/a/.config/stockade", false),
        ] {
            assert_eq!(is_grantable(Some(&rule(layer, text))), expected, "{text}");
        }
        assert!(is_grantable(None));
    }

    #[test]
    fn only_what_a_list_would_allow_is_kept() {
        for (kind, subject, refused_by, expected) in [
            (ViolationKind::Read, "/a", "denyRead /a", Some(List::Read)),
            (ViolationKind::Create, "/a", "", Some(List::Write)),
            (ViolationKind::Rename, "/a", "", Some(List::Write)),
            (ViolationKind::Unix, "/run/s", "", Some(List::Unix)),
            (ViolationKind::Connect, "a.test:80", "", Some(List::Domain)),
            (ViolationKind::Connect, "[2001:db8::1]:80", "", Some(List::Domain)),
            (ViolationKind::Connect, "GET a.test:80/x", "", None),
            (ViolationKind::Resolve, "a.test", "", Some(List::Domain)),
            (ViolationKind::Resolve, "a.test", "deniedDomains *.test", None),
            (ViolationKind::Connect, "a.test:80", "deniedDomains a.test", None),
            (ViolationKind::Resolve, "a\\x1b", "", None),
            (ViolationKind::Resolve, "8.8.8.8:53", "", None),
            (ViolationKind::Exec, "/a", "", None),
            (ViolationKind::Write, "/a", "denyWrite /a", None),
            (ViolationKind::Read, "/a\u{fffd}", "", None),
            (ViolationKind::Read, "a", "", None),
        ] {
            let given = Given {
                kind,
                subject: subject.into(),
                rule: (!refused_by.is_empty()).then(|| rule(Layer::User, refused_by)),
                sandbox: "b".into(),
                who: String::new(),
                why: String::new(),
            };
            assert_eq!(given.keepable().ok(), expected, "{kind:?} {subject}");
        }
    }
}
