//! The files around a runtime, and what it asked.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use stockade::{Builder, CommandLine, Question, Runtime, ViolationKind};
use tempfile::TempDir;

/// A home, a workspace and a place outside. Not in /tmp, of which a sandbox has its own.
pub(crate) struct World {
    base: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let base = tempfile::Builder::new().prefix("stockade-asking-").tempdir_in("/var/tmp").unwrap();
        for dir in ["home/work", "outside"] {
            fs::create_dir_all(base.path().join(dir)).unwrap();
        }
        Self { base }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.at("outside").join(name)
    }

    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.outside(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn builder(&self) -> Builder {
        let pair = |name: &str, value: &Path| (OsString::from(name), value.as_os_str().to_owned());
        let environment =
            [pair("HOME", &self.at("home")), pair("PATH", Path::new("/usr/local/bin:/usr/bin:/bin"))];
        Runtime::builder().cwd(self.at("home/work")).environment(environment)
    }
}

/// What was asked, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Question>>>);

impl Log {
    pub(crate) fn add(&self, question: &Question) {
        self.0.lock().unwrap().push(question.clone());
    }

    pub(crate) fn asked(&self) -> Vec<(ViolationKind, PathBuf)> {
        let questions = self.0.lock().unwrap();
        let about =
            |question: &Question| (question.violation.kind, question.violation.subject.clone().into());
        questions.iter().map(about).collect()
    }
}

pub(crate) fn shell(text: &str) -> CommandLine {
    CommandLine::Shell(text.into())
}
