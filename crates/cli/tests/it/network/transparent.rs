//! Programs that know nothing of a proxy, by name and by address.

use super::internet::{Internet, online};
use super::{QUICK, allowing, root, with_network};
use crate::support::{World, eventually};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

#[test]
fn curl_by_name() {
    online(|net, world| {
        allowing(world, &["allow.test"]).curl(&["http://allow.test/"]).gives("hello from allow.test\n");
        for (host, url) in [
            ("v4only.test", "http://v4only.test/"),
            ("v6only.test", "http://v6only.test/"),
            ("half.test", "http://half.test/"),
            ("allow.test", "http://allow.test:8080/"),
        ] {
            let authority = url.trim_start_matches("http://").trim_end_matches('/');
            allowing(world, &[host]).curl(&[url]).gives(&format!("hello from {authority}\n"));
        }
        for family in ["-4", "-6"] {
            let judged = allowing(world, &["allow.test"]).curl(&[family, "http://allow.test/"]);
            judged.gives("hello from allow.test\n");
        }
        net.forget();
        let judged = allowing(world, &["allow.test"]).curl(&["http://evil.test/"]);
        judged.fails_quickly().refused("resolve", "evil.test");
        assert_eq!(net.served(), [""; 0], "{}", judged.ran);
        assert_eq!(net.asked(), [""; 0], "{}", judged.ran);
        let row = judged.refused("resolve", "evil.test");
        assert_eq!(row["suggestion"], "--allow-domain evil.test", "{row:#}");
    });
}

#[test]
fn literal_addresses_are_judged_as_such() {
    online(|net, world| {
        allowing(world, &["203.0.113.10"]).curl(&["http://203.0.113.10/"]).gives("hello from 203.0.113.10\n");
        allowing(world, &["[2001:db8::10]"])
            .curl(&["-g", "http://[2001:db8::10]/"])
            .gives("hello from [2001:db8::10]\n");
        net.forget();
        for (allowed, words, subject) in [
            // N01: the address of an allowed name is not the name.
            ("allow.test", &["http://203.0.113.10/"][..], "203.0.113.10:80"),
            ("allow.test", &["-g", "http://[2001:db8::13]:8080/"], "[2001:db8::13]:8080"),
            ("203.0.113.10", &["http://203.0.113.13/"], "203.0.113.13:80"),
            (
                "allow.test",
                &["--resolve", "allow.test:80:203.0.113.13", "http://allow.test/"],
                "203.0.113.13:80",
            ),
            ("allow.test", &["http://169.254.169.254/"], "169.254.169.254:80"),
        ] {
            let judged = allowing(world, &[allowed]).curl(words);
            judged.fails_quickly().refused("connect", subject);
            assert_eq!(net.connections(), [], "{}", judged.ran);
        }
    });
}

#[test]
fn no_proxy_is_spoken_of() {
    online(|_, world| {
        let judged = allowing(world, &["allow.test"]).shell("env | grep -i proxy; test $? = 1");
        judged.gives("");
    });
}

#[test]
fn raw_sockets_ignore_nothing() {
    online(|net, world| {
        net.banner(2525);
        let (answer, judged) = allowing(world, &["allow.test"]).probe(&["connect-tcp", "203.0.113.13:2525"]);
        // The kernel completes the connect before anybody can judge it.
        if !answer.succeeded() {
            answer.errno(&["ECONNREFUSED", "ECONNRESET", "EACCES", "EPERM"]);
        }
        judged.refused("connect", "203.0.113.13:2525");
        let (answer, judged) = allowing(world, &["allow.test"]).probe(&["talk", "203.0.113.13:2525", "hi"]);
        answer.errno(&["ECONNRESET", "ECONNREFUSED", "EPIPE"]);
        assert!(judged.ran.took < QUICK, "{}", judged.ran);
        assert_eq!(net.connections(), []);
        let (answer, judged) = allowing(world, &["allow.test"]).probe(&["talk", "allow.test:2525", "hi"]);
        assert_eq!(answer.ok(), "220%20the%20server%20speaks%20first%0d%0ahi");
        judged.clean();
        let (answer, judged) = allowing(world, &["allow.test"]).probe(&["resolve", "evil.test"]);
        answer.errno(&["ENODATA"]);
        judged.refused("resolve", "evil.test");
    });
}

