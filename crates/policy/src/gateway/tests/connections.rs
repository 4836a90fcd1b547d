//! Which names and ports are let through, and what the refused are told.

use super::{by, host, is_allowed, judge, plan, refusal, rule, target};
use crate::gateway::{Cause, GatewayPlan};
use crate::settings::Protocol;
use crate::{Switch, ViolationKind};

#[test]
fn labels_not_letters_are_compared() {
    let judge = judge(plan(&["allow.test", "*.wild.test", "192.0.2.7", "[2001:db8::1]"], &[]));
    for (to, expected) in [
        ("allow.test:443", true),
        ("ALLOW.TEST.:443", true),
        ("notallow.test:443", false),
        ("allow.test.evil.test:443", false),
        ("sub.allow.test:443", false),
        ("test:443", false),
        ("a.wild.test:443", true),
        ("a.b.wild.test:443", true),
        ("wild.test:443", false),
        ("awild.test:443", false),
        ("wild.test.evil.test:443", false),
        ("xn--allow-1ua.test:443", false),
        ("192.0.2.7:1", true),
        ("192.0.2.8:1", false),
        ("[::ffff:192.0.2.7]:1", true),
        ("[2001:db8::1]:1", true),
        ("[2001:db8:0::1]:1", true),
        ("[2001:db8::2]:1", false),
    ] {
        assert_eq!(is_allowed(&judge.connect(&target(to), None)), expected, "{to}");
    }
}

#[test]
fn without_a_list_nothing_is_let_through() {
    let judge = judge(GatewayPlan { host_loopback: Switch::Allowed, ..GatewayPlan::default() });
    for to in ["a.test:443", "localhost:80", "127.0.0.1:80", "192.0.2.1:443", "[::1]:1"] {
        let refusal = refusal(judge.connect(&target(to), None));
        assert_eq!((refusal.cause, refusal.askable), (Cause::NotListed, Switch::Refused), "{to}");
        assert_eq!(refusal.reason, "no host is allowed");
    }
}

