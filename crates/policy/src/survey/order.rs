//! Order and kinship of absolute paths without `.`, `..` and double slashes.
//!
//! Bytes instead of components: plans compare paths by the thousand.

use std::cmp::Ordering;
use std::path::Path;

/// Parents before children, and a directory's whole subtree before its next sibling.
pub(crate) fn order(left: &Path, right: &Path) -> Ordering {
    let (left, right) = (left.as_os_str().as_encoded_bytes(), right.as_os_str().as_encoded_bytes());
    let common = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let rank =
        |bytes: &[u8]| bytes.get(common).map(|byte| if *byte == b'/' { 1 } else { u16::from(*byte) + 2 });
    rank(left).cmp(&rank(right))
}

/// Whether `above` is `path` or one of its ancestors.
pub(crate) fn holds(above: &Path, path: &Path) -> bool {
    let (above, path) = (above.as_os_str().as_encoded_bytes(), path.as_os_str().as_encoded_bytes());
    path.starts_with(above) && (path.len() == above.len() || above == b"/" || path[above.len()] == b'/')
}

#[cfg(test)]
mod tests {
    use super::{holds, order};
    use std::path::Path;

    #[test]
    fn subtrees_stay_together() {
        let mut paths = ["/a-b", "/a/b", "/a", "/a/b/c", "/", "/a b", "/b"].map(Path::new);
        paths.sort_by(|left, right| order(left, right));
        assert_eq!(
            paths.map(|path| path.to_str().unwrap()),
            ["/", "/a", "/a/b", "/a/b/c", "/a b", "/a-b", "/b"]
        );
    }

    #[test]
    fn a_common_beginning_is_not_an_ancestor() {
        let holds = |above: &str, path: &str| holds(Path::new(above), Path::new(path));
        assert!(holds("/", "/x") && holds("/", "/") && holds("/home", "/home/me") && holds("/home", "/home"));
        assert!(!holds("/home", "/homeevil") && !holds("/home/me", "/home"));
    }
}
