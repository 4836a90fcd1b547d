//! What is said afterwards about what was refused, and before about what would be.

use super::internet::online;
use super::{Judged, allowing, connections, with_network};
use serde_json::{Value, json};

/// How often it is tried: on a machine under load a record may be made before its process is found.
const TRIES: usize = 10;

/// The program and the process behind a refusal are known.
#[track_caller]
fn by_curl(kind: &str, subject: &str, run: impl Fn() -> Judged) {
    for _ in 0..TRIES {
        let judged = run();
        let row = judged.refused(kind, subject);
        // Nobody is better than somebody else.
        let Some(program) = row["program"].as_str() else { continue };
        assert!(program.ends_with("/curl"), "{row:#}");
        assert!(row["pid"].as_u64().is_some_and(|pid| pid > 1), "{row:#}");
        return;
    }
    panic!("nobody is known to have tried {subject}");
}

#[test]
fn refusals_name_their_program() {
    online(|_, world| {
        for (kind, subject, url) in [
            ("resolve", "evil.test", "http://evil.test/"),
            ("connect", "203.0.113.13:80", "http://203.0.113.13/"),
            ("connect", "[2001:db8::13]:80", "http://[2001:db8::13]/"),
            ("connect", "allow.test:8080", "http://allow.test:8080/"),
        ] {
            by_curl(kind, subject, || allowing(world, &["allow.test:80"]).curl(&["-g", url]));
            // Behind a shell and among others it is still the one that did it.
            let text = format!(
                "sleep 3 & for i in 1 2 3; do curl -sS http://allow.test/ -o /dev/null; done; curl -sSg {url}; kill $!"
            );
            by_curl(kind, subject, || allowing(world, &["allow.test:80"]).shell(&text));
        }
    });
}

#[test]
fn refusals_at_the_proxies_name_their_program() {
    online(|_, world| {
        for (words, subject) in [
            ("http://evil.test/", "evil.test:80"),
            ("-p http://evil.test/", "evil.test:80"),
            ("https://evil.test/", "evil.test:443"),
            ("--noproxy '' -x socks5h://localhost:1080 http://evil.test/", "evil.test:80"),
            ("--noproxy '*' http://203.0.113.13/", "203.0.113.13:80"),
        ] {
            let text = format!("curl -sS --max-time 20 {words}; true");
            by_curl("connect", subject, || {
                let network = json!({"allowedDomains": ["allow.test"], "proxies": true});
                with_network(world, network).shell(&text)
            });
        }
    });
}

#[test]
fn refusals_are_listed_afterwards() {
    online(|_, world| {
        let text = "curl -sS http://evil.test/; curl -sS http://203.0.113.13:8080/; true";
        allowing(world, &["allow.test"]).shell(text);
        let ran = world.stockade().opts(["violations"]).go();
        ran.exits(0);
        for word in ["evil.test", "203.0.113.13:8080", "curl", "resolve", "connect"] {
            assert!(ran.out().contains(word), "nothing about {word}{ran}");
        }
        let ran = world.stockade().opts(["violations", "--kind", "connect"]).go();
        assert!(ran.out().contains("203.0.113.13:8080") && !ran.out().contains("evil.test"), "{ran}");
    });
}

#[test]
fn hosts_are_explained() {
    online(|net, world| {
        let explain = |options: &[&str], subject: &str| -> (String, Value) {
            let ran = world.stockade().opt("explain").opts(options).opt(subject).go();
            ran.exits(0);
            let json = world.stockade().opts(["explain", "--json"]).opts(options).opt(subject).go();
            (ran.out(), serde_json::from_slice::<Value>(&json.stdout).expect("JSON")[0].take())
        };
        let rules = ["--allow-domain", "allow.test:443", "--deny-domain", "evil.test"];
        for (subject, allowed, words) in [
            ("allow.test:443", true, "allow.test:443"),
            ("https://allow.test:443/path?query", true, "allow.test:443"),
            ("allow.test:80", false, "--allow-domain allow.test:80"),
            ("evil.test:443", false, "evil.test"),
            ("169.254.169.254:80", false, "169.254.169.254"),
            ("other.test:443", false, "--allow-domain other.test"),
        ] {
            let (text, json) = explain(&rules, subject);
            assert_eq!(json["connect"]["allowed"], allowed, "{subject}: {json:#}");
            let verdict = if allowed { "connect  yes" } else { "connect  no" };
            assert!(text.contains(verdict) && text.contains(words), "{subject}: {text}");
        }
        let (_, json) = explain(&[], "allow.test:443");
        assert_eq!(json["connect"]["allowed"], false, "{json:#}");
        assert_eq!(net.asked(), [""; 0], "explaining asks nobody");
    });
}

