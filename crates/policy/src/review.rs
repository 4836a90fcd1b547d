//! What a run left behind that the host may execute later.
//!
//! Which names count is data: `profiles/review.json`. Looking for them is the embedder's work; this is only
//! the words for it.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Something new, changed or gone that the host would execute or obey by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewItem {
    /// What it is.
    pub kind: ReviewKind,
    /// Where, seen from the workspace. Written by the command: not to be shown as it is.
    pub path: String,
    /// What happened to it.
    pub change: ReviewChange,
    /// What exactly is different, where more is known. May quote the command's own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Why it matters, in one sentence.
    pub why: String,
}

/// What happened during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewChange {
    /// It was not there before.
    New,
    /// It is not what it was.
    Changed,
    /// It is gone.
    Removed,
    /// Nobody could look: kind [`ReviewKind::Incomplete`] only.
    Unknown,
}

/// Kinds of things that are executed without anybody asking for that very file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ReviewKind {
    /// The review itself has a gap.
    Incomplete,
    /// A program git runs.
    GitHook,
    /// Settings, attributes or a pointer of git that may name programs.
    GitSettings,
    /// A directory that git takes for a repository although it is not called `.git`.
    BareRepository,
    /// Read by shells or direnv.
    ShellStart,
    /// Settings, tools or instructions of an agent.
    Agent,
    /// Tasks and settings of an editor.
    Editor,
    /// Runs on a build service, with its secrets.
    Pipeline,
    /// Named scripts of a package.
    PackageScript,
    /// Settings of a package manager or build tool that name programs or sources.
    ToolSettings,
    /// Code that a build or test tool loads by itself.
    BuildScript,
    /// A program that is found by its name alone.
    Program,
}

/// One entry of `profiles/review.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewEntry {
    /// What its names are.
    pub kind: ReviewKind,
    /// Names, or paths of names, at any depth. `*` stands for part of a name, `**` for any directories; a
    /// path that begins with `$PATH` is meant below each directory of the caller's search path.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Directories that each of these is meant in; `.` is the top of the workspace. Anywhere where none is named.
    #[serde(default)]
    pub within: Vec<String>,
    /// Directories below which nothing counts: what builds write is no news.
    #[serde(default)]
    pub outside: Vec<String>,
    /// A group of `profiles/protected.json` whose names count as well, with all that is below them.
    #[serde(default)]
    pub protected: Option<ReviewGroup>,
    /// Last names that do not count.
    #[serde(default)]
    pub except: Vec<String>,
    /// Which files of that name count.
    #[serde(default)]
    pub files: ReviewFiles,
    /// Whether it counts inside installed packages, too.
    #[serde(default)]
    pub packages: ReviewPackages,
    /// What of the content counts.
    #[serde(default)]
    pub look: ReviewLook,
    /// What has to have happened to it.
    #[serde(default)]
    pub tell: ReviewTell,
    /// Why it matters.
    pub why: String,
}

/// Names that are protected at roots; a review looks for them everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewGroup {
    /// Shells and sessions.
    Shell,
    /// Editors.
    Ide,
    /// Agents.
    Agent,
}

/// Which files count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewFiles {
    /// All.
    #[default]
    Any,
    /// Those that can be executed, and links.
    Executable,
    /// Those that can be executed themselves.
    Program,
}

/// Which changes are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewTell {
    /// All.
    #[default]
    All,
    /// That it appeared: whoever has it already lives with it.
    New,
    /// That what was there is another: nobody runs by habit what is new.
    Changed,
}

/// Whether installed packages count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewPackages {
    /// Nobody runs it from there.
    #[default]
    Left,
    /// It acts from there as well.
    Included,
    /// It acts from there alone. A package that is linked in lies elsewhere, and is looked at there.
    Only,
}

