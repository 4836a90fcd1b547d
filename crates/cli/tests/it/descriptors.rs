//! F18, F33, F34: what crosses the wall on descriptors.

use crate::act;
use crate::support::{Pty, binaries, each_caller, open_path};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;

/// F18
#[test]
fn f18_descriptors_of_the_caller_are_not_there() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        let open = || File::open(&secret).unwrap();
        let run =
            || world.run().holding(open(), 9).holding(open(), 63).holding(File::open("/").unwrap(), 200);
        let answer = run().probe(["fds"]);
        assert_eq!(answer.ok(), "0 1 2", "{}", answer.ran());
        run().probe(["fd-read", "9"]).errno(&["EBADF"]);
        run().probe(["openat", "200", "etc", "d"]).errno(&["EBADF"]);
    });
}

#[test]
fn descriptors_that_are_named_cross() {
    each_caller(|world| {
        let file = world.file("given", "GIVEN");
        let other = world.file(world.outside.join("other"), "SECRET");
        let run = || {
            world
                .run()
                .holding(File::open(&file).unwrap(), 9)
                .holding(File::open(&other).unwrap(), 8)
                .with("--inherit-fd", "9")
        };
        let answer = run().probe(["fds"]);
        assert_eq!(answer.ok(), "0 1 2 9", "{}", answer.ran());
        assert_eq!(run().probe(["fd-read", "9"]).ok(), "GIVEN");
        run().probe(["fd-read", "8"]).errno(&["EBADF"]);
        let (mut reader, writer) = std::io::pipe().unwrap();
        world.run().holding(writer, 5).with("--inherit-fd", "5").probe(["fd-write", "5"]).ok();
        let mut heard = String::new();
        reader.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "ATTACK");
    });
}

/// Being named gives a descriptor a way in, not more rights.
#[test]
fn a_named_descriptor_keeps_its_rights() {
    each_caller(|world| {
        let outside = world.file(world.outside.join("f"), "host");
        let before = fs::metadata(&outside).unwrap().permissions();
        for act in [
            &["write", "/proc/self/fd/9"][..],
            &["empty", "/dev/fd/9"],
            &["fd-write", "9"],
            &["fchmod", "9"],
            &["ftruncate", "9"],
            &["fd-link", "9", "linked"],
        ] {
            let file = File::open(&outside).unwrap();
            let words = std::iter::once(binaries().probe.to_str().unwrap()).chain(act.iter().copied());
            let ran = world.run().holding(file, 9).with("--inherit-fd", "9").program(words);
            assert!([0, 125].contains(&ran.code()), "{ran}");
            assert_eq!(fs::read(&outside).unwrap(), b"host", "{act:?} changed the file{ran}");
            assert_eq!(
                fs::metadata(&outside).unwrap().permissions(),
                before,
                "{act:?} changed the mode{ran}"
            );
            assert!(!world.ws.join("linked").exists(), "{act:?}{ran}");
        }
    });
}

#[test]
fn a_named_descriptor_must_be_one() {
    each_caller(|world| {
        world.run().with("--inherit-fd", "57").program(["true"]).refused_to_start(&["57"]);
        world.run().with("--inherit-fd", "minus").program(["true"]).refused_to_start(&["minus"]);
        let dir = File::open(&world.outside).unwrap();
        world.run().holding(dir, 7).with("--inherit-fd", "7").program(["true"]).refused_to_start(&["7"]);
    });
}

/// F33
#[test]
fn f33_files_on_standard_descriptors_keep_their_rights() {
    each_caller(|world| {
        let outside = world.file(world.outside.join("f"), "host");
        let kept = world.file("kept", "host");
        for file in [&outside, &kept] {
            let before = fs::metadata(file).unwrap().permissions();
            for act in [
                vec!["open-write", "/proc/self/fd/0"],
                vec!["open-both", "/proc/self/fd/0"],
                vec!["empty", "/proc/self/fd/0"],
                vec!["append", "/proc/thread-self/fd/0"],
                vec!["write", "/dev/stdin"],
                vec!["write", "/dev/fd/0"],
                vec!["truncate", "/proc/self/fd/0"],
                vec!["chmod", "/proc/self/fd/0", "0o777"],
                vec!["fchmod", "0"],
                vec!["futimens", "0"],
                vec!["fsetxattr", "0"],
                vec!["ftruncate", "0"],
                vec!["fd-write", "0"],
                vec!["fd-link", "0", "linked"],
            ] {
                let ran = world
                    .run()
                    .opts(["--deny-write", "kept"])
                    .input_from(File::open(file).unwrap())
                    .program([binaries().probe.to_str().unwrap()].into_iter().chain(act.iter().copied()));
                ran.exits(0);
                // Whether an act on what stands in for the file works is of no interest; the file is.
                assert_eq!(fs::read(file).unwrap(), b"host", "{act:?} changed the file{ran}");
                let after = fs::metadata(file).unwrap().permissions();
                assert_eq!(after, before, "{act:?} changed the mode{ran}");
                assert!(!world.ws.join("linked").exists(), "{act:?} linked the file{ran}");
            }
            let answer = world
                .run()
                .opts(["--deny-write", "kept"])
                .input_from(File::open(file).unwrap())
                .probe(["fd-read", "0"]);
            assert_eq!(answer.ok(), "host");
        }
    });
}

