//! `--events`: what happens, as JSON lines.

use super::place::{Place, PlaceError};
use crate::descriptor::{Wanted, check};
use rustix::fs::{FileType, Mode, OFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use stockade::{Event, Mount, Outlet};

/// Where events are to go.
pub(crate) enum EventsPlace {
    /// A new file.
    File(PathBuf),
    /// The caller's descriptor of that number.
    Descriptor(OwnedFd, i32),
}

/// A file or descriptor that events are written to, one line each.
pub(super) struct EventLog {
    outlet: Option<Outlet>,
    /// The file they go to, if commands could change it.
    exposed: Option<PathBuf>,
    queue: Vec<u8>,
    /// As the caller named it.
    name: String,
    /// Why not all events are there.
    fault: Option<io::Error>,
}

/// The events have nowhere to go.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EventsError {
    #[error("cannot write events to {target}: {source}; nothing was run{}", source.hint())]
    Open { target: String, source: PlaceError },
}

impl EventLog {
    pub(super) fn open(place: EventsPlace, mounts: &[Mount]) -> Result<Self, EventsError> {
        let (name, opened) = match place {
            EventsPlace::Descriptor(descriptor, number) => {
                let checked = check(&descriptor, Wanted::Writing).map(|()| (descriptor, None));
                (format!("descriptor {number}"), checked.map_err(PlaceError::from))
            }
            EventsPlace::File(path) => (path.display().to_string(), create(&path, mounts)),
        };
        let outlet = opened.and_then(|(opened, exposed)| Ok((Outlet::new(opened)?, exposed)));
        match outlet {
            Ok((outlet, exposed)) => {
                Ok(Self { outlet: Some(outlet), exposed, queue: Vec::new(), name, fault: None })
            }
            Err(source) => Err(EventsError::Open { target: name, source }),
        }
    }

    /// The file they go to, if commands could change it.
    pub(super) fn exposed(&self) -> Option<PathBuf> {
        self.exposed.clone()
    }

    /// Adds a line.
    pub(super) fn push(&mut self, event: &Event) {
        if self.outlet.is_some() && serde_json::to_writer(&mut self.queue, event).is_ok() {
            self.queue.push(b'\n');
        }
    }

    /// Writes what was added. May be dropped and called again without losing anything.
    pub(super) async fn flush(&mut self) {
        while !self.queue.is_empty()
            && let Some(outlet) = &mut self.outlet
        {
            match outlet.write(&self.queue).await {
                Ok(count) => drop(self.queue.drain(..count)),
                // The command's own work goes on, and whoever has stopped listening knows.
                Err(error) => {
                    self.fault = Some(error).filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
                    self.give_up();
                }
            }
        }
    }

    /// What to say where not all events could be written.
    pub(super) fn fault(&self) -> Option<String> {
        let error = self.fault.as_ref()?;
        Some(format!("not all events are in {}: {error}", self.name))
    }

    /// Writes nothing any more.
    pub(super) fn give_up(&mut self) {
        self.outlet = None;
        self.queue.clear();
    }
}

/// An earlier command may have left a link under this name that leads to a file of ours.
fn create(path: &Path, mounts: &[Mount]) -> Result<(OwnedFd, Option<PathBuf>), PlaceError> {
    let flags = OFlags::WRONLY
        | OFlags::CREATE
        | OFlags::TRUNC
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC
        | OFlags::NOCTTY
        // A pipe that nobody reads would be waited for, signals or not.
        | OFlags::NONBLOCK;
    let place = Place::find(path, mounts)?;
    let opened = rustix::fs::openat(&place.directory, &place.name, flags, Mode::from_raw_mode(0o644))?;
    let found = rustix::fs::fstat(&opened)?;
    // An earlier command may have given it a second one, which nothing protects.
    if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_nlink > 1 {
        return Err(PlaceError::Names(found.st_nlink));
    }
    Ok((opened, place.exposed(mounts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_event_is_one_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events");
        let mut log = EventLog::open(EventsPlace::File(path.clone()), &[]).unwrap();
        log.push(&Event::Started { sandbox: "s".into(), pid: 2 });
        log.push(&Event::Truncated { limit: 10 });
        log.flush().await;
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            "{\"type\":\"started\",\"sandbox\":\"s\",\"pid\":2}\n{\"type\":\"truncated\",\"limit\":10}\n"
        );
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_told() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut log = EventLog::open(EventsPlace::Descriptor(full.into(), 7), &[]).unwrap();
        assert_eq!(log.fault(), None);
        log.push(&Event::Truncated { limit: 10 });
        log.flush().await;
        let said = log.fault().unwrap_or_default();
        assert!(said.starts_with("not all events are in descriptor 7: No space left"), "{said}");
    }

    #[tokio::test]
    async fn other_names_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events");
        std::fs::write(&path, "").unwrap();
        std::fs::hard_link(&path, place.path().join("other")).unwrap();
        let error = EventLog::open(EventsPlace::File(path), &[]).err().unwrap();
        assert!(error.to_string().contains("it has 2 names"), "{error}");
    }

    #[tokio::test]
    async fn nobody_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pipe");
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0).unwrap();
        let error = EventLog::open(EventsPlace::File(path), &[]).err().unwrap();
        assert!(error.to_string().contains("hint: it is a pipe that nobody reads"), "{error}");
    }

    #[tokio::test]
    async fn links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events");
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        let error = EventLog::open(EventsPlace::File(path), &[]).err().unwrap();
        assert!(error.to_string().contains("hint: it is a symbolic link"), "{error}");
    }
}
