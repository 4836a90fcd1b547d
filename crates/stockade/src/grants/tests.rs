use super::*;
use crate::Directories;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use stockade_policy::{GrantedList, Layer, Origin, Reply, RuleRef, ViolationKind};

fn directories(place: &Path) -> Directories {
    Directories { config: place.join("config"), state: place.join("state"), cache: place.join("cache") }
}

fn given(kind: ViolationKind, subject: &str) -> Given {
    Given {
        kind,
        subject: subject.into(),
        rule: None,
        sandbox: "b".into(),
        who: "callback".into(),
        why: "cat, in: cat x".into(),
    }
}

/// The end of time, as far as tests go.
const LATER: u64 = 9_000_000_000_000;

#[test]
fn session_grants_are_for_one_kind_and_one_subject() {
    let store = GrantStore::in_memory();
    let copy = store.clone();
    store.give(&given(ViolationKind::Read, "/a"), Reply::Session).unwrap();
    store.give(&given(ViolationKind::Read, "/once"), Reply::Once).unwrap();
    assert_eq!(store.give(&given(ViolationKind::Read, "/no"), Reply::Deny).unwrap(), None);
    assert!(copy.allows(ViolationKind::Read, "/a"));
    for (kind, subject) in [
        (ViolationKind::Write, "/a"),
        (ViolationKind::Read, "/a/b"),
        (ViolationKind::Read, "/once"),
        (ViolationKind::Read, "/no"),
    ] {
        assert!(!store.allows(kind, subject), "{kind:?} {subject}");
    }
    assert!(matches!(store.give(&given(ViolationKind::Read, "/b"), Reply::Always), Err(GrantError::NoPlace)));
    let id = store.list().unwrap()[0].id.clone();
    store.revoke(&id).unwrap();
    assert!(!copy.allows(ViolationKind::Read, "/a"));
}

#[test]
fn names_that_are_not_text_are_not_remembered() {
    let store = GrantStore::in_memory();
    store.give(&given(ViolationKind::Read, "/a\u{fffd}"), Reply::Session).unwrap();
    assert!(!store.allows(ViolationKind::Read, "/a\u{fffd}"));
}

#[test]
fn always_goes_to_the_settings_and_comes_out_again() {
    let place = tempfile::tempdir().unwrap();
    let directories = directories(place.path());
    let settings = directories.user_settings();
    fs::create_dir(&directories.config).unwrap();
    let before = "{\n  // mine\n  \"preset\": \"default\",\n  \"filesystem\": {\"allowWrite\": []}\n}\n";
    fs::write(&settings, before).unwrap();
    let store = GrantStore::new(&directories);

    let grant = store.give(&given(ViolationKind::Create, "/srv/x"), Reply::Always).unwrap().unwrap();
    assert_eq!(grant.scope, Scope::Permanent);
    assert_eq!(grant.settings.as_deref(), Some(settings.as_path()));
    assert_eq!(
        fs::read_to_string(&settings).unwrap(),
        before.replace("\"allowWrite\": []", "\"allowWrite\": [\"/srv/x\"]")
    );
    // The list allows every way of writing, and says so.
    assert!(store.allows(ViolationKind::Unlink, "/srv/x"));
    let again = store.give(&given(ViolationKind::Rename, "/srv/x"), Reply::Always).unwrap().unwrap();
    assert_eq!(again.id, grant.id);

    let other = GrantStore::new(&directories);
    assert_eq!(other.list().unwrap(), std::slice::from_ref(&grant));
    let revoked = other.revoke(&grant.id).unwrap();
    assert_eq!(revoked.settings.as_deref(), Some(settings.as_path()));
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    assert!(other.list().unwrap().is_empty());
    assert!(matches!(other.revoke(&grant.id), Err(GrantError::Unknown { .. })));
    // An id is never given to another grant.
    let next = other.give(&given(ViolationKind::Create, "/srv/y"), Reply::Always).unwrap().unwrap();
    assert_ne!(next.id, grant.id);
}

#[test]
fn an_entry_of_the_user_is_not_taken_out() {
    let place = tempfile::tempdir().unwrap();
    let directories = directories(place.path());
    fs::create_dir(&directories.config).unwrap();
    let text = "{\"filesystem\": {\"allowRead\": [\"/a\"]}}";
    fs::write(directories.user_settings(), text).unwrap();
    let store = GrantStore::new(&directories);
    let grant = store.give(&given(ViolationKind::Read, "/a"), Reply::Always).unwrap().unwrap();
    assert_eq!(store.revoke(&grant.id).unwrap().settings, None);
    assert_eq!(fs::read_to_string(directories.user_settings()).unwrap(), text);
}

