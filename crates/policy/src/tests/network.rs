//! From network settings to the gateway's plan.

use crate::testing::{inputs, load, request, settings_file, usual_tree};
use crate::{
    Flags, ForwardPort, GatewayPlan, Granted, GrantedList, Inputs, Layer, MountKind, Need, NetworkPlan, Plan,
    Policy, Publish, Shape, Switch, WallLayer,
};

fn native(text: &str) -> Policy {
    load(&usual_tree(), Layer::User, Shape::Native, text).unwrap()
}

fn srt(network: &str) -> Policy {
    load(&usual_tree(), Layer::Flag, Shape::Srt, &srt_text(network)).unwrap()
}

fn srt_text(network: &str) -> String {
    format!(
        r#"{{"network": {network}, "filesystem": {{"denyRead": [], "allowWrite": [], "denyWrite": []}}}}"#
    )
}

fn with(flags: Flags) -> Policy {
    Policy::load(Inputs { flags, ..inputs() }, &usual_tree()).unwrap()
}

fn plan(policy: &Policy) -> Plan {
    policy.plan(&request(), &usual_tree()).unwrap()
}

fn gateway(policy: &Policy) -> GatewayPlan {
    plan(policy).network.gateway().expect("no gateway").clone()
}

fn variable(plan: &Plan, name: &str) -> Option<String> {
    let found = plan.environment.iter().find(|variable| variable.name == name);
    found.map(|variable| variable.value.to_string_lossy().into_owned())
}

#[test]
fn the_gateway_is_there_when_something_may_pass() {
    let domains = |text: &str| vec![text.to_owned()];
    for (why, policy) in [
        ("allowedDomains a.test", with(Flags { allow_domains: domains("a.test"), ..Flags::default() })),
        ("network", with(Flags { publish: domains("8080"), ..Flags::default() })),
        ("network", with(Flags { forward_ports: domains("5432"), ..Flags::default() })),
        ("network", with(Flags { live_network: Switch::Allowed, ..Flags::default() })),
        ("network", with(Flags { asking: Switch::Allowed, ..Flags::default() })),
        ("network", native(r#"{"network": {"allowPublicHosts": true}}"#)),
    ] {
        let plan = plan(&policy);
        assert!(plan.network.gateway().is_some() && plan.network.own_namespace());
        let need = plan.layers.iter().find(|need| need.layer == WallLayer::Gateway).unwrap();
        assert_eq!(need.need, Need::Required);
        assert_eq!(need.because.as_ref().unwrap().text, why);
    }
    let strict = r#"{"network": {"strictAllowlist": true}}"#;
    let tree = usual_tree().text("/settings.json", strict);
    let settings = vec![settings_file(Layer::User, Shape::Native)];
    let flags = Flags { asking: Switch::Allowed, ..Flags::default() };
    let unasked = Policy::load(Inputs { flags, settings, ..inputs() }, &tree).unwrap();
    for policy in
        [unasked, with(Flags::default()), with(Flags { deny_domains: domains("*"), ..Flags::default() })]
    {
        let plan = plan(&policy);
        assert_eq!(plan.network, NetworkPlan::Loopback);
        assert!(!plan.layers.iter().any(|need| need.layer == WallLayer::Gateway));
    }
}

#[test]
fn plans_are_readable_data() {
    let plan = plan(&native(
        r#"{"network": {"allowedDomains": ["a.test:443"], "requests": [
        {"host": "a.test", "methods": ["get"], "paths": ["/v1/**"], "allow": true}]}}"#,
    ));
    let text = serde_json::to_value(&plan).unwrap();
    assert_eq!(text["network"]["mode"], "gateway");
    assert_eq!(text["network"]["allowed"][0]["pattern"], "a.test:443");
    assert_eq!(text["network"]["requests"][0]["methods"][0], "GET");
    let back: Plan = serde_json::from_value(text).unwrap();
    assert_eq!(back.network, plan.network);
    let file = MountKind::Content { data: b"hello\n".to_vec(), mode: 0o444 };
    let text = serde_json::to_value(&file).unwrap();
    assert_eq!((text["kind"].as_str(), text["data"].as_str()), (Some("content"), Some("hello\n")));
}

