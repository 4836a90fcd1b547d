mod links;

use super::change::News;
use super::*;
use crate::{Directories, PrepareError, TrustStore};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_policy::{BareWish, CommandLine, Event, Flags, Inputs, Layer, Request, SettingsFile, Verdict};

struct Stand {
    place: tempfile::TempDir,
    trust: TrustStore,
}

impl Stand {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("ws")).unwrap();
        let directories = directories(place.path());
        Self { place, trust: TrustStore::new(&directories) }
    }

    fn project(&self) -> PathBuf {
        self.place.path().join("ws/.stockade.json")
    }

    fn user(&self) -> PathBuf {
        self.place.path().join("settings.json")
    }

    fn begin(&self) -> Reload {
        let cwd = self.place.path().join("ws");
        let inputs = Inputs {
            own: directories(self.place.path()).own_paths(&cwd),
            cwd,
            home: Some(self.place.path().to_owned()),
            environment: Vec::new(),
            preset: None,
            settings: vec![
                SettingsFile::optional(self.project(), Layer::Project),
                SettingsFile::optional(self.user(), Layer::User),
            ],
            flags: Flags::default(),
        };
        Reload::begin(inputs, self.trust.clone()).unwrap()
    }
}

fn directories(place: &Path) -> Directories {
    Directories { config: place.join("config"), state: place.join("state"), cache: place.join("cache") }
}

/// Saves as editors do: under another name first.
fn save(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, text).unwrap();
    fs::rename(&draft, path).unwrap();
}

