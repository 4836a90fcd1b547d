//! What types cannot say about the `credentials` block.

use super::check::Findings;
use super::credentials::{Credential, CredentialMode, Credentials};
use crate::Switch;
use crate::domain::{DomainPattern, HostPattern};

/// Which of the two lists an entry stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Variables,
    Files,
}

impl Credentials {
    /// Checks what types cannot say.
    pub(crate) fn check(&self, reach: &Reach, found: &mut Findings) {
        for (index, entry) in self.env_vars.iter().enumerate() {
            let key = format!("credentials.envVars[{index}]");
            entry.check(&key, Of::Variables, found);
            self.check_reach(entry, &key, reach, found);
        }
        for (index, entry) in self.files.iter().enumerate() {
            let key = format!("credentials.files[{index}]");
            entry.check(&key, Of::Files, found);
            self.check_reach(entry, &key, reach, found);
        }
        for (index, pair) in self.aws_pairs.iter().enumerate() {
            let names = [
                ("accessKeyId", &pair.access_key_id),
                ("secretAccessKey", &pair.secret_access_key),
                ("sessionToken", &pair.session_token),
            ];
            for (field, name) in names {
                let key = format!("credentials.awsPairs[{index}].{field}");
                match name {
                    Some(name) if !self.env_vars.iter().any(|entry| entry.name.as_ref() == Some(name)) => {
                        found.add(
                            key,
                            format!("{name} is not in credentials.envVars"),
                            "list it there with mode mask",
                        );
                    }
                    None if field != "sessionToken" => {
                        found.add(key, "is required", "name a variable of credentials.envVars")
                    }
                    _ => {}
                }
            }
        }
        if self.sigv4.is_some() && self.aws_pairs.is_empty() && !self.has_usual_pair() {
            found.add(
                "credentials.sigv4",
                "has no pair of keys to sign with",
                "list the variables in credentials.awsPairs",
            );
        }
    }

    /// Whether the keys that are a pair without being listed are both hidden.
    fn has_usual_pair(&self) -> bool {
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
            .iter()
            .all(|name| self.env_vars.iter().any(|entry| entry.name.as_deref() == Some(*name)))
    }

    fn check_reach(&self, entry: &Credential, key: &str, reach: &Reach, found: &mut Findings) {
        if entry.mode == CredentialMode::Mask
            && reach.terminates == Terminates::No
            && self.allow_plaintext_inject != Some(true)
        {
            found.add(
                format!("{key}.mode"),
                "mask puts the secret back into requests, and those inside TLS cannot be changed",
                "add network.tlsTerminate, or credentials.allowPlaintextInject for plain HTTP",
            );
        }
        for (index, host) in entry.inject_hosts.iter().flatten().enumerate() {
            let key = format!("{key}.injectHosts[{index}]");
            match DomainPattern::parse_allowed(host) {
                Err(error) => found.add(key, error.to_string(), error.hint()),
                Ok(host) if !reach.has(&host) => found.add(
                    key,
                    format!("{host} is not reachable via network.allowedDomains"),
                    format!("add \"{host}\" there"),
                ),
                Ok(_) => {}
            }
        }
    }
}

/// Where secrets can be sent to.
pub(crate) struct Reach {
    pub(crate) allowed: Vec<DomainPattern>,
    pub(crate) public_hosts: Switch,
    pub(crate) terminates: Terminates,
}

impl Reach {
    fn has(&self, host: &DomainPattern) -> bool {
        let by_name = !matches!(host.host, HostPattern::Address(_));
        (self.public_hosts == Switch::Allowed && by_name) || self.allowed.iter().any(|rule| rule.covers(host))
    }
}

/// Whether the gateway looks into TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminates {
    Yes,
    No,
}

impl Credential {
    fn check(&self, key: &str, of: Of, found: &mut Findings) {
        match (of, &self.name, &self.path) {
            (Of::Variables, Some(name), None) => {
                if !crate::environment::is_identifier(name) {
                    found.add(
                        format!("{key}.name"),
                        format!("{name:?} is not a variable name"),
                        "letters, digits and _, not beginning with a digit",
                    );
                }
            }
            (Of::Files, None, Some(path)) => {
                if path.is_empty() {
                    found.add(format!("{key}.path"), "cannot be empty", "name a file");
                }
            }
            (Of::Variables, _, Some(_)) => {
                found.add(format!("{key}.path"), "Unrecognized key path", "files belong in credentials.files")
            }
            (Of::Files, Some(_), _) => found.add(
                format!("{key}.name"),
                "Unrecognized key name",
                "variables belong in credentials.envVars",
            ),
            (Of::Variables, None, None) => {
                found.add(format!("{key}.name"), "is required", "name the variable")
            }
            (Of::Files, None, None) => found.add(format!("{key}.path"), "is required", "name the file"),
        }
        if self.mask_duplicates.is_some() && of == Of::Variables {
            found.add(
                format!("{key}.maskDuplicates"),
                "Unrecognized key maskDuplicates",
                "it belongs to credentials.files",
            );
        }
        if let Some(extract) = &self.extract
            && !captures(extract)
        {
            found.add(
                format!("{key}.extract"),
                "has no capturing group",
                "put the secret's part of the expression in ( )",
            );
        }
        if let Some(claims) = &self.mask_claims
            && claims.is_empty()
        {
            found.add(format!("{key}.maskClaims"), "cannot be empty", "name a claim or leave the key out");
        }
        if self.mode == CredentialMode::Deny && self.inject_hosts.is_some() {
            found.add(
                format!("{key}.injectHosts"),
                "a denied secret is never sent anywhere",
                "use mode mask, or remove injectHosts",
            );
        }
    }
}

/// Whether a regular expression has a capturing group: `(x)`, `(?<n>x)`, not `(?:x)`, `\(` or `[(]`.
fn captures(expression: &str) -> bool {
    let (mut escaped, mut in_class) = (false, false);
    let bytes = expression.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'(' if !in_class => match &bytes[at + 1..] {
                [b'?', b'P', b'<', ..] => return true,
                [b'?', b'<', next, ..] if !matches!(next, b'=' | b'!') => return true,
                [b'?', ..] => {}
                _ => return true,
            },
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::captures;

    #[test]
    fn capturing_groups_are_told_from_others() {
        for yes in ["(a)", "x=(?<v>.*)", "(?P<v>.)", "[)](a)"] {
            assert!(captures(yes), "{yes}");
        }
        for no in ["a", "(?:a)", r"\(a\)", "[(]", "(?=a)", "(?<=a)b", "(?<!a)b"] {
            assert!(!captures(no), "{no}");
        }
    }
}