/// What of the content counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewLook {
    /// Every byte.
    #[default]
    Whole,
    /// These members of a JSON object, one level down; `a.b` is one of those.
    Members(Vec<String>),
    /// Lines that hold one of these words, in whatever case.
    Lines(Vec<String>),
    /// Every byte of a script. Machine code is like any other: builds make it anew all the time.
    Script,
    /// Git settings: keys that are not known to be harmless.
    GitSettings,
    /// What git has still to do: the lines that run programs.
    GitSteps,
}

/// The whole of `profiles/review.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewList {
    /// Directories of installed packages.
    pub packages: Vec<String>,
    /// Directories in which nothing is looked for, as the last names of a path.
    pub skip: Vec<String>,
    /// What counts.
    pub entries: Vec<ReviewEntry>,
}

/// What counts in a review. Names of protected groups are among the paths of their entries.
pub fn review_list() -> ReviewList {
    let mut list = crate::data::review();
    let groups = crate::data::protected();
    let mut listed: HashSet<String> = list.entries.iter().flat_map(|entry| entry.paths.clone()).collect();
    for entry in &mut list.entries {
        if !entry.within.is_empty() {
            let ReviewEntry { paths, within, .. } = &*entry;
            let places =
                within.iter().flat_map(|above| paths.iter().map(move |path| format!("{above}/{path}")));
            entry.paths = places.collect();
        }
        let names = match entry.protected {
            None => continue,
            Some(ReviewGroup::Shell) => &groups.shell,
            Some(ReviewGroup::Ide) => &groups.ide,
            Some(ReviewGroup::Agent) => &groups.agent,
        };
        // Nobody says there whether a name is a file or a directory. What an entry lists by itself stays its own.
        let paths = names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}/**")]);
        let mut paths: Vec<String> = paths.filter(|path| listed.insert(path.clone())).collect();
        // The first of them stands for all where there is no room for more.
        paths.append(&mut entry.paths);
        entry.paths = paths;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_says_why_and_names_something() {
        let list = review_list();
        assert!(list.entries.len() > 20);
        for entry in &list.entries {
            assert!(!entry.why.is_empty() && !entry.why.ends_with('.'), "{entry:?}");
            assert!(!entry.paths.is_empty(), "{entry:?}");
            for path in &entry.paths {
                assert!(!path.starts_with('/') && !path.ends_with('/') && !path.contains("//"), "{path}");
            }
        }
    }

    /// Lines are compared in lower case.
    #[test]
    fn words_of_lines_are_in_lower_case() {
        for entry in review_list().entries {
            if let ReviewLook::Lines(words) = entry.look {
                assert!(words.iter().all(|word| *word == word.to_ascii_lowercase()), "{words:?}");
            }
        }
    }

    #[test]
    fn directories_are_put_before_the_paths_meant_in_them() {
        let list = review_list();
        let listed = |path: &str| list.entries.iter().any(|entry| entry.paths.iter().any(|one| one == path));
        assert!(listed("./json.py") && listed("scripts/json.py") && !listed("json.py"));
    }

    #[test]
    fn no_path_is_listed_twice() {
        let list = review_list();
        let mut paths: Vec<_> = list.entries.iter().flat_map(|entry| &entry.paths).collect();
        paths.sort();
        let twice: Vec<_> = paths.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn everything_protected_at_roots_is_reviewed() {
        let list = review_list();
        let listed: HashSet<&str> =
            list.entries.iter().flat_map(|entry| &entry.paths).map(String::as_str).collect();
        let groups = crate::data::protected();
        for name in groups.shell.iter().chain(&groups.ide).chain(&groups.agent) {
            assert!(listed.contains(name), "{name}");
            assert!(listed.contains(format!("{name}/**").as_str()), "{name}/**");
        }
        let kind = |path: &str| {
            list.entries
                .iter()
                .find(|entry| entry.paths.iter().any(|one| one == path))
                .map(|entry| entry.kind)
        };
        assert_eq!(kind(".qwen/**"), Some(ReviewKind::Agent));
        assert_eq!(kind(".cargo/bin/**"), Some(ReviewKind::ShellStart));
        assert_eq!(kind(".sublime-project"), Some(ReviewKind::Editor));
    }
}
