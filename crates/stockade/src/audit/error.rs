//! Why the audit log could not be written or read.

use std::io;
use std::path::PathBuf;

/// The audit log could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The directory cannot be made.
    #[error("could not make {} for the audit log: {source}{}", path.display(), hint(source))]
    Make {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be opened or made.
    #[error("could not open {} of the audit log: {source}{}", path.display(), hint(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process did not let go in time.
    #[error("could not lock {} of the audit log: {source}\nhint: another stockade may have been stopped while it held it", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("could not read {} of the audit log: {source}{}", path.display(), hint(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line cannot be written; the log is as it was.
    #[error("could not write {} of the audit log: {source}{}", path.display(), hint(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A full file cannot be put behind the others.
    #[error("could not rotate {} of the audit log: {source}{}", path.display(), hint(source))]
    Rotate {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a person can do about it.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "\nhint: free some space or raise the limit"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "\nhint: the file and its directory must be yours and writable, or set XDG_STATE_HOME to a directory that is"
        }
        io::ErrorKind::NotFound => "\nhint: set HOME or XDG_STATE_HOME to a directory that exists",
        _ => "",
    }
}
