//! Output that nobody reads: a full pipe holds a command, never the end of a run.

use crate::support::{Live, Run, World, each_caller, kill};
use std::io::{PipeReader, PipeWriter, Read};
use std::os::unix::fs::fchown;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// More than the second a last word is waited for, and the two a deaf command has.
const SOON: Duration = Duration::from_secs(8);

/// Long enough to fill a pipe.
const FULL: Duration = Duration::from_millis(700);

/// A pipe of the caller's that nobody reads until the test does.
fn pipe(world: &World) -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let (user, group) = world.caller.ids();
    fchown(&writer, Some(user), Some(group)).unwrap();
    (reader, writer)
}

/// A full pipe in the place of stderr.
fn unheard(world: &World, run: impl FnOnce(&World) -> Run<'_>) -> (PipeReader, Live) {
    let (reader, writer) = pipe(world);
    let live = run(world).output_to(Stdio::null(), writer).start_words();
    (reader, live)
}

#[track_caller]
fn ends(live: Live, code: i32, since: Instant) {
    let ran = live.finish(SOON);
    ran.exits(code);
    assert!(since.elapsed() < SOON, "{:?}{ran}", since.elapsed());
}

const LOUD: &str = "exec yes >&2";

#[test]
fn a_time_out_ends_the_launcher() {
    each_caller(|world| {
        let options = ["-q", "--timeout", "0.6", "-c", LOUD];
        let begun = Instant::now();
        let (_reader, live) = unheard(world, |world| world.run().opts(options));
        ends(live, 137, begun);
        // Words that a run has to say on the way are not waited for either.
        let options = ["-v", "--timeout", "0.6", "-c", LOUD];
        let begun = Instant::now();
        let (_reader, live) = unheard(world, |world| world.run().opts(options));
        ends(live, 137, begun);
    });
}

#[test]
fn signals_end_the_launcher() {
    each_caller(|world| {
        for (signal, code) in [(SIGTERM, 143), (SIGINT, 130)] {
            let (_reader, live) = unheard(world, |world| world.run().opts(["-v", "-c", LOUD]));
            sleep(FULL);
            let begun = Instant::now();
            kill(live.pid(), signal).unwrap();
            ends(live, code, begun);
            let (_reader, live) = unheard(world, |world| world.srt().opts(["-d", "-c", LOUD]));
            sleep(FULL);
            let begun = Instant::now();
            kill(live.pid(), signal).unwrap();
            ends(live, code, begun);
        }
    });
}

/// Somebody who reads slowly gets the last words, and a signal ends the waiting. What the command came to stays.
#[test]
fn a_slow_reader_gets_the_last_words() {
    each_caller(|world| {
        // Exactly what a pipe takes, and something to say after it.
        let fill = "(: > /var/tmp/none) 2> /dev/null; head -c 65536 /dev/zero >&2; exit 3";
        let start = || unheard(world, |world| world.run().opts(["-c", fill]));
        let (mut reader, live) = start();
        sleep(Duration::from_secs(3));
        let mut said = Vec::new();
        let listener = std::thread::spawn(move || reader.read_to_end(&mut said).map(|_| said));
        ends(live, 3, Instant::now());
        let said = listener.join().unwrap().unwrap();
        assert!(said[65536..].starts_with(b"stockade: 1 act was refused"), "{}", said.len());

        let (_reader, live) = start();
        sleep(Duration::from_secs(3));
        let begun = Instant::now();
        kill(live.pid(), SIGTERM).unwrap();
        ends(live, 3, begun);
    });
}

/// The same pipe for everything.
#[test]
fn a_full_stdout_does_not_hold_it_up_either() {
    each_caller(|world| {
        let (_reader, writer) = pipe(world);
        let begun = Instant::now();
        let error = writer.try_clone().unwrap();
        let run = world.run().opts(["--timeout", "0.6", "-c", "exec yes"]).output_to(writer, error);
        ends(run.start_words(), 137, begun);
        // Counted bytes go through our own hands.
        let (_reader, writer) = pipe(world);
        let begun = Instant::now();
        let error = writer.try_clone().unwrap();
        let options = ["--max-output", "1000000000", "--timeout", "0.6", "-c", "yes & exec yes >&2"];
        ends(world.run().opts(options).output_to(writer, error).start_words(), 137, begun);
    });
}

