//! The committed list of keys.

use super::parse::{Entry, Parts};
use super::places::GitPlaces;
use super::url::check_url;
use super::value::Kind;
use crate::data;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GitKeys {
    inert: Vec<Allowance>,
    protective: Vec<String>,
}

/// Keys, and what their values have to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowance {
    keys: Vec<String>,
    value: Kind,
}

/// The same, ready to be asked. Patterns are in lower case.
pub(super) struct Keys {
    inert: BTreeMap<String, Kind>,
    protective: BTreeSet<String>,
}

pub(super) static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let data = data::git_config();
    let mut inert = BTreeMap::new();
    for Allowance { keys, value } in data.inert {
        inert.extend(keys.into_iter().map(|key| (key.to_ascii_lowercase(), value.clone())));
    }
    let protective = data.protective.into_iter().map(|key| key.to_ascii_lowercase()).collect();
    Keys { inert, protective }
});

impl Keys {
    /// Whether git can have this key without running or following anything.
    pub(super) fn check(&self, entry: &Entry, places: &GitPlaces) -> Result<(), String> {
        const UNKNOWN: &str = "it is not among the keys that are known to run nothing and lead nowhere";
        let Parts { section, subsection, .. } = entry.parts().ok_or(UNKNOWN)?;
        let kind = patterns(entry).iter().find_map(|name| self.inert.get(name)).ok_or(UNKNOWN)?;
        if let Some(subsection) = subsection {
            check_subsection(section, subsection)?;
        }
        kind.check(entry.value.as_deref(), places)
    }

    /// Whether this key has to stay where a person has set it.
    pub(super) fn is_protective(&self, entry: &Entry) -> bool {
        patterns(entry).iter().any(|name| self.protective.contains(name))
    }
}

/// The patterns of the list that would match. No section and no key has a `*` in it.
fn patterns(entry: &Entry) -> Vec<String> {
    let Some(Parts { section, subsection, key }) = entry.parts() else { return Vec::new() };
    let (section, key) = (String::from_utf8_lossy(section), String::from_utf8_lossy(key));
    let section = if subsection.is_some() { format!("{section}.*") } else { section.into_owned() };
    vec![format!("{section}.{key}"), format!("{section}.*")]
}

/// Names are used as arguments, addresses and directories, too.
fn check_subsection(section: &[u8], name: &[u8]) -> Result<(), String> {
    if name.is_empty() {
        return Err("the subsection has no name".to_owned());
    }
    if name.starts_with(b"-") {
        return Err("a name that begins with - would be taken for an option".to_owned());
    }
    if name.iter().any(u8::is_ascii_control) {
        return Err("the subsection's name holds a control character".to_owned());
    }
    match section {
        // A remote without an address is looked for under its name.
        b"remote" | b"lfs" => check_url(name).map_err(|reason| format!("the subsection's name: {reason}")),
        b"submodule" if leaves_its_directory(name) => {
            Err("the submodule's name leads out of .git/modules".to_owned())
        }
        _ => Ok(()),
    }
}

fn leaves_its_directory(name: &[u8]) -> bool {
    name.starts_with(b"/") || name.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| part == b"..")
}

#[cfg(test)]
mod tests {
    use super::data;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_names_every_key_once_and_nothing_that_runs_programs() {
        let list = data::git_config();
        let mut seen = BTreeSet::new();
        for key in list.inert.iter().flat_map(|allowance| &allowance.keys) {
            let key = key.to_ascii_lowercase();
            let dots = key.matches('.').count();
            assert!(dots == 1 || dots == 2 && key.contains(".*."), "{key}");
            assert!(seen.insert(key.clone()), "{key} stands there twice");
            let section = key.split('.').next().unwrap();
            let never = [
                "alias",
                "include",
                "includeif",
                "filter",
                "credential",
                "gpg",
                "url",
                "protocol",
                "safe",
                "receive",
                "uploadpack",
                "mergetool",
                "difftool",
                "guitool",
                "browser",
                "web",
                "man",
                "pager",
                "sendemail",
                "instaweb",
                "maintenance",
                "sequence",
                "trailer",
                "tar",
                "ssh",
                "trace2",
                "interactive",
            ];
            assert!(!never.contains(&section), "{key}");
        }
        assert!(seen.len() > 200);
    }
}
