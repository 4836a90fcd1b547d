use super::*;
use crate::{Directories, GrantStore};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stockade_isolate::BoxFuture;
use stockade_policy::{Ask, Layer, Origin, Reply, RuleRef, Violation, ViolationKind};
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(10);

/// Answers as told, when told.
struct Fake {
    reply: Reply,
    release: Notify,
    held: bool,
    asked: AtomicUsize,
    withdrawn: AtomicUsize,
    notices: Mutex<Vec<String>>,
}

impl Fake {
    fn new(reply: Reply, held: bool) -> Arc<Self> {
        Arc::new(Self {
            reply,
            release: Notify::new(),
            held,
            asked: AtomicUsize::new(0),
            withdrawn: AtomicUsize::new(0),
            notices: Mutex::default(),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Counts futures that were dropped before they had an answer.
struct Withdrawal<'a>(&'a Fake, bool);

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.withdrawn.fetch_add(1, Ordering::SeqCst);
        }
    }
}

struct Through(Arc<Fake>);

impl Asker for Through {
    fn ask(&self, _: Question) -> BoxFuture<'_, Reply> {
        Box::pin(async {
            self.0.asked.fetch_add(1, Ordering::SeqCst);
            let mut withdrawal = Withdrawal(&self.0, false);
            if self.0.held {
                self.0.release.notified().await;
            }
            withdrawal.1 = true;
            self.0.reply
        })
    }

    fn notice(&self, notice: AskNotice) {
        self.0.notices.lock().unwrap().push(notice.to_string());
    }
}

fn desk(fake: &Arc<Fake>, grants: GrantStore, timeout: Duration) -> Arc<Desk> {
    Arc::new(Desk::new(SharedAsker(Arc::new(Through(Arc::clone(fake)))), grants, timeout))
}

fn ask(kind: ViolationKind, subject: &str) -> Ask {
    let violation = Violation {
        seq: 1,
        time: 0,
        sandbox: "s".into(),
        command: "cat x".into(),
        pid: 3,
        program: Some("/usr/bin/cat".into()),
        kind,
        subject: subject.into(),
        reason: String::new(),
        rule: None,
        suggestion: None,
    };
    Ask { id: 1, violation, reason: "it is denied".into() }
}

async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap();
}

#[tokio::test]
async fn one_subject_is_one_question() {
    let fake = Fake::new(Reply::Once, true);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    let mut waiting = Waiting::new(Some(Arc::clone(&desk)));
    let mut elsewhere = Waiting::new(Some(desk));
    for id in 0..5 {
        waiting.begin(Ask { id, ..ask(ViolationKind::Read, "/a") });
    }
    elsewhere.begin(ask(ViolationKind::Read, "/a"));
    waiting.begin(Ask { id: 9, ..ask(ViolationKind::Write, "/a") });
    until(|| fake.asked() == 2).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(fake.asked(), 2);
    fake.release.notify_waiters();
    let mut ids = Vec::new();
    for _ in 0..6 {
        let (id, reply) = waiting.next().await;
        assert_eq!(reply, Reply::Once);
        ids.push(id);
    }
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 4, 9]);
    assert_eq!(elsewhere.next().await.1, Reply::Once);
    // Once is not for the next time.
    waiting.begin(ask(ViolationKind::Read, "/a"));
    until(|| fake.asked() == 3).await;
}

#[tokio::test]
async fn a_session_is_asked_once() {
    let fake = Fake::new(Reply::Session, false);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    for _ in 0..3 {
        assert_eq!(Arc::clone(&desk).answer(ask(ViolationKind::Read, "/a")).await, Reply::Session);
    }
    assert_eq!(fake.asked(), 1);
    desk.answer(ask(ViolationKind::Write, "/a")).await;
    assert_eq!(fake.asked(), 2);
}

#[tokio::test]
async fn names_that_are_not_text_are_asked_one_by_one_and_allowed_once() {
    let fake = Fake::new(Reply::Session, true);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    let mut waiting = Waiting::new(Some(desk));
    for id in 1..=2 {
        waiting.begin(Ask { id, ..ask(ViolationKind::Read, "/a\u{fffd}") });
    }
    until(|| fake.asked() == 2).await;
    fake.release.notify_waiters();
    assert_eq!(waiting.next().await.1, Reply::Once);
    assert_eq!(waiting.next().await.1, Reply::Once);
}

