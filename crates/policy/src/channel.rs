//! The way through which a launcher hands pipes to a shell that lives on.

use crate::{Identity, Mount, MountKind, Plan};
use std::path::{Path, PathBuf};

/// Where it is seen inside: on the private /dev, where nothing of the host's is hidden by it.
const PLACE: &str = "/dev/stockade";

impl Plan {
    /// Shows a directory of the launcher's own inside, and tells where. It has to be absolute and free of
    /// links, and nobody but the launcher may be able to write it.
    ///
    /// Nothing else of the plan changes: whatever is opened there was put there by the launcher.
    pub fn open_channel(&mut self, source: &Path, identity: Identity) -> PathBuf {
        let private = |mount: &Mount| mount.path == Path::new("/dev") && mount.kind == MountKind::Dev;
        // Without a /dev of its own the sandbox sees the directory where it is.
        let path = match self.mounts.iter().any(private) {
            true => PathBuf::from(PLACE),
            false => source.to_owned(),
        };
        let kind = MountKind::Channel { source: source.to_owned(), identity };
        // Whatever is laid above it comes before it.
        self.mounts.push(Mount { path: path.clone(), kind, rule: None });
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{load, request, usual_tree};
    use crate::{FileKind, Layer, Shape};

    const IDENTITY: Identity = Identity { dev: 1, ino: 2, kind: FileKind::Directory };

    #[test]
    fn it_lies_on_the_private_dev_where_there_is_one() {
        let source = Path::new("/run/stockade/s");
        let tree = usual_tree();
        let mut plan =
            load(&tree, Layer::User, Shape::Native, "{}").unwrap().plan(&request(), &tree).unwrap();
        assert_eq!(plan.open_channel(source, IDENTITY), Path::new("/dev/stockade"));
        let last = plan.mounts.last().unwrap();
        assert_eq!(last.kind, MountKind::Channel { source: source.into(), identity: IDENTITY });

        plan.mounts.retain(|mount| mount.kind != MountKind::Dev);
        assert_eq!(plan.open_channel(source, IDENTITY), source);
    }
}
