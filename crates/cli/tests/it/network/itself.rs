//! The private internet without any walls: what the other tests take for granted.

use super::internet::{authority, online};

#[test]
fn names_lead_to_servers() {
    online(|net, world| {
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
    });
}