#[tokio::test]
async fn a_flood_is_refused_with_one_notice() {
    let fake = Fake::new(Reply::Once, false);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    let mut denied = 0;
    for number in 0..1000 {
        let reply = Arc::clone(&desk).answer(ask(ViolationKind::Read, &format!("/{number}"))).await;
        denied += u64::from(reply == Reply::Deny);
    }
    // A burst of ten, and perhaps one or two that time has earned meanwhile.
    assert!((10..=12).contains(&fake.asked()), "{}", fake.asked());
    assert_eq!(desk.unasked(), denied);
    assert_eq!(denied, 1000 - fake.asked() as u64);
    assert_eq!(fake.notices.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn silence_is_a_no_and_withdraws_the_question() {
    let fake = Fake::new(Reply::Always, true);
    let desk = desk(&fake, GrantStore::in_memory(), Duration::from_millis(40));
    assert_eq!(desk.answer(ask(ViolationKind::Read, "/a")).await, Reply::Deny);
    assert_eq!(fake.withdrawn.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_question_lives_as_long_as_somebody_waits() {
    let fake = Fake::new(Reply::Once, true);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    let mut first = Waiting::new(Some(Arc::clone(&desk)));
    let mut second = Waiting::new(Some(Arc::clone(&desk)));
    first.begin(ask(ViolationKind::Read, "/a"));
    until(|| fake.asked() == 1).await;
    second.begin(ask(ViolationKind::Read, "/a"));
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(first);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(fake.withdrawn.load(Ordering::SeqCst), 0);
    drop(second);
    until(|| fake.withdrawn.load(Ordering::SeqCst) == 1).await;
    assert_eq!(fake.asked(), 1);
}

#[tokio::test]
async fn no_more_than_sixteen_are_open() {
    let fake = Fake::new(Reply::Once, true);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    desk.be_generous();
    let mut waiting = Waiting::new(Some(Arc::clone(&desk)));
    for number in 0..20 {
        waiting.begin(ask(ViolationKind::Read, &format!("/{number}")));
    }
    until(|| fake.asked() == 16).await;
    for _ in 0..4 {
        assert_eq!(waiting.next().await.1, Reply::Deny);
    }
    fake.release.notify_waiters();
    for _ in 0..16 {
        assert_eq!(waiting.next().await.1, Reply::Once);
    }
}

#[tokio::test]
async fn nobody_there_is_a_no() {
    let mut waiting = Waiting::new(None);
    waiting.begin(Ask { id: 7, ..ask(ViolationKind::Read, "/a") });
    assert_eq!(waiting.next().await, (7, Reply::Deny));
}

#[tokio::test]
async fn a_panic_is_a_no() {
    let asker = |_: Question| async { panic!("no answer") };
    let desk = Desk::new(SharedAsker(Arc::new(asker)), GrantStore::in_memory(), PATIENCE);
    assert_eq!(Arc::new(desk).answer(ask(ViolationKind::Read, "/a")).await, Reply::Deny);
}

#[tokio::test]
async fn managed_rules_are_not_put_to_anybody() {
    let fake = Fake::new(Reply::Once, false);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    let mut asked = ask(ViolationKind::Read, "/a");
    let origin = Origin { layer: Layer::Managed, source: "m".into(), key: String::new() };
    asked.violation.rule = Some(RuleRef { text: "denyRead /a".into(), origin });
    assert_eq!(desk.answer(asked).await, Reply::Deny);
    assert_eq!(fake.asked(), 0);
}

#[tokio::test]
async fn what_cannot_be_kept_holds_for_the_session() {
    let fake = Fake::new(Reply::Always, false);
    let desk = desk(&fake, GrantStore::in_memory(), PATIENCE);
    assert_eq!(Arc::clone(&desk).answer(ask(ViolationKind::Read, "/a")).await, Reply::Session);
    assert_eq!(desk.answer(ask(ViolationKind::Read, "/a")).await, Reply::Session);
    let notices = fake.notices.lock().unwrap().clone();
    assert_eq!(notices, ["the grant holds for this session only: there is no place to keep grants in"]);
}

#[tokio::test]
async fn always_is_written_and_the_question_says_where() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let directories = Directories { config: at("config"), state: at("state"), cache: at("cache") };
    let seen: Arc<Mutex<Vec<Question>>> = Arc::default();
    let log = Arc::clone(&seen);
    let asker = move |question: Question| {
        log.lock().unwrap().push(question);
        async { Reply::Always }
    };
    let desk = Desk::new(SharedAsker(Arc::new(asker)), GrantStore::new(&directories), PATIENCE);
    let desk = Arc::new(desk);
    let reply = Arc::clone(&desk).answer(ask(ViolationKind::Read, "/a\u{1b}b")).await;
    assert_eq!(reply, Reply::Always);
    let reply = Arc::clone(&desk).answer(ask(ViolationKind::Connect, "a.test:80")).await;
    assert_eq!(reply, Reply::Always);
    // There is no list of these.
    let last = Ask { id: 4_203_519_774_813_261, ..ask(ViolationKind::Exec, "/a") };
    assert_eq!(desk.answer(last).await, Reply::Session);
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].settings.as_deref(), Some(directories.user_settings().as_path()));
    assert_eq!((seen[0].display.as_str(), seen[0].violation.subject.as_str()), ("/a\\u{1b}b", "/a\u{1b}b"));
    assert_eq!(seen[2].settings, None);
    assert_eq!(seen[2].id, 4_203_519_774_813_261);
    let text = std::fs::read_to_string(directories.user_settings()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["filesystem"]["allowRead"], serde_json::json!(["/a\u{1b}b"]));
    assert_eq!(value["network"]["allowedDomains"], serde_json::json!(["a.test:80"]));
    assert!(Path::new(&directories.state).join("grants.json").exists());
}
