//! `stockade shell` on a real terminal.

use super::{Hosted, SOON, leftovers, running};
use crate::asking::Person;
use crate::support::{Live, World, each_caller, eventually};
use rustix::termios::{Winsize, tcgetattr, tcgetwinsize, tcsetwinsize};
use std::fs;
use std::time::Duration;

/// Opens a shell with a prompt that can be waited for.
fn open(person: &mut Person, world: &World, options: &[&str]) -> Live {
    let run = person.sits_at(world.stockade().opts(["shell", "--name", "a"]).opts(options));
    let live = run.start_words();
    person.types("PS1='rea''dy> '\r");
    person.sees("\nready> ");
    live
}

fn resize(person: &Person, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&person.terminal().outer, size).unwrap();
    assert_eq!(tcgetwinsize(&person.terminal().inner).unwrap().ws_col, columns);
}

#[track_caller]
fn ends(session: &Hosted<'_>) {
    eventually(SOON, || if session.status().is_none() { Ok(()) } else { Err("it lives".into()) });
}

#[test]
fn leaving_and_coming_back() {
    each_caller(|world| {
        let session = Hosted::expected(world, "a");
        let mut person = Person::new();
        let before = format!("{:?}", tcgetattr(&person.terminal().inner).unwrap());
        let live = open(&mut person, world, &[]);
        person.types("kept=42; tty && stty size\r");
        person.sees("/dev/pts/");
        person.types("\x1dd");
        person.sees("the session a goes on");
        assert_eq!(live.reap().code(), Some(0));
        assert_eq!(format!("{:?}", tcgetattr(&person.terminal().inner).unwrap()), before);
        assert_eq!(session.status().unwrap()["terminal"], "detached");

        let refused = world.stockade().opts(["shell", "--name", "a", "--allow-write", "/"]).go();
        refused.exits(125).complains(&["its policy cannot be changed"]);

        let mut person = Person::new();
        let live = person.sits_at(world.stockade().opts(["shell", "--name", "a"])).start_words();
        // The prompt is painted anew.
        person.sees("ready> ");
        assert_eq!(session.status().unwrap()["terminal"], "attached");
        person.types("echo \"kept $kept\"; exit 5\r");
        person.sees("kept 42\r\n");
        assert_eq!(live.reap().code(), Some(5));
        ends(&session);
        assert_eq!(leftovers(world), Vec::<String>::new());
    });
}

#[test]
fn the_window_is_followed() {
    each_caller(|world| {
        let session = Hosted::expected(world, "a");
        let mut person = Person::new();
        resize(&person, 30, 100);
        let live = open(&mut person, world, &[]);
        person.types("stty size\r");
        person.sees("30 100\r\n");
        resize(&person, 41, 123);
        person.types("stty size\r");
        person.sees("stty size");
        // The signal may come after the keys.
        eventually(SOON, || {
            person.types("stty size\r");
            let seen = person.watches_for(Duration::from_millis(300));
            if seen.contains("41 123") { Ok(()) } else { Err(seen) }
        });
        person.types("exit\r");
        live.reap();
        ends(&session);
    });
}

#[test]
fn a_terminal_that_hangs_up_leaves_the_session() {
    each_caller(|world| {
        let session = Hosted::expected(world, "a");
        let mut person = Person::new();
        let live = open(&mut person, world, &[]);
        // More output than a terminal takes without a reader.
        person.types("i=0; while [ ! -e stop ]; do i=$((i+1)); echo \"$i $PATH\"; echo $i > count; sleep 0.001; done; echo all''over\r");
        person.sees("\n3 ");
        // Nobody reads any more, and the terminal is full when the signal comes.
        std::thread::sleep(Duration::from_secs(1));
        crate::support::kill(live.pid(), 1).unwrap();
        assert_eq!(live.reap().code(), Some(0));
        drop(person);
        eventually(SOON, || {
            let count = fs::read_to_string(world.ws.join("count")).unwrap_or_default();
            if count.trim().parse::<u32>().is_ok_and(|count| count > 300) { Ok(()) } else { Err(count) }
        });
        world.file("stop", "");
        assert_eq!(session.status().unwrap()["terminal"], "detached");
        let mut person = Person::new();
        let live = person.sits_at(world.stockade().opts(["shell", "--name", "a"])).start_words();
        person.sees("allover");
        person.types("exit\r");
        live.reap();
        ends(&session);
    });
}

