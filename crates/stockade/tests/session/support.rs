//! The files around a session.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stockade::{Builder, Captured, Event, Runtime, Session, SessionCommand, SessionOptions, SessionRun};
use tempfile::TempDir;

/// A home with a workspace and a runtime directory. Not in /tmp, of which a sandbox has its own.
pub(crate) struct World {
    base: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let base = tempfile::Builder::new().prefix("stockade-session-").tempdir_in("/var/tmp").unwrap();
        for dir in ["home/work/sub", "run"] {
            fs::create_dir_all(base.path().join(dir)).unwrap();
        }
        Self { base }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub(crate) fn builder(&self) -> Builder {
        let pair = |name: &str, value: &Path| (OsString::from(name), value.as_os_str().to_owned());
        let environment = [
            pair("HOME", &self.at("home")),
            pair("XDG_RUNTIME_DIR", &self.at("run")),
            pair("PATH", Path::new("/usr/local/bin:/usr/bin:/bin")),
        ];
        Runtime::builder().cwd(self.at("home/work")).environment(environment)
    }

    pub(crate) async fn open(&self) -> Session {
        self.open_with(SessionOptions::default()).await
    }

    pub(crate) async fn open_with(&self, options: SessionOptions) -> Session {
        Session::open(Arc::new(self.builder().build().unwrap()), options).await.unwrap()
    }

    /// What sessions have left.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let place = self.at("run/stockade/shells");
        fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

/// Everything a command did, in order of its events.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
    pub(crate) events: Vec<Event>,
    pub(crate) captured: Captured,
}

impl Ran {
    /// Why the shell was started anew, where it was.
    pub(crate) fn restarted(&self) -> Option<&str> {
        self.events.iter().find_map(|event| match event {
            Event::Restarted { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
    }
}

/// Runs a command to its end; a session that hangs fails.
pub(crate) async fn run(session: &Session, command: SessionCommand) -> Ran {
    run_and(session, command, |_| ()).await
}

/// The same, and does something with it once it runs.
pub(crate) async fn run_and(
    session: &Session,
    command: SessionCommand,
    act: impl FnOnce(&SessionRun),
) -> Ran {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, follow(session, command, act)).await.expect("the session hangs")
}

async fn follow(session: &Session, command: SessionCommand, act: impl FnOnce(&SessionRun)) -> Ran {
    let mut run = session.start(command).await.unwrap();
    act(&run);
    let (mut stdout, mut stderr, mut events) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(event) = run.next().await {
        match event {
            Event::Stdout { data } => stdout.extend(data),
            Event::Stderr { data } => stderr.extend(data),
            Event::Exited(outcome) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                return Ran {
                    stdout: text(&stdout),
                    stderr: text(&stderr),
                    code: outcome.exit_code,
                    events,
                    captured: Captured { stdout, stderr, outcome: *outcome },
                };
            }
            event => events.push(event),
        }
    }
    panic!("no end was told");
}

/// Runs text.
pub(crate) async fn sh(session: &Session, text: &str) -> Ran {
    run(session, SessionCommand::new(text)).await
}
