//! Settings files as they were at one moment, each read once: what is checked for trust is what is parsed.

use crate::trust::{Standing, TrustStore, Trusting};
use crate::{RealFiles, TrustError};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use stockade_policy::{
    Caller, FileKind, Files, Identity, Inputs, Layer, Notice, NoticeWeight, Policy, SettingsErrors, Trust,
};

/// What every settings file held.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    files: Vec<Read>,
    /// What is wrong with the list of trusted files, where it was needed.
    distrust: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Read {
    path: PathBuf,
    content: Content,
    standing: Standing,
}

/// A file's content; two failures of a kind are the same.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Bytes(Vec<u8>),
    Failed(io::ErrorKind),
    /// A link is there, and what it leads to is not.
    LeadsNowhere,
}

impl Reading {
    /// Reads the files a policy is made from.
    pub(super) fn take(inputs: &Inputs, trust: &TrustStore) -> Self {
        let mut trusting: Option<Result<Trusting, TrustError>> = None;
        let mut files = Vec::new();
        for file in &inputs.settings {
            let content = match RealFiles.read(&file.path) {
                Ok(bytes) => Content::Bytes(bytes),
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && RealFiles.look(&file.path).is_ok() =>
                {
                    Content::LeadsNowhere
                }
                Err(error) => Content::Failed(error.kind()),
            };
            let standing = match (&content, file.layer) {
                (Content::Bytes(bytes), Layer::Project) => {
                    match trusting.get_or_insert_with(|| trust.trusting()) {
                        Ok(trusting) => trusting.standing(&file.path, bytes),
                        Err(_) => Standing::Unknown,
                    }
                }
                _ => Standing::Unknown,
            };
            files.push(Read { path: file.path.clone(), content, standing });
        }
        let distrust = trusting.and_then(Result::err).map(|error| error.to_string());
        Self { files, distrust }
    }

    /// The policy these files make.
    pub(super) fn load(&self, inputs: &Inputs) -> Result<Policy, SettingsErrors> {
        let mut inputs = inputs.clone();
        for (file, read) in inputs.settings.iter_mut().zip(&self.files) {
            if read.standing == Standing::Trusted {
                file.trust = Trust::Trusted;
            }
        }
        let mut policy = Policy::load(inputs, self)?;
        for read in self.files.iter().filter(|read| read.standing == Standing::Changed) {
            let path = read.path.display();
            policy.add_notice(warning(format!(
                "{path} was trusted and has changed since: it may only tighten again (hint: read it, then `stockade config trust {path}`)"
            )));
        }
        if let Some(error) = &self.distrust {
            let error = error.to_string().replace('\n', "; ");
            policy.add_notice(warning(format!("project settings may only tighten: {error}")));
        }
        Ok(policy)
    }

    /// The files that differ from an earlier reading.
    pub(super) fn changed_since(&self, earlier: &Self) -> Vec<PathBuf> {
        let pairs = self.files.iter().zip(&earlier.files);
        pairs.filter(|(now, before)| now != before).map(|(now, _)| now.path.clone()).collect()
    }

    /// How each file stands to what was trusted.
    pub(super) fn standings(&self) -> impl Iterator<Item = (&Path, Standing)> {
        self.files.iter().map(|read| (read.path.as_path(), read.standing))
    }
}

fn warning(text: String) -> Notice {
    Notice { weight: NoticeWeight::Warning, text }
}

impl Files for Reading {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.files.iter().find(|read| read.path == path).map(|read| &read.content) {
            Some(Content::Bytes(bytes)) => Ok(bytes.clone()),
            // Asked again for what the system has to say; nothing that comes now is trusted.
            Some(Content::Failed(_) | Content::LeadsNowhere) | None => RealFiles.read(path),
        }
    }

    fn caller(&self) -> Caller {
        RealFiles.caller()
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        RealFiles.look(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        RealFiles.resolve(path)
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        RealFiles.follow(path)
    }

    fn names(&self, path: &Path) -> u64 {
        RealFiles.names(path)
    }

    fn may_change(&self, path: &Path) -> bool {
        RealFiles.may_change(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        RealFiles.list(path)
    }

    fn tell(&self, path: &Path, each: &mut dyn FnMut(&OsStr, FileKind)) -> io::Result<()> {
        RealFiles.tell(path, each)
    }
}
