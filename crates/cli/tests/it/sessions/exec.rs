//! `stockade exec`: descriptors, signals, statuses.

use super::{Hosted, SIGINT, SIGKILL, SOON, running};
use crate::support::{World, each_caller, eventually, kill};
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::time::{Duration, Instant};

#[test]
fn what_the_shell_changes_stays() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        world.dir("sub");
        session.exec().shell("cd sub; export NAME='a b'; here=1; f() { echo \"f $here\"; }").exits(0);
        let ran = session.exec().shell("pwd; echo \"$NAME\"; f");
        assert_eq!(ran.out(), format!("{}\na b\nf 1\n", world.ws.join("sub").display()), "{ran}");
        // A program beside it stands where it stands.
        let ran = session.exec().program(["sh", "-c", "pwd; echo \"$NAME\""]);
        assert_eq!(ran.out(), format!("{}\na b\n", world.ws.join("sub").display()), "{ran}");
    });
}

#[test]
fn the_status_is_the_commands_own() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        for code in [0, 1, 2, 42, 124, 125, 126, 127, 128, 255] {
            session.exec().shell(&format!("(exit {code})")).exits(code);
            session.exec().program(["sh", "-c", &format!("exit {code}")]).exits(code);
        }
        session.exec().shell("sh -c 'kill -9 $$'").exits(137);
        session.exec().program(["sh", "-c", "kill -15 $$"]).exits(143);
        session.exec().program(["no-such-program"]).exits(127).complains(&["no-such-program"]);
        session.exec().shell("no-such-program").exits(127);
        session.exec().go().exits(125).complains(&["no command was given"]);
        for unknown in ["b", "a-longer-name"] {
            let ran = world.stockade().opts(["exec", unknown]).program(["true"]);
            ran.exits(125).complains(&["there is no session", unknown]);
        }
        for wrong in ["../a", "a.sock", "", "-"] {
            world.stockade().opts(["exec", wrong]).program(["true"]).exits(125);
        }
    });
}

/// F34 in sessions.
#[test]
fn a_directory_is_no_input() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let dir = || std::fs::File::open(&world.outside).unwrap();
        for ran in [
            session.exec().input_from(dir()).shell("cat; touch ran"),
            session.exec().input_from(dir()).program(["touch", "ran"]),
        ] {
            ran.exits(125).complains(&["descriptor 0 is a directory"]);
        }
        assert!(!world.ws.join("ran").exists());
    });
}

#[test]
fn input_arrives_whole_and_has_an_end() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        for beside in [false, true] {
            let run = session.exec().input(bytes.clone());
            let ran = if beside { run.program(["cat"]) } else { run.shell("cat") };
            ran.exits(0);
            assert!(ran.stdout == bytes, "{} of {} bytes came back", ran.stdout.len(), bytes.len());
            let run = session.exec();
            let ran = if beside { run.program(["cat"]) } else { run.shell("cat") };
            assert_eq!(ran.out(), "", "{ran}");
        }
    });
}

#[test]
fn what_is_not_read_of_a_file_is_left() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let list = world.file(world.outside.join("list"), "one\ntwo\nthree\n");
        for beside in [false, true] {
            let mut file = File::open(&list).unwrap();
            let run = session.exec().input_from(file.try_clone().unwrap());
            let text = "read line; echo \"$line\"";
            let ran = if beside { run.program(["sh", "-c", text]) } else { run.shell(text) };
            assert_eq!(ran.out(), "one\n", "{ran}");
            assert_eq!(file.stream_position().unwrap(), 4, "{ran}");
        }
    });
}

#[test]
fn output_goes_where_the_caller_says() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let target = world.outside.join("out");
        for (text, expected) in [("echo out; echo err >&2", "err\nout\n"), ("seq 200000", "")] {
            let file = File::create(&target).unwrap();
            session.exec().output_to(file.try_clone().unwrap(), file).shell(text).exits(0);
            let mut lines: Vec<String> =
                fs::read_to_string(&target).unwrap().lines().map(|line| format!("{line}\n")).collect();
            if expected.is_empty() {
                assert_eq!(lines.len(), 200_000);
            } else {
                lines.sort();
                assert_eq!(lines.concat(), expected);
            }
        }
    });
}

/// A descriptor of the host's files goes in only where the plan lets the command do everything with it.
#[test]
fn descriptors_cross_as_they_do_for_run() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let outside = world.file(world.outside.join("file"), "outside");
        let inside = world.file("file", "inside");
        let link = ["readlink", "/proc/self/fd/0"];
        let ran = session.exec().input_from(File::open(&outside).unwrap()).program(link);
        assert!(ran.out().starts_with("pipe:"), "{ran}");
        let ran = session.exec().input_from(File::open(&inside).unwrap()).program(link);
        assert_eq!(ran.out().trim_end(), inside.to_str().unwrap(), "{ran}");
        // The session's shell gets nothing but pipes.
        let ran =
            session.exec().input_from(File::open(&outside).unwrap()).shell("readlink /proc/self/fd/0; cat");
        assert!(!ran.out().contains(outside.to_str().unwrap()) && ran.out().ends_with("outside"), "{ran}");
        let ran = session.exec().input_from(File::open("/").unwrap()).program(["true"]);
        ran.exits(125).complains(&["descriptor 0 is a directory"]);
    });
}

