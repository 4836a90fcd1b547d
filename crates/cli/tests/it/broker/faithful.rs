//! What is done on behalf of a caller looks as if the caller had done it.

use super::records::reported;
use crate::act;
use crate::support::{Answer, Caller, Pty, World, binaries, each_caller};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// One and the same set of things to act on.
fn stage(world: &World, name: &str) -> PathBuf {
    let dir = world.dir(name);
    world.file(dir.join("file"), "text");
    world.file(dir.join("locked"), "text");
    world.dir(dir.join("dir/full"));
    world.link("file", dir.join("link"));
    world.link("dir", dir.join("dirlink"));
    world.link("nowhere", dir.join("dangling"));
    world.link("loop", dir.join("loop"));
    for (path, mode) in [("shared", 0o2775), ("sticky", 0o1777), ("shut", 0o555)] {
        world.dir(dir.join(path));
        fs::set_permissions(dir.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(dir.join("locked"), fs::Permissions::from_mode(0o400)).unwrap();
    let pipe = dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    world.give(&pipe);
    dir
}

/// Openings: path, flags, mode.
const OPENINGS: [(&str, &str, &str); 60] = [
    ("new", "w,creat", "0o666"),
    ("new", "w,creat,excl", "0o666"),
    ("new2", "rw,creat,excl,cloexec", "0o600"),
    ("new3", "w,creat,append", "0o777"),
    ("new4", "w,creat,trunc,sync", "0o755"),
    ("new5", "r,creat", "0o644"),
    ("new6", "w,creat,nofollow", "0o666"),
    ("new7", "w,creat,nonblock", "0o1666"),
    ("new8", "w,creat,directory", "0o666"),
    ("new9", "rw,creat,dsync,noctty", "0o644"),
    ("new10", "w,creat,unknown", "0o666"),
    ("shared/new", "w,creat", "0o777"),
    ("sticky/new", "w,creat", "0o666"),
    ("shut/new", "w,creat", "0o666"),
    ("file", "w", "0"),
    ("file", "rw,append", "0"),
    ("file", "w,trunc", "0"),
    ("file", "r,trunc", "0"),
    ("file", "w,directory", "0"),
    ("file", "w,creat,excl", "0o666"),
    ("file", "neither", "0"),
    ("file", "rw,cloexec,nonblock", "0"),
    ("file", "w,noatime", "0"),
    ("file/", "w", "0"),
    ("file/x", "w,creat", "0o666"),
    ("file/.", "w", "0"),
    ("locked", "w", "0"),
    ("locked", "rw,trunc", "0"),
    ("locked", "w,creat", "0o666"),
    ("dir", "w", "0"),
    ("dir", "rw,directory", "0"),
    ("dir", "w,creat", "0o666"),
    ("dir", "r,creat", "0o666"),
    ("dir/", "w,creat", "0o666"),
    ("dir", "w,tmpfile", "0o600"),
    ("dir", "rw,tmpfile", "0o666"),
    ("dir", "r,tmpfile", "0o666"),
    ("file", "w,tmpfile", "0o666"),
    ("new11/", "w,creat", "0o666"),
    ("absent", "w", "0"),
    ("absent/x", "w,creat", "0o666"),
    ("link", "w,append", "0"),
    ("link", "w,nofollow", "0"),
    ("link", "w,creat,excl", "0o666"),
    ("link/", "w", "0"),
    ("dirlink/new", "w,creat", "0o666"),
    ("dirlink", "w", "0"),
    ("dangling", "w", "0"),
    ("dangling", "w,creat,excl", "0o666"),
    ("dangling", "w,creat", "0o666"),
    ("loop", "w", "0"),
    ("loop", "w,creat", "0o666"),
    ("loop/x", "w,creat", "0o666"),
    ("pipe", "w,nonblock", "0"),
    ("pipe", "rw", "0"),
    ("pipe", "rw,creat,trunc", "0o666"),
    (".", "w", "0"),
    ("..", "w,creat", "0o666"),
    ("", "w,creat", "0o666"),
    ("dir/../dir/./new", "w,creat", "0o666"),
];

fn openings(dir: &Path) -> Vec<Vec<OsString>> {
    let mut all: Vec<Vec<OsString>> = OPENINGS
        .iter()
        .map(|(path, flags, mode)| {
            let path = if path.is_empty() { PathBuf::new() } else { join(dir, path) };
            act!["opened", path, *flags, *mode]
        })
        .collect();
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/urandom"] {
        for flags in ["w", "rw,cloexec", "w,creat,trunc"] {
            all.push(act!["opened", device, flags, "0o666"]);
        }
    }
    all
}

/// Without tidying: a slash at the end stays.
fn join(dir: &Path, name: &str) -> PathBuf {
    let mut path = dir.as_os_str().to_os_string();
    path.push("/");
    path.push(name);
    path.into()
}

fn others(dir: &Path) -> Vec<Vec<OsString>> {
    let at = |name: &str| join(dir, name);
    let (long, longer) = ("n".repeat(255), "n".repeat(256));
    let deep = "d/".repeat(2100);
    let mut all = Vec::new();
    for way in ["open", "directory", "node", "fifo", "symlink", "link", "rename", "no-replace", "exchange"] {
        for name in [
            "file", "dir", "dir/", "link", "dangling", "loop", "absent/x", "file/x", ".", "..", "dir/.",
            "dir/..", "new/", "shut/x", &long, &longer, &deep, "",
        ] {
            let path = if name.is_empty() { PathBuf::new() } else { at(name) };
            let source = at(&format!("source-{way}"));
            all.push(act!["written", &source]);
            all.push(act!["make", way, path, &source]);
        }
        all.push(act!["make", way, at(&format!("made-{way}")), at("absent")]);
        all.push(act!["make", way, at(&format!("dirs-{way}")), at("dir/full")]);
        all.push(act!["made", at(&format!("made-{way}"))]);
    }
    for (old, new) in [
        ("dir", "dir/below"),
        ("shared", "sticky"),
        ("dir", "file"),
        ("file", "dir"),
        ("file", "file"),
        ("dirlink", "moved-link"),
        ("dirlink/", "moved-dir"),
        (".", "x"),
        ("dir/..", "x"),
    ] {
        all.push(act!["rename", at(old), at(new)]);
    }
    for name in ["dir", "file/", "dirlink/", "absent", ".", "..", "dir/.", "dir/..", "shut/x", "link", "pipe"]
    {
        all.push(act!["unlink", at(name)]);
        all.push(act!["rmdir", at(name)]);
    }
    for name in ["file", "dir", "locked", "absent", "dangling", "loop", "dirlink/new", "pipe"] {
        all.push(act!["truncate", at(name)]);
        all.push(act!["chmod", at(name), "0o640"]);
        all.push(act!["utimens", at(name)]);
    }
    all
}

#[track_caller]
fn compare(bare: &[Answer], inside: &[Answer]) {
    // What belongs to root looks like nobody's to an ordinary user inside.
    let owned = |answer: &Answer| answer.line().replace("uid=65534 gid=65534", "uid=0 gid=0");
    let differences: Vec<String> = bare
        .iter()
        .zip(inside)
        .filter(|(bare, inside)| bare.line() != owned(inside))
        .map(|(bare, inside)| {
            let asked: String = inside.asked().chars().take(200).collect();
            format!("{asked}\n    bare:   {}\n    inside: {}", bare.line(), inside.line())
        })
        .collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// Root has capabilities outside and none inside: what its owner may not touch is another story there.
fn fair(world: &World, acts: Vec<Vec<OsString>>) -> Vec<Vec<OsString>> {
    let needs_power = |word: &OsString| {
        let text = word.to_string_lossy();
        text.contains("/shut/") || text.ends_with("/locked")
    };
    let root = world.caller == Caller::Root;
    acts.into_iter().filter(|words| !(root && words.iter().any(needs_power))).collect()
}

fn bare_batch(world: &World, acts: &[Vec<OsString>]) -> Vec<Answer> {
    let asked: Vec<String> = acts
        .iter()
        .map(|words| words.iter().map(|word| crate::support::escape(word)).collect::<Vec<_>>().join(" "))
        .collect();
    let ran = world.bare(&binaries().probe).opt("batch").input(asked.join("\n") + "\n").go();
    Answer::all(ran, &asked)
}

#[test]
fn openings_look_the_same() {
    each_caller(|world| {
        for mask in ["0o022", "0o077", "0"] {
            let (bare, inside) =
                (stage(world, &format!("bare{mask}")), stage(world, &format!("inside{mask}")));
            let acts = |dir: &Path| {
                let mut acts = vec![act!["mask", mask]];
                acts.extend(openings(dir));
                fair(world, acts)
            };
            let bare = bare_batch(world, &acts(&bare));
            let inside = reported(world).patience(Duration::from_secs(20)).batch(acts(&inside));
            compare(&bare, &inside);
        }
    });
}

#[test]
fn other_acts_answer_the_same() {
    each_caller(|world| {
        let (bare, inside) = (stage(world, "bare"), stage(world, "inside"));
        let bare = bare_batch(world, &fair(world, others(&bare)));
        let inside = world.run().batch(fair(world, others(&inside)));
        compare(&bare, &inside);
    });
}

#[test]
fn default_access_lists() {
    if Command::new("setfacl").arg("--version").output().is_err() {
        crate::support::skip("default_access_lists", "setfacl is not installed");
        return;
    }
    each_caller(|world| {
        let shapes = ["bare", "inside"].map(|name| {
            let dir = world.dir(name);
            let set = Command::new("setfacl").args(["-d", "-m", "g::rwx,o::r"]).arg(&dir).status().unwrap();
            assert!(set.success());
            dir
        });
        let acts = |dir: &Path| {
            vec![act!["opened", dir.join("f"), "w,creat", "0o666"], act!["mkdir", dir.join("d")]]
        };
        compare(&bare_batch(world, &acts(&shapes[0])), &world.run().batch(acts(&shapes[1])));
    });
}

#[test]
fn own_descriptors_and_terminals() {
    each_caller(|world| {
        let script = "echo a > /dev/stdout; echo b >> /dev/fd/1; echo c > /proc/self/fd/1; echo d > /dev/stderr; \
                      echo e > /proc/thread-self/fd/1; echo f | tee /dev/fd/2 > /dev/null; echo g > /proc/$$/fd/1; \
                      exec 5> five; echo h > /dev/fd/5; cat five";
        let ran = world.run().shell(script);
        ran.exits(0);
        assert_eq!(ran.out(), "a\nb\nc\ne\ng\nh\n", "{ran}");
        assert!(ran.err().starts_with("d\nf\n"), "{ran}");
        // With a terminal of its own /dev/tty is that one, without one there is none.
        let pty = Pty::open().unwrap();
        world.give(&pty.name());
        let ran =
            world.run().shell("exec 3<>/dev/ptmx && echo made; (echo x > /dev/tty) 2>/dev/null || echo none");
        assert_eq!(ran.out(), "made\nnone\n", "{ran}");
    });
}

#[test]
fn pipes_wait_for_their_readers() {
    each_caller(|world| {
        let ran = world.run().patience(Duration::from_secs(20)).shell(
            "mkfifo p; (sleep 0.3; cat p) & echo late > p; wait; (cat p > got) & sleep 0.2; echo early > p; wait; cat got; \
             (echo two > p) & (echo one > free; cat free); cat p; wait",
        );
        ran.exits(0);
        assert_eq!(ran.out(), "late\nearly\none\ntwo\n", "{ran}");
    });
}