#[test]
fn a_terminal_that_goes_away_types_nothing() {
    each_caller(|world| {
        let session = Hosted::expected(world, "a");
        let mut person = Person::new();
        let live = open(&mut person, world, &[]);
        // The thread that looks for the person lets go of the terminal at the next word on it.
        person.types("(sleep 3; echo late) & cat > said; echo over > ended\r");
        // What is typed before the shell has let go of the terminal is not shown.
        eventually(SOON, || if world.ws.join("said").exists() { Ok(()) } else { Err("not yet".into()) });
        person.types("half a line");
        person.sees("half a line");
        // Nobody is told by a signal: the window is closed.
        drop(person);
        live.reap();
        eventually(SOON, || match session.status() {
            Some(status) if status["terminal"] == "detached" => Ok(()),
            other => Err(format!("{other:?}")),
        });
        assert!(!world.ws.join("ended").exists());
    });
}

#[test]
fn a_terminal_is_for_one() {
    each_caller(|world| {
        let session = Hosted::expected(world, "a");
        let mut first = Person::new();
        let one = open(&mut first, world, &[]);
        let mut second = Person::new();
        let run = |person: &Person, options: &[&str]| {
            person.sits_at(world.stockade().opts(["shell", "--name", "a"]).opts(options)).start_words()
        };
        let other = run(&second, &[]);
        second.sees("somebody is connected");
        assert_eq!(other.reap().code(), Some(125));
        let other = run(&second, &["--take"]);
        first.sees("somebody else took the terminal");
        assert_eq!(one.reap().code(), Some(0));
        second.sees("ready> ");
        second.types("exit 3\r");
        assert_eq!(other.reap().code(), Some(3));
        ends(&session);
    });
}

/// A session that was made for itself outlives its shell; keys and control characters reach programs.
#[test]
fn a_program_gets_a_terminal_of_its_own() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let mut person = Person::new();
        let run = session.exec().opts([
            "--",
            "sh",
            "-c",
            "tty; echo begun; read line; echo \"<$line>\"; sleep 4718",
        ]);
        let live = person.sits_at(run).start_words();
        person.sees("/dev/pts/");
        person.sees("begun");
        person.types("typed\r");
        person.sees("<typed>");
        // A shell that is just about to start a program may miss the signal.
        eventually(SOON, || if running(world, "sleep 4718") == 1 { Ok(()) } else { Err("not yet".into()) });
        std::thread::sleep(Duration::from_millis(200));
        person.types("\x03");
        assert_eq!(live.reap().code(), Some(130));
        // Text goes through pipes, and the caller's terminal is not the command's.
        let mut person = Person::new();
        let run = session.exec().opts(["-c", "tty; read line; echo \"<$line>\""]);
        let live = person.sits_at(run).start_words();
        person.sees("not a tty");
        person.types("typed\r");
        person.sees("<typed>");
        assert_eq!(live.reap().code(), Some(0));

        let mut person = Person::new();
        let live = open(&mut person, world, &[]);
        person.types("exit 6\r");
        assert_eq!(live.reap().code(), Some(6));
        assert_eq!(session.status().unwrap()["terminal"], "none");
    });
}

/// What comes from a pipe is typed, and its end ends the shell, whatever the shell does with its terminal
/// meanwhile.
#[test]
fn a_shell_ends_with_its_input() {
    each_caller(|world| {
        let session = Hosted::expected(world, "a");
        let got = world.ws.join("got");
        for (input, status, expected) in [
            ("", 0, None),
            ("echo he''llo > got\n", 0, Some("hello\n")),
            // A last line without an end is a line, too.
            ("echo he''llo > got; false", 1, Some("hello\n")),
            // The program's input ends, then the shell's; nothing is added to it.
            ("cat > got\nline\n", 0, Some("line\n")),
            ("cat > got\nline", 0, Some("line")),
            ("sleep 1\necho last > got; exit 7\n", 7, Some("last\n")),
        ] {
            let _ = fs::remove_file(&got);
            let ran = world.stockade().opts(["shell", "--name", "a"]).input(input).patience(SOON).go();
            assert_eq!(ran.code(), status, "{input:?}: {ran}");
            assert_eq!(fs::read_to_string(&got).ok().as_deref(), expected, "{input:?}: {ran}");
            ends(&session);
        }
        assert_eq!(leftovers(world), Vec::<String>::new());
    });
}
