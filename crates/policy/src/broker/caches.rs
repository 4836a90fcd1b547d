//! Where tools keep repositories without a work tree.

use crate::data;
use std::sync::LazyLock;

const ANY: &str = "*";

static REPOSITORIES: LazyLock<Vec<Vec<Box<str>>>> = LazyLock::new(|| {
    let places = data::caches().repositories;
    places.iter().map(|place| place.split('/').map(Box::from).collect()).collect()
});

/// Whether a path of these names below a cache is that of a repository, whatever is there.
pub(super) fn holds_repository(names: &[&[u8]]) -> bool {
    !names.is_empty() && REPOSITORIES.iter().any(|place| place.len() == names.len() && begins(place, names))
}

/// Whether repositories may lie further down.
pub(super) fn leads_to_repository(names: &[&[u8]]) -> bool {
    !names.is_empty() && REPOSITORIES.iter().any(|place| place.len() > names.len() && begins(place, names))
}

fn begins(place: &[Box<str>], names: &[&[u8]]) -> bool {
    let fits = |known: &str, name: &[u8]| known == ANY || known.as_bytes() == name;
    place.iter().zip(names).all(|(known, name)| fits(known, name))
}