#[test]
fn f33_a_file_that_is_only_written_cannot_be_read() {
    each_caller(|world| {
        let log = world.file(world.outside.join("log"), "SECRET\n");
        let to = || OpenOptions::new().append(true).open(&log).unwrap();
        let null = || File::open("/dev/null").unwrap();
        for act in ["read /proc/self/fd/1", "read /dev/stdout", "empty /proc/self/fd/1"] {
            let words: Vec<&str> =
                std::iter::once(binaries().probe.to_str().unwrap()).chain(act.split(' ')).collect();
            let ran = world.run().output_to(to(), null()).program(words);
            ran.exits(0);
            let text = fs::read_to_string(&log).unwrap();
            let line =
                text.strip_prefix("SECRET\n").unwrap_or_else(|| panic!("{act} lost the file: {text:?}{ran}"));
            assert!(!line.contains("SECRET"), "{act} read the file: {text:?}{ran}");
            fs::write(&log, "SECRET\n").unwrap();
        }
        // What it was opened for works, at the end where the caller put it.
        world.run().output_to(to(), null()).program(["echo", "more"]).exits(0);
        assert_eq!(fs::read_to_string(&log).unwrap(), "SECRET\nmore\n");
    });
}

/// F34
#[test]
fn f34_directories_on_standard_descriptors() {
    each_caller(|world| {
        let dir = || File::open(&world.outside).unwrap();
        world.run().input_from(dir()).program(["true"]).refused_to_start(&["descriptor 0", "directory"]);
        let ran = world.run().output_to(dir(), File::open("/dev/null").unwrap()).program(["true"]);
        ran.exits(125);
        let ran = world.run().output_to(File::open("/dev/null").unwrap(), dir()).program(["true"]);
        ran.exits(125);
        let name = CString::new(world.outside.as_os_str().as_bytes()).unwrap();
        world
            .run()
            .input_from(open_path(&name).unwrap())
            .program(["true"])
            .refused_to_start(&["descriptor 0"]);
        let file = world.file(world.outside.join("f"), "x");
        let name = CString::new(file.as_os_str().as_bytes()).unwrap();
        world
            .run()
            .input_from(open_path(&name).unwrap())
            .program(["true"])
            .refused_to_start(&["descriptor 0"]);
        world.run().input_from(File::open(&file).unwrap()).program(["true"]).exits(0);
    });
}

/// Every byte value, more than any pipe holds, both ways.
#[test]
fn ten_megabytes_cross_unchanged() {
    each_caller(|world| {
        let bytes: Vec<u8> =
            (0..10_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let ran = world.run().input(bytes.clone()).program(["cat"]);
        ran.exits(0);
        assert!(
            ran.stdout == bytes,
            "the bytes changed on the way ({} of {})",
            ran.stdout.len(),
            bytes.len()
        );
        let ran = world.run().input(bytes.clone()).shell("cat >&2");
        ran.exits(0);
        assert!(ran.stderr.starts_with(&bytes), "the bytes changed on the way to stderr");
        // From and to regular files.
        let source = world.file(world.outside.join("source"), &bytes);
        let sink = world.file(world.outside.join("sink"), "");
        let ran = world
            .run()
            .input_from(File::open(source).unwrap())
            .output_to(OpenOptions::new().write(true).open(&sink).unwrap(), File::open("/dev/null").unwrap())
            .program(["cat"]);
        ran.exits(0);
        assert!(fs::read(&sink).unwrap() == bytes, "the bytes changed between files");
    });
}

/// A reader of a file that a relay stands in for leaves the caller's offset where a shell expects it at
/// the end, and a program that does not read takes nothing that was not asked for.
#[test]
fn output_of_two_runs_lands_one_after_the_other() {
    each_caller(|world| {
        let sink = world.file(world.outside.join("sink"), "");
        let file = OpenOptions::new().write(true).read(true).open(&sink).unwrap();
        for word in ["one", "two"] {
            let ran = world
                .run()
                .output_to(file.try_clone().unwrap(), File::open("/dev/null").unwrap())
                .program(["echo", word]);
            ran.exits(0);
        }
        let mut all = String::new();
        let mut file = file;
        file.rewind().unwrap();
        file.read_to_string(&mut all).unwrap();
        assert_eq!(all, "one\ntwo\n");
    });
}

#[test]
fn closed_standard_descriptors() {
    each_caller(|world| {
        world.run().closing(0).program(["true"]).exits(0);
        let ran = world.run().closing(0).program(["cat"]);
        assert!(ran.stdout.is_empty(), "{ran}");
        ran.keeps_calm();
        let file = world.file("marker", "");
        let ran = world.run().closing(1).shell(&format!("echo text > '{}'", file.display()));
        ran.exits(0).keeps_calm();
        assert_eq!(fs::read(&file).unwrap(), b"text\n");
        world.run().closing(2).program(["true"]).exits(0);
        world.run().closing(0).closing(1).closing(2).program(["true"]).exits(0);
        // Whatever stands in for them, it is no file of the host.
        let answer = world.run().closing(0).probe(["fds"]);
        assert!(["0 1 2", "1 2"].contains(&answer.ok()), "{}{}", answer.line(), answer.ran());
    });
}

#[test]
fn a_reader_that_goes_away_ends_the_command() {
    each_caller(|world| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = world
            .run()
            .output_to(writer, File::open("/dev/null").unwrap())
            .patience(std::time::Duration::from_secs(20))
            .program(["yes"]);
        assert_ne!(ran.code(), 0, "{ran}");
        assert_ne!(ran.code(), 125, "{ran}");
    });
}

