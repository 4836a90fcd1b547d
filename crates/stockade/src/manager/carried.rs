//! What a shell hands to one in another sandbox: where it is and what it exports.

use super::error::ManagerError;
use crate::{CommandLine, Session, SessionCommand, SessionOptions};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;
use stockade_policy::CredentialSource;

/// Prints what is exported, whatever the shell's functions, aliases and PATH are by now.
const LIST: &str = r"\command -p env -0";
/// How long that may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(10);
/// What every shell sets itself.
const OWN: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// Where a shell is and what it exports besides what the policy gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    cwd: PathBuf,
    exports: Vec<(OsString, OsString)>,
}

impl Carried {
    /// Asks the shell.
    pub(super) async fn from(session: &Session) -> Result<Self, ManagerError> {
        let listed = session.capture(SessionCommand::new(LIST).time_limit(PATIENCE)).await?;
        let runtime = session.runtime();
        let prepared = runtime.prepare(runtime.request(CommandLine::Shell(LIST.into())));
        let given = prepared.map(|prepared| prepared.plan.environment.clone()).unwrap_or_default();
        let policy = runtime.policy();
        // A stand-in for a credential is good in its own sandbox only.
        let masked = |name: &OsStr| {
            policy.network().credentials.iter().any(|credential| {
                matches!(&credential.source, CredentialSource::Variable(masked) if OsStr::new(masked) == name)
            })
        };
        let mut exports = variables(&listed.stdout);
        exports.retain(|(name, value)| {
            let unchanged = given.iter().any(|known| known.name == *name && known.value == *value);
            !unchanged && !OWN.iter().any(|own| name == own) && !masked(name)
        });
        Ok(Self { cwd: session.cwd(), exports })
    }

    /// How a session is opened that goes on from here.
    pub(super) fn options(&self, options: &SessionOptions) -> SessionOptions {
        let mut environment = options.environment.clone();
        environment.retain(|(name, _)| !self.exports.iter().any(|(changed, _)| changed == name));
        environment.extend(self.exports.iter().cloned());
        let cwd = Some(self.cwd.clone()).filter(|cwd| cwd.is_absolute()).or_else(|| options.cwd.clone());
        SessionOptions { cwd, environment, ..options.clone() }
    }

    /// What a shell has to be told that stands where `before` says, to come here.
    pub(super) fn since(&self, before: &Self) -> Option<OsString> {
        let mut text = Vec::new();
        if self.cwd != before.cwd {
            text.extend_from_slice(b"\\cd -- ");
            quote(self.cwd.as_os_str(), &mut text);
            text.push(b'\n');
        }
        for (name, value) in self.exports.iter().filter(|variable| !before.exports.contains(variable)) {
            if is_name(name) {
                text.extend_from_slice(b"\\export ");
                text.extend_from_slice(name.as_bytes());
                text.push(b'=');
                quote(value, &mut text);
                text.push(b'\n');
            }
        }
        for (name, _) in &before.exports {
            if is_name(name) && !self.exports.iter().any(|(kept, _)| kept == name) {
                text.extend_from_slice(b"\\unset ");
                text.extend_from_slice(name.as_bytes());
                text.push(b'\n');
            }
        }
        (!text.is_empty()).then(|| OsString::from_vec(text))
    }
}

fn variables(listing: &[u8]) -> Vec<(OsString, OsString)> {
    let pairs = listing.split(|byte| *byte == 0).filter_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        Some((entry[..at].to_vec(), entry[at + 1..].to_vec()))
    });
    pairs.map(|(name, value)| (OsString::from_vec(name), OsString::from_vec(value))).collect()
}

fn is_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let letters = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    letters && bytes.first().is_some_and(|byte| !byte.is_ascii_digit())
}

/// A word that means exactly these bytes.
fn quote(text: &OsStr, to: &mut Vec<u8>) {
    to.push(b'\'');
    for byte in text.as_bytes() {
        match byte {
            b'\'' => to.extend_from_slice(br"'\''"),
            byte => to.push(*byte),
        }
    }
    to.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(cwd: &str, exports: &[(&str, &str)]) -> Carried {
        let exports = exports.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Carried { cwd: cwd.into(), exports }
    }

    #[test]
    fn only_what_changed_is_told() {
        let before = carried("/a", &[("KEPT", "1"), ("CHANGED", "1"), ("GONE", "1")]);
        assert_eq!(before.since(&before), None);
        let after =
            carried("/it's", &[("KEPT", "1"), ("CHANGED", "$x"), ("NEW", "a\nb"), ("BASH_FUNC_f%%", "() {")]);
        let expected = "\\cd -- '/it'\\''s'\n\\export CHANGED='$x'\n\\export NEW='a\nb'\n\\unset GONE\n";
        assert_eq!(after.since(&before).unwrap(), expected);
    }

    #[test]
    fn listings_are_read() {
        let expected = carried("", &[("A", "b=c"), ("E", "")]).exports;
        assert_eq!(variables(b"A=b=c\0E=\0nonsense\0"), expected);
    }
}