#[test]
fn a_list_of_hosts_leads_to_this_machine_in_srt_only() {
    let listed =
        plan(&["localhost", "x.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "0.0.0.0", "[::]"], &[]);
    let srt = judge(GatewayPlan { host_loopback: Switch::Allowed, ..listed.clone() });
    let native = judge(listed);
    for to in [
        "localhost:80",
        "x.localhost:80",
        "127.0.0.1:80",
        "127.9.9.9:80",
        "[::1]:80",
        "0.0.0.0:80",
        "[::]:80",
    ] {
        assert!(is_allowed(&srt.connect(&target(to), None)), "{to}");
        let told = refusal(native.connect(&target(to), None));
        assert_eq!((told.cause, told.askable), (Cause::Address, Switch::Refused), "{to}");
        assert_eq!(told.suggestion.as_deref(), Some("--forward-port 80"), "{to}");
    }
    for to in ["[::ffff:127.0.0.1]:80", "[::ffff:0.0.0.0]:80", "[::127.0.0.1]:80"] {
        assert!(!is_allowed(&native.connect(&target(to), None)), "{to}");
    }
}

#[test]
fn a_denial_wins() {
    let mut given =
        plan(&["a.test", "*.a.test", "b.test", "192.0.2.7"], &["*.a.test", "b.test:22", "192.0.2.7"]);
    given.denied[0].reason = Some("ask the platform team".into());
    let judge = judge(given);
    for (to, expected) in [
        ("a.test:443", true),
        ("x.a.test:443", false),
        ("b.test:22", false),
        ("b.test:443", true),
        ("192.0.2.7:80", false),
    ] {
        assert_eq!(is_allowed(&judge.connect(&target(to), None)), expected, "{to}");
    }
    let told = refusal(judge.connect(&target("x.a.test:443"), None));
    assert_eq!(told.told.as_deref(), Some("ask the platform team"));
    assert_eq!(told.rule.unwrap().text, "deniedDomains *.a.test");
    assert_eq!((told.cause, told.askable, told.suggestion), (Cause::Denied, Switch::Refused, None));
}

#[test]
fn everything_can_be_denied() {
    let all = judge(plan(&["a.test"], &["*"]));
    assert!(
        !is_allowed(&all.connect(&target("a.test:443"), None)) && !is_allowed(&all.name(&host("a.test")))
    );
    let one_port = judge(plan(&["a.test"], &["*:22"]));
    assert!(is_allowed(&one_port.connect(&target("a.test:443"), None)));
    assert!(!is_allowed(&one_port.connect(&target("a.test:22"), None)));
    assert!(is_allowed(&one_port.name(&host("a.test"))));
}

#[test]
fn ports_of_rules_and_of_the_plan() {
    let given = GatewayPlan { ports: vec![80, 443], ..plan(&["a.test", "b.test:22", "*.c.test:8443"], &[]) };
    let judge = judge(given);
    for (to, expected) in [
        ("a.test:443", true),
        ("a.test:80", true),
        ("a.test:22", false),
        ("b.test:22", true),
        ("b.test:443", false),
        ("x.c.test:8443", true),
        ("x.c.test:443", false),
    ] {
        assert_eq!(is_allowed(&judge.connect(&target(to), None)), expected, "{to}");
    }
    let told = refusal(judge.connect(&target("b.test:443"), None));
    assert_eq!((told.cause, told.askable), (Cause::Port, Switch::Allowed));
    assert_eq!(told.suggestion.as_deref(), Some("--allow-domain b.test:443"));
    assert_eq!(told.subject, "b.test:443");
}

#[test]
fn the_nearest_rule_speaks() {
    let judge = judge(plan(&["*.a.test", "*.b.a.test", "x.b.a.test", "*.b.a.test:443"], &[]));
    for (to, expected) in [
        ("x.b.a.test:443", "allowedDomains *.b.a.test:443"),
        ("x.b.a.test:80", "allowedDomains x.b.a.test"),
        ("y.b.a.test:80", "allowedDomains *.b.a.test"),
        ("y.a.test:80", "allowedDomains *.a.test"),
    ] {
        assert_eq!(by(&judge.connect(&target(to), None)), Some(expected), "{to}");
    }
}

#[test]
fn names_are_looked_up_when_some_port_is_open() {
    let given = GatewayPlan {
        ports: vec![443],
        ..plan(&["a.test:22", "b.test", "c.test:22"], &["b.test:443", "c.test:22", "d.test:1"])
    };
    let judge = judge(given);
    assert!(is_allowed(&judge.name(&host("a.test"))));
    for (name, cause) in [("b.test", Cause::Denied), ("c.test", Cause::Denied), ("d.test", Cause::NotListed)]
    {
        let refusal = refusal(judge.name(&host(name)));
        assert_eq!((refusal.kind, refusal.cause), (ViolationKind::Resolve, cause), "{name}");
        assert_eq!(refusal.askable == Switch::Allowed, cause == Cause::NotListed, "{name}");
        assert_eq!(refusal.subject, name);
    }
}

#[test]
fn public_hosts_need_no_rule() {
    let given = GatewayPlan { public_hosts: Switch::Allowed, ports: vec![443], ..plan(&[], &["evil.test"]) };
    let judge = judge(given);
    for (to, expected) in [
        ("a.test:443", true),
        ("a.test:80", false),
        ("evil.test:443", false),
        ("sub.evil.test:443", true),
        ("localhost:443", false),
        ("x.localhost:443", false),
        ("printer:443", false),
        ("printer.local:443", false),
        ("metadata.google.internal:443", false),
        ("93.184.216.34:443", false),
        ("10.0.0.1:443", false),
        ("127.0.0.1:443", false),
        ("169.254.169.254:443", false),
        ("[64:ff9b::a9fe:a9fe]:443", false),
        ("[fd00::1]:443", false),
        ("[2606:2800:220:1::1]:443", false),
    ] {
        assert_eq!(is_allowed(&judge.connect(&target(to), None)), expected, "{to}");
    }
    assert_eq!(by(&judge.connect(&target("a.test:443"), None)), Some("network.allowPublicHosts true"));
    assert_eq!(refusal(judge.connect(&target("a.test:80"), None)).cause, Cause::Port);
}

#[test]
fn addresses_of_public_hosts_need_one() {
    // Else whoever knows the address of a denied host would reach it.
    let given = GatewayPlan { public_hosts: Switch::Allowed, ..plan(&[], &["evil.test"]) };
    for to in ["93.184.216.34:443", "[2606:2800:220:1::1]:443"] {
        let told = refusal(judge(given.clone()).connect(&target(to), None));
        assert_eq!(told.cause, Cause::NotListed);
        assert!(told.reason.contains("by name only"), "{}", told.reason);
        let suggested = told.suggestion.unwrap();
        let listed = suggested.strip_prefix("--allow-domain ").unwrap();
        let listing = GatewayPlan { public_hosts: Switch::Allowed, ..plan(&[listed], &["evil.test"]) };
        assert!(is_allowed(&judge(listing).connect(&target(to), None)), "{suggested}");
        let bare = target(to).host;
        assert!(!is_allowed(&judge(given.clone()).name(&bare)), "{bare}");
    }
}

#[test]
fn protocols_are_judged_once_they_are_known() {
    let with = |protocols: &[Protocol]| {
        judge(GatewayPlan { protocols: protocols.to_vec(), ..plan(&["a.test", "db.test:5432"], &[]) })
    };
    let to = target("a.test:443");
    let web = with(&[Protocol::Http, Protocol::Https]);
    assert!(web.needs_protocol(&to) && is_allowed(&web.connect(&to, None)));
    assert!(is_allowed(&web.connect(&to, Some(Protocol::Https))));
    let told = refusal(web.connect(&to, Some(Protocol::Ssh)));
    assert_eq!((told.cause, told.askable), (Cause::Protocol, Switch::Refused));
    assert!(!is_allowed(&web.connect(&to, Some(Protocol::Tcp))));
    // Whoever named the port knows what is spoken there.
    let database = target("db.test:5432");
    assert!(!web.needs_protocol(&database) && is_allowed(&web.connect(&database, Some(Protocol::Tcp))));
    for everything in [with(&[]), with(&[Protocol::Https, Protocol::Tcp])] {
        assert!(!everything.needs_protocol(&to));
        assert!(is_allowed(&everything.connect(&to, Some(Protocol::Ssh))));
    }
}

#[test]
fn who_may_be_asked_about() {
    let mut given = plan(&["a.test:443"], &["evil.test"]);
    let open = judge(given.clone());
    let askable = |judge: &crate::NetJudge, to: &str| refusal(judge.connect(&target(to), None)).askable;
    assert_eq!(askable(&open, "b.test:443"), Switch::Allowed);
    assert_eq!(askable(&open, "a.test:80"), Switch::Allowed);
    assert_eq!(askable(&open, "10.0.0.1:80"), Switch::Allowed);
    assert_eq!(askable(&open, "evil.test:443"), Switch::Refused);
    for literal in ["127.0.0.1:80", "169.254.169.254:80", "[fd00:ec2::254]:80", "[64:ff9b::7f00:1]:80"] {
        assert_eq!(askable(&open, literal), Switch::Refused, "{literal}");
    }
    given.asking = Switch::Refused;
    assert_eq!(askable(&judge(given), "b.test:443"), Switch::Refused);
}

#[test]
fn limits_come_with_the_rule() {
    let mut given = plan(&["a.test"], &[]);
    given.allowed.push(rule("allowedDomains", "b.test"));
    given.allowed[1].limits.bytes_per_second = Some(1000);
    let judge = judge(given);
    let crate::Ruling::Allowed(allowance) = judge.connect(&target("b.test:443"), None) else { panic!() };
    assert_eq!(allowance.limits.bytes_per_second, Some(1000));
}
