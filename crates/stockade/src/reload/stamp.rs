//! What a file looks like from outside: whatever saves it changes that.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The kernel's clock for files goes in steps: what was written this recently may be written again without
/// looking any different.
const STEP: Duration = Duration::from_millis(50);
/// How long saving a file may take: what is wrong for a shorter time is a file on its way.
const SETTLING: Duration = Duration::from_millis(200);

/// The look of several files at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamps(Vec<Option<Stamp>>);

/// Device, inode, content's and inode's last change, size.
type Stamp = (u64, u64, (i64, i64), (i64, i64), u64);

impl Stamps {
    /// Looks at files. `None` where one changed too recently for its look to be worth remembering.
    pub(super) fn of(files: &[PathBuf]) -> (Self, Memory) {
        let mut memory = Memory::Lasting;
        let stamp = |path: &PathBuf| {
            // A link that leads nowhere is more than a file that is not there.
            let found = std::fs::metadata(path).or_else(|_| std::fs::symlink_metadata(path)).ok()?;
            if age(&found) < STEP {
                memory = Memory::Short;
            }
            let content = (found.mtime(), found.mtime_nsec());
            Some((found.dev(), found.ino(), content, (found.ctime(), found.ctime_nsec()), found.size()))
        };
        let stamps = files.iter().map(stamp).collect();
        (Self(stamps), memory)
    }
}

/// Whether a look can be compared with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// The next look differs if anything changed.
    Lasting,
    /// Something changed just now, and could again without a trace.
    Short,
}

/// Whether a file, or the name of one that is gone, has been as it is for a while.
pub(super) fn is_settled(path: &Path) -> bool {
    let found = std::fs::metadata(path).or_else(|_| {
        // Behind a link the file is saved where the link leads.
        let named =
            path.parent().zip(std::fs::read_link(path).ok()).map(|(above, target)| above.join(target));
        let above = named.as_deref().unwrap_or(path).parent().ok_or(std::io::ErrorKind::NotFound)?;
        std::fs::metadata(above)
    });
    found.map_or(true, |found| age(&found) >= SETTLING)
}

/// How long ago a file was changed; long ago where its time lies in the future.
fn age(found: &Metadata) -> Duration {
    let nanoseconds = u32::try_from(found.ctime_nsec()).unwrap_or_default();
    let since = u64::try_from(found.ctime()).unwrap_or_default();
    let changed = SystemTime::UNIX_EPOCH + Duration::new(since, nanoseconds);
    SystemTime::now().duration_since(changed).unwrap_or(Duration::MAX)
}
