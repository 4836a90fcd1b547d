//! What no answer can allow, and what an answer does not allow beside itself.

use super::{Program, about, text, tried, violations};
use crate::act;
use crate::support::{World, each_caller};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// Mandatory protection and our own directories are nobody's to give away.
#[test]
fn protection_is_never_asked_about() {
    each_caller(|world| {
        world.dir(".git/hooks");
        world.file(".git/HEAD", "ref: refs/heads/main\n");
        world.file(".git/config", "[core]\n");
        world.file(world.home.join(".bashrc"), "");
        let settings = world.file(super::user_settings(world), "{}");
        let state = world.dir(world.home.join(".local/state/stockade"));
        // What is checked inside is not checked in a repository elsewhere.
        let others = world.outside.join("other/.git/config");
        world.dir(others.parent().unwrap());
        world.file(&others, "[core]\n");
        let acts = [
            act!["put", ".git/hooks/pre-commit"],
            act!["mkdir", ".vscode"],
            act!["symlink", "elsewhere", ".mcp.json"],
            act!["put", ".bashrc"],
            act!["put", world.home.join(".bashrc")],
            act!["put", &settings],
            act!["put", state.join("grants.json")],
            act!["put", world.home.join(".config/stockade/x")],
            act!["rename", &settings, world.outside.join("x")],
            act!["append", &others],
        ];
        let report = world.base.join("report.json");
        let allow = world.run().with("--allow-write", &world.home).with("--report", &report);
        let tried = tried(allow, &acts, |_| "always");
        assert!(tried.questions.is_empty(), "{:#?}", tried.questions);
        for answer in &tried.answers {
            answer.errno(&["EACCES", "EROFS", "EBUSY", "EPERM", "EXDEV"]);
        }
        assert!(violations(&report).len() >= acts.len() - 1, "{:?}", violations(&report));
        assert_eq!(fs::read(&settings).unwrap(), b"{}");
        assert_eq!(fs::read(&others).unwrap(), b"[core]\n");
        assert!(!world.ws.join(".vscode").exists() && !state.join("grants.json").exists());
    });
}

/// Rules are resolved anew for each run: a link in the place of what somebody allowed would open what it leads to.
#[test]
fn no_grant_brings_a_link_to_its_place() {
    each_caller(|world| {
        let (log, other) = (world.file(world.outside.join("log"), "host"), world.outside.join("other"));
        let victim = world.dir(world.outside.join("victim"));
        world.link(&victim, "planted");
        let acts = [
            act!["append", &log],
            act!["unlink", &log],
            act!["symlink", &victim, &log],
            act!["rename", "planted", &log],
            act!["link", "planted", &log],
            act!["symlink", &victim, &other],
            // The control: a file may come there.
            act!["create", &log],
        ];
        let tried = tried(world.run(), &acts, |_| "always");
        for at in [2, 3, 4, 5] {
            tried.answers[at].errno(&["EROFS", "EXDEV", "EACCES"]);
        }
        for at in [0, 1, 6] {
            tried.answers[at].ok();
        }
        assert!(log.symlink_metadata().unwrap().is_file() && other.symlink_metadata().is_err());
        assert!(tried.questions.iter().all(|question| about(question).1 == log), "{:?}", tried.questions);
        world.run().start(["create", text(&victim.join("x"))]).finish(Duration::from_secs(10));
        assert!(!victim.join("x").exists(), "the next run wrote what a link leads to");
    });
}

/// What git takes for its own elsewhere: a yes to one name would have the host's git run what stands there.
#[test]
fn repositories_elsewhere_are_never_asked_about() {
    each_caller(|world| {
        let out = &world.outside;
        for parts in ["r/.git", "b.git"].map(|name| out.join(name)) {
            for name in ["objects", "refs"] {
                world.dir(parts.join(name));
            }
            world.file(parts.join("HEAD"), "ref: refs/heads/main\n");
        }
        world.dir(out.join("proj"));
        let acts = [
            act!["put", out.join("r/.git/index")],
            act!["put", out.join("r/.git/refs/heads")],
            act!["append", out.join("r/.git/HEAD")],
            act!["put", out.join("b.git/config")],
            act!["put", out.join("b.git/pre-receive")],
            act!["put", out.join("proj/.git")],
            act!["put", out.join("proj/HEAD")],
            act!["mkdir", out.join("proj/objects")],
            act!["mkdir", out.join("proj/Refs")],
            // The control.
            act!["put", out.join("proj/notes")],
        ];
        let tried = tried(world.run(), &acts, |_| "once");
        let (control, refused) = tried.answers.split_last().unwrap();
        control.ok();
        for answer in refused {
            answer.errno(&["EROFS", "EACCES"]);
        }
        let asked: Vec<_> = tried.questions.iter().map(|question| about(question).1).collect();
        assert_eq!(asked, [out.join("proj/notes")]);
    });
}

