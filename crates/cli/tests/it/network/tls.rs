//! Looking into TLS: both versions of HTTP, whom it is for, and who holds the key.

use super::internet::{NEW_CERTIFICATE, authority, online};
use super::{Reported, root, with_network};
use crate::support::World;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A run that looks into the TLS of these hosts, with further network keys.
fn looking<'a>(world: &'a World, hosts: &[&str], more: Value) -> Reported<'a> {
    let mut network = json!({"allowedDomains": hosts, "tlsTerminate": {"extraCaCertPaths": [root(world)]}});
    for (key, value) in more.as_object().expect("an object") {
        match value.as_object().filter(|_| key == "tlsTerminate") {
            Some(inner) => {
                for (key, value) in inner {
                    network["tlsTerminate"][key] = value.clone();
                }
            }
            None => network[key] = value.clone(),
        }
    }
    with_network(world, network)
}

/// Who signed what a host showed.
const ISSUER: &str = "openssl s_client -connect allow.test:443 -servername allow.test </dev/null 2>/dev/null | \
                      openssl x509 -noout -issuer";

#[test]
fn curl_with_both_versions() {
    online(|net, world| {
        net.secure();
        for (version, expected) in [("--http1.1", "hello over h1.1\n"), ("--http2", "hello over h2.0\n")] {
            let judged =
                looking(world, &["allow.test"], json!({})).curl(&[version, "https://allow.test/page"]);
            judged.gives(expected);
        }
        let seen: Vec<Value> = net.secured().iter().map(|row| row["target"].clone()).collect();
        assert_eq!(seen, ["/page", "/page"]);
        let judged = looking(world, &["allow.test"], json!({})).shell(ISSUER);
        judged.ran.exits(0);
        assert!(!judged.ran.out().contains("Test Authority"), "nobody looked into it{}", judged.ran);
        // Many requests in one connection, and bodies in both directions.
        let text = "head -c 3000000 /dev/urandom > up; \
                    for v in --http1.1 --http2; do \
                    curl -sS $v --data-binary @up https://allow.test/echo | cmp - up || exit 1; \
                    curl -sS $v 'https://allow.test/big?mib=8' | wc -c; \
                    curl -sS $v https://allow.test/a https://allow.test/b >/dev/null || exit 2; done";
        looking(world, &["allow.test"], json!({})).shell(text).gives("8388608\n8388608\n");
    });
}

#[test]
fn other_clients_trust_it() {
    online(|net, world| {
        net.secure().repository();
        let python = "import urllib.request; print(urllib.request.urlopen('https://allow.test/').read().decode(), end='')";
        looking(world, &["allow.test"], json!({}))
            .program(&["python3", "-c", python])
            .gives("hello over h1.1\n");
        let node = "fetch('https://allow.test/').then(a => a.text()).then(t => process.stdout.write(t))";
        looking(world, &["allow.test"], json!({})).program(&["node", "-e", node]).gives("hello over h1.1\n");
        let text = "git clone -q https://git.test/git/project.git copy && cat copy/README";
        looking(world, &["git.test"], json!({})).shell(text).gives("content of the repository\n");
        let text = "printf 'GET / HTTP/1.1\\r\\nHost: allow.test\\r\\nConnection: close\\r\\n\\r\\n' | \
                    openssl s_client -quiet -ign_eof -verify_return_error -connect allow.test:443 -servername allow.test 2>/dev/null \
                    | tail -n 1";
        let judged = looking(world, &["allow.test"], json!({})).shell(text);
        assert!(judged.ran.out().contains("hello over h1.1"), "{}", judged.ran);
    });
}

const SOCKET: &str = "import os, socket, ssl
context = ssl.create_default_context()
with context.wrap_socket(socket.create_connection(('allow.test', 443), 10), server_hostname='allow.test') as s:
    s.sendall(b'GET /ws HTTP/1.1\\r\\nHost: allow.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n'
              b'Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n')
    head = b''
    while b'\\r\\n\\r\\n' not in head:
        head += s.recv(1000)
    print(head.split(b'\\r\\n')[0].decode(), b's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' in head)
    for text in (b'one', b'two'):
        mask = os.urandom(4)
        s.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(text)))
        print(s.recv(100)[2:].decode())
";

#[test]
fn web_sockets_are_passed_after_the_upgrade() {
    online(|net, world| {
        net.secure();
        let judged = looking(world, &["allow.test"], json!({})).program(&["python3", "-c", SOCKET]);
        judged.gives("HTTP/1.1 101 Switching Protocols True\none\ntwo\n");
    });
}

#[test]
fn some_hosts_are_left_alone() {
    online(|net, world| {
        net.secure();
        let exclude = json!({"tlsTerminate": {"excludeDomains": ["allow.test"]}});
        let judged = looking(world, &["allow.test"], exclude.clone()).shell(ISSUER);
        assert!(judged.ran.out().contains("Test Authority"), "{}", judged.ran);
        looking(world, &["allow.test"], exclude).curl(&["https://allow.test/"]).gives("hello over h2.0\n");
    });
}

