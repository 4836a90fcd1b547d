//! Claude Code's settings: the `sandbox` block and the permission rules.

use super::draft::Draft;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Keys of the block that say the same at the top of ours.
const SWITCHES: [&str; 5] = [
    "enabled",
    "allowUnsandboxedCommands",
    "autoAllowBashIfSandboxed",
    "failIfUnavailable",
    "enabledPlatforms",
];
/// Keys of the block's network that say the same in ours.
const NETWORK: [&str; 7] = [
    "allowedDomains",
    "deniedDomains",
    "allowUnixSockets",
    "allowAllUnixSockets",
    "allowLocalBinding",
    "httpProxyPort",
    "socksProxyPort",
];

/// What the file's own paths are relative to, spelled so that it can be written into settings.
pub(super) fn root(path: &Path, home: Option<&Path>) -> String {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let above = directory.parent().filter(|_| directory.ends_with(".claude"));
    match (above, home) {
        (Some(project), Some(home)) if project == home => "~/.claude".to_owned(),
        // The project's own directory: its settings mean it wherever it lies.
        (Some(_), _) => ".".to_owned(),
        (None, _) => directory.display().to_string(),
    }
}

/// Carries Claude Code's settings over.
pub(super) fn translate(settings: &Value, root: &str, draft: &mut Draft) {
    draft.set("", "preset", json!("default"), "the workspace may be written, everything but secrets read");
    if let Some(Value::Object(block)) = settings.get("sandbox") {
        sandbox(block, root, draft);
    }
    if let Some(Value::Object(rules)) = settings.get("permissions") {
        permissions(rules, root, draft);
    }
}

fn sandbox(block: &Map<String, Value>, root: &str, draft: &mut Draft) {
    for (key, value) in block {
        let word = format!("claude: sandbox.{key}");
        match (key.as_str(), value) {
            (key, value) if SWITCHES.contains(&key) => draft.set("", key, value.clone(), word),
            ("excludedCommands", Value::Array(entries)) => {
                for (index, entry) in entries.iter().enumerate() {
                    draft.add("", key, entry.clone(), format!("{word}[{index}]"));
                }
            }
            ("network", Value::Object(network)) => network_keys(network, draft),
            ("filesystem", Value::Object(files)) => filesystem(files, root, draft),
            ("ignoreViolations", _) => {
                draft.lose("sandbox.ignoreViolations", "rules here are about paths; see violations.ignore");
            }
            (key, _) => draft.lose(format!("sandbox.{key}"), "it has no meaning here"),
        }
    }
}

fn network_keys(network: &Map<String, Value>, draft: &mut Draft) {
    for (key, value) in network {
        let word = format!("claude: sandbox.network.{key}");
        match value {
            Value::Array(entries) if NETWORK.contains(&key.as_str()) => {
                for (index, entry) in entries.iter().enumerate() {
                    draft.add("network", key, entry.clone(), format!("{word}[{index}]"));
                }
            }
            value if NETWORK.contains(&key.as_str()) => {
                if key.ends_with("ProxyPort") {
                    draft.set("network", "proxies", json!(true), "programs have to be told of a proxy");
                }
                draft.set("network", key, value.clone(), word);
            }
            _ => draft.lose(format!("sandbox.network.{key}"), "it has no meaning here"),
        }
    }
}

fn filesystem(files: &Map<String, Value>, root: &str, draft: &mut Draft) {
    for (key, value) in files {
        let known = ["allowRead", "denyRead", "allowWrite", "denyWrite"].contains(&key.as_str());
        let entries = value.as_array().filter(|_| known);
        if entries.is_none() {
            draft.lose(format!("sandbox.filesystem.{key}"), "it has no meaning here");
        }
        for (index, entry) in entries.into_iter().flatten().enumerate() {
            let word = format!("claude: sandbox.filesystem.{key}[{index}]");
            let entry = entry.as_str().map_or_else(|| entry.clone(), |text| json!(in_block(text, root)));
            draft.add("filesystem", key, entry, word);
        }
    }
}

fn permissions(rules: &Map<String, Value>, root: &str, draft: &mut Draft) {
    for (key, value) in rules {
        for (index, entry) in value.as_array().into_iter().flatten().enumerate() {
            let (place, entry) = (format!("permissions.{key}[{index}]"), entry.as_str().unwrap_or_default());
            match key.as_str() {
                "allow" | "deny" => permission(key, entry, &place, root, draft),
                "ask" if entry.trim_start().starts_with("Bash") => draft.lose(
                    format!("{place} {entry}"),
                    "only Claude Code's own file can want somebody to be asked about commands: keep it and use --claude",
                ),
                "ask" => draft.lose(format!("{place} {entry}"), "nobody is asked about single tools here"),
                "additionalDirectories" => {
                    draft.add("filesystem", "allowWrite", json!(plain(entry)), format!("claude: {place}"));
                }
                _ => draft.lose(place, "it has no meaning here"),
            }
        }
        if !value.is_array() {
            draft.lose(format!("permissions.{key}"), "it is about asking, which is not done here");
        }
    }
}

