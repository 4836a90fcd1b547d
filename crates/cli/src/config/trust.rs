//! `stockade config trust`.

use super::heard::Loosening;
use crate::voice::Voice;
use crate::{print, refuse};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use stockade::{
    BuildError, Directories, Files, Layer, RealFiles, Runtime, SettingsErrors, SettingsFile, Shape, Standing,
    TrustError, TrustStore, TrustedFile, visible,
};

/// How the list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Nothing was trusted.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Store(#[from] TrustError),
    #[error(transparent)]
    Settings(#[from] SettingsErrors),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("there are no project settings here\nhint: name the file, or go to the directory it is in")]
    Nothing,
}

/// Trusts these files, or the project's.
pub(crate) fn trust(files: Vec<PathBuf>) -> ExitCode {
    for_each(files, |store, path| {
        let content =
            RealFiles.read(path).map_err(|source| TrustError::File { path: path.to_owned(), source })?;
        let Loosening { heard, never } = loosening(path, &content)?;
        let TrustedFile { path, sha256, .. } = store.trust(path, &content)?;
        let mut text = format!("trusted {} (sha256 {sha256})\n", name(&path));
        match (heard.is_empty(), never.is_empty()) {
            (true, true) => text.push_str("  it only tightens, so that trust changes nothing\n"),
            (true, false) => text.push_str("  trust changes nothing\n"),
            (false, _) => {}
        }
        for line in heard {
            text.push_str(&format!("  now heard: {}\n", visible(&line)));
        }
        if !never.is_empty() {
            let never = never.join(", ");
            text.push_str(&format!("  still not heard, as no project may say that: {}\n", visible(&never)));
        }
        Ok(text)
    })
}

/// Takes trust in these files back, or in the project's.
pub(crate) fn revoke(files: Vec<PathBuf>) -> ExitCode {
    for_each(files, |store, path| {
        let gone = store.revoke(path)?;
        Ok(format!("no longer trusted: {}\n", name(&gone.path)))
    })
}

/// Lists what was trusted.
pub(crate) fn list(form: Form) -> ExitCode {
    let trusted = match store().list() {
        Ok(trusted) => trusted,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    if form == Form::Json {
        let rows = trusted.iter().map(|(file, standing)| {
            json!({"path": file.path, "sha256": file.sha256, "when": file.when, "standing": standing})
        });
        return print::json(&rows.collect::<Vec<_>>());
    }
    if trusted.is_empty() {
        return print::text("nothing is trusted\n");
    }
    let line = |(file, standing): &(TrustedFile, Standing)| {
        let standing = match standing {
            Standing::Trusted => "trusted",
            Standing::Changed => "not trusted any more: it has changed",
            Standing::Gone | Standing::Unknown => "not there any more",
        };
        format!("{}\n    {standing}, sha256 {}\n", name(&file.path), file.sha256)
    };
    print::text(&trusted.iter().map(line).collect::<String>())
}

fn for_each(files: Vec<PathBuf>, act: impl Fn(&TrustStore, &Path) -> Result<String, Failed>) -> ExitCode {
    let files = match if files.is_empty() { of_the_project() } else { Ok(files) } {
        Ok(files) => files,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let store = store();
    let mut text = String::new();
    for path in files {
        let place = std::path::absolute(&path).unwrap_or(path);
        match act(&store, &place) {
            Ok(told) => text.push_str(&told),
            Err(error) => {
                // What was done before is done.
                print::text(&text);
                return refuse(Voice::NORMAL, error);
            }
        }
    }
    print::text(&text)
}

fn store() -> TrustStore {
    let environment: Vec<_> = std::env::vars_os().collect();
    let home = stockade::home(&environment);
    TrustStore::new(&Directories::new(&environment, home.as_deref()))
}

/// The settings files of the project in this directory.
fn of_the_project() -> Result<Vec<PathBuf>, Failed> {
    let files = Runtime::builder().build()?.settings_files();
    let here = files.into_iter().map(|(file, _)| file);
    let here = here.filter(|file| file.layer == Layer::Project && file.path.exists());
    let files: Vec<PathBuf> = here.map(|file| file.path).collect();
    if files.is_empty() { Err(Failed::Nothing) } else { Ok(files) }
}

/// What a file says that is only heard from a trusted one. A file that is wrong is not one to trust.
fn loosening(path: &Path, content: &[u8]) -> Result<Loosening, SettingsErrors> {
    let shape = Shape::detect(path, content).map_err(|error| SettingsErrors(vec![error]))?;
    Loosening::of(SettingsFile::named(path, Layer::Project).in_shape(shape), content)
}

fn name(path: &Path) -> String {
    visible(&path.to_string_lossy()).to_string()
}