#[test]
fn options_become_rules_with_an_origin() {
    let policy = with(Flags {
        allow_domains: vec!["*.a.test:443".into()],
        deny_domains: vec!["x.a.test".into()],
        publish: vec!["8080".into(), "9000:80".into(), "0:81".into()],
        forward_ports: vec!["15432:5432".into()],
        ..Flags::default()
    });
    let gateway = gateway(&policy);
    assert_eq!(gateway.allowed[0].rule.to_string(), "allowedDomains *.a.test:443 (--allow-domain)");
    assert_eq!(gateway.denied[0].rule.to_string(), "deniedDomains x.a.test (--deny-domain)");
    let published = [(8080, 8080), (9000, 80), (0, 81)].map(|(host, inside)| Publish { host, inside });
    assert_eq!(gateway.publish, published);
    assert_eq!(gateway.forward, [ForwardPort { inside: 15432, host: 5432 }]);
    assert_eq!(gateway.proxies, None);
    for (flags, expected) in [
        (Flags { allow_domains: vec!["*".into()], ..Flags::default() }, "--allow-domain"),
        (Flags { deny_domains: vec!["a b".into()], ..Flags::default() }, "--deny-domain"),
        (Flags { publish: vec!["x".into()], ..Flags::default() }, "--publish"),
        (Flags { forward_ports: vec!["0:1".into()], ..Flags::default() }, "--forward-port"),
    ] {
        let error = Policy::load(Inputs { flags, ..inputs() }, &usual_tree()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn grants_open_hosts() {
    let granted = |host: &str| Granted { list: GrantedList::Domain, path: host.into(), id: "g1".into() };
    let policy = with(Flags { grants: vec![granted("a.test:443"), granted("*")], ..Flags::default() });
    let rules = &policy.network().allowed;
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0].rule.to_string(), "allowedDomains a.test:443 (grant g1)");
    assert!(policy.notices().iter().any(|notice| notice.text.contains("grant g1 is left out")));
    let more = gateway(&policy).with_grants(&[granted("b.test:22"), granted("bad host")]);
    assert_eq!(more.allowed.len(), 2);
    assert_eq!(more.allowed[1].rule.origin.layer, Layer::Grant);
}

#[test]
fn limits_of_domains_and_of_the_sandbox() {
    let gateway = gateway(&native(
        r#"{"network": {"connectionsPerSecond": 5, "maxRequestsPerMinute": 60, "bytesPerSecond": 7, "totalBytes": 8,
        "allowedDomains": ["a.test", {"domain": "b.test", "connectionsPerSecond": 1, "requestsPerMinute": 2,
        "bytesPerSecond": 3, "totalBytes": 4}]}}"#,
    ));
    let limits = gateway.limits;
    assert_eq!((limits.connections_per_second, limits.requests_per_minute), (Some(5), Some(60)));
    assert_eq!((limits.bytes_per_second, limits.total_bytes), (Some(7), Some(8)));
    assert_eq!(gateway.allowed[0].limits, crate::NetLimits::default());
    let limits = gateway.allowed[1].limits;
    assert_eq!((limits.connections_per_second, limits.requests_per_minute), (Some(1), Some(2)));
    assert_eq!((limits.bytes_per_second, limits.total_bytes), (Some(3), Some(4)));
}

#[test]
fn projects_and_organisations_only_tighten() {
    let tree = usual_tree();
    let text = r#"{"network": {"allowPrivateAddresses": true, "publish": [80], "forwardPorts": [81], "proxies": true,
        "requireHostMatch": false, "refuseOpaqueTunnels": false, "ambiguousRequestTarget": "allow",
        "requests": [{"host": "a.test", "allow": true}, {"host": "b.test", "allow": false}]},
        "credentials": {"envVars": [{"name": "A", "mode": "mask"}, {"name": "B", "mode": "deny"}]}}"#;
    for layer in [Layer::Project, Layer::Managed] {
        let policy = load(&tree, layer, Shape::Native, text).unwrap();
        let gateway = policy.network_plan();
        assert!(gateway.publish.is_empty() && gateway.forward.is_empty() && gateway.credentials.is_empty());
        assert_eq!((gateway.proxies, gateway.host_mismatch), (None, Switch::Refused));
        assert_eq!(gateway.ambiguous_targets, Switch::Refused);
        assert_eq!(gateway.requests.len(), 1);
        let ignored = policy.notices().iter().filter(|notice| notice.text.contains("is ignored")).count();
        assert_eq!(ignored, 9, "{:?}", policy.notices());
    }
}