#[test]
fn a_server_that_speaks_first_is_heard_at_once() {
    online(|net, world| {
        net.banner(2525);
        let (answer, _) = allowing(world, &["allow.test"]).probe(&["first-word", "allow.test:2525"]);
        assert!(answer.value("said").starts_with("220"), "{}", answer.line());
        let took: u64 = answer.value("ms").parse().unwrap();
        assert!(took < 1000, "somebody waited for the client to speak: {took} ms{}", answer.ran());
    });
}

#[test]
fn half_closed_connections_are_heard_out() {
    online(|net, world| {
        net.banner(2525);
        let words = ["half-close", "allow.test:2525", "the end"];
        let (answer, _) = allowing(world, &["allow.test"]).probe(&words);
        assert_eq!(answer.ok(), "220%20the%20server%20speaks%20first%0d%0athe%20end");
    });
}

#[test]
fn a_port_where_nobody_listens_is_an_end_not_a_wait() {
    online(|_, world| {
        let judged = allowing(world, &["allow.test"]).curl(&["http://allow.test:4/"]);
        judged.fails_quickly().clean();
    });
}

#[test]
fn loopback_inside_stays_free() {
    online(|_, world| {
        for act in ["loopback4", "loopback6"] {
            let (answer, judged) = allowing(world, &["allow.test"]).probe(&[act]);
            assert_eq!(answer.ok(), "hello");
            judged.clean();
        }
        let text = "python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 & \
                    for i in $(seq 100); do curl -sf http://localhost:8000/ >/dev/null && exit 0; sleep 0.1; done; exit 1";
        allowing(world, &["allow.test"]).shell(text).gives("");
    });
}

#[test]
fn much_data_both_ways() {
    online(|_, world| {
        let text = "curl -sS 'http://allow.test/big?mib=24' | sha256sum; \
                    head -c 8388608 /dev/zero | tr '\\0' 'y' > up; \
                    curl -sS -H Expect: --data-binary @up http://allow.test/echo | cmp - up && echo same";
        let judged = allowing(world, &["allow.test"]).shell(text);
        let ran =
            Command::new("sh").args(["-c", "head -c 25165824 /dev/zero | tr '\\0' x | sha256sum"]).output();
        let expected = String::from_utf8(ran.unwrap().stdout).unwrap();
        judged.gives(&format!("{expected}same\n"));
    });
}

#[test]
fn git_over_https() {
    online(|net, world| {
        let place = net.secure().repository();
        let root = root(world);
        let run = |hosts: &[&str]| {
            allowing(world, hosts)
                .var("SSL_CERT_FILE", &root)
                .with("--pass-env", "GIT_SSL_CAINFO")
                .var("GIT_SSL_CAINFO", &root)
        };
        let text = "git clone -q https://git.test/git/project.git copy && cat copy/README";
        run(&["git.test:443"]).shell(text).gives("content of the repository\n");
        let branch = format!("from-{:?}", world.caller);
        let push = format!(
            "cd copy && git -c user.name=B -c user.email=b@allow.test commit -q --allow-empty -m second && git push -q origin HEAD:{branch}"
        );
        run(&["git.test"]).shell(&push).gives("");
        assert!(place.join("refs/heads").join(&branch).exists(), "the push did not arrive");
        let judged = run(&["allow.test"]).shell("git clone -q https://git.test/git/project.git other");
        judged.fails_quickly().refused("resolve", "git.test");
    });
}

/// ssh looks at the owner of every file it reads, and at the account of whoever calls.
#[test]
fn git_over_ssh() {
    online(|net, world| {
        let place = net.repository();
        let keys = net.ssh();
        let key = world.file("key", &keys.key);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let known = world.file("known", &keys.known);
        let ssh = format!(
            "ssh -i {} -o UserKnownHostsFile={} -o StrictHostKeyChecking=yes",
            key.display(),
            known.display()
        );
        let text = format!(
            "git -c core.sshCommand='{ssh}' clone -q servant@git.test:{} copy && cat copy/README",
            place.display()
        );
        allowing(world, &["git.test:22"]).shell(&text).gives("content of the repository\n");
        let judged = allowing(world, &["git.test:443"]).shell(&format!("{ssh} servant@git.test true"));
        judged.fails_quickly().refused("connect", "git.test:22");
    });
}

