//! Every kind of act, allowed over a descriptor and on the terminal, and refused.

use super::{Person, about, batch, text, tried, violations};
use crate::act;
use crate::support::{Answer, Run, World, each_caller};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// One act, what is asked about it, and how one sees from outside that it was done.
struct Deed {
    words: Vec<OsString>,
    asked: Vec<(&'static str, PathBuf)>,
    /// The error without a grant.
    errno: &'static str,
    /// What the probe says when it works.
    says: &'static str,
    done: Box<dyn Fn() -> bool>,
}

/// The place the acts happen in, with somebody who listens on a socket.
struct Place {
    dir: PathBuf,
    _listener: UnixListener,
}

fn place(world: &World) -> Place {
    let dir = world.outside.clone();
    world.file(dir.join("secret"), "SECRET");
    for name in ["old", "cut", "gone", "from", "real"] {
        world.file(dir.join(name), "host");
    }
    world.dir(dir.join("gone.d"));
    let socket = dir.join("socket");
    let listener = UnixListener::bind(&socket).expect("bind");
    world.give(&socket);
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("chmod");
    Place { dir, _listener: listener }
}

fn is(path: &Path, content: &'static str) -> Box<dyn Fn() -> bool> {
    let path = path.to_path_buf();
    Box::new(move || fs::read(&path).is_ok_and(|found| found == content.as_bytes()))
}

fn deeds(dir: &Path) -> Vec<Deed> {
    let at = |name: &str| dir.join(name);
    let gone = |name: &str| -> Box<dyn Fn() -> bool> {
        let path = dir.join(name);
        Box::new(move || path.symlink_metadata().is_err())
    };
    let there = |name: &str, is: fn(&fs::Metadata) -> bool| -> Box<dyn Fn() -> bool> {
        let path = dir.join(name);
        Box::new(move || path.symlink_metadata().is_ok_and(|found| is(&found)))
    };
    let deed = |words, asked: Vec<(&'static str, &str)>, done| Deed {
        words,
        asked: asked.into_iter().map(|(kind, name)| (kind, at(name))).collect(),
        errno: "EROFS",
        says: "",
        done,
    };
    let twice: fn(&fs::Metadata) -> bool = |found| std::os::unix::fs::MetadataExt::nlink(found) == 2;
    vec![
        Deed {
            errno: "EACCES",
            says: "SECRET",
            ..deed(act!["read", at("secret")], vec![("read", "secret")], Box::new(|| true))
        },
        deed(act!["write", at("old")], vec![("write", "old")], is(&at("old"), "ATTACK")),
        deed(act!["create", at("new")], vec![("create", "new")], is(&at("new"), "ATTACK")),
        deed(act!["mkdir", at("new.d")], vec![("create", "new.d")], there("new.d", fs::Metadata::is_dir)),
        deed(act!["unlink", at("gone")], vec![("unlink", "gone")], gone("gone")),
        deed(act!["rmdir", at("gone.d")], vec![("unlink", "gone.d")], gone("gone.d")),
        deed(
            act!["rename", at("from"), at("to")],
            vec![("rename", "from"), ("create", "to")],
            is(&at("to"), "host"),
        ),
        Deed {
            errno: "EXDEV",
            // Whoever may write the new name may write the file.
            ..deed(
                act!["link", at("real"), at("hard")],
                vec![("write", "real"), ("create", "hard")],
                there("hard", twice),
            )
        },
        deed(act!["truncate", at("cut")], vec![("write", "cut")], is(&at("cut"), "")),
        Deed {
            errno: "EACCES",
            ..deed(act!["connect-unix", at("socket"), "stream"], vec![("unix", "socket")], Box::new(|| true))
        },
    ]
}

/// Two runs: there are no more than ten questions at once.
fn halves(dir: &Path) -> [Vec<Deed>; 2] {
    let mut first = deeds(dir);
    let second = first.split_off(6);
    [first, second]
}

fn words(deeds: &[Deed]) -> Vec<Vec<OsString>> {
    deeds.iter().map(|deed| deed.words.clone()).collect()
}

fn expected(deeds: &[Deed]) -> Vec<(String, PathBuf)> {
    let asked = deeds.iter().flat_map(|deed| &deed.asked);
    asked.map(|(kind, path)| ((*kind).to_string(), path.clone())).collect()
}

fn run<'a>(world: &'a World, place: &Place) -> Run<'a> {
    world.run().with("--deny-read", place.dir.join("secret"))
}

#[track_caller]
fn all_done(deeds: &[Deed], answers: &[Answer]) {
    for (deed, answer) in deeds.iter().zip(answers) {
        assert_eq!(answer.ok(), deed.says, "{}", answer.ran());
        assert!((deed.done)(), "{:?} did nothing{}", answer.asked(), answer.ran());
    }
}