#[test]
fn tunnels_that_cannot_be_judged() {
    online(|net, world| {
        net.secure();
        net.banner(2525);
        let more =
            || json!({"refuseOpaqueTunnels": true, "tlsTerminate": {"excludeDomains": ["other.test"]}});
        let run = || looking(world, &["allow.test", "other.test"], more());
        run().curl(&["https://allow.test/"]).gives("hello over h2.0\n");
        let (answer, judged) = run().probe(&["talk", "allow.test:2525", "anything"]);
        assert!(!answer.line().contains("anything"), "{}", answer.line());
        judged.refused("connect", "allow.test:2525");
        let judged = run().curl(&["https://other.test/"]);
        assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
        judged.refused("connect", "other.test:443");
    });
}

/// A server that nobody vouches for is not vouched for by us.
#[test]
fn servers_are_checked() {
    online(|net, world| {
        net.secure();
        // No further root: the test authority is unknown to the host.
        let network = json!({"allowedDomains": ["allow.test"], "tlsTerminate": {}});
        let judged = with_network(world, network).curl(&["https://allow.test/"]);
        assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
        assert_eq!(net.secured(), [] as [Value; 0], "{}", judged.ran);
        // A name the certificate does not hold.
        let judged = looking(world, &["v4only.test"], json!({})).curl(&["https://v4only.test/"]);
        assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
        assert_eq!(net.secured(), [] as [Value; 0], "{}", judged.ran);
    });
}

/// N14.
#[test]
fn all_names_must_agree() {
    online(|net, world| {
        net.secure();
        let run = |text: &str| looking(world, &["allow.test", "other.test"], json!({})).shell(text);
        let request = "printf 'GET / HTTP/1.1\\r\\nHost: HOST\\r\\nConnection: close\\r\\n\\r\\n' | \
                       openssl s_client -quiet -ign_eof -connect allow.test:443 -servername SNI 2>&1";
        let text = |sni: &str, host: &str| request.replace("SNI", sni).replace("HOST", host);
        for (sni, host) in [("evil.test", "evil.test"), ("other.test", "other.test")] {
            let judged = run(&text(sni, host));
            assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
            let row = judged.refused("connect", "allow.test:443");
            assert!(row["reason"].as_str().is_some_and(|reason| reason.contains(sni)), "{row:#}");
        }
        for host in ["evil.test", "other.test"] {
            let judged = run(&text("allow.test", host));
            assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
            assert!(judged.ran.out().contains("HTTP/1.1 421"), "{}", judged.ran);
            assert_eq!(judged.violations().len(), 1, "{:#?}", judged.violations());
        }
        // HTTP/2 has the host in a field of its own.
        let judged = looking(world, &["allow.test"], json!({})).curl(&[
            "--http2",
            "-H",
            "Host: evil.test",
            "https://allow.test/",
        ]);
        assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
        assert_eq!(net.secured(), [] as [Value; 0]);
        let judged = run(&text("allow.test", "allow.test"));
        assert!(judged.ran.out().contains("hello over h1.1"), "{}", judged.ran);
    });
}

#[test]
fn requests_are_judged_by_method_and_path() {
    online(|net, world| {
        net.secure();
        let rules = json!({"requests": [
            {"host": "allow.test", "methods": ["GET"], "paths": ["/v1/**", "/open"], "allow": true},
            {"host": "allow.test", "methods": ["POST"], "paths": ["/v1/items/*"], "allow": true},
        ]});
        let run = |words: &[&str]| looking(world, &["allow.test"], rules.clone()).curl(words);
        for words in [
            &["https://allow.test/v1/a/b?q=1"][..],
            &["https://allow.test/open"],
            &["-d", "x", "https://allow.test/v1/items/7"],
        ] {
            let judged = run(words);
            assert!(judged.ran.out().starts_with("hello"), "{}", judged.ran);
            judged.clean();
        }
        let arrived = net.secured().len();
        for (words, subject) in [
            (&["https://allow.test/other"][..], "GET allow.test:443/other"),
            (&["-X", "DELETE", "https://allow.test/v1/items/7"], "DELETE allow.test:443/v1/items/7"),
            (&["-d", "x", "https://allow.test/v1/items/7/more"], "POST allow.test:443/v1/items/7/more"),
        ] {
            let judged = run(words);
            assert!(!judged.ran.out().starts_with("hello"), "{}", judged.ran);
            judged.refused("connect", subject);
        }
        for path in
            ["/v1/../other", "/v1/%2e%2e/other", "/v1//other", "/v1/..%2fother", "/v1/.%00./x", "/v1\\other"]
        {
            let judged = run(&["--path-as-is", &format!("https://allow.test{path}")]);
            assert!(!judged.ran.out().starts_with("hello"), "{path}{}", judged.ran);
            assert!(!judged.violations().is_empty(), "{path}{}", judged.ran);
        }
        assert_eq!(net.secured().len(), arrived);
    });
}

