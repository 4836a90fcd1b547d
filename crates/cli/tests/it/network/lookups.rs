//! Names that are asked for where there is no network: nobody answers, and the refusal says what was asked for.

use super::reported;
use crate::support::each_caller;
use std::time::Instant;

/// Asks for a name with an own query: connected, with an address, over IPv6, at a resolver of this machine; and says
/// something else to such a server.
const QUERIES: &str = r#"
import socket
def query(name):
    labels = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.'))
    return b'\x12\x34\x01\0\0\x01\0\0\0\0\0\0' + labels + b'\0\0\x01\0\x01'
def heard(family, act):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.settimeout(5)
        try:
            act(one)
            one.recv(100)
            print('an answer')
        except OSError as error:
            print(error.errno)
def connected(server, what):
    def act(one):
        one.connect((server, 53))
        one.send(what)
    return act
heard(socket.AF_INET, connected('203.0.113.9', query('connected.test')))
heard(socket.AF_INET6, connected('2001:db8::9', query('six.test')))
heard(socket.AF_INET, connected('127.0.0.53', query('here.test')))
heard(socket.AF_INET, lambda one: one.sendto(query('with.address.test'), ('203.0.113.9', 53)))
heard(socket.AF_INET, connected('203.0.113.7', b'no query'))
heard(socket.AF_INET, connected('203.0.113.9', query('odd\x1b[2J.test')))
"#;

#[test]
fn programs_hear_at_once_and_people_what_was_asked_for() {
    each_caller(|world| {
        for argv in [
            ["curl", "-sS", "http://Some.example.test/page"].as_slice(),
            &["getent", "ahosts", "some.example.test"],
            &["python3", "-c", "import socket; socket.getaddrinfo('some.example.test', 443)"],
            &[
                "node",
                "-e",
                "require('dns').resolve4('some.example.test', error => process.exit(error ? 3 : 0))",
            ],
            &["git", "ls-remote", "https://some.example.test/x"],
        ] {
            let began = Instant::now();
            let judged = reported(world, world.run()).program(argv);
            assert!(began.elapsed() < super::QUICK, "{argv:?}");
            assert_ne!(judged.report["exitCode"], 0, "{argv:?}");
            let row = judged.refused("resolve", "some.example.test");
            assert_eq!(row["suggestion"], "--allow-domain some.example.test", "{row:#}");
            assert!(row["program"].is_string(), "{argv:?}: {row:#}");
            // A resolver asks for both kinds of addresses, twice, and that is one lookup.
            assert_eq!(judged.violations().len(), 1, "{argv:?}: {:#?}", judged.violations());
            assert_eq!(judged.report["blockedResource"], "some.example.test", "{argv:?}");
        }
    });
}

#[test]
fn every_way_of_asking_is_heard() {
    each_caller(|world| {
        let judged = reported(world, world.run()).program(&["python3", "-c", QUERIES]);
        assert_eq!(judged.ran.out(), "111\n111\n111\n101\n111\n111\n", "{}", judged.ran);
        for name in ["connected.test", "six.test", "here.test", "with.address.test", "203.0.113.7:53"] {
            judged.refused("resolve", name);
        }
        // A name that none is.
        judged.refused("resolve", "203.0.113.9:53");
        assert_eq!(judged.violations().len(), 6, "{:#?}", judged.violations());
    });
}

#[test]
fn a_flood_of_names_is_counted() {
    each_caller(|world| {
        let script = "import socket\n\
            for number in range(3000):\n  \
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:\n    \
            one.connect(('203.0.113.9', 53))\n    \
            name = b'n%d' % number\n    \
            try: one.send(b'\\0\\0\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + bytes([len(name)]) + name + b'\\0\\0\\1\\0\\1')\n    \
            except OSError: pass\n";
        let judged = reported(world, world.run()).program(&["python3", "-c", script]);
        let told = judged.violations().len();
        assert!((50..=1200).contains(&told), "{told}");
    });
}
