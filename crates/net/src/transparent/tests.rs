//! Clients whose first words come late, or are too long to be told apart.

use super::carry;
use crate::gateway::Wanted;
use crate::gateway::testing::{Recorder, plan, ward};
use crate::{Verdict, Via};
use bytes::Bytes;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stockade_policy::{Cause, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PATIENCE: Duration = Duration::from_secs(10);
const EVIL: &str = "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n";

/// A client of `a.test`, what its server has heard, and the witness.
struct Scene {
    client: TcpStream,
    heard: Arc<Mutex<Vec<u8>>>,
    witness: Arc<Recorder>,
}

/// A server that greets with these words, answers each piece with a dot, and remembers everything.
async fn scene(greeting: &'static [u8]) -> Scene {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let hears = Arc::clone(&heard);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(greeting).await.unwrap();
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut piece).await {
            hears.lock().unwrap().extend_from_slice(&piece[..read]);
            let _ = stream.write_all(b".").await;
        }
    });
    let witness = Recorder::new();
    let ward = ward(plan(&["a.test", "127.0.0.1"]), &witness);
    ward.dialler().lookups().know("a.test", &[Ipv4Addr::LOCALHOST.into()]);
    let target = Target::parse(format!("a.test:{port}").as_bytes(), None).unwrap();
    let wanted = Wanted { target, via: Via::Transparent, spoken: None };
    let admitted = ward.admit(wanted).await.unwrap();
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let client = TcpStream::connect(door.local_addr().unwrap()).await.unwrap();
    let (end, _) = door.accept().await.unwrap();
    ward.spawn(carry(Arc::clone(&ward), end.into(), admitted, Bytes::new()));
    Scene { client, heard, witness }
}

impl Scene {
    async fn says(&mut self, words: impl AsRef<[u8]>) {
        self.client.write_all(words.as_ref()).await.unwrap();
    }

    /// Waits for as much from the server.
    async fn hears(&mut self, words: &[u8]) {
        let mut heard = vec![0; words.len()];
        tokio::time::timeout(PATIENCE, self.client.read_exact(&mut heard)).await.unwrap().unwrap();
        assert_eq!(heard, words);
    }

    /// The stream ends without the server having heard of anybody else.
    async fn refused(mut self, cause: Cause) {
        let mut rest = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, self.client.read_to_end(&mut rest)).await.expect("it ends");
        assert_eq!(self.witness.causes(), [cause]);
        assert_eq!(self.witness.records(1).await[0].verdict, Verdict::Refused);
        let heard = String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned();
        assert!(!heard.contains("evil"), "{heard}");
    }
}

/// The beginning of TLS to this name.
pub(crate) fn hello(name: &str) -> Vec<u8> {
    let config = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let mut hello = Vec::new();
    let name = name.to_owned().try_into().unwrap();
    rustls::ClientConnection::new(config.into(), name).unwrap().write_tls(&mut hello).unwrap();
    hello
}

#[tokio::test]
async fn what_is_too_long_does_not_pass_unseen() {
    for first in [
        "\r\n".repeat(33) + EVIL,
        "A".repeat(65) + " / HTTP/1.1\r\nHost: a.test\r\n\r\n" + EVIL,
        " ".repeat(80) + EVIL,
    ] {
        let mut scene = scene(b"").await;
        scene.says(&first).await;
        scene.refused(Cause::Grammar).await;
    }
}

/// Some servers skip bytes that no request begins with.
#[tokio::test]
async fn a_request_does_not_pass_behind_bytes_that_may_be_skipped() {
    let junk: [&[u8]; 6] = [b"\0", b"\xef\xbb\xbf", b"\x7f", b"\r\n\0\r\n", b"\x16", &[0; 3000]];
    for first in junk {
        let mut at_once = scene(b"").await;
        at_once.says([first, EVIL.as_bytes()].concat()).await;
        at_once.refused(Cause::Grammar).await;
        // The beginning of a ClientHello waits for the rest.
        if first == b"\x16" {
            continue;
        }
        for cut in [0, 2, 10] {
            let mut in_parts = scene(b"").await;
            in_parts.says([first, &EVIL.as_bytes()[..cut]].concat()).await;
            in_parts.hears(b".").await;
            in_parts.says(&EVIL[cut..]).await;
            in_parts.refused(Cause::Protocol).await;
        }
    }
}

/// Other protocols begin with such bytes as well, and are not held up.
#[tokio::test]
async fn what_begins_with_such_bytes_passes_at_once() {
    let select = [&b"\0\0\x40\0SELECT "[..], &[b'x'; 20_000]].concat();
    let saying: [&[u8]; 7] = [
        b"\x05\x01\0",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\0\0\0\x20SELECT 1 FROM t\n",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x0aGET key",
        &[0x80; 9000],
        &select,
    ];
    for words in saying {
        let mut scene = scene(b"").await;
        let began = std::time::Instant::now();
        scene.says(words).await;
        scene.hears(b".").await;
        assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
        for _ in 0..8 {
            scene.says([&[7; 4000][..], words].concat()).await;
            scene.hears(b".").await;
        }
        assert!(scene.witness.causes().is_empty());
    }
}