#[test]
fn an_interrupt_ends_that_command_only() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        session.exec().shell("cd /; export KEPT=1").exits(0);
        let beside =
            session.exec().opts(["--", "sh", "-c", "echo begun; sleep 6; echo beside"]).start_words();
        beside.first_output(SOON);
        let first = session.exec().opts(["-c", "echo begun; sleep 4711; echo not reached"]).start_words();
        first.first_output(SOON);
        kill(first.pid(), SIGINT).unwrap();
        let ran = first.finish(SOON);
        ran.exits(130);
        assert!(!ran.out().contains("not reached"), "{ran}");
        let ran = session.exec().shell("pwd; echo $KEPT");
        assert_eq!(ran.out(), "/\n1\n", "{ran}");
        assert_eq!(running(world, "sleep 4711"), 0);
        let ran = beside.finish(SOON);
        ran.exits(0);
        assert!(ran.out().contains("beside"), "{ran}");
        let second = session.exec().opts(["--", "sh", "-c", "echo begun; exec sleep 4712"]).start_words();
        second.first_output(SOON);
        kill(second.pid(), SIGINT).unwrap();
        second.finish(SOON).exits(130);
    });
}

#[test]
fn a_killed_client_takes_its_command_along() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        for words in
            [&["-c", "echo begun; sleep 4713; true"][..], &["--", "sh", "-c", "echo begun; sleep 4713"]]
        {
            let live = session.exec().opts(words).start_words();
            live.first_output(SOON);
            eventually(SOON, || match running(world, "sleep 4713") {
                0 => Err("it has not begun".into()),
                _ => Ok(()),
            });
            kill(live.pid(), SIGKILL).unwrap();
            live.reap();
            eventually(SOON, || match running(world, "sleep 4713") {
                0 => Ok(()),
                count => Err(format!("{count} still run")),
            });
            session.exec().shell("echo still here").exits(0);
        }
    });
}

#[test]
fn a_command_has_its_time() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let begun = Instant::now();
        session.exec().with("--timeout", "0.3").shell("sleep 60").exits(137).complains(&["timed out"]);
        session.exec().with("--timeout", "0.3").program(["sleep", "60"]).exits(137).complains(&["timed out"]);
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        session.exec().shell("true").exits(0);
    });
}

#[test]
fn nobody_who_reads_is_an_end() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        for words in [&["-c", "yes"][..], &["--", "yes"]] {
            let (mut reader, writer) = std::io::pipe().unwrap();
            world.give_pipe(&writer);
            let error = File::create(world.outside.join("err")).unwrap();
            let live = session.exec().opts(words).output_to(writer, error).start_words();
            reader.read_exact(&mut [0; 100]).unwrap();
            drop(reader);
            let begun = Instant::now();
            assert_ne!(live.reap().code(), Some(0));
            assert!(begun.elapsed() < SOON);
        }
        session.exec().shell("true").exits(0);
    });
}

#[test]
fn commands_go_on_in_the_background() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let ran = session
            .exec()
            .opt("--background")
            .shell("echo one; echo two >&2; while [ ! -e go ]; do sleep 0.02; done; echo three; exit 9");
        ran.exits(0);
        let id = ran.out().trim().to_owned();
        let output = |more: &[&str]| world.stockade().opts(["sessions", "output", "a", &id]).opts(more).go();
        eventually(SOON, || if output(&[]).out() == "one\n" { Ok(()) } else { Err("nothing yet".into()) });
        assert_eq!(session.status().unwrap()["background"], 1);
        world.file("go", "");
        let ran = output(&["--follow"]);
        ran.exits(9);
        assert_eq!((ran.out(), ran.err()), ("one\nthree\n".into(), "two\n".into()), "{ran}");
        let ran = session.exec().opt("--background").program(["sleep", "4714"]);
        let id = ran.out().trim().to_owned();
        world.stockade().opts(["sessions", "stop", "a", &id]).go().exits(0);
        eventually(SOON, || if running(world, "sleep 4714") == 0 { Ok(()) } else { Err("runs".into()) });
        world.stockade().opts(["sessions", "output", "a", "99"]).go().exits(125);
        world.stockade().opts(["sessions", "stop", "a", "99"]).go().exits(125);
    });
}

/// The policy and the environment are those the session was made with.
#[test]
fn who_runs_a_command_brings_nothing() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &["--env", "MADE=1"]);
        for option in [["--allow-write", "/"], ["--preset", "off"], ["--env", "A=1"], ["--settings", "x"]] {
            session.exec().opts(option).program(["true"]).exits(125);
        }
        let ran = session.exec().var("LANG", "fr_FR").var("MADE", "2").shell("echo $MADE $LANG");
        assert_eq!(ran.out(), "1 C.UTF-8\n", "{ran}");
        let ran = session.exec().at(&world.outside).shell("pwd");
        assert_eq!(ran.out().trim_end(), world.ws.to_str().unwrap(), "{ran}");
    });
}

trait GivePipe {
    fn give_pipe(&self, pipe: &std::io::PipeWriter);
}

impl GivePipe for World {
    fn give_pipe(&self, pipe: &std::io::PipeWriter) {
        let (user, group) = self.caller.ids();
        std::os::unix::fs::fchown(pipe, Some(user), Some(group)).unwrap();
    }
}

#[test]
fn a_slow_reader_loses_nothing() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let (mut reader, writer) = std::io::pipe().unwrap();
        world.give_pipe(&writer);
        let mut error = File::create(world.outside.join("err")).unwrap();
        error.write_all(b"").unwrap();
        let live = session.exec().opts(["-c", "seq 100000"]).output_to(writer, error).start_words();
        std::thread::sleep(Duration::from_millis(300));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(live.reap().code(), Some(0));
        assert_eq!(text.lines().count(), 100_000);
    });
}
