//! N29: floods, giants and slow ones; rates and totals.

use super::internet::online;
use super::{allowing, resident, srt, with_network};
use crate::support::{Caller, binaries};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn a_flood_from_one_does_not_touch_another() {
    online(|_, world| {
        let probe = binaries().probe.to_str().unwrap();
        // Ten thousand, each with half a request; fewer the second time, which is about rights and not about size.
        let each = if world.caller == Caller::Root { 2000 } else { 300 };
        let flood = world
            .run()
            .with("--allow-domain", "allow.test")
            .opts(["-c", &format!("echo begun; for i in 1 2 3 4 5; do {probe} flood allow.test:80 {each} 3000 'GET / HT' & done; wait")])
            .start_words();
        flood.first_output(Duration::from_secs(30));
        let before = resident(flood.pid());
        for _ in 0..5 {
            let begun = Instant::now();
            allowing(world, &["allow.test"])
                .shell("curl -sS 'http://allow.test/big?mib=8' | wc -c")
                .gives("8388608\n");
            assert!(begun.elapsed() < Duration::from_secs(8), "another sandbox waited {:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(200));
        }
        let grown = resident(flood.pid()).saturating_sub(before);
        assert!(grown < 400 << 10, "the gateway grew by {grown} kB");
        let ran = flood.finish(Duration::from_secs(60));
        assert_eq!(ran.out().lines().filter(|line| line.starts_with("ok held=")).count(), 5, "{ran}");
        ran.keeps_calm();
    });
}

#[test]
fn giants_are_refused() {
    online(|net, world| {
        let head = |text: &str| {
            format!(
                "import socket
s = socket.create_connection(('allow.test', 80), 10)
s.settimeout(20)
try:
    {text}
except OSError:
    pass
try:
    print(s.recv(100).split(b'\\r\\n')[0].decode())
except OSError:
    print('reset')
"
            )
        };
        for text in [
            "s.sendall(b'GET / HTTP/1.1\\r\\nHost: allow.test\\r\\nX: ' + b'a' * 50000000 + b'\\r\\n\\r\\n')",
            "s.sendall(b'GET / HTTP/1.1\\r\\nHost: allow.test\\r\\n' + b'X: y\\r\\n' * 1000000 + b'\\r\\n')",
            "s.sendall(b'GET /' + b'a' * 50000000 + b' HTTP/1.1\\r\\nHost: allow.test\\r\\n\\r\\n')",
        ] {
            let judged = allowing(world, &["allow.test"]).program(&["python3", "-c", &head(text)]);
            let said = judged.ran.out();
            assert!(
                said.starts_with("HTTP/1.1 4") || said.starts_with("reset") || said == "\n",
                "{}",
                judged.ran
            );
        }
        assert_eq!(net.served(), [""; 0]);
        let fits =
            "s.sendall(b'GET / HTTP/1.1\\r\\nHost: allow.test\\r\\nX: ' + b'a' * 8000 + b'\\r\\n\\r\\n')";
        let judged = allowing(world, &["allow.test"]).program(&["python3", "-c", &head(fits)]);
        judged.gives("HTTP/1.1 200 OK\n");
    });
}

#[test]
fn new_connections_are_counted() {
    online(|net, world| {
        let network = json!({"allowedDomains": ["allow.test"], "connectionsPerSecond": 3});
        let text =
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do curl -sS --max-time 5 http://allow.test/ & done; wait";
        let judged = with_network(world, network).shell(text);
        assert!(
            judged.violations().iter().any(|row| row["kind"] == "limit"),
            "{:#?}{}",
            judged.violations(),
            judged.ran
        );
        let served = net.served().len();
        assert!((1..12).contains(&served), "{served} of 12 came through{}", judged.ran);
        net.forget();
        allowing(world, &["allow.test"]).shell(text).clean();
        assert_eq!(net.served().len(), 12);
    });
}

#[test]
fn requests_are_counted() {
    online(|net, world| {
        for network in [
            json!({"allowedDomains": ["allow.test"], "maxRequestsPerMinute": 3}),
            json!({"allowedDomains": [{"domain": "allow.test", "requestsPerMinute": 3}]}),
        ] {
            net.forget();
            // One connection, many requests.
            let text = "curl -sS -o /dev/null -w '%{http_code} ' http://allow.test/1 -: -o /dev/null -w '%{http_code} ' http://allow.test/2; \
                        curl -sS -o /dev/null -w '%{http_code} ' http://allow.test/3; curl -sS -o /dev/null -w '%{http_code}' http://allow.test/4; true";
            let judged = with_network(world, network).shell(text);
            assert!(judged.ran.out().starts_with("200 200 200 "), "{}", judged.ran);
            assert!(!judged.ran.out().ends_with("200"), "{}", judged.ran);
            assert_eq!(net.served(), ["GET /1", "GET /2", "GET /3"]);
            assert!(
                judged.violations().iter().any(|row| row["kind"] == "limit"),
                "{:#?}",
                judged.violations()
            );
        }
    });
}

#[test]
fn bytes_are_counted() {
    online(|_, world| {
        let size = |network, words: &[&str]| {
            let judged = with_network(world, network)
                .curl(&[words, &["-o", "got", "http://allow.test/big?mib=4"]].concat());
            let got = fs::metadata(world.ws.join("got")).map_or(0, |data| data.len());
            let _ = fs::remove_file(world.ws.join("got"));
            (got, judged)
        };
        let (got, judged) = size(json!({"allowedDomains": ["allow.test"], "totalBytes": 1_000_000}), &[]);
        assert!(got <= 1_000_000, "{got} bytes came{}", judged.ran);
        assert_ne!(judged.ran.code(), 0, "{}", judged.ran);
        assert!(judged.violations().iter().any(|row| row["kind"] == "limit"), "{:#?}", judged.violations());
        let (got, judged) =
            size(json!({"allowedDomains": [{"domain": "allow.test", "totalBytes": 1_000_000}]}), &[]);
        assert!(got <= 1_000_000, "{got} bytes came{}", judged.ran);
        // Four mebibytes at two a second; the first second's worth may come at once.
        let begun = Instant::now();
        let (got, judged) = size(json!({"allowedDomains": ["allow.test"], "bytesPerSecond": 2 << 20}), &[]);
        assert_eq!(got, 4 << 20, "{}", judged.ran);
        assert!(begun.elapsed() > Duration::from_millis(900), "it took {:?} only", begun.elapsed());
        judged.clean();
        let (got, judged) =
            size(json!({"allowedDomains": ["allow.test"], "maxResponseBytes": 1_000_000}), &[]);
        assert!(got <= 1_000_000, "{got} bytes came{}", judged.ran);
        let (got, judged) = size(json!({"allowedDomains": ["allow.test"]}), &[]);
        assert_eq!(got, 4 << 20, "{}", judged.ran);
        judged.clean();
    });
}

/// Clients that begin and never go on are let go.
#[test]
fn slow_clients_hold_nothing_for_ever() {
    online(|_, world| {
        // Ended by the end of the run, whatever they hold open.
        let begun = Instant::now();
        let probe = binaries().probe.to_str().unwrap();
        for port in [3128, 1080] {
            let run = srt(world, json!({"allowedDomains": ["allow.test"]}));
            let text = format!("{probe} flood 127.0.0.1:{port} 200 100 G");
            let ran = run.opts(["-c", &text]).go();
            ran.exits(0);
            assert_eq!(ran.out(), "ok held=200 refused=0\n", "{ran}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    });
}

#[test]
fn statistics_and_events() {
    online(|_, world| {
        let events = world.base.join("events.jsonl");
        let reported = allowing(world, &["allow.test"]).with("--events", events.to_str().unwrap());
        let judged = reported.shell("curl -sS http://allow.test/page?x=1; curl -sS http://evil.test/; curl -sS 'http://allow.test/big?mib=1' >/dev/null");
        let network = &judged.report["network"];
        assert_eq!(network["connections"], 2, "{network:#}");
        assert!(network["received"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{network:#}");
        assert!(network["refused"].as_u64().is_some_and(|count| count >= 1), "{network:#}");
        assert_eq!(network["hosts"][0]["host"], "allow.test", "{network:#}");
        let text = fs::read_to_string(&events).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let about =
            |path: &str| lines.iter().find(|line| line["type"] == "connection" && line["path"] == path);
        let page = about("/page").unwrap_or_else(|| panic!("no record: {text}"));
        assert_eq!(
            (&page["target"], &page["method"], &page["status"], &page["verdict"]),
            (&json!("allow.test:80"), &json!("GET"), &json!(200), &json!("allowed")),
            "{page:#}"
        );
        assert!(page["address"].as_str().is_some_and(|at| at.ends_with(":80")), "{page:#}");
        assert!(page["program"].as_str().is_some_and(|program| program.ends_with("/curl")), "{page:#}");
        assert!(page["pid"].as_u64().is_some_and(|pid| pid > 1), "{page:#}");
        assert!(page["rule"]["text"].as_str().is_some_and(|rule| rule.contains("allow.test")), "{page:#}");
        assert!(about("/big").is_some_and(|row| row["received"].as_u64() >= Some(1 << 20)), "{text}");
        assert!(
            lines.iter().any(|line| line["type"] == "violation" && line["subject"] == "evil.test"),
            "{text}"
        );
    });
}