/// A second name of a file of the workspace would be as good as a lasting grant.
#[test]
fn what_commands_may_write_gets_no_name_elsewhere() {
    each_caller(|world| {
        world.file("mine", "first");
        let at = |name: &str| world.outside.join(name);
        // The control: another file may come there.
        let acts = [act!["link", "mine", at("linked")], act!["put", at("linked")]];
        let tried = tried(world.run(), &acts, |_| "once");
        tried.answers[0].errno(&["EROFS", "EXDEV", "EACCES"]);
        tried.answers[1].ok();
        assert_eq!(fs::read(world.ws.join("mine")).unwrap(), b"first");
    });
}

/// A file that is open for writing can be opened again for reading.
#[test]
fn changing_what_is_hidden_needs_a_yes_to_reading_it() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        for (reading, done) in [("deny", false), ("once", true)] {
            let run = world.run().with("--deny-read", &secret);
            let tried = tried(run, &[act!["append", &secret]], |question| {
                if about(question).0 == "read" { reading } else { "once" }
            });
            assert_eq!(tried.answers[0].succeeded(), done, "{}", tried.answers[0].ran());
            let asked: Vec<_> = tried.questions.iter().map(|question| about(question).0).collect();
            assert_eq!(asked, ["write", "read"]);
            assert_eq!(fs::read(&secret).unwrap() != b"SECRET", done);
        }
    });
}

/// A directory of the host's would be a way out of the sandbox, a pipe or a device a way to hang or worse.
#[test]
fn only_files_are_handed_over() {
    each_caller(|world| {
        let dir = world.dir(world.outside.join("dir"));
        world.file(dir.join("inside"), "SECRET");
        let fifo = world.outside.join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        world.give(&fifo);
        let acts = [
            act!["list", &dir],
            act!["chdir", &dir],
            act!["openat", "-100", &dir, "d"],
            act!["openat", "-100", &dir, "r"],
            act!["read", &fifo],
            act!["write", &fifo],
        ];
        let run = world.run().with("--deny-read", &dir).with("--deny-read", &fifo);
        let tried = tried(run, &acts, |_| "session");
        for (at, answer) in tried.answers.iter().enumerate() {
            if at == 1 {
                // Entering the mask shows nothing.
                continue;
            }
            answer.errno(&["EACCES", "EROFS", "ENXIO"]);
        }
    });
}

/// Who may read a file may not change its rights or times through the descriptor either.
#[test]
fn a_read_grant_is_for_reading() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let before = fs::metadata(&secret).unwrap();
        let run = world.run().with("--deny-read", &secret);
        let tried = tried(run, &[act!["kept-metadata", &secret]], |question| {
            if about(question).0 == "read" { "session" } else { "deny" }
        });
        assert_eq!(tried.answers[0].value("changed"), "", "{}", tried.answers[0].ran());
        let after = fs::metadata(&secret).unwrap();
        assert_eq!(after.permissions(), before.permissions());
        assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    });
}

/// A file is no directory, whatever is looked for below it: nobody is asked about that.
#[test]
fn nothing_is_below_a_file() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        let below = |name: &str| act!["read", secret.join(name)];
        let run = world.run().with("--deny-read", &secret);
        let tried = tried(run, &[below(".."), below("../secret"), below("x")], |_| "deny");
        for answer in &tried.answers {
            answer.errno(&["ENOTDIR", "EACCES"]);
        }
        assert!(tried.questions.is_empty(), "{:?}", tried.questions);
    });
}

/// A link names two files. The second one must not become readable because somebody allowed the first.
#[test]
fn a_link_does_not_carry_a_secret() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        let open = world.outside.join("open");
        let run = world.run().with("--deny-read", &secret);
        let tried = tried(run, &[act!["link", &secret, &open], act!["read", &open]], |question| {
            if about(question).1 == secret { "deny" } else { "once" }
        });
        assert!(!tried.answers[1].succeeded(), "read through a second name{}", tried.answers[1].ran());
    });
}

/// What a question does not name is not given: the file behind a second name, what a directory holds, what
/// a move would carry out of a denied place, what the host will run.
#[test]
fn a_yes_gives_what_the_question_says() {
    each_caller(|world| {
        let settings = world.file(world.home.join(".bashrc"), "host");
        let secret = world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        let config = world.dir(world.home.join(".config"));
        let notes = world.outside.join("notes");
        let taken = world.outside.join("taken");
        let acts = [
            act!["link", &settings, &notes],
            act!["append", &settings],
            act!["rename", &secret, &taken],
            act!["rename", &config, world.home.join("away")],
        ];
        let tried =
            tried(world.run(), &acts, |question| if about(question).0 == "read" { "deny" } else { "once" });
        for answer in &tried.answers {
            assert!(!answer.succeeded(), "{}{}", answer.asked(), answer.ran());
        }
        assert_eq!(fs::read(&settings).unwrap(), b"host");
        assert!(config.is_dir() && secret.exists() && !taken.exists() && !notes.exists());
    });
}

