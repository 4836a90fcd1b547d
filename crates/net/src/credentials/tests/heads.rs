//! Headers, paths and queries.

use super::super::stray::Why;
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Whether a request with the stand-in in a header gets the value.
fn gets_it(vault: &Vault, stand_in: &str, target: &str, channel: Channel) -> Result<(), Why> {
    let mut head = head("GET", "/", &[("authorization", &format!("Bearer {stand_in}"))]);
    let injected = vault.inject(&to(target), channel, &mut head).unwrap();
    let sent = value(&head, "authorization").strip_prefix("Bearer ").unwrap();
    match injected.strays.as_slice() {
        [] => assert_eq!(sent, "real"),
        [stray] => {
            assert_eq!((sent, stray.name.as_str()), (stand_in, "TOKEN"));
            assert!(matches!(injected.body, RequestBody::Untouched));
            return Err(stray.why);
        }
        strays => panic!("{strays:?}"),
    }
    assert!(matches!(injected.body, RequestBody::Replaced(_)));
    Ok(())
}

#[test]
fn only_its_hosts_on_their_ports_and_inside_tls() {
    use Channel::{Plain, Tls};
    let names = ["api.test", "*.wide.test", "port.test:8443", "192.0.2.1", "[2001:db8::1]:443"];
    for (target, channel, expected) in [
        ("api.test:443", Tls, Ok(())),
        ("API.test.:443", Tls, Ok(())),
        ("api.test:8443", Tls, Ok(())),
        ("a.wide.test:443", Tls, Ok(())),
        ("a.b.wide.test:443", Tls, Ok(())),
        ("port.test:8443", Tls, Ok(())),
        ("192.0.2.1:443", Tls, Ok(())),
        ("[::ffff:192.0.2.1]:443", Tls, Ok(())),
        ("[2001:db8::1]:443", Tls, Ok(())),
        ("api.test:80", Plain, Err(Why::Plaintext)),
        ("api.test:443", Plain, Err(Why::Plaintext)),
        ("port.test:443", Tls, Err(Why::OtherHost)),
        ("wide.test:443", Tls, Err(Why::OtherHost)),
        ("notwide.test:443", Tls, Err(Why::OtherHost)),
        ("evil.test:443", Tls, Err(Why::OtherHost)),
        ("evil.test:80", Plain, Err(Why::OtherHost)),
        ("x.api.test:443", Tls, Err(Why::OtherHost)),
        ("api.test.evil.test:443", Tls, Err(Why::OtherHost)),
        ("192.0.2.2:443", Tls, Err(Why::OtherHost)),
        ("[2001:db8::1]:444", Tls, Err(Why::OtherHost)),
    ] {
        let (vault, stand_in) = one("real", &names, Switch::Refused);
        assert_eq!(gets_it(&vault, &stand_in, target, channel), expected, "{target} {channel:?}");
    }
}

#[test]
fn plaintext_where_it_is_allowed_and_nobody_where_nobody_is_listed() {
    let (vault, stand_in) = one("real", &["api.test"], Switch::Allowed);
    assert_eq!(gets_it(&vault, &stand_in, "api.test:80", Channel::Plain), Ok(()));
    assert_eq!(gets_it(&vault, &stand_in, "evil.test:80", Channel::Plain), Err(Why::OtherHost));
    for names in [&[][..], &["*"]] {
        let (vault, stand_in) = one("real", names, Switch::Allowed);
        assert_eq!(
            gets_it(&vault, &stand_in, "api.test:443", Channel::Tls),
            Err(Why::OtherHost),
            "{names:?}"
        );
    }
}

#[test]
fn a_redirected_request_is_judged_by_its_own_host() {
    let (vault, stand_in) = one("real", &["api.test"], Switch::Refused);
    assert_eq!(gets_it(&vault, &stand_in, "api.test:443", Channel::Tls), Ok(()));
    assert_eq!(gets_it(&vault, &stand_in, "elsewhere.test:443", Channel::Tls), Err(Why::OtherHost));
    assert_eq!(gets_it(&vault, &stand_in, "api.test:443", Channel::Tls), Ok(()));
}

#[test]
fn a_request_that_names_another_host_than_it_goes_to() {
    let (vault, stand_in) = one("real", &["api.test"], Switch::Refused);
    for (uri, host, replaced) in [
        ("/", "api.test", true),
        ("/", "api.test:443", true),
        ("/", "other.test", false),
        ("/", "api.test:443@evil", false),
        ("https://api.test/", "api.test", true),
        ("https://other.test/", "api.test", false),
    ] {
        let mut head = head("GET", uri, &[("host", host), ("x-key", &stand_in)]);
        let injected = vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap();
        assert_eq!(value(&head, "x-key") == "real", replaced, "{uri} {host}");
        assert_eq!(injected.strays.is_empty(), replaced, "{uri} {host}");
    }
}