/// One rule: a tool, and in brackets what it is about.
fn permission(effect: &str, rule: &str, place: &str, root: &str, draft: &mut Draft) {
    let (tool, subject) = match rule.trim().split_once('(') {
        Some((tool, rest)) => (tool, rest.strip_suffix(')').unwrap_or(rest)),
        None => (rule.trim(), ""),
    };
    let subject = if ["*", "**"].contains(&subject) { "" } else { subject };
    let word = format!("claude: {place} {rule}");
    let allow = effect == "allow";
    match (tool, subject) {
        (_, "") => {
            draft.lose(format!("{place} {rule}"), "it is about a whole tool, not about files or hosts")
        }
        ("Read", path) => {
            let list = if allow { "allowRead" } else { "denyRead" };
            draft.add("filesystem", list, json!(in_rule(path, root)), word);
        }
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", path) => {
            let list = if allow { "allowWrite" } else { "denyWrite" };
            draft.add("filesystem", list, json!(in_rule(path, root)), word);
        }
        ("WebFetch", subject) => match subject.strip_prefix("domain:") {
            // The tool knows more patterns than there are hosts that commands can be given.
            Some(domain) if allow && !is_host(domain) => {
                draft.lose(format!("{place} {rule}"), "it names no single host or domain");
            }
            Some(domain) => {
                let list = if allow { "allowedDomains" } else { "deniedDomains" };
                draft.add("network", list, json!(domain), word);
            }
            None => draft.lose(format!("{place} {rule}"), "only domain: is known"),
        },
        ("Bash", command) => bash(effect, command, (place, rule), word, draft),
        _ => draft.lose(format!("{place} {rule}"), "commands do not use this tool"),
    }
}

/// A rule about commands. What is allowed needs no rule here: commands run behind walls without being asked about.
fn bash(effect: &str, command: &str, (place, rule): (&str, &str), word: String, draft: &mut Draft) {
    if effect == "allow" {
        return draft
            .lose(format!("{place} {rule}"), "commands behind walls need no permission of their own");
    }
    let words = command.strip_suffix(":*").unwrap_or(command);
    let mut words = words.split_whitespace();
    match words.next() {
        Some(program)
            if !program.contains(['*', '?', '[']) && !command.contains(['"', '\'', '$', '|', '&', ';']) =>
        {
            let arguments: Vec<&str> = words.collect();
            let mut entry = Map::from_iter([("program".to_owned(), json!(program))]);
            if !arguments.is_empty() {
                entry.insert("args".to_owned(), json!(arguments));
            }
            draft.add("commands", "deny", Value::Object(entry), word);
        }
        _ => draft.lose(format!("{place} {rule}"), "a rule about commands names a program and its arguments"),
    }
}

/// A path of the block: `/` is the root of the file system, what begins nowhere lies below the file's root.
fn in_block(path: &str, root: &str) -> String {
    match path.strip_prefix("//") {
        Some(rest) => format!("/{}", plain(rest)),
        None if path.starts_with(['/', '~']) => plain(path),
        None => format!("{root}/{}", plain(path.strip_prefix("./").unwrap_or(path))),
    }
}

/// A path of a rule: `//` is the root of the file system, `/` the file's root, everything else the working
/// directory; a bare name is meant at any depth, as in our own lists of denials.
fn in_rule(path: &str, root: &str) -> String {
    match (path.strip_prefix("//"), path.strip_prefix('/')) {
        (Some(rest), _) => format!("/{}", plain(rest)),
        (None, Some(rest)) => format!("{root}/{}", plain(rest)),
        (None, None) => plain(path),
    }
}

/// No variables are looked up in such a path.
fn plain(path: &str) -> String {
    path.replace('$', "\\$")
}

fn is_host(domain: &str) -> bool {
    let name = domain.strip_prefix("*.").unwrap_or(domain);
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    name.contains('.') && !name.starts_with('.') && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_where_the_file_says() {
        for (path, block, rule) in [
            ("//etc/x", "/etc/x", "/etc/x"),
            ("/src/**", "/src/**", "./src/**"),
            ("~/x", "~/x", "~/x"),
            ("./x", "./x", "./x"),
            ("a/b", "./a/b", "a/b"),
            (".env", "./.env", ".env"),
        ] {
            assert_eq!((in_block(path, ".").as_str(), in_rule(path, ".").as_str()), (block, rule), "{path}");
        }
    }

    #[test]
    fn the_root_is_the_project_or_the_users_directory() {
        let home = Path::new("/home/a");
        for (path, expected) in [
            ("/home/a/.claude/settings.json", "~/.claude"),
            ("/w/p/.claude/settings.local.json", "."),
            ("/w/p/other.json", "/w/p"),
        ] {
            assert_eq!(root(Path::new(path), Some(home)), expected, "{path}");
        }
    }
}
