//! `--events`: what happens, as JSON lines.

use super::backlog::Backlog;
use super::place::{Place, PlaceError};
use crate::descriptor::{Wanted, check};
use rustix::fs::{FileType, Mode, OFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stockade::{Event, Mount, Outlet};
use tokio::time::{Instant, timeout};

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
    backlog: Backlog,
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
                Ok(Self { outlet: Some(outlet), exposed, backlog: Backlog::default(), name, fault: None })
            }
            Err(source) => Err(EventsError::Open { target: name, source }),
        }
    }

    /// The file they go to, if commands could change it.
    pub(super) fn exposed(&self) -> Option<PathBuf> {
        self.exposed.clone()
    }

    /// Adds a line. Where nobody reads, some are left out and that is told.
    pub(super) fn push(&mut self, event: &Event) {
        if self.outlet.is_some() {
            self.backlog.push(event);
        }
    }

    /// Whether anything waits to be written.
    pub(super) fn is_waiting(&self) -> bool {
        self.outlet.is_some() && !self.backlog.is_empty()
    }

    /// Writes what was added. May be dropped and called again without losing anything.
    pub(super) async fn flush(&mut self) {
        while self.is_waiting() {
            self.step().await;
        }
    }

    /// Writes the rest, for as long as somebody reads.
    pub(super) async fn finish(&mut self, patience: Patience) {
        let end = Instant::now() + patience.in_all;
        while self.is_waiting() {
            let left = end.saturating_duration_since(Instant::now());
            if timeout(patience.without_a_read.min(left), self.step()).await.is_err() {
                return self.give_up();
            }
        }
    }

    /// Writes some of it.
    async fn step(&mut self) {
        let Some(outlet) = &mut self.outlet else { return };
        match outlet.write(self.backlog.bytes()).await {
            Ok(count) => self.backlog.taken(count),
            Err(error) => {
                // The command's own work goes on, and whoever has stopped listening knows.
                match error.kind() {
                    io::ErrorKind::BrokenPipe => self.backlog = Backlog::default(),
                    _ => self.fault = Some(error),
                }
                self.outlet = None;
            }
        }
    }

    /// What to say where not all events could be written.
    pub(super) fn fault(&self) -> Option<String> {
        let name = &self.name;
        match (&self.fault, self.backlog.unread()) {
            (Some(error), _) => Some(format!("not all events are in {name}: {error}")),
            (None, 0) => None,
            (None, 1) => Some(format!("not all events are in {name}: 1 was not read in time")),
            (None, count) => Some(format!("not all events are in {name}: {count} were not read in time")),
        }
    }

    /// Writes nothing any more.
    fn give_up(&mut self) {
        self.outlet = None;
        self.backlog.clear();
    }
}

/// How long the end of a run waits for a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// While it takes nothing.
    pub(super) without_a_read: Duration,
    /// Whatever it does.
    pub(super) in_all: Duration,
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
    async fn whoever_does_not_read_is_not_waited_for() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut log = EventLog::open(EventsPlace::Descriptor(writer.into(), 7), &[]).unwrap();
        log.push(&Event::Stdout { data: vec![b'x'; 100_000] });
        log.push(&Event::Truncated { limit: 10 });
        let begun = Instant::now();
        let moment = Duration::from_millis(50);
        log.finish(Patience { without_a_read: moment, in_all: Duration::from_secs(60) }).await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert_eq!(
            log.fault().unwrap_or_default(),
            "not all events are in descriptor 7: 2 were not read in time"
        );
        drop(reader);
    }

    /// It need not be quick.
    #[tokio::test]
    async fn whoever_reads_gets_the_end() {
        let (writer, reader) = tokio::net::unix::pipe::pipe().unwrap();
        let writer = writer.into_blocking_fd().unwrap();
        let mut log = EventLog::open(EventsPlace::Descriptor(writer, 7), &[]).unwrap();
        log.push(&Event::Stdout { data: vec![b'x'; 500_000] });
        log.push(&Event::Truncated { limit: 10 });
        let patience = Patience { without_a_read: Duration::from_secs(5), in_all: Duration::from_secs(60) };
        let read = async {
            let (mut all, mut piece) = (Vec::new(), vec![0; 4096 * 8]);
            while !all.ends_with(b"\"limit\":10}\n") {
                tokio::time::sleep(Duration::from_millis(5)).await;
                reader.readable().await.unwrap();
                if let Ok(count) = reader.try_read(&mut piece) {
                    all.extend_from_slice(&piece[..count]);
                }
            }
        };
        tokio::join!(log.finish(patience), read);
        assert_eq!(log.fault(), None);
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
