use super::*;
use crate::Directories;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn directories(place: &Path) -> Directories {
    Directories { config: place.join("config"), state: place.join("state"), cache: place.join("cache") }
}

#[test]
fn a_digest_is_that_of_the_standard() {
    let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(ContentDigest::of(b"abc").to_string(), known);
}

#[test]
fn trust_is_for_one_content_in_one_place() {
    let place = tempfile::tempdir().unwrap();
    let store = TrustStore::new(&directories(place.path()));
    let (file, other) = (place.path().join("a.json"), place.path().join("b.json"));
    fs::write(&file, "{}").unwrap();
    fs::write(&other, "{}").unwrap();
    assert_eq!(store.standing(&file, b"{}").unwrap(), Standing::Unknown);
    store.trust(&file, b"{}").unwrap();
    let seen = |path: &Path, content: &[u8]| store.standing(path, content).unwrap();
    assert_eq!(seen(&file, b"{}"), Standing::Trusted);
    assert_eq!(seen(&file, b"{} "), Standing::Changed);
    assert_eq!(seen(&other, b"{}"), Standing::Unknown);
    // A link to it is the same file.
    let link = place.path().join("link.json");
    symlink(&file, &link).unwrap();
    assert_eq!(seen(&link, b"{}"), Standing::Trusted);

    fs::write(&file, "{ }").unwrap();
    assert_eq!(store.list().unwrap()[0].1, Standing::Changed);
    store.trust(&file, b"{ }").unwrap();
    assert_eq!(seen(&file, b"{}"), Standing::Changed, "only the newest content is trusted");
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn what_was_looked_at_is_what_is_trusted() {
    let place = tempfile::tempdir().unwrap();
    let store = TrustStore::new(&directories(place.path()));
    let file = place.path().join("a.json");
    fs::write(&file, "{\"preset\": \"unrestricted\"}").unwrap();
    assert!(matches!(store.trust(&file, b"{}"), Err(TrustError::Changed { .. })));
    assert!(store.list().unwrap().is_empty());
    let absent = store.trust(&place.path().join("absent"), b"{}").unwrap_err();
    assert!(absent.to_string().contains("absent"), "{absent}");
}

#[test]
fn trust_can_be_taken_back_even_when_the_file_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let store = TrustStore::new(&directories(place.path()));
    let file = place.path().join("a.json");
    fs::write(&file, "{}").unwrap();
    store.trust(&file, b"{}").unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(store.list().unwrap()[0].1, Standing::Gone);
    store.revoke(&file).unwrap();
    assert!(store.list().unwrap().is_empty());
    assert!(matches!(store.revoke(&file), Err(TrustError::Unknown { .. })));
}

#[test]
fn the_list_is_private_and_a_broken_one_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let store = TrustStore::new(&directories(place.path()));
    let file = place.path().join("a.json");
    fs::write(&file, "{}").unwrap();
    store.trust(&file, b"{}").unwrap();
    let mode = fs::metadata(store.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    fs::write(store.path(), "nonsense").unwrap();
    assert!(matches!(store.standing(&file, b"{}"), Err(TrustError::Broken { .. })));
    assert!(matches!(store.trust(&file, b"{}"), Err(TrustError::Broken { .. })));
    assert_eq!(fs::read_to_string(store.path()).unwrap(), "nonsense");
}

#[test]
fn writers_do_not_lose_each_others_files() {
    let place = tempfile::tempdir().unwrap();
    let directories = directories(place.path());
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (directories, place) = (&directories, place.path());
            scope.spawn(move || {
                for number in 0..5 {
                    let file = place.join(format!("{writer}-{number}"));
                    fs::write(&file, "{}").unwrap();
                    TrustStore::new(directories).trust(&file, b"{}").unwrap();
                }
            });
        }
    });
    assert_eq!(TrustStore::new(&directories).list().unwrap().len(), 40);
}
