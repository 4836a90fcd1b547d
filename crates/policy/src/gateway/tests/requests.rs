//! Rules about single requests.

use super::{by, is_allowed, judge, plan, refusal, target};
use crate::domain::DomainPattern;
use crate::gateway::{Cause, GatewayPlan, RequestRule};
use crate::{Layer, Origin, RuleRef, Switch};

fn request_rule(host: &str, methods: &[&str], paths: &[&str], verdict: Switch) -> RequestRule {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let origin = Origin { layer: Layer::User, source: "settings.json".into(), key: String::new() };
    RequestRule {
        pattern: DomainPattern::parse_denied(host).unwrap(),
        methods: owned(methods),
        paths: owned(paths),
        verdict,
        rule: RuleRef { text: format!("requests {host} {}", paths.join(" ")), origin },
    }
}

fn given() -> GatewayPlan {
    GatewayPlan {
        requests: vec![
            request_rule("api.test", &[], &["/admin", "/admin/**"], Switch::Refused),
            request_rule("api.test", &["GET", "HEAD"], &[], Switch::Allowed),
            request_rule("api.test", &["POST"], &["/v1/*/items"], Switch::Allowed),
            request_rule("*.ports.test:8443", &["GET"], &[], Switch::Allowed),
        ],
        ..plan(&["api.test", "free.test", "*.ports.test"], &[])
    }
}

#[test]
fn the_first_rule_that_fits_decides() {
    let judge = judge(given());
    for (to, method, path, expected) in [
        ("api.test:443", "GET", "/", true),
        ("api.test:443", "get", "/x", true),
        ("api.test:443", "HEAD", "/x", true),
        ("api.test:443", "POST", "/v1/a/items", true),
        ("api.test:443", "POST", "/v1/a/b/items", false),
        ("api.test:443", "DELETE", "/v1/a/items", false),
        ("api.test:443", "GET", "/admin", false),
        ("api.test:443", "GET", "/admin/x", false),
        ("api.test:443", "GET", "/%61dmin/x", false),
        ("api.test:443", "GET", "/administration", true),
        ("free.test:443", "DELETE", "/anything/../at/all", true),
        ("x.ports.test:8443", "GET", "/", true),
        ("x.ports.test:8443", "POST", "/", false),
        ("x.ports.test:443", "POST", "/", true),
    ] {
        assert_eq!(is_allowed(&judge.request(&target(to), method, path)), expected, "{method} {to}{path}");
    }
    assert!(
        judge.has_request_rules(&target("api.test:1")) && !judge.has_request_rules(&target("free.test:1"))
    );
    assert!(!judge.has_request_rules(&target("x.ports.test:443")));
    assert_eq!(by(&judge.request(&target("free.test:1"), "GET", "/")), Some("allowedDomains free.test"));
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    let to = target("api.test:443");
    let strict = judge(given());
    for path in
        ["/a//b", "/a/./b", "/a/../admin", "/a%2fb", "/%2e%2e/admin", "/a\\b", "/%00", "/\u{e4}", "//admin"]
    {
        let refusal = refusal(strict.request(&to, "GET", path));
        assert_eq!((refusal.cause, refusal.askable), (Cause::Request, Switch::Refused), "{path:?}");
    }
    let loose = judge(GatewayPlan { ambiguous_targets: Switch::Allowed, ..given() });
    assert!(is_allowed(&loose.request(&to, "GET", "/a//b")));
}

#[test]
fn the_refused_learn_which_rule() {
    let judge = judge(given());
    let by_rule = refusal(judge.request(&target("api.test:443"), "GET", "/admin/x"));
    assert_eq!(by_rule.rule.unwrap().text, "requests api.test /admin /admin/**");
    assert_eq!(by_rule.subject, "GET api.test:443/admin/x");
    let by_none = refusal(judge.request(&target("api.test:443"), "PUT", "/"));
    assert!(by_none.rule.is_none() && by_none.suggestion.unwrap().contains("network.requests"));
}