#[test]
fn a_program_allows_every_kind_of_act() {
    each_caller(|world| {
        let place = place(world);
        for deeds in halves(&place.dir) {
            let report = world.base.join("report.json");
            let run = run(world, &place).with("--report", &report);
            let tried = tried(run, &words(&deeds), |_| "once");
            all_done(&deeds, &tried.answers);
            let asked: Vec<_> = tried.questions.iter().map(about).collect();
            assert_eq!(asked, expected(&deeds));
            assert_eq!(violations(&report), [], "what was allowed was not refused");
        }
    });
}

#[test]
fn a_person_allows_every_kind_of_act() {
    each_caller(|world| {
        let place = place(world);
        for deeds in halves(&place.dir) {
            let mut person = Person::new();
            let (lines, asked) = batch(&words(&deeds));
            let live = person.asked_by(run(world, &place)).input(lines).start(["batch"]);
            for (_, path) in expected(&deeds) {
                let question = person.answers("o");
                assert!(question.contains(text(&path)), "{question}");
            }
            let answers = Answer::all(live.finish(std::time::Duration::from_secs(30)), &asked);
            all_done(&deeds, &answers);
        }
    });
}

/// A no is the error the act has without asking, and a record.
#[test]
fn a_no_refuses_every_kind_of_act() {
    each_caller(|world| {
        let place = place(world);
        for deeds in halves(&place.dir) {
            let report = world.base.join("report.json");
            let run = run(world, &place).with("--report", &report);
            let tried = tried(run, &words(&deeds), |_| "deny");
            for (deed, answer) in deeds.iter().zip(&tried.answers) {
                answer.errno(&[deed.errno]);
                let untouched = ["read", "connect-unix"].iter().any(|act| deed.words[0] == *act);
                assert!(untouched || !(deed.done)(), "{:?} was done{}", answer.asked(), answer.ran());
            }
            // The first no of a rename or a link is enough.
            let second = [place.dir.join("to"), place.dir.join("hard")];
            let refused: Vec<(String, PathBuf)> =
                expected(&deeds).into_iter().filter(|(_, path)| !second.contains(path)).collect();
            assert_eq!(tried.questions.iter().map(about).collect::<Vec<_>>(), refused);
            assert_eq!(violations(&report), refused);
        }
    });
}

/// What is there is changed, whatever else the call would have done without it.
#[test]
fn a_file_that_exists_is_not_created() {
    each_caller(|world| {
        let place = place(world);
        let old = place.dir.join("old");
        let tried = tried(run(world, &place), &[act!["put", &old]], |_| "once");
        tried.answers[0].ok();
        assert_eq!(fs::read(&old).unwrap(), b"ATTACK");
        assert_eq!(tried.questions.iter().map(about).collect::<Vec<_>>(), [("write".to_string(), old)]);
    });
}

/// `rm -f` of what is not there means nothing.
#[test]
fn nobody_is_asked_to_remove_what_is_not_there() {
    each_caller(|world| {
        let place = place(world);
        let absent = place.dir.join("absent");
        let report = world.base.join("report.json");
        let run = run(world, &place).with("--report", &report);
        let tried = tried(run, &[act!["unlink", &absent], act!["rmdir", &absent]], |_| "once");
        for answer in &tried.answers {
            answer.errno(&["ENOENT"]);
        }
        assert_eq!(tried.questions.len(), 0);
        assert_eq!(violations(&report), []);
    });
}

/// Both names of a move are somebody's business.
#[test]
fn a_move_needs_both_answers() {
    each_caller(|world| {
        let place = place(world);
        let (from, to) = (place.dir.join("from"), place.dir.join("to"));
        let tried = tried(run(world, &place), &[act!["rename", &from, &to]], |question| {
            if about(question).1 == from { "once" } else { "deny" }
        });
        tried.answers[0].errno(&["EROFS"]);
        assert_eq!(tried.questions.len(), 2);
        assert!(from.exists() && !to.exists());
    });
}

/// New files get the rights the caller's own mask leaves.
#[test]
fn what_is_made_has_the_callers_mask_and_owner() {
    each_caller(|world| {
        let place = place(world);
        let (file, dir) = (place.dir.join("file"), place.dir.join("dir"));
        let program = super::Program::begin(run(world, &place), |run| {
            let script = format!("umask 077; echo x > {}; mkdir {}", text(&file), text(&dir));
            run.opt("-c").opt(script).start_words()
        });
        let (_, ran) = program.attend(|_| "once");
        ran.exits(0);
        let mode = |path: &Path| fs::metadata(path).expect("made").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&dir)), (0o600, 0o700), "{ran}");
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&file).unwrap());
        assert_eq!(owner, world.caller.ids().0);
    });
}
