//! An embedded runtime whose commands reach listed hosts, and others when somebody says so.

use crate::world::{Log, World, shell};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use stockade::{
    ConnectionVerdict, Event, Flags, Layer, Question, Reply, SettingsFile, ViolationKind, Wiring,
};

/// The rest of the world: a proxy that answers for every host. Gives its port.
fn outside() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = head.next().unwrap_or_default();
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let text = format!("answer to {first}\n");
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", text.len());
            let _ = stream.write_all(format!("{head}{text}").as_bytes());
        }
    });
    port
}

#[tokio::test]
async fn hosts_are_listed_or_asked_about() {
    let world = World::new();
    let settings = world.at("settings.json");
    let text = format!(
        r#"{{"network": {{"proxies": true, "parentProxy": {{"http": "http://127.0.0.1:{}"}}}}}}"#,
        outside()
    );
    fs::write(&settings, text).unwrap();
    let user = SettingsFile::named(settings, Layer::User);
    let log = Log::default();
    let seen = log.clone();
    let runtime = world
        .builder()
        .settings(user)
        .flags(Flags { allow_domains: vec!["listed.test".into()], ..Flags::default() })
        .asker(move |question: Question| {
            seen.add(&question);
            async move {
                match question.violation.subject.as_str() {
                    "asked.test:80" => Reply::Session,
                    _ => Reply::Deny,
                }
            }
        })
        .build()
        .unwrap();
    let command = "for host in listed asked asked unwanted; do curl -sSf http://$host.test/page; done; true";
    let prepared = runtime.prepare(runtime.request(shell(command))).unwrap();
    let mut running = runtime.start(prepared, Wiring::captured()).await.unwrap();
    assert!(running.network().is_some(), "there is no gateway");
    let (mut said, mut connections, mut outcome) = (Vec::new(), Vec::new(), None);
    while let Some(event) = running.next().await {
        match event {
            Event::Stdout { data } => said.extend(data),
            Event::Connection(connection) => connections.push(connection),
            Event::Exited(ended) => outcome = Some(ended),
            _ => {}
        }
    }
    let expected =
        ["listed", "asked", "asked"].map(|host| format!("answer to GET http://{host}.test/page HTTP/1.1\n"));
    assert_eq!(String::from_utf8(said).unwrap(), expected.concat());
    let asked = ["asked.test:80", "unwanted.test:80"].map(|host| (ViolationKind::Connect, host.into()));
    assert_eq!(log.asked(), asked);
    let outcome = outcome.unwrap();
    let [violation] = outcome.violations.as_slice() else { panic!("{:?}", outcome.violations) };
    assert_eq!((violation.kind, violation.subject.as_str()), (ViolationKind::Connect, "unwanted.test:80"));
    let allowed = connections.iter().filter(|connection| connection.verdict == ConnectionVerdict::Allowed);
    assert_eq!(allowed.count(), 3, "{connections:?}");
}
