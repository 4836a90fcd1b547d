//! N25: everything that is not TCP.

use super::allowing;
use super::internet::online;
use super::{Judged, connections};
use serde_json::json;

#[test]
fn datagrams_go_nowhere() {
    online(|net, world| {
        for port in [443, 4433, 123] {
            net.watch_udp(port);
        }
        world.outside_probe(["send-udp", "203.0.113.10:4433"]).ok();
        let wire = net.wire();
        for target in [
            "203.0.113.10:443",
            "203.0.113.10:4433",
            "203.0.113.1:123",
            "198.18.0.1:443",
            "[2001:db8::10]:443",
        ] {
            let (answer, judged) =
                allowing(world, &["allow.test", "203.0.113.10"]).probe(&["ask-udp", target, "QUIC"]);
            answer.errno(&["ECONNREFUSED", "EPERM", "EACCES", "ENETUNREACH"]);
            assert!(judged.ran.took < super::QUICK, "{}", judged.ran);
        }
        assert_eq!(wire.carried("QUIC"), 0);
        assert_eq!(wire.of_protocol(17), 0);
        // The control: the same datagram without walls.
        assert!(net.datagrams().iter().any(|(port, text)| *port == 4433 && text == b"ATTACK"));
    });
}

#[test]
fn no_other_protocol_is_spoken() {
    online(|net, world| {
        let wire = net.wire();
        for socket in [
            ["socket", "inet", "raw", "1"],
            ["socket", "inet", "raw", "255"],
            ["socket", "inet6", "raw", "58"],
            ["socket", "packet", "raw", "3"],
            ["socket", "inet", "stream", "132"],
            ["socket", "inet", "stream", "262"],
        ] {
            let (answer, judged) = allowing(world, &["allow.test"]).probe(&socket);
            answer.errno(&["EPERM", "EACCES", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT"]);
            let row = &judged.violations()[0];
            assert!(row["subject"].as_str().is_some_and(|call| call.starts_with("socket(")), "{row:#}");
            assert!(row["program"].as_str().is_some(), "{row:#}");
        }
        let judged = allowing(world, &["203.0.113.10"]).shell(
            "python3 - <<'E'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
s.settimeout(1)
s.sendto(b'\\x08\\0\\xf7\\xff\\0\\0\\0\\0', ('203.0.113.10', 0))
s.recv(100)
E",
        );
        judged.fails_quickly();
        let row = &judged.violations()[0];
        assert!(row["reason"].as_str().is_some_and(|reason| reason.contains("ping")), "{row:#}");
        assert_eq!(wire.of_protocol(1), 0);
    });
}

#[test]
fn datagrams_inside_are_free() {
    online(|_, world| {
        let text = "import socket
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(('127.0.0.1', 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
b.sendto(b'inside', a.getsockname())
print(a.recv(10).decode())
";
        allowing(world, &["allow.test"]).program(&["python3", "-c", text]).gives("inside\n");
    });
}

/// Datagrams in every way a program can send them, each with the error it gets.
const WAYS: &str = "import errno, socket, time
def way(name, send):
    begun = time.monotonic()
    try: send()
    except OSError as error: print(name, errno.errorcode[error.errno])
    else: print(name, 'sent')
    assert time.monotonic() - begun < 2
def new(six=False): return socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
def told(to):
    s = new(); s.connect(to); s.settimeout(5); s.send(b'QUIC'); s.recv(9)
def bound(to):
    s = new(); s.bind(('0.0.0.0', 0)); s.sendmsg([b'QUIC'], [], 0, to)
lent = socket.getaddrinfo('allow.test', 443, socket.AF_INET)[0][4]
way('alone', lambda: new().sendto(b'QUIC', ('203.0.113.10', 443)))
way('again', lambda: new().sendto(b'QUIC', ('203.0.113.10', 443)))
way('six', lambda: new(True).sendto(b'QUIC', ('2001:db8::10', 443)))
way('connected', lambda: told(('203.0.113.10', 444)))
way('bound', lambda: bound(('203.0.113.10', 445)))
way('named', lambda: new().sendto(b'QUIC', lent))
way('named, connected', lambda: told((lent[0], 8443)))
";

/// The record of a datagram, of whoever sent it; there is one.
#[track_caller]
fn by_python(judged: &Judged, subject: &str) {
    let row = judged.refused("connect", subject);
    assert!(row["program"].as_str().is_some_and(|program| program.contains("python")), "{row:#}");
    assert!(row["pid"].as_u64().is_some_and(|pid| pid > 1), "{row:#}");
    let rows = judged.violations().iter().filter(|row| row["subject"] == subject);
    assert_eq!(rows.count(), 1, "{:#?}", judged.violations());
}

#[test]
fn datagrams_are_refused_at_once_and_recorded() {
    online(|net, world| {
        let wire = net.wire();
        let events = world.base.join("events.jsonl");
        let judged = allowing(world, &["allow.test", "203.0.113.10"])
            .with("--events", events.to_str().unwrap())
            .program(&["python3", "-c", WAYS]);
        assert_eq!(
            judged.ran.out(),
            "alone ECONNREFUSED\nagain ECONNREFUSED\nsix ECONNREFUSED\nconnected ECONNREFUSED\nbound sent\n\
             named ECONNREFUSED\nnamed, connected ECONNREFUSED\n",
            "{}",
            judged.ran
        );
        let subjects = [
            "203.0.113.10:443/udp",
            "[2001:db8::10]:443/udp",
            "203.0.113.10:444/udp",
            "203.0.113.10:445/udp",
            "allow.test:443/udp",
            "allow.test:8443/udp",
        ];
        for subject in subjects {
            by_python(&judged, subject);
        }
        assert_eq!(judged.violations().len(), subjects.len(), "{:#?}", judged.violations());
        assert_eq!(judged.report["moreViolations"], 1, "{:#}", judged.report);
        assert_eq!(judged.report["network"]["refused"], 7, "{:#}", judged.report["network"]);
        let told = connections(&events);
        for subject in subjects {
            let rows: Vec<_> = told.iter().filter(|row| row["target"] == subject).collect();
            assert_eq!(rows.len(), 1, "{subject}: {told:#?}");
            assert_eq!(rows[0]["verdict"], "refused");
            assert!(rows[0]["reason"].as_str().is_some_and(|reason| reason.contains("UDP")), "{rows:#?}");
        }
        assert_eq!(wire.carried("QUIC"), 0);
    });
}

/// The last thing a program does is recorded as well.
#[test]
fn a_datagram_before_the_end_is_recorded() {
    online(|_, world| {
        let text = "import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('203.0.113.10', 443))
s.send(b'x')
os._exit(0)";
        for _ in 0..5 {
            let judged = allowing(world, &["allow.test"]).program(&["python3", "-c", text]);
            by_python(&judged, "203.0.113.10:443/udp");
        }
    });
}

/// Programs connect datagram sockets to put addresses in order, and send nothing.
#[test]
fn addresses_can_be_put_in_order() {
    online(|_, world| {
        let text = "import socket
for _ in range(3):
    assert len({end[0] for *_, end in socket.getaddrinfo('allow.test', 443)}) == 2
for family, to in [(socket.AF_INET, '203.0.113.13'), (socket.AF_INET6, '2001:db8::13')]:
    for port in [0, 53, 443]:
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.connect((to, port))
        s.getsockname()
print('done')
";
        allowing(world, &["allow.test"]).program(&["python3", "-c", text]).gives("done\n");
        allowing(world, &["allow.test"]).shell("getent ahosts allow.test | wc -l").clean();
    });
}

#[test]
fn without_any_network_datagrams_are_recorded_as_well() {
    online(|_, world| {
        let text = "import socket
for port in [443, 443, 53]:
    try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('203.0.113.10', port))
    except OSError as error: print(error.strerror)
";
        let judged = allowing(world, &[]).program(&["python3", "-c", text]);
        assert_eq!(judged.ran.out(), "Network is unreachable\n".repeat(3), "{}", judged.ran);
        by_python(&judged, "203.0.113.10:443/udp");
        judged.refused("resolve", "203.0.113.10:53");
        assert_eq!(judged.report["network"], json!(null));
    });
}

/// A program has one record per destination, whichever call it sends with.
#[test]
fn one_program_and_place_have_one_record() {
    online(|_, world| {
        let text = "import socket
new = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def connected(to):
    s = new()
    s.connect(to)
    s.send(b'x')
def attempt(act):
    try: act()
    except OSError: pass
one, other, third = [('203.0.113.10', port) for port in (443, 444, 445)]
attempt(lambda: connected(one))
attempt(lambda: new().sendto(b'x', one))
attempt(lambda: new().sendto(b'x', other))
attempt(lambda: new().sendmsg([b'x'], [], 0, other))
attempt(lambda: new().sendto(b'x', third))
attempt(lambda: connected(third))
";
        let judged = allowing(world, &["allow.test"]).program(&["python3", "-c", text]);
        for port in [443, 444, 445] {
            by_python(&judged, &format!("203.0.113.10:{port}/udp"));
        }
        assert_eq!(judged.violations().len(), 3, "{:#?}", judged.violations());
        assert_eq!(judged.report["moreViolations"], 3, "{:#}", judged.report);
        assert_eq!(judged.report["network"]["refused"], 6, "{:#}", judged.report["network"]);
    });
}
