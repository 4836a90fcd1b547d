//! What passes and what does not, in every spelling, with git itself as the judge where it can be.

mod changes;
mod differential;
mod format;
mod index;
mod keys;
mod pointers;
mod real;
mod run;
mod urls;

use super::GitPlaces;
use std::path::PathBuf;

/// A workspace with a repository, whose submodule `sub` the configuration belongs to.
fn places() -> GitPlaces {
    GitPlaces {
        writable: vec![PathBuf::from("/ws")],
        private: vec![PathBuf::from("/private")],
        git_directory: PathBuf::from("/ws/repo/.git/modules/sub"),
    }
}

/// A text of one key.
fn one(name: &str, value: &str) -> String {
    let (stem, key) = name.rsplit_once('.').unwrap();
    let header = match stem.split_once('.') {
        Some((section, subsection)) => format!("[{section} \"{subsection}\"]"),
        None => format!("[{stem}]"),
    };
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{header}\n\t{key} = \"{value}\"\n")
}
