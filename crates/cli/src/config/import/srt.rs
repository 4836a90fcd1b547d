//! srt's settings.

use super::draft::Draft;
use serde_json::{Map, Value, json};

/// Keys that say the same in both.
const FILE_LISTS: [&str; 4] = ["denyRead", "allowRead", "allowWrite", "denyWrite"];
/// Keys of srt whose purpose is served without them.
const NEEDLESS: [&str; 10] = [
    "enableWeakerNestedSandbox",
    "enableWeakerNetworkIsolation",
    "allowAppleEvents",
    "allowPty",
    "mandatoryDenySearchDepth",
    "ripgrep",
    "seccomp",
    "bwrapPath",
    "socatPath",
    "javaAgentJarPath",
];

/// Carries srt's settings over.
pub(super) fn translate(settings: &Value, draft: &mut Draft) {
    draft.set("", "preset", json!("default"), "srt has no presets; this one reads everything but secrets");
    let empty = Map::new();
    for (key, value) in settings.as_object().unwrap_or(&empty) {
        match (key.as_str(), value) {
            ("filesystem", Value::Object(files)) => filesystem(files, draft),
            ("network", Value::Object(network)) => network_keys(network, draft),
            ("credentials", value) => {
                draft.set("", "credentials", value.clone(), "srt: credentials");
            }
            ("allowNestedUserNamespaces", value) => {
                draft.set("", key, value.clone(), "srt: allowNestedUserNamespaces");
            }
            ("git", _) => {
                draft.lose("git.safeDirectories", "say it to git: git config --global safe.directory");
            }
            ("ignoreViolations", _) => {
                draft.lose(key, "rules here are about paths; see violations.ignore");
            }
            ("windows", _) => draft.lose(key, "it is about another system"),
            (key, _) if NEEDLESS.contains(&key) => draft.lose(key, "it has no meaning here"),
            (key, _) => draft.lose(key, "srt has no such key"),
        }
    }
    workspace(settings, draft);
    draft.set("environment", "inherit", json!("all"), "srt: every variable crosses; here all but secrets");
    draft.set("filesystem", "temporary", json!("host"), "srt: /tmp is that of the machine");
    draft.lose(
        "reading",
        "the default deny-read list holds here: keys, tokens and credential files stay closed",
    );
}

fn filesystem(files: &Map<String, Value>, draft: &mut Draft) {
    for (key, value) in files {
        match (key.as_str(), value) {
            (list, Value::Array(entries)) if FILE_LISTS.contains(&list) => {
                for (index, entry) in entries.iter().enumerate() {
                    draft.add("filesystem", list, entry.clone(), format!("srt: filesystem.{list}[{index}]"));
                }
            }
            ("allowGitConfig", Value::Bool(true)) => {
                draft.lose(
                    "filesystem.allowGitConfig",
                    "protection of git is one switch here: filesystem.protection.git",
                );
            }
            ("disabled", Value::Bool(true)) => {
                draft.lose("filesystem.disabled", "file rules cannot be switched off as a whole");
            }
            _ => {}
        }
    }
}

fn network_keys(network: &Map<String, Value>, draft: &mut Draft) {
    for (key, value) in network {
        let word = format!("srt: network.{key}");
        match value {
            Value::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    draft.add("network", key, entry.clone(), format!("{word}[{index}]"));
                }
            }
            value => draft.set("network", key, value.clone(), word),
        }
    }
}

/// In srt only what is listed may be written; the preset gives the workspace.
fn workspace(settings: &Value, draft: &mut Draft) {
    let written = settings.pointer("/filesystem/allowWrite").and_then(Value::as_array);
    let names: Vec<&str> = written.into_iter().flatten().filter_map(Value::as_str).collect();
    let whole = |name: &&str| [".", "./", "$PWD", "./**", "**"].contains(name);
    let inside = |name: &&str| !name.starts_with(['/', '~']);
    if names.iter().any(whole) {
        return;
    }
    if names.iter().any(inside) {
        draft.lose(
            "writing",
            "srt gives only the listed parts of the working directory; here the preset gives all of it",
        );
    } else {
        draft.add(
            "filesystem",
            "denyWrite",
            json!("$WORKSPACE"),
            "srt: the working directory is not on the list of what may be written",
        );
    }
}
