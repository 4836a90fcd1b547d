//! Files that a policy is made from, and those that it trusts. Whoever changes one writes its own rules.

use super::Draft;
use crate::inputs::SettingsFile;
use crate::rules::{List, Place, Rule};
use crate::survey::links_on;
use crate::{CredentialSource, FileKind, Files, Layer};
use std::io;
use std::path::{Path, PathBuf};

impl Draft {
    /// The files this policy was made from, or would be made from if they were there. A change counts for the
    /// next run or, where lists of hosts follow them, for this one.
    pub(super) fn protect_settings(&mut self, settings: &[SettingsFile], files: &dyn Files) {
        let hidden = self.policy.own.config.clone();
        for file in settings {
            // What lies in a hidden directory is out of reach, but not what a link there leads to.
            let is_link = || files.look(&file.path).is_ok_and(|found| found.kind == FileKind::Symlink);
            if !file.path.starts_with(&hidden) || is_link() {
                self.protect_file(&file.path, "settings in use");
            }
        }
        self.warn_about_names(settings, files);
    }

    /// What the gateway reads for itself, or hands to the programs inside to be trusted.
    pub(super) fn protect_named(&mut self) {
        let network = &self.policy.network;
        let tls = network.gateway.tls_terminate.as_ref();
        let certificates = tls.iter().flat_map(|tls| tls.ca_cert_path.iter().chain(&tls.extra_ca_cert_paths));
        let socket = network.gateway.mitm_proxy.iter().map(|proxy| &proxy.socket_path);
        let named = certificates.chain(socket).map(PathBuf::from);
        let secrets = network.credentials.iter().filter_map(|secret| match &secret.source {
            CredentialSource::File(path) => Some(path.clone()),
            CredentialSource::Variable(_) => None,
        });
        for path in named.chain(secrets).filter(|path| path.is_absolute()).collect::<Vec<_>>() {
            self.protect_file(&path, "files that settings name");
        }
    }

    fn protect_file(&mut self, path: &Path, because: &str) {
        let source = self.policy.book.source(Layer::BuiltIn, because);
        let text = path.to_string_lossy().into();
        let place = Place::Literal(path.to_owned());
        self.policy.book.add(Rule { list: List::Protected, place, text, source, key: None });
    }

    /// Protection covers one name of a file, and nobody knows where the others lie.
    fn warn_about_names(&mut self, settings: &[SettingsFile], files: &dyn Files) {
        let named = settings.iter().filter_map(|file| {
            let real = files.resolve(&file.path).ok()?;
            let names = files.names(&real);
            (names > 1 && files.may_change(&real)).then(|| format!("{} ({names} names)", real.display()))
        });
        let named: Vec<String> = named.collect();
        if !named.is_empty() {
            self.warn(format!(
                "settings, protected, but writable under the other names that hard links gave them: {}; remove those \
                 links, or deny writing where they lie",
                named.join(", ")
            ));
        }
    }
}

/// The link because of which a path leads nowhere, and where it points. Without one the file is simply not there.
pub(super) fn leads_nowhere(path: &Path, files: &dyn Files) -> Option<(PathBuf, PathBuf)> {
    let kind = |path: &Path| files.look(path).map(|found| found.kind);
    let suspicious = match kind(path) {
        Ok(kind) => kind == FileKind::Symlink,
        // Mostly there is no file in a plain directory.
        Err(_) => path.parent().is_some_and(|above| !matches!(kind(above), Ok(FileKind::Directory))),
    };
    if !suspicious {
        return None;
    }
    let is_broken = |link: &Path| {
        files.resolve(link).is_err_and(|error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        })
    };
    let link = links_on(files, path).into_iter().map(|link| link.path).rfind(|link| is_broken(link))?;
    let target = files.follow(&link).ok()?;
    Some((link, target))
}
