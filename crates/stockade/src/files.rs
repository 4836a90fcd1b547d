//! The real file system behind the policy's small door.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use stockade_policy::{FileKind, Files, Identity};

/// More than any settings file needs; a workspace could offer an endless one.
const LARGEST_FILE: u64 = 16 << 20;

/// The files of this machine, seen with this process's rights.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut content)?;
        if content.len() as u64 > LARGEST_FILE {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 16 MiB"));
        }
        Ok(content)
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        let seen = fs::symlink_metadata(path)?;
        Ok(Identity { dev: seen.dev(), ino: seen.ino(), kind: kind(seen.file_type()) })
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        fs::read_dir(path)?
            .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), kind(entry.file_type()?)))))
            .collect()
    }
}

/// A pipe that somebody planted under a settings file's name would hold the start for ever, so nothing
/// that can block is opened — except descriptors the caller names (`--settings <(...)`).
fn open(path: &Path) -> io::Result<File> {
    if path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") || path == Path::new("/dev/stdin") {
        return File::open(path);
    }
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?.file_type();
    if found.is_fifo() || found.is_socket() || found.is_char_device() || found.is_block_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

fn kind(found: fs::FileType) -> FileKind {
    if found.is_dir() {
        FileKind::Directory
    } else if found.is_symlink() {
        FileKind::Symlink
    } else {
        FileKind::File
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_at_the_name_and_resolves_the_target() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        fs::write(top.join("real"), "content").unwrap();
        std::os::unix::fs::symlink("real", top.join("link")).unwrap();

        assert_eq!(RealFiles.look(&top.join("link")).unwrap().kind, FileKind::Symlink);
        assert_eq!(RealFiles.look(&top.join("real")).unwrap().kind, FileKind::File);
        assert_eq!(RealFiles.look(&top).unwrap().kind, FileKind::Directory);
        assert_eq!(RealFiles.resolve(&top.join("link")).unwrap(), top.join("real"));
        assert_eq!(RealFiles.read(&top.join("link")).unwrap(), b"content");

        let mut names = RealFiles.list(&top).unwrap();
        names.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(names, [("link".into(), FileKind::Symlink), ("real".into(), FileKind::File)]);
    }

    #[test]
    fn a_directory_is_an_error_and_a_pipe_does_not_hang() {
        let place = tempfile::tempdir().unwrap();
        let error = RealFiles.read(place.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);

        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(RealFiles.read(&pipe).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
