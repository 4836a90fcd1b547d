//! The database file: made whole, opened, set aside when it is damaged.

use super::StoreError;
use crate::private;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a writer waits for the others.
const PATIENCE: Duration = Duration::from_secs(5);

/// The form of the table below.
const VERSION: i64 = 1;

const TABLE: &str = "
    CREATE TABLE violations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        seq INTEGER NOT NULL,
        time INTEGER NOT NULL,
        sandbox TEXT NOT NULL,
        command TEXT NOT NULL,
        pid INTEGER NOT NULL,
        program TEXT,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        rule TEXT,
        suggestion TEXT,
        hidden INTEGER NOT NULL,
        more INTEGER NOT NULL,
        reason TEXT NOT NULL
    );
    CREATE INDEX violations_time ON violations (time);
    CREATE INDEX violations_sandbox ON violations (sandbox, more);
";

/// Which file a name led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    device: u64,
    number: u64,
}

/// The file that is there now.
pub(super) fn inode(path: &Path) -> Option<Inode> {
    let seen = fs::metadata(path).ok()?;
    Some(Inode { device: seen.dev(), number: seen.ino() })
}

/// Opens the database to change it; makes it where there is none.
pub(super) fn for_writing(path: &Path) -> Result<Connection, StoreError> {
    if !path.exists() {
        make(path).map_err(|error| match error {
            MakeError::System(source) => StoreError::Make { path: path.to_owned(), source },
            MakeError::Database(source) => StoreError::told(path, source),
        })?;
    }
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Opens the database to look at it; `None` where there is none.
pub(super) fn for_reading(path: &Path) -> Result<Option<Connection>, StoreError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => open(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map(Some),
    }
}

fn open(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let told = |source| StoreError::told(path, source);
    let database =
        Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(told)?;
    database.busy_timeout(PATIENCE).map_err(told)?;
    // A process that is killed loses nothing; a machine that loses power may lose the last rows.
    database.pragma_update(None, "synchronous", "NORMAL").map_err(told)?;
    // Between check points the log grows with a large run; it is cut back afterwards.
    database.query_row("PRAGMA journal_size_limit = 4194304", [], |_| Ok(())).map_err(told)?;
    let version = database.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(told)?;
    if version != VERSION {
        return Err(StoreError::Version { path: path.to_owned(), found: version, known: VERSION });
    }
    Ok(database)
}

enum MakeError {
    System(io::Error),
    Database(rusqlite::Error),
}

impl From<io::Error> for MakeError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<rusqlite::Error> for MakeError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// Made under another name and linked into place: several processes may begin at once, and none of them
/// ever sees half a database. The name is opened by us only while no database is behind it, because to close
/// a descriptor of a database drops the locks of the whole process.
fn make(path: &Path) -> Result<(), MakeError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    if let Some(directory) = path.parent() {
        private::directory(directory)?;
    }
    let draft =
        beside(path, &format!(".new-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    // Left by a process of the same number that was killed here.
    let _ = fs::remove_file(&draft);
    drop(OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?);
    let made = fill(&draft).map_err(MakeError::from).and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    });
    let _ = fs::remove_file(&draft);
    made
}

fn fill(draft: &Path) -> rusqlite::Result<()> {
    let database = Connection::open_with_flags(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Nothing to lose yet; a database cut short by a power failure is set aside like any damaged one.
    database.execute_batch("PRAGMA synchronous = OFF; PRAGMA auto_vacuum = INCREMENTAL;")?;
    database.execute_batch(&format!("BEGIN; {TABLE} PRAGMA user_version = {VERSION}; COMMIT;"))?;
    // Readers and the writer do not wait for each other. Remembered in the file.
    database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    database.close().map_err(|(_, error)| error)
}

/// Moves a damaged database out of the way, unless somebody else already has. `seen` is the damaged one.
pub(super) fn set_aside(path: &Path, seen: Option<Inode>) -> Result<Option<PathBuf>, StoreError> {
    let wrong = |source| StoreError::SetAside { path: path.to_owned(), source };
    let directory = File::open(path.parent().unwrap_or(Path::new("."))).map_err(wrong)?;
    // Of two processes that find it damaged, the second must not move what the first has begun.
    private::lock(&directory, PATIENCE).map_err(wrong)?;
    if seen.is_none() || inode(path) != seen {
        return Ok(None);
    }
    let time = private::now() / 1000;
    let free = (0..1000)
        .map(|number| match number {
            0 => beside(path, &format!(".broken-{time}")),
            number => beside(path, &format!(".broken-{time}-{number}")),
        })
        .find(|name| fs::symlink_metadata(name).is_err());
    let aside = free.ok_or_else(|| wrong(io::ErrorKind::AlreadyExists.into()))?;
    // The log first: a new database must never meet the old one's.
    for companion in ["-wal", "-shm"] {
        match fs::rename(beside(path, companion), beside(&aside, companion)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(wrong(error)),
            _ => {}
        }
    }
    fs::rename(path, &aside).map_err(wrong)?;
    Ok(Some(aside))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