/// What is refused before it comes to the gateway is counted and told like everything else, once.
#[test]
fn refused_addresses_are_connections_like_others() {
    online(|_, world| {
        let events = world.base.join("events.jsonl");
        let text = "curl -sS http://203.0.113.13:8080/; curl -sSg 'http://[2001:db8::13]/'; \
                    curl -sS http://203.0.113.13:8080/; curl -sS http://198.18.99.99/; true";
        let judged = allowing(world, &["allow.test"])
            .with("--deny-domain", "203.0.113.13")
            .with("--events", events.to_str().unwrap())
            .shell(text);
        let told = connections(&events);
        for (target, times) in [("203.0.113.13:8080", 2), ("[2001:db8::13]:80", 1), ("198.18.99.99:80", 1)] {
            let rows: Vec<_> = told.iter().filter(|row| row["target"] == target).collect();
            assert_eq!(rows.len(), times, "{target}: {told:#?}");
            for row in rows {
                assert_eq!(
                    (&row["verdict"], &row["via"]),
                    (&json!("refused"), &json!("transparent")),
                    "{row:#}"
                );
                assert_eq!((&row["sent"], &row["received"]), (&json!(0), &json!(0)), "{row:#}");
                assert!(row["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{row:#}");
                // The gateway may be quicker with its no than the news of who connected.
                if target.starts_with("198") {
                    continue;
                }
                assert!(row["program"].as_str().is_some_and(|program| program.ends_with("/curl")), "{row:#}");
                if target.starts_with("203") {
                    assert!(row["rule"]["origin"].is_object(), "{row:#}");
                }
            }
        }
        let network = &judged.report["network"];
        assert_eq!(network["refused"], 4, "{network:#}");
        let host =
            network["hosts"].as_array().and_then(|all| all.iter().find(|row| row["host"] == "203.0.113.13"));
        assert_eq!(host.map(|row| &row["refused"]), Some(&json!(2)), "{network:#}");
        assert_eq!(judged.violations().len(), 4, "{:#?}", judged.violations());
    });
}

/// More than a few of one kind are no longer told one by one, and still counted.
#[test]
fn floods_of_refusals_are_in_the_sums() {
    online(|_, world| {
        let text = "import socket
for _ in range(300):
    try: socket.create_connection(('203.0.113.13', 8080))
    except OSError: pass
    try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('203.0.113.13', 443))
    except OSError: pass
";
        let judged = allowing(world, &["allow.test"]).program(&["python3", "-c", text]);
        assert_eq!(judged.report["network"]["refused"], 600, "{:#}", judged.report["network"]);
        let more = judged.report["moreViolations"].as_u64().unwrap_or_default();
        assert_eq!(judged.violations().len() as u64 + more, 600, "{more}");
    });
}

/// Names made up by the thousand do not all get a record, and are still counted.
#[test]
fn floods_of_lookups_are_in_the_sums() {
    online(|_, world| {
        let text = "import socket
for number in range(1500):
    try: socket.getaddrinfo(f'n{number}.evil.test.', 443, socket.AF_INET)
    except OSError: pass
";
        let judged = allowing(world, &["allow.test"]).program(&["python3", "-c", text]);
        assert_eq!(judged.report["network"]["refused"], 1500, "{:#}", judged.report["network"]["refused"]);
        let more = judged.report["moreViolations"].as_u64().unwrap_or_default();
        assert_eq!(judged.violations().len() as u64 + more, 1500, "{more}");
        assert_eq!(judged.violations().len(), 1100);
    });
}