/// Files of root's in /etc/ssh/ssh_config.d are nobody's inside, and ssh refuses files of strangers.
#[test]
fn ssh_with_the_hosts_own_configuration() {
    online(|net, world| {
        let dropped = Path::new("/etc/ssh/ssh_config.d/50-site.conf");
        assert!(dropped.exists(), "nothing is tried without {}", dropped.display());
        let keys = net.ssh();
        let key = world.file("key", &keys.key);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        world.file("known", &keys.known);
        let text = "env | grep -ic '^git_ssh\\|proxy'; \
                    ssh -i key -o UserKnownHostsFile=known -o StrictHostKeyChecking=yes servant@git.test echo there";
        let judged = allowing(world, &["git.test:22"]).shell(text);
        judged.gives("0\nthere\n");
        // A copy over a stream that is busy both ways.
        let text = "head -c 3000000 /dev/urandom > sent; \
                    ssh -i key -o UserKnownHostsFile=known servant@git.test cat < sent | cmp - sent && echo same";
        allowing(world, &["git.test"]).shell(text).gives("same\n");
    });
}

/// What a program said before it ended arrives, however early it ends.
#[test]
fn last_words_arrive() {
    const SIZE: usize = 5 << 20;
    online(|net, world| {
        net.slow(2600);
        let say = |before: &str, size: usize, to: &str| {
            format!(
                "import os, socket\ns = socket.create_connection({to})\ns.sendall({before} + bytes({size}))\nos._exit(0)"
            )
        };
        for size in [1, SIZE] {
            net.forget();
            let judged = allowing(world, &["allow.test"]).program(&[
                "python3",
                "-c",
                &say("b''", size, "('allow.test', 2600)"),
            ]);
            judged.gives("");
            eventually(Duration::from_secs(20), || match net.raw().len() {
                count if count == size => Ok(()),
                count => Err(format!("{count} of {size} bytes arrived")),
            });
        }
        // A request whose answer nobody waits for.
        net.forget();
        let head =
            format!("b'POST /echo HTTP/1.1\\r\\nHost: allow.test\\r\\nContent-Length: {SIZE}\\r\\n\\r\\n'");
        let judged = allowing(world, &["allow.test"]).program(&[
            "python3",
            "-c",
            &say(&head, SIZE, "('allow.test', 80)"),
        ]);
        judged.gives("");
        eventually(Duration::from_secs(20), || match net.requests().first() {
            Some(request) if request.body.len() == SIZE => Ok(()),
            _ => Err("the request did not arrive".to_owned()),
        });
    });
}

#[test]
fn databases() {
    online(|net, world| {
        net.postgres();
        net.redis();
        let psql = ["psql", "-h", "db.test", "-U", "postgres", "-Atc", "select 6*7"];
        allowing(world, &["db.test:5432"]).program(&psql).gives("42\n");
        let judged = allowing(world, &["db.test:80"]).program(&psql);
        judged.fails_quickly().refused("connect", "db.test:5432");
        let set = "redis-cli -h cache.test set key value && redis-cli -h cache.test get key";
        allowing(world, &["cache.test:6379"]).shell(set).gives("OK\nvalue\n");
        let judged = allowing(world, &["allow.test"]).program(&["redis-cli", "-h", "cache.test", "ping"]);
        judged.refused("resolve", "cache.test");
    });
}

const GO: &str = r#"package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	addresses, err := net.LookupHost(os.Args[1])
	if err != nil || len(addresses) == 0 {
		fmt.Println("lookup:", err)
		os.Exit(2)
	}
	response, err := http.Get("http://" + os.Args[1] + "/")
	if err != nil {
		fmt.Println("get:", err)
		os.Exit(3)
	}
	io.Copy(os.Stdout, response.Body)
}
"#;

/// A program with a resolver of its own, built once.
fn go_program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let place = crate::support::binaries().stockade.with_file_name("go");
        fs::create_dir(&place).expect("mkdir");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("chmod");
        fs::write(place.join("get.go"), GO).expect("write");
        let built = Command::new("go")
            .current_dir(&place)
            .args(["build", "-o", "get", "get.go"])
            .env("GOCACHE", place.join("cache"))
            .env("GOFLAGS", "-mod=mod")
            .env("GO111MODULE", "off")
            .env("HOME", &place)
            .output()
            .expect("go");
        assert!(built.status.success(), "go build: {}", String::from_utf8_lossy(&built.stderr));
        place.join("get")
    })
}

#[test]
fn a_go_program() {
    online(|_, world| {
        let program = go_program().to_str().unwrap();
        for resolver in ["netdns=go", "netdns=cgo"] {
            let run = |host: &str| {
                let reported = allowing(world, &["allow.test"]).with("--env", &format!("GODEBUG={resolver}"));
                reported.program(&[program, host])
            };
            run("allow.test").gives("hello from allow.test\n");
            run("evil.test").fails_quickly().refused("resolve", "evil.test");
        }
    });
}