/// Inside, /tmp is the sandbox's own. What is moved out of it must not be the host's file of that name.
#[test]
fn a_name_inside_is_not_the_hosts_name() {
    each_caller(|world| {
        let host = tempfile::Builder::new().prefix("stockade-it-").tempfile_in("/tmp").unwrap();
        world.give(host.path());
        fs::write(host.path(), "SECRET").unwrap();
        let words = |act: &str, to: &str| -> Vec<OsString> { act![act, host.path(), to] };
        let acts = [
            act!["create", host.path()],
            words("link", "linked"),
            act!["read", "linked"],
            words("rename", "moved"),
            act!["read", "moved"],
        ];
        let run = world.run().with("--deny-write", "./moved").with("--deny-write", "./linked");
        let tried = tried(run, &acts, |_| "once");
        tried.answers[0].ok();
        assert_eq!(
            fs::read(host.path()).unwrap_or_default(),
            b"SECRET",
            "moved away{}",
            tried.answers[0].ran()
        );
        for name in ["linked", "moved"] {
            let found = fs::read(world.ws.join(name)).unwrap_or_default();
            assert_ne!(found, b"SECRET", "{name} is the host's file{}", tried.answers[0].ran());
        }
    });
}

/// Two files whose names differ in one letter: the first may be used, the second is a secret.
fn twins(world: &World) -> (PathBuf, PathBuf) {
    let allowed = world.file(world.outside.join("twin-a"), "PUBLIC");
    let secret = world.file(world.outside.join("twin-b"), "SECRET");
    (allowed, secret)
}

#[test]
fn a_path_that_flips_in_memory() {
    each_caller(|world| {
        let (allowed, secret) = twins(world);
        for (first, again) in [("read", "sway-read"), ("open-write", "sway-write")] {
            // The grant first: afterwards most questions are about the secret, and there are not many.
            let acts = [act![first, &allowed], act![again, &allowed, &secret, "2000"]];
            let run = world.run().with("--deny-read", world.outside.join("twin-?"));
            let tried =
                tried(run, &acts, |question| if about(question).1 == allowed { "session" } else { "deny" });
            let answer = &tried.answers[1];
            assert_eq!(answer.value("secret"), "0", "{}", answer.ran());
            assert_ne!(answer.value("allowed"), "0", "nothing was tried{}", answer.ran());
            assert_ne!(answer.value("refused"), "0", "nothing was flipped{}", answer.ran());
        }
        assert_eq!(fs::read(&secret).unwrap(), b"SECRET");
        assert_eq!(fs::read(&allowed).unwrap(), b"ATTACK");
    });
}

/// The path is another one by the time the answer comes: that one is a question of its own.
#[test]
fn a_path_that_turns_while_the_question_stands() {
    each_caller(|world| {
        let (allowed, secret) = twins(world);
        let (good, bad) = (world.outside.join("dir-a"), world.outside.join("dir-b"));
        let (lines, asked) = super::batch(&[
            act!["turn-read", &allowed, &secret, "300"],
            act!["turn-mkdir", &good, &bad, "300"],
        ]);
        let run = world.run().with("--deny-read", world.outside.join("twin-?"));
        let mut program = Program::begin(run, |run| run.input(lines).start(["batch"]));
        let mut allowed_so_far = HashSet::new();
        while let Some(line) = program.next() {
            let (_, path) = about(&line);
            if path == allowed || path == good {
                std::thread::sleep(Duration::from_millis(700));
                program.answers(&line, "once");
                allowed_so_far.insert(path);
            } else {
                program.answers(&line, "deny");
            }
        }
        assert_eq!(allowed_so_far.len(), 2);
        let ran = program.finish();
        let answers = crate::support::Answer::all(ran, &asked);
        assert_ne!(answers[0].line(), "ok secret", "{}", answers[0].ran());
        assert!(!bad.exists(), "{}", answers[1].ran());
    });
}

/// A link on the way is somebody else's path: what is asked about is where it leads.
#[test]
fn links_are_asked_about_by_their_target() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        world.link(&secret, "harmless.txt");
        world.link(&world.outside, "way");
        let acts =
            [act!["read", "harmless.txt"], act!["mkdir", "way/new"], act!["read", "way/../outside/secret"]];
        let run = world.run().with("--deny-read", &secret);
        let tried = tried(run, &acts, |_| "once");
        let asked: Vec<_> = tried.questions.iter().map(|question| about(question).1).collect();
        assert_eq!(asked, [secret.clone(), world.outside.join("new"), secret], "{}", text(&world.ws));
        assert_eq!(tried.answers[0].ok(), "SECRET");
        tried.answers[1].ok();
    });
}