#[test]
fn broken_settings_are_left_alone_and_nothing_is_recorded() {
    let place = tempfile::tempdir().unwrap();
    let directories = directories(place.path());
    fs::create_dir(&directories.config).unwrap();
    for broken in ["{", "", "[1]", "{\"filesystem\": {\"allowRead\": \"/x\"}}"] {
        fs::write(directories.user_settings(), broken).unwrap();
        let store = GrantStore::new(&directories);
        let error = store.give(&given(ViolationKind::Read, "/a"), Reply::Always).unwrap_err();
        assert!(error.to_string().contains("settings.json"), "{error}");
        assert_eq!(fs::read_to_string(directories.user_settings()).unwrap(), broken);
        assert!(store.list().unwrap().is_empty());
    }
}

#[test]
fn grants_with_an_end_are_rules_until_then() {
    let place = tempfile::tempdir().unwrap();
    let directories = directories(place.path());
    let store = GrantStore::new(&directories);
    assert!(matches!(
        store.give(&given(ViolationKind::Read, "/a"), Reply::Until { until: 1 }),
        Err(GrantError::Over)
    ));
    store.give(&given(ViolationKind::Read, "/a*"), Reply::Until { until: LATER }).unwrap();
    store.give(&given(ViolationKind::Unix, "/run/s"), Reply::Until { until: LATER }).unwrap();
    store.give(&given(ViolationKind::Read, "/always"), Reply::Always).unwrap();
    let lasting = GrantStore::new(&directories).lasting().unwrap();
    let seen: Vec<_> = lasting.iter().map(|grant| (grant.list, grant.path.to_str().unwrap())).collect();
    assert_eq!(seen, [(GrantedList::Read, "/a*"), (GrantedList::Unix, "/run/s")]);
    let mode = fs::metadata(directories.state.join("grants.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // What has ended is neither listed nor kept.
    let path = directories.state.join("grants.json");
    let ended = fs::read_to_string(&path).unwrap().replace(&LATER.to_string(), "5");
    fs::write(&path, ended).unwrap();
    let store = GrantStore::new(&directories);
    assert!(store.lasting().unwrap().is_empty());
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn protection_and_managed_rules_are_not_given_away() {
    let store = GrantStore::in_memory();
    let managed =
        Origin { layer: Layer::Managed, source: "/etc/stockade/managed.json".into(), key: String::new() };
    let rule = RuleRef { text: "denyRead /a".into(), origin: managed };
    let given = Given { rule: Some(rule), ..given(ViolationKind::Read, "/a") };
    for reply in [Reply::Once, Reply::Session, Reply::Until { until: LATER }, Reply::Always] {
        assert!(matches!(store.give(&given, reply), Err(GrantError::Forbidden { .. })), "{reply:?}");
    }
    assert!(!store.allows(ViolationKind::Read, "/a"));
}

#[test]
fn a_list_that_is_not_ours_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let directories = directories(place.path());
    fs::create_dir(&directories.state).unwrap();
    fs::write(directories.state.join("grants.json"), "nonsense").unwrap();
    let store = GrantStore::new(&directories);
    assert!(matches!(store.list(), Err(GrantError::Broken { .. })));
    assert!(matches!(store.lasting(), Err(GrantError::Broken { .. })));
    assert!(store.give(&given(ViolationKind::Read, "/a"), Reply::Always).is_err());
    assert!(!directories.user_settings().exists());
}

#[test]
fn writers_do_not_lose_each_others_grants() {
    let place = tempfile::tempdir().unwrap();
    let directories = directories(place.path());
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let directories = &directories;
            scope.spawn(move || {
                for number in 0..5 {
                    let subject = format!("/srv/{writer}/{number}");
                    // A store of its own, as another process would have.
                    let store = GrantStore::new(directories);
                    store.give(&given(ViolationKind::Write, &subject), Reply::Always).unwrap();
                }
            });
        }
    });
    let store = GrantStore::new(&directories);
    let grants = store.list().unwrap();
    let mut ids: Vec<_> = grants.iter().map(|grant| grant.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((grants.len(), ids.len()), (40, 40));
    let settings = fs::read_to_string(directories.user_settings()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(value["filesystem"]["allowWrite"].as_array().unwrap().len(), 40);
    assert_eq!(store.revoke_all().unwrap().len(), 40);
    let settings = fs::read_to_string(directories.user_settings()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(value["filesystem"]["allowWrite"], serde_json::json!([]));
}