#[test]
fn node_with_both_its_resolvers() {
    online(|_, world| {
        let text = "const dns = require('dns').promises;
            (async () => {
                const four = await dns.resolve4('allow.test');
                const six = await dns.resolve6('allow.test');
                const answer = await fetch('http://allow.test/');
                process.stdout.write(four.length + ' ' + six.length + ' ' + await answer.text());
                await fetch('http://evil.test/').then(() => process.exit(3), () => {});
                await dns.resolve4('evil.test').then(() => process.exit(4), () => {});
            })();";
        let judged = allowing(world, &["allow.test"]).program(&["node", "-e", text]);
        assert_eq!(judged.ran.out(), "1 1 hello from allow.test\n", "{}", judged.ran);
        judged.ran.exits(0);
        judged.refused("resolve", "evil.test");
    });
}

#[test]
fn python_sockets() {
    online(|net, world| {
        net.banner(2525);
        let text = "import socket
found = {family for family, *_ in socket.getaddrinfo('allow.test', 2525, type=socket.SOCK_STREAM)}
assert found == {socket.AF_INET, socket.AF_INET6}, found
with socket.create_connection(('allow.test', 2525), 5) as stream:
    print(stream.recv(100).decode().strip())
    stream.sendall(b'echo')
    print(stream.recv(100).decode())
try:
    socket.create_connection(('evil.test', 2525), 5)
    print('reached')
except OSError as error:
    print(type(error).__name__)
";
        let judged = allowing(world, &["allow.test"]).program(&["python3", "-c", text]);
        assert_eq!(judged.ran.out(), "220 the server speaks first\necho\ngaierror\n", "{}", judged.ran);
        judged.refused("resolve", "evil.test");
    });
}

#[test]
fn protocols_are_told_apart() {
    online(|net, world| {
        net.banner(2525);
        net.silent(444);
        let run = |protocols: &[&str]| {
            with_network(world, json!({"allowedDomains": ["allow.test"], "protocols": protocols}))
        };
        run(&["http"]).curl(&["http://allow.test/"]).gives("hello from allow.test\n");
        let judged = run(&["https"]).curl(&["http://allow.test/"]);
        assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
        judged.refused("connect", "allow.test:80");
        let judged = run(&["http"]).curl(&["https://allow.test:444/"]);
        judged.fails_quickly().refused("connect", "allow.test:444");
        assert!(net.raw().is_empty(), "the hello arrived");
        // What a server says first may be heard; nothing goes out to it.
        let (answer, judged) = run(&["http"]).probe(&["talk", "allow.test:2525", "secret"]);
        assert!(!answer.line().contains("secret"), "{}", answer.line());
        judged.refused("connect", "allow.test:2525");
        let (answer, judged) = run(&["tcp"]).probe(&["talk", "allow.test:2525", "hello"]);
        assert!(answer.ok().ends_with("hello"), "{}", answer.line());
        judged.clean();
    });
}

/// N12, N14, N15 for programs without a proxy.
#[test]
fn every_request_of_a_connection_is_judged() {
    online(|net, world| {
        let judged =
            allowing(world, &["allow.test"]).curl(&["-L", "http://allow.test/redirect?to=http://evil.test/"]);
        judged.fails_quickly().refused("resolve", "evil.test");
        fronted(net, world);
        let two = "GET /one HTTP/1.1\r\nHost: allow.test\r\n\r\nGET /two HTTP/1.1\r\nHost: evil.test\r\n\r\n";
        let (answer, _) = allowing(world, &["allow.test"]).probe(&["talk", "allow.test:80", two]);
        assert!(answer.ok().contains("hello%20from%20allow.test"), "{}", answer.line());
        assert_eq!(net.served(), ["GET /redirect?to=http://evil.test/", "GET /one"], "{}", answer.ran());
    });
}

/// A request to an allowed host that names another one in its head never arrives.
fn fronted(net: &Internet, world: &World) {
    let seen = net.requests().len();
    let judged = allowing(world, &["allow.test"]).curl(&["-H", "Host: evil.test", "http://allow.test/"]);
    assert!(!judged.ran.out().contains("hello"), "{}", judged.ran);
    assert_eq!(net.requests().len(), seen, "{}", judged.ran);
    let named = |row: &Value| {
        row["kind"] == "connect" && row["subject"].as_str().is_some_and(|to| to.starts_with("GET evil.test"))
    };
    assert!(judged.violations().iter().any(named), "{:#?}{}", judged.violations(), judged.ran);
}
