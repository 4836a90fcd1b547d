//! Places of our own that only their owner may see, and locks between our processes.

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Makes a directory, and those above it, for its owner alone.
pub(crate) fn directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    // A home that is not there is not ours to make, least of all directly below the root directory; what goes
    // below it (`.local/state/stockade`) is.
    const BELOW_HOME: usize = 3;
    let nearest = path.ancestors().skip(1).take(BELOW_HOME).find(|above| above.exists());
    if nearest.is_none_or(|above| above.parent().is_none()) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no home directory for it"));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Takes an exclusive lock, for as long as the open file lives or until it is unlocked. Whoever holds it
/// works for microseconds, but may have been stopped: nobody waits for ever.
pub(crate) fn lock(file: impl AsFd, patience: Duration) -> io::Result<()> {
    const LONGEST_PAUSE: Duration = Duration::from_millis(5);
    let begun = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if begun.elapsed() < patience => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens a file that is only there to be locked, and locks it. What is replaced again and again cannot be
/// locked itself.
pub(crate) fn hold(path: &Path, patience: Duration) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?;
    lock(&file, patience)?;
    Ok(file)
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Stable across versions and machines, unlike the standard library's hashers (FNV-1a): a name that is made of it
/// must be the same tomorrow.
pub(crate) fn stable_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
pub(crate) mod testing {
    //! A disk that is full after so many blocks.

    use std::process::{Command, Output};

    /// Runs this program as the command would, but so that it may not make files longer than some blocks
    /// of 512 bytes, and hears about it as an error instead of by a signal.
    pub(crate) fn with_file_limit(command: &Command, blocks: u32) -> Output {
        let mut limited = Command::new("sh");
        limited.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"")).arg("sh");
        limited.arg(std::env::current_exe().unwrap()).args(command.get_args());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = limited.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn hash_is_the_published_one() {
        assert_eq!(stable_hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(stable_hash(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn directories_are_private() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b");
        directory(&path).unwrap();
        for made in [&path, &place.path().join("a")] {
            assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o7777, 0o700);
        }
        directory(&path).unwrap();
    }

    #[test]
    fn a_home_is_not_made_up() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("home/.local/state/stockade");
        assert_eq!(directory(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!place.path().join("home").exists());
        fs::create_dir(place.path().join("home")).unwrap();
        directory(&path).unwrap();
    }

    #[test]
    fn nothing_is_made_in_the_root_directory() {
        let path = Path::new("/nonexistent-home/.local/state/stockade");
        assert_eq!(directory(path).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!Path::new("/nonexistent-home").exists());
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_for_ever() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lock");
        let holder = File::create(&path).unwrap();
        lock(&holder, Duration::ZERO).unwrap();
        let other = File::open(&path).unwrap();
        let error = lock(&other, Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(holder);
        lock(&other, Duration::ZERO).unwrap();
    }
}