#[test]
fn everywhere_in_headers_but_not_in_host() {
    let (vault, stand_in) = one("real", &["*.api.test"], Switch::Refused);
    let host = format!("{stand_in}.api.test");
    let cookie = format!("a={stand_in}; b={stand_in}x");
    let mut head = head("GET", "/", &[("host", &host), ("cookie", &cookie), ("x", "y")]);
    let target = to(&format!("{host}:443"));
    vault.inject(&target, Channel::Tls, &mut head).unwrap();
    assert_eq!(value(&head, "host"), host);
    assert_eq!(value(&head, "cookie"), "a=real; b=realx");
    assert_eq!(value(&head, "x"), "y");
}

#[test]
fn basic_logins_are_opened_and_closed_again() {
    let (vault, stand_in) = one("re al/?", &["api.test"], Switch::Refused);
    for (scheme, pad) in [("Basic ", true), ("basic  ", true), ("BASIC ", false)] {
        let mut login = STANDARD.encode(format!("user:{stand_in}"));
        if !pad {
            login = login.trim_end_matches('=').to_owned();
        }
        let written = format!("{scheme}{login}");
        let mut sent = head("GET", "/", &[("authorization", &written)]);
        vault.inject(&to("api.test:443"), Channel::Tls, &mut sent).unwrap();
        assert_eq!(value(&sent, "authorization"), format!("Basic {}", STANDARD.encode("user:re al/?")));
        let mut stayed = head("GET", "/", &[("authorization", &written)]);
        let injected = vault.inject(&to("evil.test:443"), Channel::Tls, &mut stayed).unwrap();
        assert_eq!(value(&stayed, "authorization"), written);
        assert_eq!(injected.strays.len(), 1);
    }
    for broken in ["Basic", "Basic ", "Basic !!!", "Basic dXNlcg=="] {
        let mut head = head("GET", "/", &[("authorization", broken)]);
        vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap();
        assert_eq!(value(&head, "authorization"), broken);
    }
}

#[test]
fn paths_and_queries_are_encoded() {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    for (before, after) in [
        ("/bot{}/send?x=1", "/bot{path}/send?x=1"),
        ("/?key={}&b=2", "/?key={query}&b=2"),
        ("/{}?{}", "/{path}?{query}"),
        ("https://api.test/{}", "https://api.test/{path}"),
        ("/none?x", "/none?x"),
    ] {
        let mut head = head("GET", &before.replace("{}", &stand_in), &[]);
        vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap();
        let after = after.replace("{path}", "re%22al%2F+&%20%5Ctok%25n");
        let after = after.replace("{query}", "re%22al%2F%2B%26%20%5Ctok%25n");
        assert_eq!(head.uri.to_string(), after);
    }
}

#[test]
fn values_that_fit_no_header_stay_away_from_it() {
    let huge = "x".repeat(40_000);
    for real in ["two\nlines", "two\r\nX-Other: header", "nul\0", huge.as_str()] {
        let (vault, stand_in) = one(real, &["api.test"], Switch::Refused);
        let mut head = head("GET", "/", &[("x-key", &stand_in), ("x-other", "1")]);
        let injected = vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap();
        assert_eq!(value(&head, "x-key"), stand_in);
        assert_eq!(injected.strays[0].why, Why::Unfit);
        assert_eq!(head.headers.len(), 2);
    }
}

#[test]
fn many_stand_ins_do_not_make_a_huge_head() {
    let (vault, stand_in) = one(&"x".repeat(1000), &["api.test"], Switch::Refused);
    let mut head = head("GET", "/", &[("x-key", &stand_in.repeat(1000))]);
    vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap();
    assert!(head.headers["x-key"].len() < 100_000, "{}", head.headers["x-key"].len());
}

#[test]
fn each_secret_goes_its_own_way() {
    let entries = vec![entry("A", "real-a", &["a.test"]), entry("B", "real-b", &["b.test"])];
    let both = format!("{} {}", entries[0].stand_in.as_str(), entries[1].stand_in.as_str());
    let stand_in = entries[1].stand_in.as_str().to_owned();
    let vault = Vault::new(entries, Vec::new(), Switch::Refused);
    let mut head = head("GET", "/", &[("x", &both), ("y", &both)]);
    let injected = vault.inject(&to("a.test:443"), Channel::Tls, &mut head).unwrap();
    assert_eq!(value(&head, "x"), format!("real-a {stand_in}"));
    let told: Vec<String> = injected.strays.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["the stand-in of B was sent to a.test:443, which is not among its injectHosts"]);
}
