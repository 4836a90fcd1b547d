//! Clients and hosts that are wrong, slow or somebody else's.

use super::{Hosted, SOON, state};
use crate::support::{Caller, World, each_caller, is_root, kill, skip};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

const SIGSTOP: i32 = 19;

fn connect(world: &World) -> UnixStream {
    let stream = UnixStream::connect(socket(world)).expect("connect");
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

fn socket(world: &World) -> std::path::PathBuf {
    state(world).join("sessions/a.sock")
}

/// Everything the host says until it closes; a connection that breaks is closed, too.
fn answer(mut stream: UnixStream) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Whoever may reach a host's socket and is not its user is not heard. Only root can be both.
#[test]
fn somebody_elses_client_is_not_heard() {
    if !is_root() {
        return skip("somebody_elses_client_is_not_heard", "the suite does not run as root");
    }
    for (caller, heard) in [(Caller::Root, true), (Caller::User, false)] {
        let world = World::new(caller);
        let session = Hosted::new(&world, "a", &[]);
        let mut stream = connect(&world);
        let _ = stream.write_all(b"{\"stockade\":1,\"version\":\"x\"}\n{\"ask\":\"status\"}\n");
        let text = answer(stream);
        assert_eq!(text.contains("\"workspace\""), heard, "{caller:?}: {text}");
        assert_eq!(text.is_empty(), !heard, "{caller:?}: {text}");
        session.exec().shell("true").exits(0);
    }
}

/// And nobody talks to somebody else's host.
#[test]
fn somebody_elses_host_is_not_talked_to() {
    if !is_root() {
        return skip("somebody_elses_host_is_not_talked_to", "the suite does not run as root");
    }
    let (ours, theirs) = (World::new(Caller::Root), World::new(Caller::User));
    let _session = Hosted::new(&theirs, "a", &[]);
    let ran = ours
        .stockade()
        .var("XDG_STATE_HOME", theirs.home.join(".local/state"))
        .opts(["exec", "a"])
        .program(["true"]);
    ran.exits(125).complains(&["it belongs to somebody else"]);
}

#[test]
fn nonsense_does_not_hurt() {
    // Only as whoever runs the tests: others are not heard at all.
    let world = World::new(if is_root() { Caller::Root } else { Caller::User });
    let session = Hosted::new(&world, "a", &[]);
    let hello = b"{\"stockade\":1,\"version\":\"x\"}\n".as_slice();
    for (said, expected) in [
        (&b"\n"[..], "not understood"),
        (b"GET / HTTP/1.1\r\n\r\n", "not understood"),
        (b"{\"stockade\":999,\"version\":\"x\"}\n", "\"stockade\":1"),
        (&[hello, b"{\"ask\":\"loosen\"}\n"].concat(), "not understood"),
        (&[hello, b"[]\n"].concat(), "not understood"),
        (&[hello, b"{\"ask\":\"run\",\"command\":{\"shell\":\"touch no\"},\"timeLimitMs\":null,\"terminal\":null}\n"].concat(), ""),
        (&[hello, b"{\"ask\":\"output\",\"id\":77,\"from\":0}\n"].concat(), "refused"),
    ] {
        let mut stream = connect(&world);
        stream.write_all(said).unwrap();
        let text = answer(stream);
        assert!(text.contains(expected), "{}: {text}", String::from_utf8_lossy(said));
    }
    assert!(!world.ws.join("no").exists());
    // A line without an end.
    let mut stream = connect(&world);
    let flood = vec![b'x'; 1 << 20];
    assert!((0..16).any(|_| stream.write_all(&flood).is_err()));
    // Many who say nothing: those that speak still get their turn once they are gone.
    let silent: Vec<UnixStream> = (0..60).map(|_| connect(&world)).collect();
    session.exec().shell("true").exits(0);
    drop(silent);
    session.exec().shell("true").exits(0);
}

#[test]
fn a_host_that_stopped_is_told_and_killed() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let pid = session.pid();
        kill(pid, SIGSTOP).unwrap();
        let begun = Instant::now();
        let list = world.stockade().opt("sessions").go();
        list.exits(0);
        assert!(list.out().contains("a  does not answer"), "{list}");
        assert!(begun.elapsed() < Duration::from_secs(8));
        let begun = Instant::now();
        let told = format!("its host is process {pid}");
        session.exec().program(["true"]).exits(125).complains(&["a does not answer", &told, "kill -9"]);
        assert!(begun.elapsed() < Duration::from_secs(8));
        let begun = Instant::now();
        session.kill().patience(Duration::from_secs(60)).go().exits(0).complains(&["was killed"]);
        assert!(begun.elapsed() < Duration::from_secs(8));
        assert!(!Path::new(&format!("/proc/{pid}/fd/0")).exists());
        assert_eq!(world.stockade().opt("sessions").go().out(), "no sessions\n");
    });
}