#[test]
fn events_that_nobody_reads_do_not_hide_the_end() {
    each_caller(|world| {
        let (_reader, writer) = pipe(world);
        let begun = Instant::now();
        let loud = "while :; do : > /var/tmp/none; done 2> /dev/null";
        let run =
            world.run().opts(["--max-output", "100000000", "--events", "fd:9", "--timeout", "0.6", "-c"]);
        let run =
            run.opts([&format!("yes & {loud}")]).holding(writer, 9).output_to(Stdio::null(), Stdio::null());
        ends(run.start_words(), 137, begun);
    });
}

/// Makes an event with each attempt, as fast as it can, and says that it does.
const KNOCKING: &str = "import socket, sys
count = 0
while True:
    knock = socket.socket()
    try:
        knock.connect(('10.77.0.%d' % (count % 200 + 20), count % 60000 + 1))
    except OSError:
        pass
    knock.close()
    count += 1
    if count == 3000:
        print('full', flush=True)
";

/// What a run may hold while nobody reads; with every event kept it is a few seconds to ten times as much.
const MOST_KIB: u64 = 150 * 1024;

/// Neither the time limit nor a signal, and memory has an end.
#[test]
fn events_that_nobody_reads_hold_up_nothing() {
    each_caller(|world| {
        let start = |time: &str| {
            let (reader, writer) = pipe(world);
            let run = world.run().opts(["--allow-domain", "x.test", "--events", "fd:9", "--timeout", time]);
            let live = run.opts(["--", "python3", "-c", KNOCKING]).holding(writer, 9).start_words();
            assert_eq!(live.first_output(SOON), b"full\n");
            (reader, live)
        };
        for (signal, code) in [(SIGTERM, 143), (SIGINT, 130)] {
            let (_reader, live) = start("60");
            let begun = Instant::now();
            kill(live.pid(), signal).unwrap();
            ends(live, code, begun);
            assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
        }
        let begun = Instant::now();
        let (_reader, live) = start("6");
        sleep(Duration::from_secs(5).saturating_sub(begun.elapsed()));
        let status = std::fs::read_to_string(format!("/proc/{}/status", live.pid())).unwrap();
        let held = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let held: u64 = held.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(held < MOST_KIB, "{held}");
        ends(live, 137, begun);
        assert!(begun.elapsed() < Duration::from_millis(7500), "{:?}", begun.elapsed());
    });
}

/// Whoever reads again is told how many are missing, and gets the end.
#[test]
fn whoever_reads_late_is_told_what_is_missing() {
    each_caller(|world| {
        let (mut reader, writer) = pipe(world);
        let run = world.run().opts(["--allow-domain", "x.test", "--events", "fd:9", "--timeout", "5"]);
        let live = run.opts(["--", "python3", "-c", KNOCKING]).holding(writer, 9).start_words();
        assert_eq!(live.first_output(SOON), b"full\n");
        sleep(Duration::from_secs(2));
        let mut told = String::new();
        let listener = std::thread::spawn(move || reader.read_to_string(&mut told).map(|_| told));
        live.finish(SOON).exits(137);
        let told = listener.join().unwrap().unwrap();
        let events: Vec<serde_json::Value> =
            told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count() as u64;
        let missed: u64 = events.iter().filter_map(|event| event["events"].as_u64()).sum();
        let end = events.last().unwrap();
        assert_eq!(end["type"], "exited");
        // Each attempt was told or counted.
        let attempts = end["network"]["refused"].as_u64().unwrap();
        assert!(count("missed") > 0);
        assert_eq!(count("connection") + missed, attempts);
        assert_eq!(count("violation") as usize, end["violations"].as_array().unwrap().len());
    });
}

#[test]
fn a_sessions_command_ends_in_time_too() {
    each_caller(|world| {
        world.stockade().opts(["sessions", "new", "--name", "a"]).go().exits(0);
        for command in [&["-c", LOUD][..], &["-c", "yes"], &["--", "yes"]] {
            let (_reader, writer) = pipe(world);
            let begun = Instant::now();
            let error = writer.try_clone().unwrap();
            let run = world.stockade().opts(["exec", "--timeout", "0.6", "a"]).opts(command);
            ends(run.output_to(writer, error).start_words(), 137, begun);
        }
        let ran = world.stockade().opts(["exec", "a", "-c", "echo there"]).go();
        assert_eq!(ran.out(), "there\n", "{ran}");
        world.stockade().opts(["sessions", "kill", "a"]).go().exits(0);
    });
}
