//! Putting new content in a file's place, whole or not at all.

use crate::private;
use rustix::fs::{Gid, Mode, OFlags, Uid};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// Tells drafts of one process apart.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// Replaces a file's content. Links are followed, so that a settings file kept elsewhere stays there; the
/// file keeps its mode and owner, and a new one is for the user alone.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = behind_links(path)?;
    let directory = path.parent().ok_or(io::ErrorKind::InvalidFilename)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    private::directory(directory)?;
    let draft = directory.join(format!(
        ".{}.{}.{}",
        name.to_string_lossy(),
        std::process::id(),
        DRAFTS.fetch_add(1, Ordering::Relaxed)
    ));
    let result = write_as(&draft, content, &path).and_then(|()| fs::rename(&draft, &path));
    if result.is_err() {
        let _ = fs::remove_file(&draft);
        return result;
    }
    // The new name is only safe from a power cut once its directory is.
    File::open(directory)?.sync_all()
}

fn write_as(draft: &Path, content: &[u8], path: &Path) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(draft, flags, Mode::from_raw_mode(0o600))?);
    match fs::metadata(path) {
        Ok(before) => {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (before.uid(), before.gid()) {
                let (owner, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
                rustix::fs::fchown(&file, Some(owner), Some(group))?;
            }
            file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o7777))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.write_all(content)?;
    file.sync_all()
}

/// Where the links lead, even when nothing is there yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            // Not a link, or not there.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(rustix::io::Errno::LOOP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn modes_and_links_stay() {
        let place = tempfile::tempdir().unwrap();
        let (real, link) = (place.path().join("dotfiles/real"), place.path().join("link"));
        symlink("dotfiles/real", &link).unwrap();
        replace(&link, b"one").unwrap();
        assert_eq!(mode(&real), 0o600);
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&link, b"two").unwrap();
        assert_eq!((fs::read(&real).unwrap(), mode(&real)), (b"two".to_vec(), 0o640));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(place.path().join("dotfiles")).unwrap().count(), 1);
    }

    #[test]
    fn a_circle_of_links_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        symlink("b", place.path().join("a")).unwrap();
        symlink("a", place.path().join("b")).unwrap();
        assert!(replace(&place.path().join("a"), b"x").is_err());
    }
}
