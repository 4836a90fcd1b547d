//! Reading a file that holds a secret.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// More than any file of credentials holds.
const LARGEST: u64 = 1 << 20;

/// The content of a small ordinary file.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe without a writer would be waited for.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
    }
    let mut content = Vec::new();
    file.by_ref().take(LARGEST + 1).read_to_end(&mut content)?;
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than a file of secrets may be"));
    }
    Ok(content)
}
