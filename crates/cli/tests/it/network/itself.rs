//! The private internet without any walls: what the other tests take for granted.

use super::internet::{authority, online};
use std::time::Instant;

#[test]
fn names_lead_to_servers() {
    let begun = Instant::now();
    online(|net, world| {
        eprintln!("up after {:?}", begun.elapsed());
        let wire = net.wire();
        for (url, expected) in [
            ("http://allow.test/", "hello from allow.test\n"),
            ("http://private.test/", "hello from private.test\n"),
            ("http://metadata.test/", "hello from metadata.test\n"),
            ("http://v6only.test:8080/", "hello from v6only.test:8080\n"),
            ("http://unique.test/", "hello from unique.test\n"),
            ("http://half.test/", "hello from half.test\n"),
        ] {
            let ran = world.bare("/usr/bin/curl").opts(["-sS", "--max-time", "5", url]).go();
            assert_eq!(ran.out(), expected, "{ran}");
        }
        world.bare("/usr/bin/curl").opts(["-sS", "http://nothing.test/"]).go().exits(6);
        assert!(net.asked().contains(&"nothing.test".to_owned()), "{:?}", net.queries());
        assert!(wire.carried("private") > 0);
        assert!(net.served().contains(&"GET /".to_owned()));
        net.secure();
        let root = world.file("root.pem", &authority().root);
        for (version, expected) in [("--http1.1", "hello over h1.1\n"), ("--http2", "hello over h2.0\n")] {
            let ran = world.bare("/usr/bin/curl").opts(["-sS", version, "--cacert"]).opt(&root);
            let ran = ran.opt("https://allow.test/").go();
            assert_eq!(ran.out(), expected, "{ran}");
        }
        assert_eq!(net.secured().len(), 2);
        eprintln!("done after {:?}", begun.elapsed());
    });
}

#[test]
fn real_servers_answer() {
    online(|net, world| {
        let begun = Instant::now();
        net.redis();
        eprintln!("redis after {:?}", begun.elapsed());
        net.postgres();
        eprintln!("postgres after {:?}", begun.elapsed());
        let keys = net.ssh();
        net.repository();
        eprintln!("ssh after {:?}", begun.elapsed());
        let ran = world.bare("/usr/bin/redis-cli").opts(["-h", "cache.test", "ping"]).go();
        assert_eq!(ran.out(), "PONG\n", "{ran}");
        let psql = ["-h", "db.test", "-U", "postgres", "-Atc", "select 6*7"];
        assert_eq!(world.bare("/usr/bin/psql").opts(psql).go().out(), "42\n");
        let key = world.file("key", &keys.key);
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let known = world.file("known", &keys.known);
        let ran = world
            .bare("/usr/bin/ssh")
            .with("-i", &key)
            .with("-o", format!("UserKnownHostsFile={}", known.display()))
            .opts(["servant@git.test", "echo over ssh"])
            .go();
        assert_eq!(ran.out(), "over ssh\n", "{ran}");
    });
}
