//! Settings files behind links, and under several names.

use super::*;
use std::os::unix::fs::symlink;

const NARROW: &str = r#"{"network": {"allowedDomains": ["a.test"]}}"#;
const WIDE: &str = r#"{"network": {"allowedDomains": ["a.test", "b.test"]}}"#;

#[track_caller]
fn rejected(told: &[Arc<News>]) -> &str {
    match told {
        [one] => match &**one {
            News::Rejected { error, .. } => error,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_link_that_leads_nowhere_any_more_changes_nothing_and_is_told() {
    let stand = Stand::new();
    let target = stand.place.path().join("dot.json");
    save(&target, r#"{"filesystem": {"denyRead": ["x.key"]}, "enabled": false}"#);
    symlink("dot.json", stand.user()).unwrap();
    let reload = stand.begin();
    let before = reload.policy();
    fs::remove_file(&target).unwrap();
    let (policy, fault) = reload.newest();
    assert!(Arc::ptr_eq(&before, &policy));
    assert_eq!(fault.expect("nothing runs bare").file, stand.user());
    let told = reload.unheard().0;
    let error = rejected(&told);
    for word in ["settings.json leads nowhere", "points to dot.json", "remove the link"] {
        assert!(error.contains(word), "{error}");
    }
    save(&target, r#"{"enabled": true}"#);
    assert_eq!(reload.newest().1, None);
}

#[test]
fn a_link_that_leads_nowhere_is_more_than_no_file() {
    let stand = Stand::new();
    let reload = stand.begin();
    symlink("/nowhere/at/all", stand.project()).unwrap();
    let told = news(&reload);
    assert!(rejected(&told).contains("points to /nowhere/at/all"), "{told:?}");
    fs::remove_file(stand.project()).unwrap();
    assert_eq!(reload.newest().1, None);
}

#[test]
fn a_change_that_came_under_another_name_is_not_taken() {
    let stand = Stand::new();
    let alias = stand.place.path().join("ws/alias.json");
    save(&stand.user(), NARROW);
    fs::hard_link(stand.user(), &alias).unwrap();
    let reload = stand.begin();
    let hosts = || reload.policy().network_plan().allowed.len();
    let warned = reload.policy().notices().iter().any(|notice| notice.text.contains("(2 names)"));
    assert!(warned, "{:?}", reload.policy().notices());

    fs::write(&alias, WIDE).unwrap();
    let told = news(&reload);
    let error = rejected(&told);
    assert!(error.contains("hard links") && error.contains("settings.json"), "{error}");
    assert_eq!(hosts(), 1);
    assert!(reload.newest().1.is_some(), "nothing runs bare");

    // Neither by removing the traces, nor together with a change of another file.
    fs::remove_file(&alias).unwrap();
    save(&stand.project(), r#"{"filesystem": {"denyRead": ["x.key"]}}"#);
    let told = news(&reload);
    assert!(rejected(&told).contains("1 names now"), "{told:?}");
    assert_eq!(hosts(), 1);

    // A new file in its place is the user's own.
    save(&stand.user(), WIDE);
    let told = news(&reload);
    assert_eq!(only_change(&told).hosts, ["+ allowedDomains b.test"]);
    assert_eq!((hosts(), reload.newest().1), (2, None));
}
