//! The real file system behind the policy's small door.

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use stockade_policy::{Caller, FileKind, Files, Identity};

/// More than any settings file needs; a workspace could offer an endless one.
const LARGEST_FILE: u64 = 16 << 20;
/// Names are read in pieces of this many bytes: a directory of a thousand files in one.
const PIECE: usize = 32 << 10;

/// The files of this machine, seen with this process's rights.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn caller(&self) -> Caller {
        if rustix::process::geteuid().is_root() { Caller::Root } else { Caller::Ordinary }
    }

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
        Ok(Identity { dev: seen.dev(), ino: seen.ino(), kind: kind_of(FileType::from_raw_mode(seen.mode())) })
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        real_path(path)
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn names(&self, path: &Path) -> u64 {
        fs::symlink_metadata(path).map_or(1, |seen| seen.nlink())
    }

    fn may_change(&self, path: &Path) -> bool {
        let me = rustix::process::geteuid();
        let own = fs::symlink_metadata(path).is_ok_and(|seen| seen.uid() == me.as_raw());
        own || me.is_root() || rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }

    fn is_plain(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|seen| seen.is_file())
    }

    fn runs(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|seen| seen.is_file())
            && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
    }

    fn beginning(&self, path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open(path)?.take(bytes as u64).read_to_end(&mut content)?;
        Ok(content)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        let mut entries = Vec::new();
        self.tell(path, &mut |name, kind| entries.push((name.to_owned(), kind)))?;
        Ok(entries)
    }

    fn tell(&self, path: &Path, each: &mut dyn FnMut(&OsStr, FileKind)) -> io::Result<()> {
        let directory = open_directory(path)?;
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let mut entries = RawDir::new(&directory, &mut piece);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            let found = match entry.file_type() {
                // Some file systems do not keep it with the name.
                FileType::Unknown => {
                    let seen = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(seen.st_mode)
                }
                found => found,
            };
            let name = name.to_bytes();
            if name != b"." && name != b".." {
                each(OsStr::from_bytes(name), kind_of(found));
            }
        }
        Ok(())
    }
}

/// A path without links, like `fs::canonicalize`, which asks the C library, and that asks the kernel for a page for
/// each path: starts resolve a dozen.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    match without_links(path) {
        Ok(Some(real)) => Ok(real),
        Ok(None) => fs::canonicalize(path),
        Err(errno) => Err(errno.into()),
    }
}

/// The same for plain paths: nothing where there are links, or names that mean other directories.
fn without_links(path: &Path) -> Result<Option<PathBuf>, Errno> {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    let Some(names) = bytes.strip_prefix(b"/") else { return Ok(None) };
    if !names.split(|byte| *byte == b'/').all(is_plain) {
        return Ok(None);
    }
    let ends = bytes.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in ends.chain([bytes.len()]) {
        let mut target = [MaybeUninit::uninit(); 1];
        match rustix::fs::readlinkat_raw(CWD, OsStr::from_bytes(&bytes[..end]), &mut target) {
            Err(Errno::INVAL) => {}
            Ok(_) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    }
    Ok(Some(path.to_owned()))
}

/// Opens a directory whose path had no links in it. One that has come in since is not followed, wherever
/// on the way it is.
fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    // Without O_NOFOLLOW, with which a link would be told as "not a directory".
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a container's filter that does not know the call: the last name at least.
        Err(Errno::NOSYS | Errno::PERM) => {
            rustix::fs::openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
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

fn kind_of(found: FileType) -> FileKind {
    match found {
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::File,
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
    fn paths_are_resolved_as_the_system_does() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        fs::create_dir(top.join("d")).unwrap();
        fs::write(top.join("d/f"), "").unwrap();
        std::os::unix::fs::symlink("d", top.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", top.join("lost")).unwrap();
        std::os::unix::fs::symlink("loop", top.join("loop")).unwrap();
        let names = [
            "", "d", "d/", "d/.", "d//f", "d/f", "d/f/", "d/f/.", "d/f/..", "d/f/x", "d/../d", "link",
            "link/f",
        ];
        for name in names.into_iter().chain(["lost", "loop", "none", "none/x"]) {
            let path = PathBuf::from(format!("{}/{name}", top.display()));
            let (ours, theirs) = (real_path(&path), fs::canonicalize(&path));
            assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{name}");
            let errno = |told: &io::Result<PathBuf>| told.as_ref().err().and_then(io::Error::raw_os_error);
            assert_eq!(errno(&ours), errno(&theirs), "{name}");
        }
        assert_eq!(real_path(Path::new("/")).unwrap(), Path::new("/"));
        assert_eq!(real_path(Path::new(".")).unwrap(), fs::canonicalize(".").unwrap());
    }

    #[test]
    fn every_name_of_a_big_directory_is_told() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        let mut wanted: Vec<OsString> =
            (0..3000).map(|number| format!("a-longer-name-{number}").into()).collect();
        wanted.iter().for_each(|name| fs::write(top.join(name), "").unwrap());
        let mut names: Vec<_> = RealFiles.list(&top).unwrap().into_iter().map(|(name, _)| name).collect();
        names.sort();
        wanted.sort();
        assert_eq!(names, wanted);
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_listed() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(top.join("real/below")).unwrap();
        fs::write(top.join("real/below/secret"), "").unwrap();
        assert_eq!(RealFiles.list(&top.join("real/below")).unwrap().len(), 1);

        std::os::unix::fs::symlink("real", top.join("swapped")).unwrap();
        std::os::unix::fs::symlink("below", top.join("real/link")).unwrap();
        for path in ["swapped", "swapped/below", "real/link"] {
            let told = RealFiles.tell(&top.join(path), &mut |name, _| panic!("{path} holds {name:?}"));
            // Not the error of a directory that went away: this one is to be hidden.
            assert_eq!(told.unwrap_err().raw_os_error(), Some(Errno::LOOP.raw_os_error()), "{path}");
        }
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