#[test]
fn what_is_left_of_two_lists_is_never_everything() {
    let user = r#"{"network": {"allowedDomains": ["a.test"], "ports": [80], "protocols": ["http"]}}"#;
    let tree = usual_tree().text("/settings.json", user);
    let tree = tree.text("/managed.json", r#"{"network": {"ports": [443], "protocols": ["https"]}}"#);
    let mut managed = settings_file(Layer::Managed, Shape::Native);
    managed.path = "/managed.json".into();
    let settings = vec![settings_file(Layer::User, Shape::Native), managed];
    let policy = Policy::load(Inputs { settings, ..inputs() }, &tree).unwrap();
    for port in [80, 443, 8080] {
        assert!(!policy.explain_host(&format!("a.test:{port}")).unwrap().connect.allowed, "{port}");
    }
    assert_eq!(policy.network_plan().ports, [0]);
}

#[test]
fn refusals_of_those_who_tighten_come_first() {
    let rule = |host: &str, allow: bool| format!(r#"{{"host": "{host}", "allow": {allow}}}"#);
    let text = |rules: &[String]| format!(r#"{{"network": {{"requests": [{}]}}}}"#, rules.join(","));
    let mut tree = usual_tree();
    let mut settings = Vec::new();
    for (layer, path, rules) in [
        (Layer::Project, "/project.json", vec![rule("project.test", false)]),
        (Layer::User, "/user.json", vec![rule("user.test", true), rule("user2.test", false)]),
        (Layer::Flag, "/flag.json", vec![rule("flag.test", true)]),
        (Layer::Managed, "/managed.json", vec![rule("managed.test", false)]),
    ] {
        tree = tree.text(path, &text(&rules));
        let mut file = settings_file(layer, Shape::Native);
        file.path = path.into();
        settings.push(file);
    }
    let policy = Policy::load(Inputs { settings, ..inputs() }, &tree).unwrap();
    let order: Vec<String> = policy.network().requests.iter().map(|rule| rule.pattern.to_string()).collect();
    assert_eq!(order, ["managed.test", "project.test", "flag.test", "user.test", "user2.test"]);
}

#[test]
fn private_addresses_are_closed_in_the_careful_presets() {
    for preset in ["strict", "production", "webscraping"] {
        let policy = Policy::load(Inputs { preset: Some(preset.into()), ..inputs() }, &usual_tree()).unwrap();
        assert_eq!(policy.network().private_addresses, Switch::Refused, "{preset}");
    }
    assert_eq!(native("{}").network().private_addresses, Switch::Allowed);
    assert_eq!(
        srt(r#"{"allowedDomains": [], "deniedDomains": []}"#).network().private_addresses,
        Switch::Allowed
    );
}

#[test]
fn variables_for_proxies_only_where_somebody_wants_them() {
    let plain = plan(&native(r#"{"network": {"allowedDomains": ["a.test"]}}"#));
    assert_eq!((variable(&plain, "HTTP_PROXY"), variable(&plain, "SSL_CERT_FILE")), (None, None));
    let asked = native(r#"{"network": {"allowedDomains": ["a.test"], "proxies": true}}"#);
    for policy in [asked, srt(r#"{"allowedDomains": ["a.test"], "deniedDomains": []}"#)] {
        let plan = plan(&policy);
        for (name, value) in [
            ("HTTP_PROXY", "http://localhost:3128"),
            ("https_proxy", "http://localhost:3128"),
            ("ALL_PROXY", "socks5h://localhost:1080"),
            ("grpc_proxy", "socks5h://localhost:1080"),
            ("FTP_PROXY", "socks5h://localhost:1080"),
            ("NODE_USE_ENV_PROXY", "1"),
        ] {
            assert_eq!(variable(&plan, name).as_deref(), Some(value), "{name}");
        }
        assert!(variable(&plan, "no_proxy").unwrap().starts_with("localhost,127.0.0.1,::1,169.254.0.0/16"));
    }
    let closed = plan(&srt(r#"{"allowedDomains": [], "deniedDomains": []}"#));
    assert_eq!(variable(&closed, "HTTP_PROXY"), None);
}

#[test]
fn the_callers_own_proxy_leads_out() {
    let environment =
        vec![("HTTPS_PROXY".into(), "http://proxy.test:8080".into()), ("no_proxy".into(), "x".into())];
    let flags = Flags { allow_domains: vec!["a.test".into()], ..Flags::default() };
    let policy = Policy::load(Inputs { flags, environment, ..inputs() }, &usual_tree()).unwrap();
    let parent = gateway(&policy).upstreams.parent_proxy.unwrap();
    assert_eq!(parent.https.as_deref(), Some("http://proxy.test:8080"));
    assert_eq!((parent.http, parent.no_proxy.as_deref()), (None, Some("x")));
}

#[test]
fn tls_is_looked_into_where_requests_must_be_seen() {
    let hosts = |policy: &Policy| {
        let plan = gateway(policy);
        plan.tls.map(|tls| tls.hosts.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let base = r#""allowedDomains": ["a.test", "b.test"]"#;
    let rule = r#""requests": [{"host": "a.test", "allow": true}]"#;
    assert_eq!(hosts(&native(&format!(r#"{{"network": {{{base}}}}}"#))), None);
    assert_eq!(hosts(&native(&format!(r#"{{"network": {{{base}, {rule}}}}}"#))), Some(vec!["a.test".into()]));
    let all = format!(r#"{{"network": {{{base}, {rule}, "tlsTerminate": {{}}}}}}"#);
    assert_eq!(hosts(&native(&all)), Some(vec![]));
    let some = format!(r#"{{"network": {{{base}, {rule}, "tlsTerminate": {{"hosts": ["b.test"]}}}}}}"#);
    assert_eq!(hosts(&native(&some)), Some(vec!["b.test".into(), "a.test".into()]));
    let policy = srt(r#"{"allowedDomains": ["a.test"], "deniedDomains": [], "tlsTerminate":
        {"caCertPath": "~/ca.pem", "caKeyPath": "ca.key", "excludeDomains": ["*.a.test"]}}"#);
    let tls = gateway(&policy).tls.unwrap();
    assert_eq!(tls.authority, Some(("/home/me/ca.pem".into(), "/ws/ca.key".into())));
    assert_eq!(tls.exclude[0].to_string(), "*.a.test");
    let plan = plan(&policy);
    for name in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE"] {
        assert_eq!(variable(&plan, name).as_deref(), Some("/dev/stockade/ca.pem"), "{name}");
    }
}

#[test]
fn lists_can_change_while_commands_run() {
    let start = srt(
        r#"{"allowedDomains": ["a.test"], "deniedDomains": ["x.test"], "deniedResolvedAddresses": ["10.0.0.0/8"]}"#,
    );
    let plan = start
        .with_network(&srt_text(r#"{"allowedDomains": ["b.test"], "deniedDomains": ["y.test"]}"#))
        .unwrap();
    assert_eq!(plan.allowed.iter().map(|rule| rule.pattern.to_string()).collect::<Vec<_>>(), ["b.test"]);
    assert_eq!(plan.denied.iter().map(|rule| rule.pattern.to_string()).collect::<Vec<_>>(), ["y.test"]);
    assert!(plan.denied_addresses.is_empty() && plan.proxies.is_some());
    assert_eq!(plan.allowed[0].rule.origin.source, "control descriptor");
    for (line, expected) in [
        ("{", "not valid JSON"),
        ("", "is empty"),
        ("{}", "network"),
        (&srt_text(r#"{"allowedDomains": ["*"], "deniedDomains": []}"#), "network.allowedDomains[0]"),
        (&srt_text(r#"{"allowedDomains": []}"#), "network.deniedDomains"),
    ] {
        let error = start.with_network(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
    // What the organisation denies and what was granted stays.
    let text = r#"{"network": {"deniedDomains": ["evil.test"]}}"#;
    let tree = usual_tree().text("/settings.json", text);
    let grants = vec![Granted { list: GrantedList::Domain, path: "g.test:443".into(), id: "g1".into() }];
    let flags = Flags { grants, allow_domains: vec!["old.test".into()], ..Flags::default() };
    let settings = vec![settings_file(Layer::Managed, Shape::Native)];
    let policy = Policy::load(Inputs { flags, settings, ..inputs() }, &tree).unwrap();
    let plan = policy.with_network(r#"{"network": {"allowedDomains": ["new.test"]}}"#).unwrap();
    assert_eq!(
        plan.allowed.iter().map(|rule| rule.pattern.to_string()).collect::<Vec<_>>(),
        ["g.test:443", "new.test"]
    );
    assert_eq!(plan.denied[0].pattern.to_string(), "evil.test");
}

#[test]
fn hosts_are_explained() {
    let policy = native(
        r#"{"network": {"allowedDomains": ["a.test", "b.test:22"], "deniedDomains": ["evil.test"],
        "deniedDomainReasons": {"evil.test": "it is evil"}, "requests": [{"host": "a.test", "allow": true}]}}"#,
    );
    let told = |text: &str| policy.explain_host(text).unwrap();
    let a = told("A.test:443");
    assert!(a.connect.allowed && a.terminated && a.requests.len() == 1);
    assert_eq!((a.host.as_str(), a.port), ("a.test", Some(443)));
    assert_eq!(
        a.connect.rule.unwrap().to_string(),
        "allowedDomains a.test (/settings.json network.allowedDomains[0])"
    );
    assert!(told("b.test").connect.allowed && !told("b.test").terminated);
    let b = told("b.test:443").connect;
    assert_eq!((b.allowed, b.change.as_deref()), (false, Some("--allow-domain b.test:443")));
    let evil = told("evil.test").connect;
    assert!(evil.reason.contains("it is evil"), "{}", evil.reason);
    assert_eq!(
        evil.change.as_deref(),
        Some("remove deniedDomains evil.test from /settings.json network.deniedDomains[0]")
    );
    assert_eq!(told("[2001:db8::1]:443").connect.change.as_deref(), Some("--allow-domain [2001:db8::1]:443"));
    assert_eq!(told("2001:db8::1").port, None);
    for wrong in ["", "a b", "127.1", "a.test:0", "a.test:http", "a/b"] {
        assert!(policy.explain_host(wrong).is_err(), "{wrong:?}");
    }
}
