//! The callback is asked while a command waits.

use crate::world::{Log, World, shell};
use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use stockade::{Event, Flags, GrantStore, Layer, Question, Reply, SettingsFile, ViolationKind, Wiring};

/// Names a socket that this program connects to when it is run inside.
const CONNECT: &str = "ASKING_CONNECT";

/// Runs inside when the test below starts it there; alone it does nothing.
#[test]
fn connect_inside() {
    if let Some(path) = std::env::var_os(CONNECT) {
        UnixStream::connect(path).unwrap();
    }
}

#[tokio::test]
async fn a_callback_allows_every_kind_of_act() {
    let world = World::new();
    let secret = world.file("secret", "SECRET");
    for name in ["old", "gone", "from", "real", "cut"] {
        world.file(name, "host\n");
    }
    fs::create_dir(world.outside("gone.d")).unwrap();
    let _listener = UnixListener::bind(world.outside("socket")).unwrap();
    // Where this program was built may be a place the sandbox has one of its own for.
    let own = world.outside("own");
    fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    let connect = format!("{CONNECT}=$PWD/socket {} --exact callback::connect_inside >&2", own.display());
    use ViolationKind::{Create, Read, Rename, Unix, Unlink, Write};
    let acts: [(&str, &[(ViolationKind, &str)]); 10] = [
        ("cat secret", &[(Read, "secret")]),
        ("dd if=/dev/null of=old conv=notrunc,nocreat status=none", &[(Write, "old")]),
        ("echo made > new", &[(Create, "new")]),
        ("mkdir new.d", &[(Create, "new.d")]),
        ("unlink gone", &[(Unlink, "gone")]),
        ("rmdir gone.d", &[(Unlink, "gone.d")]),
        ("mv from to", &[(Rename, "from"), (Create, "to")]),
        ("ln real hard", &[(Write, "real"), (Create, "hard")]),
        ("truncate --no-create --size=1 cut", &[(Write, "cut")]),
        (&connect, &[(Unix, "socket")]),
    ];
    for (act, expected) in acts {
        let log = Log::default();
        let seen = log.clone();
        let runtime = world
            .builder()
            .flags(Flags { deny_read: vec![secret.to_str().unwrap().into()], ..Flags::default() })
            .asker(move |question: Question| {
                seen.add(&question);
                async { Reply::Once }
            })
            .build()
            .unwrap();
        let command = format!("cd {} && {act}", world.outside("").display());
        let done = runtime.run(shell(&command)).await.unwrap();
        assert_eq!(done.outcome.exit_code, 0, "{act}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(done.outcome.violations.is_empty(), "{act}: {:?}", done.outcome.violations);
        let expected: Vec<_> = expected.iter().map(|(kind, name)| (*kind, world.outside(name))).collect();
        assert_eq!(log.asked(), expected, "{act}");
        if act == "cat secret" {
            assert_eq!(done.stdout, b"SECRET");
        }
    }
    assert_eq!(fs::read(world.outside("new")).unwrap(), b"made\n");
    assert_eq!(fs::read(world.outside("to")).unwrap(), b"host\n");
    assert_eq!(fs::read(world.outside("cut")).unwrap(), b"h");
    assert!(world.outside("new.d").is_dir() && world.outside("hard").exists());
    assert!(!world.outside("gone").exists() && !world.outside("gone.d").exists());
}

#[tokio::test]
async fn a_no_is_an_error_and_a_violation() {
    let world = World::new();
    let runtime = world.builder().asker(|_: Question| async { Reply::Deny }).build().unwrap();
    let new = world.outside("new");
    let command = format!("mkdir {}", new.display());
    let prepared = runtime.prepare(runtime.request(shell(&command))).unwrap();
    let mut running = runtime.start(prepared, Wiring::captured()).await.unwrap();
    let (mut told, mut outcome) = (Vec::new(), None);
    while let Some(event) = running.next().await {
        match event {
            Event::Ask(ask) => told.push(format!("ask {}", ask.violation.subject)),
            Event::Answered { reply, .. } => told.push(format!("answered {reply:?}")),
            Event::Violation(violation) => told.push(format!("violation {}", violation.subject)),
            Event::Exited(ended) => outcome = Some(ended),
            _ => {}
        }
    }
    let outcome = outcome.unwrap();
    let subject = new.display();
    told.sort();
    assert_eq!(told, ["answered Deny".into(), format!("ask {subject}"), format!("violation {subject}")]);
    assert_ne!(outcome.exit_code, 0);
    assert_eq!(outcome.violations.len(), 1, "{:?}", outcome.violations);
    assert!(!new.exists());
}

/// A session lasts as long as its store, over commands and over runtimes.
#[tokio::test]
async fn a_session_lasts_as_long_as_its_store() {
    let world = World::new();
    let old = world.file("old", "");
    let log = Log::default();
    let grants = GrantStore::in_memory();
    let runtime = || {
        let seen = log.clone();
        let asker = move |question: Question| {
            seen.add(&question);
            async { Reply::Session }
        };
        world.builder().grants(grants.clone()).asker(asker).build().unwrap()
    };
    let append = shell(&format!("printf x >> {}", old.display()));
    let first = runtime();
    for runtime in [&first, &first, &runtime()] {
        assert_eq!(runtime.run(append.clone()).await.unwrap().outcome.exit_code, 0);
    }
    assert_eq!(log.asked().len(), 1);
    assert_eq!(fs::read(&old).unwrap(), b"xxx");
    let listed = grants.list().unwrap();
    assert_eq!(listed.len(), 1);
    grants.revoke(&listed[0].id).unwrap();
    first.run(append).await.unwrap();
    assert_eq!(log.asked().len(), 2, "taken back is asked again");
}

/// What an organisation forbids, and what protects the machine, never reaches the callback.
#[tokio::test]
async fn managed_rules_and_protection_are_not_asked_about() {
    let world = World::new();
    let secret = world.file("secret", "SECRET");
    let settings = world.at("managed.json");
    let deny = format!(r#"{{"filesystem": {{"denyRead": ["{}"]}}}}"#, secret.display());
    fs::write(&settings, deny).unwrap();
    let managed = SettingsFile::named(settings, Layer::Managed);
    let log = Log::default();
    let seen = log.clone();
    let asker = move |question: Question| {
        seen.add(&question);
        async { Reply::Always }
    };
    let runtime = world.builder().settings(managed).asker(asker).build().unwrap();
    let command =
        format!("cat {}; mkdir .vscode .git && mkdir .git/hooks && touch .git/hooks/x", secret.display());
    let done = runtime.run(shell(&command)).await.unwrap();
    assert_eq!(log.asked(), []);
    assert_ne!(done.outcome.exit_code, 0);
    assert!(done.stdout.is_empty());
    assert!(done.outcome.violations.len() >= 2, "{:?}", done.outcome.violations);
    assert!(!world.at("home/work/.vscode").exists());
}

/// A callback that never comes back holds up one command until the time is over, and no other.
#[tokio::test]
async fn a_callback_without_an_answer_is_a_no() {
    let world = World::new();
    let runtime = world
        .builder()
        .ask_timeout(Duration::from_millis(700))
        .asker(|_: Question| std::future::pending::<Reply>())
        .build()
        .unwrap();
    let new = world.outside("new");
    let command = shell(&format!("mkdir {}", new.display()));
    let begun = Instant::now();
    let (held, free) = tokio::join!(runtime.run(command), async {
        let done = runtime.run(shell("echo free")).await;
        (done, begun.elapsed())
    });
    assert_ne!(held.unwrap().outcome.exit_code, 0);
    assert!(begun.elapsed() >= Duration::from_millis(700));
    assert!(free.1 < Duration::from_millis(700) && free.0.unwrap().stdout == b"free\n");
    assert!(!new.exists());
}

/// Dropping a run whose question stands withdraws it.
#[tokio::test]
async fn a_dropped_run_asks_no_more() {
    struct Withdrawn(Arc<Mutex<bool>>);
    impl Drop for Withdrawn {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = true;
        }
    }
    let world = World::new();
    let (log, withdrawn) = (Log::default(), Arc::new(Mutex::new(false)));
    let (seen, flag) = (log.clone(), Arc::clone(&withdrawn));
    let asker = move |question: Question| {
        seen.add(&question);
        let withdrawn = Withdrawn(Arc::clone(&flag));
        async move {
            let _withdrawn = withdrawn;
            std::future::pending::<Reply>().await
        }
    };
    let runtime = world.builder().asker(asker).build().unwrap();
    let new = world.outside("new");
    let command = shell(&format!("mkdir {}", new.display()));
    {
        let mut run = std::pin::pin!(runtime.run(command));
        while log.asked().is_empty() {
            let step = tokio::time::timeout(Duration::from_millis(20), &mut run).await;
            assert!(step.is_err(), "it did not wait");
        }
    }
    let end = Instant::now() + Duration::from_secs(10);
    while !*withdrawn.lock().unwrap() {
        assert!(Instant::now() < end, "the question still stands");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!new.exists());
}