#[test]
fn input_that_is_not_read_does_not_block() {
    each_caller(|world| {
        let bytes = vec![b'x'; 5_000_000];
        world.run().input(bytes).patience(std::time::Duration::from_secs(20)).program(["true"]).exits(0);
        // An open pipe that nobody writes to.
        let (reader, writer) = std::io::pipe().unwrap();
        world
            .run()
            .input_from(reader)
            .patience(std::time::Duration::from_secs(20))
            .program(["true"])
            .exits(0);
        drop(writer);
    });
}

/// I09: whatever terminal the command has, nothing it does types into the caller's.
#[test]
fn i09_typing_into_the_callers_terminal() {
    each_caller(|world| {
        for act in ["tiocsti", "tiocsti-high", "tioclinux", "tioclinux-high"] {
            let pty = Pty::open().unwrap();
            world.give(&pty.name());
            let inner = || pty.inner.try_clone().unwrap();
            let ran = world.run().input_from(inner()).on_terminal(&pty.inner).program([
                binaries().probe.to_str().unwrap(),
                act,
                "0",
            ]);
            ran.exits(0);
            assert_eq!(pty.waiting().unwrap(), 0, "{act} typed into the terminal{ran}");
            let line = ran.out();
            assert!(line.starts_with("errno E"), "{act} was not refused{ran}");
            let through_tty = world
                .run()
                .input_from(inner())
                .on_terminal(&pty.inner)
                .shell(&format!("exec 5<>/dev/tty || exit 0; exec {} {act} 5", binaries().probe.display()));
            assert_eq!(pty.waiting().unwrap(), 0, "{act} typed into the terminal{through_tty}");
        }
    });
}

#[test]
fn redirections_inside_work() {
    each_caller(|world| {
        let ran = world
            .run()
            .input("in")
            .shell("cat /dev/stdin > out; echo err > /dev/stderr; echo out > /dev/stdout");
        ran.exits(0);
        assert_eq!(ran.out(), "out\n", "{ran}");
        assert!(ran.err().contains("err\n"), "{ran}");
        assert_eq!(fs::read(world.ws.join("out")).unwrap(), b"in");
        world.run().probe(act!["fd-read", "0"]).ok();
    });
}

/// What a command leaves of a file is there for the next one.
#[test]
fn unread_input_is_given_back() {
    each_caller(|world| {
        let list = world.file(world.outside.join("list"), "one\ntwo\nthree\n");
        let (stockade, list) = (binaries().stockade.display(), list.display());
        let each = format!("while read word; do {stockade} run -- echo got $word; done < {list}");
        let ran = world.bare("/bin/sh").opts(["-c", &each]).go();
        assert_eq!(ran.out(), "got one\ngot two\ngot three\n", "{ran}");
        let some = format!("{{ {stockade} run -- dd bs=4 count=1 status=none; cat; }} < {list}");
        let ran = world.bare("/bin/sh").opts(["-c", &some]).go();
        assert_eq!(ran.out(), "one\ntwo\nthree\n", "{ran}");
        let all = format!("{{ {stockade} run -- cat; cat; }} < {list}");
        let ran = world.bare("/bin/sh").opts(["-c", &all]).go();
        assert_eq!(ran.out(), "one\ntwo\nthree\n", "{ran}");
    });
}
