//! Removing a layer.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a directory of ours and everything below it. The kernel leaves a directory in it that nobody may open,
/// and a command may have closed others.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    // What says that this is an overlay goes first: half of one is none.
    match fs::remove_file(directory.join(super::record::NOTED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(directory)?;
            fs::remove_dir_all(directory)
        }
        removed => removed,
    }
}

/// Lets us into every directory. No process is left that could put a link in a directory's place.
fn open_up(top: &Path) -> io::Result<()> {
    let mut ahead = vec![top.to_owned()];
    while let Some(directory) = ahead.pop() {
        let mode = fs::symlink_metadata(&directory)?.permissions().mode();
        if mode & 0o700 != 0o700 {
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode | 0o700))?;
        }
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                ahead.push(entry.path());
            }
        }
    }
    Ok(())
}
