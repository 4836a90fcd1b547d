//! The proxies of the srt front: their ports, variables and words, and what they refuse.

use super::internet::{Internet, online};
use super::{Home, on_record, srt, srt_settings, srt_with};
use crate::support::{Answer, Ran, Run, World, eventually};
use serde_json::json;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const HTTP: &str = "127.0.0.1:3128";
const SOCKS: &str = "127.0.0.1:1080";

/// Settings that allow one host.
fn one(world: &World) -> Run<'_> {
    srt(world, json!({"allowedDomains": ["allow.test"]}))
}

fn curl(run: Run<'_>, words: &[&str]) -> Ran {
    let ran = run.opts(["curl", "-sS", "--max-time", "20"]).opts(words).go();
    ran.keeps_calm();
    ran
}

/// Says bytes to a port inside, in one piece, and gives back what was answered.
#[track_caller]
fn say(run: Run<'_>, to: &str, bytes: &[u8]) -> String {
    let words = vec![OsString::from("talk"), OsString::from(to), OsString::from_vec(bytes.to_vec())];
    let answer: Answer = run.batch([words]).remove(0);
    // A reset is an answer, too.
    if !answer.succeeded() {
        answer.errno(&["ECONNRESET", "EPIPE"]);
        return String::new();
    }
    let bytes: Vec<u8> =
        answer.words().first().map(|word| word.clone().into_encoded_bytes()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first line of what was answered.
#[track_caller]
fn status(said: &str) -> &str {
    said.lines().next().unwrap_or("")
}

#[test]
fn variables_and_ports() {
    online(|net, world| {
        let ran = one(world).opts(["-c", "env"]).go();
        let text = ran.out();
        for line in [
            "SANDBOX_RUNTIME=1",
            "HTTP_PROXY=http://localhost:3128",
            "HTTPS_PROXY=http://localhost:3128",
            "http_proxy=http://localhost:3128",
            "https_proxy=http://localhost:3128",
            "NO_PROXY=localhost,127.0.0.1,::1,169.254.0.0/16,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16",
            "NODE_USE_ENV_PROXY=1",
        ] {
            assert!(text.lines().any(|known| known == line), "no {line}{ran}");
        }
        for name in [
            "ALL_PROXY=socks5h://",
            "all_proxy=socks5h://",
            "GRPC_PROXY=",
            "FTP_PROXY=socks5h://",
            "GIT_SSH_COMMAND=ssh ",
        ] {
            assert!(text.lines().any(|known| known.starts_with(name)), "no {name}{ran}");
        }
        let ran = curl(one(world), &["http://allow.test/"]);
        assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
        // The upstream server is asked as a server, not as a proxy.
        let requests = net.requests();
        assert_eq!((requests[0].target.as_str(), requests[0].header("host")), ("/", "allow.test"));
        assert!(requests[0].headers.iter().all(|(name, _)| !name.starts_with("proxy-")), "{requests:?}");
        // The same without the variables.
        let ran = curl(one(world), &["--noproxy", "*", "http://allow.test/"]);
        assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
    });
}

#[test]
fn all_three_proxies() {
    online(|net, world| {
        net.banner(2525);
        for words in [
            &["-x", "http://localhost:3128"][..],
            &["-p", "-x", "http://localhost:3128"],
            &["--socks5-hostname", "localhost:1080"],
        ] {
            let run = |url: &str| curl(one(world), &[words, &[url]].concat());
            let ran = run("http://allow.test/");
            assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
            let ran = run("http://evil.test/");
            assert!(!ran.out().contains("hello"), "{ran}");
            on_record(world, "connect", "evil.test:80");
        }
        assert_eq!(net.served(), ["GET /"; 3]);
        assert!(!net.asked().contains(&"evil.test".to_owned()));
        // A stream of anything through CONNECT; the server speaks first.
        let said =
            say(one(world), HTTP, b"CONNECT allow.test:2525 HTTP/1.1\r\nHost: allow.test:2525\r\n\r\nhello");
        assert!(status(&said).starts_with("HTTP/1.1 200"), "{said}");
        assert!(said.contains("220 the server speaks first") && said.ends_with("hello"), "{said}");
    });
}

#[test]
fn words_of_a_refusal() {
    online(|_, world| {
        let said = say(one(world), HTTP, b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n");
        assert!(status(&said).starts_with("HTTP/1.1 403"), "{said}");
        assert!(said.to_lowercase().contains("x-proxy-error: blocked-by-allowlist"), "{said}");
        assert!(said.contains("blocked by network allowlist"), "{said}");
        let said = say(one(world), HTTP, b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n");
        assert!(status(&said).starts_with("HTTP/1.1 403"), "{said}");
        on_record(world, "connect", "evil.test:443");
        let reasons = || {
            srt(
                world,
                json!({
                    "allowedDomains": ["allow.test", "evil.test"],
                    "deniedDomains": ["evil.test"],
                    "deniedDomainReasons": {"evil.test": "Use the mirror instead"},
                }),
            )
        };
        let said = say(reasons(), HTTP, b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n");
        assert!(said.contains("403") && said.contains("Use the mirror instead"), "{said}");
        let said = say(reasons(), HTTP, b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n");
        assert!(status(&said).contains("Use the mirror instead"), "{said}");
        let loops = srt(world, json!({"allowedDomains": ["loop.test"]}));
        let said = say(loops, HTTP, b"GET http://loop.test/ HTTP/1.1\r\nHost: loop.test\r\n\r\n");
        assert!(said.to_lowercase().contains("x-proxy-error: blocked-by-sandbox-runtime"), "{said}");
        // Reply 2: not allowed by ruleset.
        let said = say(one(world), SOCKS, b"\x05\x01\0\x05\x01\0\x03\x09evil.test\0\x50");
        assert_eq!(&said.as_bytes()[..4], b"\x05\0\x05\x02", "{said:?}");
        let ran = curl(one(world), &["-v", "--socks5-hostname", "localhost:1080", "http://evil.test/"]);
        ran.exits(97);
    });
}

/// A SOCKS5 greeting and a connect to this name.
fn socks(name: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = b"\x05\x01\0\x05\x01\0\x03".to_vec();
    bytes.push(u8::try_from(name.len()).expect("a short name"));
    bytes.extend(name);
    bytes.extend(port.to_be_bytes());
    bytes
}

/// N02, and other bytes that no name has.
#[test]
fn names_with_bytes_that_names_do_not_have() {
    online(|net, world| {
        let wire = net.wire();
        let below = || srt(world, json!({"allowedDomains": ["allow.test", "*.allow.test"]}));
        let request = b"GET / HTTP/1.1\r\nHost: allow.test\r\n\r\n";
        let control = say(below(), SOCKS, &[&socks(b"also.allow.test", 80)[..], request].concat());
        assert!(control.contains("HTTP/1.1 "), "{control:?}");
        net.forget();
        wire.forget();
        for name in [
            &b"evil.test\0.allow.test"[..],
            b"evil.test%00.allow.test",
            b"evil.test\n.allow.test",
            b"evil.test/.allow.test",
            b"evil.test@allow.test",
            b"evil.test#.allow.test",
            "evil.test\u{ff0e}allow.test".as_bytes(),
            b"evil.test\x7f.allow.test",
            b".allow.test",
            b"a..allow.test",
            b" allow.test",
            b"",
            &[b'a'; 255],
        ] {
            let said = say(below(), SOCKS, &[&socks(name, 80)[..], request].concat());
            assert!(!said.contains("HTTP/1.1 "), "{name:?} {said:?}");
            if said.len() > 3 {
                assert_ne!(said.as_bytes()[3], 0, "{name:?} {said:?}");
            }
            if !name.contains(&b'\n') {
                let head = [b"GET http://", name, b"/ HTTP/1.1\r\nHost: ", name, b"\r\n\r\n"].concat();
                let said = say(below(), HTTP, &head);
                assert!(said.is_empty() || status(&said).starts_with("HTTP/1.1 4"), "{name:?} {said:?}");
            }
            let head = [b"CONNECT ", name, b":80 HTTP/1.1\r\n\r\n"].concat();
            let said = say(below(), HTTP, &head);
            assert!(!status(&said).starts_with("HTTP/1.1 2"), "{name:?} {said:?}");
        }
        assert_eq!(net.connections(), []);
        assert_eq!(net.asked(), [""; 0]);
        assert_eq!(wire.carried("evil"), 0);
    });
}

/// N12.
#[test]
fn redirects_are_judged_again() {
    online(|net, world| {
        for proxy in ["http://localhost:3128", "socks5h://localhost:1080"] {
            let to = |host: &str| {
                curl(
                    one(world),
                    &["-L", "-x", proxy, &format!("http://allow.test/redirect?to=http://{host}/")],
                )
            };
            let ran = to("evil.test");
            assert!(!ran.out().contains("hello"), "{ran}");
            on_record(world, "connect", "evil.test:80");
            let ran = to("allow.test");
            assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
        }
        assert!(net.connections().iter().all(|at| at.ip().to_string() != "203.0.113.13"));
    });
}

/// N13.
#[test]
fn target_and_host_must_agree() {
    online(|net, world| {
        let say = |request: &str| say(one(world), HTTP, request.as_bytes());
        for request in [
            "GET http://allow.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
            "GET http://allow.test/ HTTP/1.1\r\nHost: allow.test\r\nHost: evil.test\r\n\r\n",
            "GET http://allow.test/ HTTP/1.1\r\nHost: allow.test, evil.test\r\n\r\n",
            "GET http://allow.test/ HTTP/1.1\r\n\r\n",
            "GET http://allow.test@evil.test/ HTTP/1.1\r\nHost: allow.test\r\n\r\n",
            "GET http://evil.test#@allow.test/ HTTP/1.1\r\nHost: allow.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: allow.test\r\n\r\n",
            "GET ftp://allow.test/ HTTP/1.1\r\nHost: allow.test\r\n\r\n",
            "GET http://allow.test/ HTTP/1.1\r\nHost: allow.test:8080\r\n\r\n",
        ] {
            let said = say(request);
            assert!(said.is_empty() || status(&said).starts_with("HTTP/1.1 4"), "{request:?} {said}");
        }
        let said = say("GET http://allow.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n");
        assert!(
            status(&said).starts_with("HTTP/1.1 400") || status(&said).starts_with("HTTP/1.1 421"),
            "{said}"
        );
        assert_eq!(net.served(), [""; 0]);
        let said = say("GET http://allow.test/ HTTP/1.1\r\nHost: allow.test\r\n\r\n");
        assert!(said.contains("hello from allow.test"), "{said}");
    });
}

/// N14 without a look into TLS: what the client hello names must be what was asked for.
#[test]
fn the_name_in_the_hello_must_agree() {
    online(|net, world| {
        net.silent(443);
        for through in ["-proxy localhost:3128", ""] {
            let hello = |name: &str| {
                net.forget();
                let text = format!(
                    "openssl s_client {through} -connect allow.test:443 -servername {name} </dev/null 2>&1"
                );
                one(world).opts(["-c", &text])
            };
            // Ends by itself: nobody leads it anywhere.
            let ran = hello("evil.test").go();
            assert!(net.raw().is_empty(), "the hello arrived{ran}");
            let row = on_record(world, "connect", "allow.test:443");
            assert!(row["reason"].as_str().is_some_and(|reason| reason.contains("evil.test")), "{row:#}");
            let _control = hello("allow.test").start_words();
            eventually(Duration::from_secs(20), || match String::from_utf8_lossy(&net.raw()) {
                heard if heard.contains("allow.test") => Ok(()),
                heard => Err(format!("the control did not arrive: {heard:?}")),
            });
        }
    });
}

/// N15: whatever two readers could understand differently.
#[test]
fn ambiguous_requests_go_nowhere() {
    online(|net, world| {
        let hidden = "GET /hidden HTTP/1.1\r\nHost: allow.test\r\n\r\n";
        let head = "POST http://allow.test/ HTTP/1.1\r\nHost: allow.test\r\n";
        for request in [
            format!("{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
            format!("{head}Content-Length: 0\r\nContent-Length: 44\r\n\r\n{hidden}"),
            format!(
                "{head}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{hidden}"
            ),
            format!("{head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
            format!("{head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{hidden}"),
            format!("{head}Content-Length: +5\r\n\r\nabcde{hidden}"),
            format!("{head}Content-Length: 5, 5\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\nabcde{hidden}"),
            format!("{head}X: a\rContent-Length: 44\r\n\r\n{hidden}"),
            format!("{head}Transfer-Encoding: chunked\r\n\r\n5;\nabcde\r\n0\r\n\r\n{hidden}"),
        ] {
            let said = say(one(world), HTTP, request.as_bytes());
            assert!(!net.served().contains(&"GET /hidden".to_owned()), "{request:?} {said}");
        }
    });
}

/// N15: many requests in one connection.
#[test]
fn each_request_of_a_connection_is_judged() {
    online(|net, world| {
        let get =
            |host: &str, path: &str| format!("GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let three =
            [get("allow.test", "/one"), get("evil.test", "/two"), get("allow.test", "/three")].concat();
        let said = say(one(world), HTTP, three.as_bytes());
        assert!(said.contains("hello from allow.test") && said.contains("HTTP/1.1 403"), "{said}");
        let served = net.served();
        assert!(
            served.contains(&"GET /one".to_owned()) && !served.contains(&"GET /two".to_owned()),
            "{served:?}"
        );
        on_record(world, "connect", "evil.test:80");
        // The same through a tunnel in the clear.
        net.forget();
        let inner =
            "GET /one HTTP/1.1\r\nHost: allow.test\r\n\r\nGET /two HTTP/1.1\r\nHost: evil.test\r\n\r\n";
        let tunnel = format!("CONNECT allow.test:80 HTTP/1.1\r\nHost: allow.test:80\r\n\r\n{inner}");
        say(one(world), HTTP, tunnel.as_bytes());
        say(one(world), SOCKS, &[&socks(b"allow.test", 80)[..], inner.as_bytes()].concat());
        assert_eq!(net.served(), ["GET /one", "GET /one"]);
        // Keep-alive to one host, with bodies.
        net.forget();
        let post = |text: &str| {
            format!(
                "POST http://allow.test/echo HTTP/1.1\r\nHost: allow.test\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            )
        };
        let said = say(one(world), HTTP, [post("first"), post("second")].concat().as_bytes());
        assert!(said.contains("first") && said.ends_with("second"), "{said}");
    });
}

#[test]
fn web_sockets_in_the_clear() {
    online(|_, world| {
        let head = "GET http://allow.test/ws HTTP/1.1\r\nHost: allow.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        // What comes after the head belongs to the other protocol, even within one packet.
        let said = say(one(world), HTTP, format!("{head}frame").as_bytes());
        assert!(status(&said).starts_with("HTTP/1.1 101") && said.ends_with("frame"), "{said}");
    });
}

#[test]
fn headers_are_stripped_from_answers() {
    online(|_, world| {
        let run = |strip: &[&str]| {
            let run = srt(world, json!({"allowedDomains": ["allow.test"], "stripResponseHeaders": strip}));
            curl(run, &["-i", "http://allow.test/cookie"]).out().to_lowercase()
        };
        assert!(run(&[]).contains("set-cookie"));
        let stripped = run(&["Set-Cookie"]);
        assert!(!stripped.contains("set-cookie") && stripped.contains("x-kept: yes"), "{stripped}");
    });
}

#[test]
fn a_parent_proxy_leads_out() {
    online(|net, world| {
        net.http(3129);
        let through = |parent: serde_json::Value| {
            let run =
                srt(world, json!({"allowedDomains": ["allow.test", "v4only.test"], "parentProxy": parent}));
            curl(run, &["http://allow.test/page"])
        };
        let ran = through(json!({"http": "http://203.0.113.15:3129"}));
        assert!(ran.out().starts_with("hello"), "{ran}");
        let request = net.requests().remove(0);
        assert_eq!((request.port, request.target.as_str()), (3129, "http://allow.test/page"));
        net.forget();
        let ran = through(json!({"http": "http://203.0.113.15:3129", "noProxy": "allow.test"}));
        assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
        assert_eq!(net.requests()[0].port, 80);
        // The caller's own variable is the default.
        net.forget();
        let ran = curl(one(world).var("HTTP_PROXY", "http://203.0.113.15:3129"), &["http://allow.test/page"]);
        assert!(ran.out().starts_with("hello"), "{ran}");
        assert_eq!(net.requests()[0].port, 3129);
        let ran = curl(one(world).var("HTTP_PROXY", "http://203.0.113.15:3129"), &["http://evil.test/page"]);
        assert!(ran.out().contains("blocked by network allowlist"), "{ran}");
    });
}

/// Loopback is this machine, and not the proxy's.
#[test]
fn a_parent_proxy_does_not_lead_to_this_machine() {
    online(|net, world| {
        net.http(3129);
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut stream in server.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n";
                let _ = stream.write_all(format!("{head}this machine").as_bytes());
            }
        });
        for host in ["127.0.0.1", "localhost"] {
            for by in ["http://localhost:3128", "socks5h://localhost:1080"] {
                let run = srt(world, json!({"allowedDomains": [format!("{host}:{port}")]}));
                let run = run.var("HTTP_PROXY", "http://203.0.113.15:3129");
                let ran = curl(run, &["--noproxy", "", "-x", by, &format!("http://{host}:{port}/")]);
                assert_eq!(ran.out(), "this machine", "{by}{ran}");
            }
        }
        assert!(net.requests().is_empty(), "{:?}", net.requests());
    });
}

#[test]
fn a_proxy_behind_a_unix_socket() {
    online(|net, world| {
        let place = world.base.join("mitm.sock");
        let listener = UnixListener::bind(&place).unwrap();
        world.give(&place);
        let (send, heard) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut block = [0; 4096];
                let count = stream.read(&mut block).unwrap_or(0);
                if send.send(String::from_utf8_lossy(&block[..count]).into_owned()).is_err() {
                    return;
                }
                let _ = stream.write_all(super::HOME);
            }
        });
        let network = json!({
            "allowedDomains": ["allow.test", "v4only.test"],
            "mitmProxy": {"socketPath": place, "domains": ["allow.test"]},
        });
        let ran = curl(srt(world, network.clone()), &["http://allow.test/page"]);
        assert_eq!(ran.out(), "HOME\n", "{ran}");
        assert!(heard.recv().unwrap().starts_with("GET http://allow.test/page"));
        assert_eq!(net.connections(), []);
        let ran = curl(srt(world, network), &["http://v4only.test/"]);
        assert_eq!(ran.out(), "hello from v4only.test\n", "{ran}");
    });
}

#[test]
fn a_proxy_of_the_callers_replaces_ours() {
    online(|net, world| {
        let home = Home::open(3333);
        let run = || srt(world, json!({"allowedDomains": ["allow.test"], "httpProxyPort": 3333}));
        let ran = curl(run(), &["http://allow.test/"]);
        assert_eq!(ran.out(), "HOME\n", "{ran}");
        assert_eq!(home.hits(), 1);
        assert_eq!(net.connections(), []);
    });
}

#[test]
fn strict_mode_and_host_match() {
    online(|net, world| {
        let mut settings =
            srt_settings(json!({"allowedDomains": ["allow.test", "api.test"], "requireHostMatch": true}));
        settings["network"]["strictAllowlist"] = json!(true);
        mismatch(net, world, &settings);
    });
}

/// A tunnel in the clear to one allowed host that asks for another allowed one.
fn mismatch(net: &Internet, world: &World, settings: &serde_json::Value) {
    let tunnel = "CONNECT allow.test:80 HTTP/1.1\r\nHost: allow.test:80\r\n\r\nGET / HTTP/1.1\r\nHost: api.test\r\n\r\n";
    let said = say(srt_with(world, settings), HTTP, tunnel.as_bytes());
    assert!(said.contains("HTTP/1.1 421"), "{said}");
    assert_eq!(net.served(), [""; 0]);
}