/// What is refused after a flood of the same kind is on record, too: the newest are kept beside the first.
#[test]
fn what_is_refused_after_a_flood_is_on_record() {
    online(|_, world| {
        let events = world.base.join("events.jsonl");
        let text = "import socket
for name in [f'junk{number}.test' for number in range(1500)] + ['real.test']:
    s = socket.create_connection(('127.0.0.1', 3128), 10)
    s.sendall(f'CONNECT {name}:443 HTTP/1.1\\r\\n\\r\\n'.encode())
    while s.recv(1000): pass
";
        let network = json!({"allowedDomains": ["allow.test"], "proxies": true});
        let judged = with_network(world, network)
            .with("--events", events.to_str().unwrap())
            .program(&["python3", "-c", text]);
        judged.refused("connect", "junk0.test:443");
        judged.refused("connect", "real.test:443");
        assert_eq!((judged.violations().len(), &judged.report["moreViolations"]), (1100, &json!(401)));
        let numbers: Vec<_> = judged.violations().iter().map(|row| row["seq"].as_u64()).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        let told = std::fs::read_to_string(&events).unwrap();
        let told = told.lines().filter(|line| line.contains("\"type\":\"violation\""));
        assert!(told.clone().any(|line| line.contains("real.test:443")), "{}", told.count());
        for words in [["violations", "--path", "real.test:443"], ["audit", "show", "--json"]] {
            let ran = world.stockade().opts(words).go();
            assert!(ran.out().contains("real.test:443"), "{words:?}");
        }
    });
}

/// A flood of one kind must not hide what comes after it.
#[test]
fn a_flood_of_datagrams_hides_nothing_else() {
    online(|_, world| {
        let events = world.base.join("events.jsonl");
        let text = "import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(12000):
    to = (f'203.0.113.{number % 250 + 1}', 2000 + number // 250)
    try: s.sendmsg([b'x'], [], 0, to)
    except OSError: pass
time.sleep(0.5)
try: socket.create_connection(('203.0.113.13', 8080))
except OSError: pass
try: socket.getaddrinfo('evil.test', 443)
except OSError: pass
try: open('/etc/new-file', 'w')
except OSError: pass
";
        let judged = allowing(world, &["allow.test"])
            .with("--events", events.to_str().unwrap())
            .program(&["python3", "-c", text]);
        judged.refused("connect", "203.0.113.13:8080");
        judged.refused("resolve", "evil.test");
        assert!(judged.violations().iter().any(|row| row["subject"] == "/etc/new-file"), "{}", judged.ran);
        let told = connections(&events);
        assert!(told.iter().any(|row| row["target"] == "203.0.113.13:8080"));
        let udp = judged
            .violations()
            .iter()
            .filter(|row| row["subject"].as_str().is_some_and(|subject| subject.ends_with("/udp")));
        // The kernel drops what it cannot tell in time.
        let udp = udp.count();
        assert!((50..=1000).contains(&udp), "{udp}");
    });
}

/// However an address is written, it is one host in the sums.
#[test]
fn an_address_is_one_host() {
    online(|_, world| {
        let text = "curl -sSg --noproxy '*' 'http://[2001:db8::13]/'; curl -sSg --noproxy '' -x http://127.0.0.1:3128 \
                    'http://[2001:db8::13]/'; curl -sSg -x socks5://127.0.0.1:1080 'http://[2001:db8::13]/'; true";
        let settings = r#"{"network":{"proxies":true}}"#;
        let file = world.base.join("proxies.json");
        std::fs::write(&file, settings).unwrap();
        let judged = allowing(world, &["allow.test"]).with("--settings", file.to_str().unwrap()).shell(text);
        let hosts = judged.report["network"]["hosts"].as_array().cloned().unwrap_or_default();
        let rows: Vec<_> = hosts
            .iter()
            .filter(|row| row["host"].as_str().is_some_and(|host| host.contains("db8::13")))
            .collect();
        assert_eq!(rows.len(), 1, "{hosts:#?}");
        assert_eq!(rows[0]["refused"], 3, "{rows:#?}");
    });
}
