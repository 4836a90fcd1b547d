//! `--report`: the outcome as JSON, whole or not at all.

use super::place::{Place, PlaceError};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use stockade::{Mount, Outcome};

/// A place for the report, held since before the command started: a command that puts a link in the
/// way later does not lead us elsewhere.
pub(super) struct Report {
    path: PathBuf,
    place: Place,
}

/// The report cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error("cannot write a report to {}: {source}; nothing was run{}", path.display(), source.hint())]
    Place { path: PathBuf, source: PlaceError },
    #[error("a report goes to a file, not to {}; nothing was run\nhint: name a file; ./{} is one", path.display(), path.display())]
    Descriptor { path: PathBuf },
    #[error("the command ran, but its report could not be written to {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl Report {
    pub(super) fn prepare(path: PathBuf, mounts: &[Mount]) -> Result<Self, ReportError> {
        // A file of that name is hardly what somebody means who knows `--events fd:N`.
        if path.to_str().is_some_and(|name| name.starts_with("fd:")) {
            return Err(ReportError::Descriptor { path });
        }
        let found = Place::find(&path, mounts).and_then(|place| place.is_for_a_file().map(|()| place));
        match found {
            Ok(place) => Ok(Self { path, place }),
            Err(source) => Err(ReportError::Place { path, source }),
        }
    }

    /// Where it goes, if commands could put something there.
    pub(super) fn exposed(&self, mounts: &[Mount]) -> Option<PathBuf> {
        self.place.exposed(mounts)
    }

    /// Written beside its place and moved there, so that no reader sees half of it.
    pub(super) fn write(self, outcome: &Outcome) -> Result<(), ReportError> {
        let mut draft = OsString::from(".");
        draft.push(&self.place.name);
        draft.push(format!(".{}", std::process::id()));
        let result = self.write_as(&draft, outcome);
        if result.is_err() {
            let _ = rustix::fs::unlinkat(&self.place.directory, &draft, AtFlags::empty());
        }
        result.map_err(|source| ReportError::Write { path: self.path, source })
    }

    fn write_as(&self, draft: &OsString, outcome: &Outcome) -> io::Result<()> {
        let Place { directory, name } = &self.place;
        // Whatever a command left under the draft's name is not ours to follow or to fill.
        let _ = rustix::fs::unlinkat(directory, draft, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, draft, flags, Mode::from_raw_mode(0o644))?;
        let mut file = File::from(file);
        let mut text = serde_json::to_vec_pretty(outcome)?;
        text.push(b'\n');
        file.write_all(&text)?;
        rustix::fs::renameat(directory, draft, directory, name)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade::{Enforcement, Exit, Usage};

    fn outcome() -> Outcome {
        Outcome {
            exit: Exit::Code { code: 3 },
            exit_code: 3,
            sandboxed: true,
            kind: "native".into(),
            duration_ms: 1,
            blocked: false,
            blocked_reason: None,
            blocked_resource: None,
            truncated: false,
            usage: Usage::default(),
            violations: Vec::new(),
            more_violations: 0,
            network: None,
            review: None,
            enforcement: Enforcement::default(),
        }
    }

    #[test]
    fn a_planted_link_is_replaced_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let victim = place.path().join("victim");
        std::fs::write(&victim, "untouched").unwrap();
        let path = place.path().join("report.json");
        let report = Report::prepare(path.clone(), &[]).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        let draft = place.path().join(format!(".report.json.{}", std::process::id()));
        std::os::unix::fs::symlink(&victim, &draft).unwrap();

        report.write(&outcome()).unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome());
        assert!(!draft.exists());
    }

    #[test]
    fn a_place_that_cannot_be_is_refused_beforehand() {
        let place = tempfile::tempdir().unwrap();
        assert!(Report::prepare(place.path().join("absent/report"), &[]).is_err());
        assert!(Report::prepare(place.path().to_owned(), &[]).is_err());
        assert!(Report::prepare("/".into(), &[]).is_err());
        assert!(matches!(Report::prepare("fd:1".into(), &[]), Err(ReportError::Descriptor { .. })));
        let (link, pipe) = (place.path().join("link"), place.path().join("pipe"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        for (path, what) in
            [(&link, "a symbolic link"), (&pipe, "a named pipe"), (&"/dev/null".into(), "a device")]
        {
            let error = Report::prepare(path.clone(), &[]).err().unwrap().to_string();
            assert!(
                error.contains(&format!("it is {what}, not a plain file; nothing was run\nhint: ")),
                "{error}"
            );
        }
    }
}