/// N27.
#[test]
fn the_key_stays_in_memory() {
    online(|net, world| {
        net.secure();
        let text = "cat \"$SSL_CERT_FILE\" > bundle.pem; env; \
                    for v in NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE PIP_CERT GIT_SSL_CAINFO AWS_CA_BUNDLE \
                    CARGO_HTTP_CAINFO DENO_CERT CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE NIX_SSL_CERT_FILE; do \
                    eval test \"\\\"\\$$v\\\"\" = \"\\\"$SSL_CERT_FILE\\\"\" || { echo no $v; exit 1; }; done; \
                    echo x >> \"$SSL_CERT_FILE\" 2>/dev/null && exit 2; \
                    ls -A \"$(dirname \"$SSL_CERT_FILE\")\"; \
                    grep -rlsa 'PRIVATE KEY' \"$(dirname \"$SSL_CERT_FILE\")\" /proc/1/environ /proc/self/environ && exit 3; \
                    cat /proc/1/mem /proc/1/maps >/dev/null 2>&1 && exit 4; exit 0";
        let judged = looking(world, &["allow.test"], json!({})).shell(text);
        judged.ran.exits(0);
        let bundle = fs::read_to_string(world.ws.join("bundle.pem")).unwrap();
        assert!(!bundle.contains("PRIVATE"), "a key lies in the bundle");
        let certificates = bundle.matches("BEGIN CERTIFICATE").count();
        assert!(certificates > 1, "the bundle has {certificates} certificates");
        let inner = authority().root.lines().nth(1).unwrap();
        assert!(bundle.contains(inner), "the further root is missing");
        // Each run has an authority of its own, and nothing of it is left on this machine.
        let ours = bundle.lines().nth(1).unwrap();
        assert_ne!(ours, inner);
        assert!(!left_behind(
            &[&world.home.join(".local"), &world.home.join(".cache"), &world.outside, Path::new("/etc/ssl")],
            ours
        ));
        looking(world, &["allow.test"], json!({})).shell("cat \"$SSL_CERT_FILE\" > other.pem");
        let other = fs::read_to_string(world.ws.join("other.pem")).unwrap();
        assert_ne!(other.lines().nth(1).unwrap(), ours, "two runs share an authority");
    });
}

/// Whether a text lies in a file below one of these places.
fn left_behind(places: &[&Path], text: &str) -> bool {
    places.iter().any(|place| {
        if place.is_dir() {
            let inner: Vec<_> =
                fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            let inner: Vec<&Path> = inner.iter().map(|path| path.as_path()).collect();
            left_behind(&inner, text)
        } else {
            place.is_file()
                && fs::read(place).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        }
    })
}

/// An authority of the caller's own: its key can be read by the launcher and by nobody inside.
#[test]
fn an_authority_of_the_callers() {
    online(|net, world| {
        net.secure();
        let (certificate, key) = (world.outside.join("ca.pem"), world.outside.join("ca.key"));
        let made = world
            .bare("/usr/bin/openssl")
            .opts(NEW_CERTIFICATE)
            .opts(["-subj", "/CN=House Authority", "-addext", "keyUsage=critical,keyCertSign"])
            .with("-keyout", &key)
            .with("-out", &certificate)
            .go();
        made.exits(0);
        let own = json!({"tlsTerminate": {"caCertPath": certificate, "caKeyPath": key}});
        let judged = looking(world, &["allow.test"], own.clone()).shell(ISSUER);
        assert!(judged.ran.out().contains("House Authority"), "{}", judged.ran);
        looking(world, &["allow.test"], own.clone())
            .curl(&["https://allow.test/"])
            .gives("hello over h2.0\n");
        let judged = looking(world, &["allow.test"], own).program(&["cat", key.to_str().unwrap()]);
        assert!(!judged.ran.out().contains("PRIVATE"), "{}", judged.ran);
        assert_ne!(judged.ran.code(), 0);
    });
}

#[test]
fn headers_are_stripped_from_answers() {
    online(|net, world| {
        net.secure();
        for version in ["--http1.1", "--http2"] {
            let strip = json!({"stripResponseHeaders": ["set-cookie"]});
            let judged =
                looking(world, &["allow.test"], strip).curl(&[version, "-i", "https://allow.test/cookie"]);
            let said = judged.ran.out().to_lowercase();
            assert!(said.contains("x-kept: yes") && !said.contains("set-cookie"), "{}", judged.ran);
        }
    });
}