/// Looks until there are news.
#[track_caller]
fn news(reload: &Reload) -> Vec<Arc<News>> {
    let begun = Instant::now();
    loop {
        reload.look();
        let (news, _) = reload.unheard();
        if !news.is_empty() {
            return news;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "no news");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn only_change(news: &[Arc<News>]) -> &super::change::Change {
    match news {
        [one] => match &**one {
            News::Changed(change) => change,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_saved_file_holds_from_the_next_look() {
    let stand = Stand::new();
    let reload = stand.begin();
    save(
        &stand.user(),
        r#"{"filesystem": {"denyRead": ["x.key"]}, "network": {"allowedDomains": ["a.test"]}, "audit": "off"}"#,
    );
    // Without waiting: it is valid, so nothing has to settle.
    reload.look();
    let (told, _) = reload.unheard();
    let change = only_change(&told);
    assert_eq!(change.files, [stand.user()]);
    assert_eq!(change.hosts, ["+ allowedDomains a.test"]);
    assert!(change.rest.contains(&"+ denyRead x.key".to_owned()), "{change:?}");
    assert!(change.rest.iter().any(|line| line.starts_with("+ audit") && line.ends_with("start)")));
    assert_eq!(reload.policy().network_plan().allowed.len(), 1);
    // Nobody hears it twice, and touching the file is no change.
    fs::write(stand.user(), fs::read(stand.user()).unwrap()).unwrap();
    reload.look();
    assert!(reload.unheard().0.is_empty());
}

#[test]
fn two_saves_within_one_tick_of_the_clock_are_both_seen() {
    let stand = Stand::new();
    fs::write(stand.user(), r#"{"network": {"allowedDomains": ["a0.test"]}}"#).unwrap();
    let reload = stand.begin();
    for round in 1..30 {
        // The same inode and size.
        let name = format!("a{}.test", round % 10);
        fs::write(stand.user(), format!(r#"{{"network": {{"allowedDomains": ["{name}"]}}}}"#)).unwrap();
        reload.look();
        let said = format!("{:?}", reload.policy().network_plan().allowed);
        assert!(said.contains(&name), "{round}: {said}");
    }
}

#[test]
fn a_broken_edit_changes_nothing_and_is_told_once() {
    let stand = Stand::new();
    save(&stand.user(), r#"{"filesystem": {"denyRead": ["x.key"]}}"#);
    let reload = stand.begin();
    let before = reload.policy();
    save(&stand.user(), r#"{"filesystem": {"denyReed": ["x.key"]}}"#);
    // It may be on its way.
    reload.look();
    assert!(reload.unheard().0.is_empty());
    let told = news(&reload);
    match &*told[0] {
        News::Rejected { file, error } => {
            assert_eq!(file, &stand.user());
            for word in ["settings.json", "denyReed", "did you mean denyRead?"] {
                assert!(error.contains(word), "{error}");
            }
        }
        other => panic!("{other:?}"),
    }
    assert!(Arc::ptr_eq(&before, &reload.newest().0));
    assert!(reload.unheard().0.is_empty(), "told twice");
    // Back to what it was: nothing changes but that the file is in order.
    save(&stand.user(), r#"{"filesystem": {"denyRead": ["x.key"]}}"#);
    let told = news(&reload);
    let change = only_change(&told);
    assert_eq!(change.mended, [stand.user()]);
    assert!(change.hosts.is_empty() && change.rest.is_empty(), "{change:?}");
}

#[test]
fn a_removed_file_gives_nothing_from_the_next_look() {
    let stand = Stand::new();
    save(&stand.user(), r#"{"filesystem": {"allowWrite": ["/srv/out"]}}"#);
    let reload = stand.begin();
    fs::remove_file(stand.user()).unwrap();
    reload.look();
    assert_eq!(only_change(&reload.unheard().0).rest, ["- allowWrite /srv/out"]);
    // The same for one that appears, whoever made it and however recently.
    fs::write(stand.user(), r#"{"filesystem": {"denyRead": ["x.key"]}}"#).unwrap();
    reload.look();
    assert_eq!(only_change(&reload.unheard().0).rest, ["+ denyRead x.key"]);
}

#[test]
fn a_file_that_is_empty_for_a_moment_still_holds() {
    let stand = Stand::new();
    save(&stand.user(), r#"{"filesystem": {"denyRead": ["x.key"]}}"#);
    let reload = stand.begin();
    let before = reload.policy();
    // An editor that empties the file first and writes then.
    fs::write(stand.user(), "").unwrap();
    reload.look();
    assert!(Arc::ptr_eq(&before, &reload.policy()));
    fs::write(stand.user(), r#"{"filesystem": {"denyRead": ["y.key"]}}"#).unwrap();
    let told = news(&reload);
    assert_eq!(only_change(&told).rest, ["- denyRead x.key", "+ denyRead y.key"]);
}

#[test]
fn what_is_wrong_is_told_to_the_next_command_however_soon_it_comes() {
    let stand = Stand::new();
    save(&stand.user(), r#"{"enabled": false}"#);
    let reload = stand.begin();
    let before = reload.policy();
    assert_eq!(reload.newest().1, None);
    for text in ["", r#"{"enabled": true,,}"#, r#"{"enabled": "yes"}"#, r#"{"excludedCommands": [""]}"#] {
        fs::write(stand.user(), text).unwrap();
        let (policy, fault) = reload.newest();
        assert!(Arc::ptr_eq(&before, &policy), "{text}");
        let fault = fault.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(fault.file, stand.user(), "{text}");
        let told = reload.unheard().0;
        assert!(matches!(&*told[0], News::Rejected { error, .. } if *error == fault.error), "{told:?}");
        // It stays wrong, and is not told again.
        assert!(reload.newest().1.is_some() && reload.unheard().0.is_empty(), "{text}");
    }
    save(&stand.user(), r#"{"enabled": true}"#);
    assert_eq!(reload.newest().1, None);
    assert_eq!(only_change(&reload.unheard().0).mended, [stand.user()]);
}

#[tokio::test]
async fn nothing_runs_without_walls_by_settings_that_went_wrong() {
    let stand = Stand::new();
    let workspace = stand.place.path().join("ws");
    let user = stand.user();
    let good = r#"{"allowUnsandboxedCommands": true, "excludedCommands": ["true"], "commands": {"deny": [{"program": "uname"}]}}"#;
    save(&user, good);
    let runtime = crate::Runtime::builder()
        .cwd(&workspace)
        .standard_settings(crate::StandardSettings::ManagedOnly)
        .settings(SettingsFile::named(user.clone(), Layer::User))
        .records(crate::Records::Nowhere)
        .build()
        .unwrap();
    let prepare = |text: &str, bare: BareWish| {
        let request = runtime.request(CommandLine::Shell(text.into()));
        runtime.prepare(Request { bare, ..request }).map(|prepared| prepared.decision.verdict)
    };
    assert_eq!(prepare("true", BareWish::Sandboxed).unwrap(), Verdict::Unsandboxed);
    type Edit<'a> = &'a dyn Fn();
    let edits: [Edit<'_>; 3] = [
        &|| fs::write(&user, "{").unwrap(),
        &|| fs::write(&user, r#"{"excludedCommand": []}"#).unwrap(),
        &|| fs::remove_file(&user).unwrap(),
    ];
    for edit in edits {
        edit();
        for (text, bare) in [("true", BareWish::Sandboxed), ("echo", BareWish::Bare)] {
            let error = prepare(text, bare).unwrap_err().to_string();
            assert!(error.contains("settings.json has changed and is wrong"), "{error}");
            assert!(error.contains("nothing runs without walls"), "{error}");
        }
        assert_eq!(prepare("echo", BareWish::Sandboxed).unwrap(), Verdict::Sandbox);
        let denied = prepare("uname", BareWish::Sandboxed).unwrap_err();
        assert!(matches!(denied, PrepareError::Refused { .. }), "{denied}");
    }
    fs::write(&user, good).unwrap();
    assert_eq!(prepare("true", BareWish::Sandboxed).unwrap(), Verdict::Unsandboxed);
}

#[test]
fn trust_ends_with_the_content_and_begins_with_a_word() {
    const TEXT: &str = r#"{"filesystem": {"allowWrite": ["/srv/out"]}}"#;
    let stand = Stand::new();
    save(&stand.project(), TEXT);
    let reload = stand.begin();
    let gives = || reload.policy().describe().rules.iter().any(|rule| rule.entry == "/srv/out");
    assert!(!gives());
    stand.trust.trust(&stand.project(), TEXT.as_bytes()).unwrap();
    let told = news(&reload);
    assert_eq!(only_change(&told).files, [stand.project()]);
    assert!(gives());
    // Another content gives nothing, and that is said.
    save(&stand.project(), r#"{"filesystem": {"allowWrite": ["/srv/out", "/srv"]}}"#);
    let told = news(&reload);
    let change = only_change(&told);
    assert!(change.rest.contains(&"- allowWrite /srv/out".to_owned()), "{change:?}");
    assert!(change.notices.iter().any(|text| text.contains("has changed since")), "{change:?}");
    assert!(!gives());
    // The very content again is trusted again.
    save(&stand.project(), TEXT);
    news(&reload);
    assert!(gives());
    stand.trust.revoke(&stand.project()).unwrap();
    news(&reload);
    assert!(!gives());
}

/// Runs text under a runtime that reads the stand's project and user settings.
async fn run(runtime: &crate::Runtime, text: &str) -> (String, Vec<Event>) {
    let request = runtime.request(CommandLine::Shell(text.into()));
    let prepared = runtime.prepare(request).unwrap();
    let mut running = runtime.start(prepared, crate::Wiring::captured()).await.unwrap();
    let (mut out, mut events) = (Vec::new(), Vec::new());
    while let Some(event) = running.next().await {
        match event {
            Event::Stdout { data } => out.extend(data),
            event => events.push(event),
        }
    }
    (String::from_utf8(out).unwrap(), events)
}

#[tokio::test]
async fn the_next_command_runs_under_what_was_saved() {
    let stand = Stand::new();
    let workspace = stand.place.path().join("ws");
    fs::write(workspace.join("x.key"), "secret").unwrap();
    save(&stand.user(), "{}");
    let runtime = crate::Runtime::builder()
        .cwd(&workspace)
        .standard_settings(crate::StandardSettings::ManagedOnly)
        .settings(SettingsFile::optional(stand.user(), Layer::User))
        .records(crate::Records::Nowhere)
        .build()
        .unwrap();
    let (out, events) = run(&runtime, "cat x.key").await;
    assert_eq!(out, "secret");
    assert!(!events.iter().any(|event| matches!(event, Event::SettingsReloaded { .. })));

    save(&stand.user(), r#"{"filesystem": {"denyRead": ["x.key"]}}"#);
    let (out, events) = run(&runtime, "cat x.key").await;
    assert_eq!(out, "");
    // Even a command that is over at once tells what it ran under.
    let told = events.iter().find_map(|event| match event {
        Event::SettingsReloaded { applied, later, .. } => Some((applied.clone(), later.clone())),
        _ => None,
    });
    assert_eq!(told, Some((vec!["+ denyRead x.key".to_owned()], Vec::new())));
    assert!(matches!(events.last(), Some(Event::Exited(_))));
    let (_, events) = run(&runtime, "true").await;
    assert!(!events.iter().any(|event| matches!(event, Event::SettingsReloaded { .. })), "told twice");
}
