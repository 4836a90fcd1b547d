//! Codex's `config.toml`.

use super::ImportError;
use super::draft::Draft;
use serde_json::json;
use std::path::Path;
use toml::{Table, Value};

/// Keys about what commands may do that have no place here.
const LOST: [(&str, &str); 6] = [
    ("approval_policy", "it is about asking; see `stockade run --ask`"),
    ("approvals_reviewer", "it is about asking; see `stockade run --ask`"),
    ("default_permissions", "permission profiles are not read"),
    ("permissions", "permission profiles are not read"),
    ("projects", "trust in a directory is for its settings here: `stockade config trust`"),
    ("allow_login_shell", "commands run in a plain shell"),
];

/// Reads one file.
struct Reader<'a> {
    path: &'a Path,
    draft: &'a mut Draft,
}

/// Carries Codex's settings over.
pub(super) fn translate(path: &Path, content: &[u8], draft: &mut Draft) -> Result<(), ImportError> {
    let not_toml = |reason: String| ImportError::NotToml { path: path.to_owned(), reason };
    let text = std::str::from_utf8(content).map_err(|_| not_toml("it is not UTF-8 text".to_owned()))?;
    let settings: Table = text.parse().map_err(|error: toml::de::Error| not_toml(said(&error)))?;
    let mut reader = Reader { path, draft };
    let profile = reader.profile(&settings)?;
    reader.mode(&settings, profile)?;
    if let Some(policy) = reader.table(&settings, "shell_environment_policy")? {
        reader.environment(policy)?;
    }
    for (key, why) in LOST {
        if settings.contains_key(key) {
            draft.lose(key, why);
        }
    }
    Ok(())
}

