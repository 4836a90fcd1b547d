//! Damaged, locked, read-only and full.

use super::*;
use crate::violations::{StoreError, StoredViolation};
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;

fn broken_files(place: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains(".broken-")).collect()
}

#[test]
fn what_is_no_database_is_set_aside() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    let garbage = "no database, but long enough to be taken for one. ".repeat(100);
    fs::write(store.path(), &garbage).unwrap();

    // Looking at it changes nothing.
    let error = store.query(&Filter::default()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&store.path().display().to_string()));
    assert_eq!(broken_files(place.path()), [] as [&Path; 0]);

    let recorded = store.record(&[violation("/a")], &IgnoreList::default()).unwrap();
    let aside = recorded.set_aside.unwrap();
    assert_eq!(fs::read_to_string(&aside).unwrap(), garbage);
    assert_eq!(broken_files(place.path()), [aside]);
    assert_eq!(subjects(&store, &Filter::default()), ["/a"]);
    assert_eq!(store.record(&[violation("/b")], &IgnoreList::default()).unwrap().set_aside, None);

    fs::write(store.path(), &garbage).unwrap();
    let cleared = store.clear().unwrap();
    assert_eq!(cleared.removed, 0);
    assert!(cleared.set_aside.is_some_and(|aside| aside.exists()));
    assert_eq!(broken_files(place.path()).len(), 2);
}

#[test]
fn a_page_of_noise_is_set_aside() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    let many: Vec<Violation> = (0..500).map(|number| violation(&format!("/{number}"))).collect();
    store.record(&many, &IgnoreList::default()).unwrap();
    let file = fs::OpenOptions::new().write(true).open(store.path()).unwrap();
    let size = file.metadata().unwrap().len();
    file.write_all_at(&vec![0xa5; usize::try_from(size).unwrap() - 4096], 4096).unwrap();
    drop(file);

    assert!(matches!(store.query(&Filter::default()), Err(StoreError::Damaged { .. })));
    assert!(store.record(&[violation("/a")], &IgnoreList::default()).unwrap().set_aside.is_some());
    assert_eq!(subjects(&store, &Filter::default()), ["/a"]);
}

#[test]
fn of_many_who_find_it_damaged_one_sets_it_aside() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    fs::write(store.path(), "x".repeat(5000)).unwrap();
    let aside: Vec<_> = std::thread::scope(|scope| {
        let write = || store.record(&[violation("/a")], &IgnoreList::default()).unwrap().set_aside;
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(broken_files(place.path()), aside);
    assert_eq!(aside.len(), 1);
    assert_eq!(subjects(&store, &Filter::default()).len(), 8);
}

#[test]
fn another_version_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    record(&store, &["/a"]);
    rusqlite::Connection::open(store.path()).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let error = store.record(&[violation("/b")], &IgnoreList::default()).unwrap_err();
    assert!(matches!(error, StoreError::Version { found: 7, .. }), "{error}");
}

#[test]
fn a_lock_is_not_waited_for_for_ever() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    record(&store, &["/a"]);
    let holder = rusqlite::Connection::open(store.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.record(&[violation("/b")], &IgnoreList::default()).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert_eq!(subjects(&store, &Filter::default()), ["/a"], "readers do not wait");
    drop(holder);
    record(&store, &["/c"]);
}

#[test]
fn a_read_only_directory_is_told() {
    if let Some(store) = place_of_child() {
        let error = store.record(&[violation("/b")], &IgnoreList::default()).unwrap_err();
        println!("ERROR {error:?}");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let run = |state: &Path| {
        let mut command = again("faults::a_read_only_directory_is_told", state);
        // Root may write everywhere.
        if rustix::process::geteuid().is_root() {
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    fs::set_permissions(place.path(), Permissions::from_mode(0o555)).unwrap();
    assert!(run(place.path()).contains("ERROR Make"), "nothing can be made");

    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    record(&ViolationStore::new(place.path()), &["/a"]);
    let file = place.path().join("violations.db");
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o555)).unwrap();
    let said = run(place.path());
    assert!(said.contains("ERROR ReadOnly") || said.contains("ERROR Open"), "{said}");
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(subjects(&ViolationStore::new(place.path()), &Filter::default()), ["/a"]);
}

#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    if let Some(store) = place_of_child() {
        let many: Vec<Violation> =
            (0..2000).map(|number| violation(&format!("/{number}/{}", "x".repeat(500)))).collect();
        println!("ERROR {:?}", store.record(&many, &IgnoreList::default()).unwrap_err());
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    record(&store, &["/a"]);
    // 100 blocks of 512 bytes, and an error instead of the signal.
    let output = crate::private::testing::with_file_limit(
        &again("faults::a_full_disk_is_told_and_loses_nothing", place.path()),
        100,
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("ERROR Full") || said.contains("ERROR Use"), "{said}");
    assert_eq!(subjects(&store, &Filter::default()), ["/a"]);
    record(&store, &["/b"]);
    assert_eq!(subjects(&store, &Filter::default()), ["/a", "/b"]);
}

#[test]
fn a_home_of_nobody_is_told() {
    let store = ViolationStore::new(Path::new("/nonexistent/.local/state/stockade"));
    let error = store.record(&[violation("/a")], &IgnoreList::default()).unwrap_err();
    assert!(matches!(error, StoreError::Make { .. }), "{error}");
    assert_eq!(store.query(&Filter::default()).unwrap(), [] as [StoredViolation; 0]);
}
