//! HTTP/2 of a command: very many requests for the price of few connections, and requests of a wrong form.

use super::internet::online;
use super::{connections, resident, with_network};
use serde_json::json;
use std::fs;
use std::time::Duration;

/// Kilobytes that the gateway may need for them.
const MOST: u64 = 130_000;

/// Says HTTP/2, frame by frame.
const SPEAK: &str = "
import socket, sys, time
def whole(number):
    if number < 127: return bytes([number])
    number, out = number - 127, b'\\x7f'
    while number > 127: out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])
def field(name, value): return b'\\0' + whole(len(name)) + name + whole(len(value)) + value
def frame(kind, flags, stream, content):
    return len(content).to_bytes(3, 'big') + bytes([kind, flags]) + stream.to_bytes(4, 'big') + content
def request(stream, host, more, path=b'/'):
    fields = [(b':method', b'GET'), (b':scheme', b'http'), (b':authority', host), (b':path', path)]
    return frame(1, 5, stream, b''.join(field(*pair) for pair in fields + more))
def opened(to):
    s = socket.create_connection(to, 10)
    s.settimeout(10)
    s.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + frame(4, 0, 0, b''))
    return s
";

/// Each request waits for a host that never answers, and has a long head.
#[test]
fn a_crowd_of_requests_takes_little_memory() {
    online(|net, world| {
        net.held(7001);
        let script = format!(
            "{SPEAK}
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
to = [('127.0.0.1', 3128), ('allow.test', 7001)]
print('begun', flush=True)
long = [(b'x-one', b'a' * 7500), (b'x-other', b'b' * 7500)]
said = b''.join(request(number * 2 + 1, b'allow.test:7001', long) for number in range(100))
held = []
for number in range(int(sys.argv[1])):
    try:
        held.append(opened(to[number % 2]))
        held[-1].sendall(said)
    except OSError: pass
# Others go on.
other = socket.create_connection(('allow.test', 80), 10)
other.sendall(b'GET / HTTP/1.1\\r\\nHost: allow.test\\r\\n\\r\\n')
print('sent', other.recv(100).split(b'\\r\\n')[0].decode(), flush=True)
time.sleep(60)
"
        );
        let events = world.base.join("events");
        let settings = json!({"network": {"allowedDomains": ["allow.test"], "proxies": true}});
        let settings = world.settings(settings.to_string());
        let live = world
            .run()
            .with("--settings", settings)
            .with("--events", &events)
            .opts(["--", "python3", "-c", &script, "160"])
            .start_words();
        let mut said = String::new();
        let mut await_word = |word: &str| {
            while !said.contains(word) {
                said.push_str(&String::from_utf8_lossy(&live.first_output(Duration::from_secs(60))));
            }
        };
        await_word("begun");
        let before = resident(live.pid());
        await_word("sent HTTP/1.1 200 OK");
        std::thread::sleep(Duration::from_millis(500));
        let grown = resident(live.pid()).saturating_sub(before);
        assert!(grown < MOST, "the gateway grew by {grown} kB");
        drop(live);
        let records = connections(&events);
        let refused: Vec<_> = records.iter().filter(|row| row["verdict"] == "refused").collect();
        assert!(refused.len() > 1000, "{} were refused", refused.len());
        assert!(refused.iter().all(|row| row["reason"].as_str().is_some_and(|why| why.ends_with("at once"))));
        let text = fs::read_to_string(&events).unwrap();
        assert!(text.lines().any(|line| line.contains("\"violation\"") && line.contains("at once")));
    });
}

/// The library refuses these before anybody of ours sees them.
#[test]
fn requests_of_a_wrong_form_are_on_record() {
    online(|_, world| {
        let script = format!(
            "{SPEAK}
for to in [('127.0.0.1', 3128), ('allow.test', 80)]:
    for more, path in [([(b'x', b'a\\r\\nb: c')], b'/'), ([(b'content-length', b'1x')], b'/'),
                       ([(b'transfer-encoding', b'chunked')], b'/'), ([], b'/a\\r\\nb')]:
        s = opened(to)
        s.sendall(request(1, b'allow.test', more, path))
        try:
            while s.recv(1000): time.sleep(.1); break
        except OSError: pass
        time.sleep(.2)
"
        );
        let network = json!({"allowedDomains": ["allow.test"], "proxies": true});
        let judged = with_network(world, network).program(&["python3", "-c", &script]);
        for subject in ["127.0.0.1:3128", "allow.test:80"] {
            judged.refused("connect", subject);
            let of = |row: &&serde_json::Value| row["subject"] == subject;
            assert_eq!(judged.violations().iter().filter(of).count(), 4, "{}", judged.ran);
        }
    });
}