impl<'a> Reader<'a> {
    /// The profile that is chosen, whose values go before those of the file.
    fn profile<'t>(&mut self, settings: &'t Table) -> Result<Option<(&'t str, &'t Table)>, ImportError> {
        let Some(name) = self.text(settings, "profile", "")? else { return Ok(None) };
        let Some(profiles) = self.table(settings, "profiles")? else {
            return Err(self.wrong(
                "profile",
                format!("there is no profile {name}"),
                "name one that is there",
            ));
        };
        match profiles.get(name) {
            Some(Value::Table(profile)) => Ok(Some((name, profile))),
            _ => Err(self.wrong("profile", format!("there is no profile {name}"), "name one that is there")),
        }
    }

    fn mode(&mut self, settings: &Table, profile: Option<(&str, &Table)>) -> Result<(), ImportError> {
        let chosen = match profile {
            Some((name, profile)) => {
                let place = format!("profiles.{name}.");
                self.text(profile, "sandbox_mode", &place)?.map(|mode| (mode, format!("{place}sandbox_mode")))
            }
            None => None,
        };
        let own = self.text(settings, "sandbox_mode", "")?.map(|mode| (mode, "sandbox_mode".to_owned()));
        let (mode, place) = chosen.or(own).unwrap_or(("read-only", "sandbox_mode is not said".to_owned()));
        let word = format!("codex: {place} ({mode})");
        match mode {
            "read-only" => {
                self.draft.set("", "preset", json!("default"), word);
                let why = "codex: nothing may be written in read-only mode";
                self.draft.add("filesystem", "denyWrite", json!("$WORKSPACE"), why);
            }
            "workspace-write" => {
                self.draft.set("", "preset", json!("default"), word);
                if let Some(options) = self.table(settings, "sandbox_workspace_write")? {
                    self.workspace_write(options)?;
                }
            }
            "danger-full-access" => {
                self.draft.set("", "preset", json!("unrestricted"), format!("{word}: there are no walls"));
            }
            other => {
                let hint = "known are read-only, workspace-write and danger-full-access";
                return Err(self.wrong(&place, format!("{other} is no mode"), hint));
            }
        }
        if mode != "workspace-write" && settings.contains_key("sandbox_workspace_write") {
            self.draft.lose("sandbox_workspace_write", format!("it has no meaning in the mode {mode}"));
        }
        Ok(())
    }

    fn workspace_write(&mut self, options: &Table) -> Result<(), ImportError> {
        const TABLE: &str = "sandbox_workspace_write";
        for (index, root) in self.texts(options, "writable_roots", TABLE)?.into_iter().enumerate() {
            let why = format!("codex: {TABLE}.writable_roots[{index}]");
            self.draft.add("filesystem", "allowWrite", literal(root), why);
        }
        if self.flag(options, "network_access", TABLE)? {
            let why = format!(
                "codex: {TABLE}.network_access; here hosts on your own network and literal addresses stay closed"
            );
            self.draft.set("network", "allowPublicHosts", json!(true), why);
        }
        // Codex lets /tmp be written; here it is a private one that always can be.
        for key in ["exclude_slash_tmp", "exclude_tmpdir_env_var"] {
            if self.flag(options, key, TABLE)? {
                self.draft.lose(format!("{TABLE}.{key}"), "/tmp is a private one here and may be written");
            }
        }
        let known = ["writable_roots", "network_access", "exclude_slash_tmp", "exclude_tmpdir_env_var"];
        for key in options.keys().filter(|key| !known.contains(&key.as_str())) {
            self.draft.lose(format!("{TABLE}.{key}"), "it is not known");
        }
        Ok(())
    }

    fn environment(&mut self, policy: &Table) -> Result<(), ImportError> {
        const TABLE: &str = "shell_environment_policy";
        let inherit = self.text(policy, "inherit", "shell_environment_policy.")?;
        let ours = match inherit {
            Some("all") => Some("all"),
            Some("core") => Some("allowlist"),
            Some("none") => Some("none"),
            Some(other) => {
                let key = format!("{TABLE}.inherit");
                return Err(self.wrong(
                    &key,
                    format!("{other} is not known"),
                    "known are all, core and none",
                ));
            }
            None => None,
        };
        if let Some(ours) = ours {
            self.draft.set("environment", "inherit", json!(ours), format!("codex: {TABLE}.inherit"));
        }
        for (key, list) in [("exclude", "deny"), ("include_only", "allow")] {
            for (index, name) in self.texts(policy, key, TABLE)?.into_iter().enumerate() {
                let place = format!("{TABLE}.{key}[{index}]");
                if is_name_pattern(name) {
                    self.draft.add("environment", list, json!(name), format!("codex: {place}"));
                } else {
                    self.draft
                        .lose(format!("{place} {name}"), "a star may only stand at either end of a name");
                }
            }
        }
        if policy.contains_key("include_only") {
            let why = "codex: shell_environment_policy.include_only; nothing else crosses";
            self.draft.set("environment", "inherit", json!("none"), why);
        }
        if let Some(set) = self.table(policy, "set")? {
            let set: serde_json::Map<String, serde_json::Value> =
                set.iter().filter_map(|(name, value)| Some((name.clone(), json!(value.as_str()?)))).collect();
            self.draft.set("environment", "set", json!(set), format!("codex: {TABLE}.set"));
        }
        let known = ["inherit", "exclude", "include_only", "set"];
        for key in policy.keys().filter(|key| !known.contains(&key.as_str())) {
            self.draft.lose(format!("{TABLE}.{key}"), "names that look like secrets never cross here");
        }
        Ok(())
    }

    fn table<'t>(&self, table: &'t Table, key: &str) -> Result<Option<&'t Table>, ImportError> {
        match table.get(key) {
            None => Ok(None),
            Some(Value::Table(found)) => Ok(Some(found)),
            Some(_) => Err(self.wrong(key, "it is not a table", "write it as Codex's documentation does")),
        }
    }

    fn text<'t>(&self, table: &'t Table, key: &str, within: &str) -> Result<Option<&'t str>, ImportError> {
        match table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(&format!("{within}{key}"), "it is not text", "put it in quotes")),
        }
    }

    fn texts<'t>(&self, table: &'t Table, key: &str, within: &str) -> Result<Vec<&'t str>, ImportError> {
        let wrong =
            || self.wrong(&format!("{within}.{key}"), "it is not a list of texts", "write [\"a\", \"b\"]");
        match table.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => list.iter().map(|entry| entry.as_str().ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }

    fn flag(&self, table: &Table, key: &str, within: &str) -> Result<bool, ImportError> {
        match table.get(key) {
            None => Ok(false),
            Some(Value::Boolean(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(
                &format!("{within}.{key}"),
                "it is neither true nor false",
                "write true or false",
            )),
        }
    }

    fn wrong(&self, key: &str, reason: impl Into<String>, hint: &str) -> ImportError {
        ImportError::Invalid {
            path: self.path.to_owned(),
            key: key.to_owned(),
            reason: reason.into(),
            hint: hint.to_owned(),
        }
    }
}

/// A path that is meant letter by letter.
fn literal(path: &str) -> serde_json::Value {
    if path.contains(['*', '?', '[', '{', '\\', '$']) {
        json!({"path": path, "literal": true})
    } else {
        json!(path)
    }
}

fn is_name_pattern(name: &str) -> bool {
    let inner = name.strip_prefix('*').unwrap_or(name);
    let inner = inner.strip_suffix('*').unwrap_or(inner);
    !inner.is_empty() && inner.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The parser's word in one line, with where it is.
fn said(error: &toml::de::Error) -> String {
    let place = error.span().map_or_else(String::new, |span| format!(" at byte {}", span.start));
    format!("{}{place}", error.message().replace('\n', ", "))
}