#[tokio::test]
async fn a_request_does_not_pass_in_two_parts() {
    let mut scene = scene(b"").await;
    scene.says("PROPFIND").await;
    scene.hears(b".").await;
    scene.says(" / HTTP/1.1\r\nHost: evil.test\r\n\r\n").await;
    scene.refused(Cause::Protocol).await;
}

#[tokio::test]
async fn a_bare_word_and_more_of_them_pass_and_no_request_behind_them() {
    let mut scene = scene(b"").await;
    for words in ["ruok", "\nagain and again\n", "GET /key\r\n"] {
        scene.says(words).await;
        scene.hears(b".").await;
    }
    assert_eq!(*scene.heard.lock().unwrap(), b"ruok\nagain and again\nGET /key\r\n");
    assert!(scene.witness.causes().is_empty());
    scene.says(EVIL).await;
    scene.refused(Cause::Protocol).await;
}

/// Python's server goes by the spaces of a text, and takes lines of any beginning apart at them.
#[tokio::test]
async fn a_request_does_not_pass_with_other_spaces() {
    for space in [&b"\x1c"[..], b"\x1f", b"\x85", b"\xa0", b"\r"] {
        let said = [b"GET", space, b"/v HTTP/1.1\r\nHost: evil.test\r\n\r\n"].concat();
        let mut at_once = scene(b"").await;
        at_once.says(&said).await;
        at_once.refused(Cause::Grammar).await;
        let mut in_parts = scene(b"").await;
        in_parts.says([b"GET", space].concat()).await;
        in_parts.hears(b".").await;
        in_parts.says(&said[3 + space.len()..]).await;
        in_parts.refused(Cause::Protocol).await;
        let mut old = scene(b"").await;
        old.says([&[0x1c; 9000], &b"GET"[..], space, b"/evil\r\n"].concat()).await;
        old.refused(Cause::Protocol).await;
    }
}

#[tokio::test]
async fn a_request_does_not_pass_behind_other_words() {
    let junk: [&[u8]; 8] = [
        &[0x1c; 8193],
        &[0; 70_000],
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01\0\x01\0\x02",
        b"hello\r\n\r\n",
        b"\"",
        b"(",
        b"\x1b[0m",
    ];
    for first in junk {
        let mut scene = scene(b"").await;
        scene.says([first, EVIL.as_bytes()].concat()).await;
        let mut rest = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, scene.client.read_to_end(&mut rest)).await.expect("it ends");
        scene.refused(Cause::Protocol).await;
    }
}

#[tokio::test]
async fn a_server_that_speaks_first_does_not_hear_requests() {
    for words in
        [EVIL.to_owned(), "\r\n".repeat(33) + EVIL, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nevil".to_owned()]
    {
        let mut scene = scene(b"220 ready\r\n").await;
        scene.hears(b"220 ready\r\n").await;
        scene.says(&words).await;
        scene.refused(Cause::Protocol).await;
    }
}

/// Mail has such lines, and no server of HTTP greets anybody.
#[tokio::test]
async fn a_server_that_speaks_first_may_be_told_about_requests() {
    let lines = "EHLO a\r\nDATA\r\n> GET /log HTTP/1.1\r\n";
    for (greeting, passes) in [(&b"220 ready\r\n"[..], true), (b"HTTP/1.1 408 Timeout\r\n\r\n", false)] {
        let mut scene = scene(greeting).await;
        scene.hears(greeting).await;
        for line in lines.split_inclusive('\n').take(2) {
            scene.says(line).await;
            scene.hears(b".").await;
        }
        scene.says(lines.split_inclusive('\n').next_back().unwrap()).await;
        match passes {
            true => {
                scene.hears(b".").await;
                assert_eq!(*scene.heard.lock().unwrap(), lines.as_bytes());
            }
            false => scene.refused(Cause::Protocol).await,
        }
    }
}

#[tokio::test]
async fn late_tls_must_ask_for_the_name_that_was_judged() {
    let mut misled = scene(b"220 ready\r\n").await;
    misled.hears(b"220 ready\r\n").await;
    let evil = hello("evil.test");
    misled.says(&evil[..100]).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(misled.heard.lock().unwrap().is_empty());
    misled.says(&evil[100..]).await;
    misled.refused(Cause::Mismatch).await;
    let mut agreed = scene(b"220 ready\r\n").await;
    agreed.hears(b"220 ready\r\n").await;
    agreed.says(hello("a.test")).await;
    agreed.hears(b".").await;
    assert_eq!(agreed.heard.lock().unwrap()[..3], [22, 3, 1]);
    assert!(agreed.witness.causes().is_empty());
}

#[tokio::test]
async fn whoever_ends_after_a_greeting_has_ended_well() {
    let mut scene = scene(b"220 ready\r\n").await;
    scene.hears(b"220 ready\r\n").await;
    scene.says("QUIT").await;
    scene.client.shutdown().await.unwrap();
    scene.hears(b".").await;
    assert_eq!(scene.client.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(*scene.heard.lock().unwrap(), b"QUIT");
    assert_eq!(scene.witness.records(1).await[0].verdict, Verdict::Allowed);
}
