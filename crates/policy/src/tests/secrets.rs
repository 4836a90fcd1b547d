//! Credentials that commands see stand-ins of.

use crate::testing::{inputs, load, request, settings_file, usual_tree};
use crate::{
    AwsPairPlan, CredentialSource, DomainPattern, Files, Flags, HeldReads, Inputs, Judge, Judgement, Layer,
    MountKind, Naming, Plan, Policy, Request, Shape, Switch, Unsignable,
};
use std::path::Path;

const SETTINGS: &str = r#"{"network": {"allowedDomains": ["api.test"]}, "credentials": {
    "envVars": [
        {"name": "API_TOKEN", "mode": "mask", "injectHosts": ["api.test"], "extract": "x(.*)", "onExtractNoMatch": "deny"},
        {"name": "JWT", "mode": "mask", "injectHosts": ["api.test"], "decode": "jwt", "maskClaims": ["sub"]},
        {"name": "AWS_ID", "mode": "mask"}, {"name": "AWS_KEY", "mode": "mask"},
        {"name": "GONE", "mode": "deny"}],
    "files": [
        {"path": "~/.netrc", "mode": "mask", "injectHosts": ["api.test"], "maskDuplicates": true},
        {"path": "~/.absent", "mode": "mask"},
        {"path": "~/.other", "mode": "deny"}],
    "awsPairs": [{"accessKeyId": "AWS_ID", "secretAccessKey": "AWS_KEY"}], "sigv4": {"presigned": "passthrough", "streaming": "deny"}}}"#;

fn tree() -> crate::testing::Tree {
    usual_tree().text("/home/me/.netrc", "s3cr3t").file("/home/me/.other").text("/settings.json", SETTINGS)
}

fn policy() -> Policy {
    let settings = vec![settings_file(Layer::User, Shape::Native)];
    Policy::load(Inputs { settings, ..inputs() }, &tree()).unwrap()
}

fn plan() -> Plan {
    let value = |name: &str| (name.into(), "s3cr3t".into());
    let environment = ["API_TOKEN", "JWT", "GONE", "AWS_ID"].map(value).to_vec();
    policy().plan(&Request { environment, ..request() }, &tree()).unwrap()
}

fn shown(hosts: &[DomainPattern]) -> Vec<String> {
    hosts.iter().map(ToString::to_string).collect()
}

#[test]
fn what_the_gateway_needs_to_know() {
    let plan = plan();
    let gateway = plan.network.gateway().unwrap();
    let sources: Vec<_> = gateway.credentials.iter().map(|secret| secret.source.clone()).collect();
    let variable = |name: &str| CredentialSource::Variable(name.into());
    assert_eq!(
        sources,
        [
            variable("API_TOKEN"),
            variable("JWT"),
            variable("AWS_ID"),
            variable("AWS_KEY"),
            CredentialSource::File("/home/me/.netrc".into())
        ]
    );
    let [token, jwt, id, _, file] = &gateway.credentials[..] else { panic!() };
    assert_eq!((token.extract.as_deref(), token.on_no_match.as_deref()), (Some("x(.*)"), Some("deny")));
    assert_eq!((token.jwt_claims.clone(), token.mask_duplicates), (None, Switch::Refused));
    assert_eq!(shown(&token.inject_hosts), ["api.test:443"]);
    assert_eq!(token.rule.to_string(), "mask API_TOKEN (/settings.json credentials.envVars[0])");
    assert_eq!(jwt.jwt_claims, Some(vec!["sub".into()]));
    assert!(id.inject_hosts.is_empty());
    assert_eq!(file.mask_duplicates, Switch::Allowed);
    let pair = AwsPairPlan {
        access_key_id: "AWS_ID".into(),
        secret_access_key: "AWS_KEY".into(),
        session_token: None,
    };
    assert_eq!(gateway.aws_pairs, [pair]);
    let unsignable = Unsignable { presigned: Switch::Allowed, ..Unsignable::default() };
    assert_eq!(gateway.unsignable, unsignable);
    assert_eq!(gateway.tls.as_ref().unwrap().hosts[0].to_string(), "api.test:443");
    assert!(!serde_json::to_string(&plan).unwrap().contains("s3cr3t"), "a value is in the plan");
}

#[test]
fn variables_and_files_are_hidden_by_the_plan_alone() {
    let plan = plan();
    let variable = |name: &str| {
        plan.environment.iter().find(|known| known.name == name).map(|known| known.value.to_str().unwrap())
    };
    assert_eq!(variable("API_TOKEN"), Some("fake_value_API_TOKEN"));
    assert_eq!((variable("AWS_KEY"), variable("GONE")), (None, None));
    let mount =
        |path: &str| plan.mounts.iter().find(|mount| mount.path == Path::new(path)).map(|mount| &mount.kind);
    match mount("/home/me/.netrc") {
        Some(MountKind::Content { data, mode: 0o400 }) => assert_eq!(data, b"fake_value_.netrc\n"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(mount("/home/me/.other"), Some(MountKind::Mask { .. })));
    let explained = |path: &str| policy().explain(Path::new(path), &tree()).unwrap().read.allowed;
    // On the default deny-read list, and opened for the stand-in that lies over it.
    assert!(explained("/home/me/.netrc"));
    assert!(!explained("/home/me/.absent") && !explained("/home/me/.other"));
}

/// Keys under their usual names are a pair without being listed as one.
#[test]
fn signing_needs_no_list_where_the_names_are_the_usual_ones() {
    let text = r#"{"network": {"allowedDomains": ["api.test"]}, "credentials": {"sigv4": {"sigv4a": "passthrough"},
        "envVars": [{"name": "AWS_ACCESS_KEY_ID", "mode": "mask"}, {"name": "AWS_SECRET_ACCESS_KEY", "mode": "mask"}]}}"#;
    let policy = load(&usual_tree(), Layer::User, Shape::Native, text).unwrap();
    let plan = policy.plan(&request(), &usual_tree()).unwrap();
    assert_eq!(plan.network.gateway().unwrap().unsignable.asymmetric, Switch::Allowed);
}

#[test]
fn hosts_of_options_count_and_others_do_not() {
    let text =
        r#"{"credentials": {"envVars": [{"name": "A", "mode": "mask", "injectHosts": ["api.test"]}]}}"#;
    let error = load(&usual_tree(), Layer::User, Shape::Native, text).unwrap_err().to_string();
    assert!(error.contains("not reachable via network.allowedDomains"), "{error}");
    let flags = Flags { allow_domains: vec!["api.test".into()], ..Flags::default() };
    let settings = vec![settings_file(Layer::User, Shape::Native)];
    let tree = usual_tree().text("/settings.json", text);
    assert!(Policy::load(Inputs { settings, flags, ..inputs() }, &tree).is_ok());
}

#[test]
fn what_would_do_nothing_is_an_error() {
    let text = r#"{"network": {"allowedDomains": ["api.test"], "tlsTerminate": {"excludeDomains": ["api.test"]},
        "requests": [{"host": "api.test", "allow": true}]},
        "credentials": {"envVars": [{"name": "A", "mode": "mask", "injectHosts": ["api.test"]}]}}"#;
    let error = load(&usual_tree(), Layer::User, Shape::Native, text).unwrap_err().to_string();
    assert!(error.contains("network.requests[0]") && error.contains("credentials.envVars[0]"), "{error}");
}

/// N23: another port is another service.
#[test]
fn no_port_means_the_usual_ones() {
    let hosts = |shape, more: &str, inject: &str| {
        let text = format!(
            r#"{{"network": {{"allowedDomains": ["api.test", "b.test:8443"], "deniedDomains": [], "tlsTerminate": {{}}}},
            "filesystem": {{"denyRead": [], "allowWrite": [], "denyWrite": []}},
            "credentials": {{{more}"envVars": [{{"name": "A", "mode": "mask"{inject}}}]}}}}"#
        );
        let policy = load(&usual_tree(), Layer::User, shape, &text).unwrap();
        shown(&policy.network_plan().credentials[0].inject_hosts)
    };
    let listed = r#", "injectHosts": ["api.test", "api.test:8443", "b.test:8443"]"#;
    for shape in [Shape::Native, Shape::Srt] {
        assert_eq!(hosts(shape, "", listed), ["api.test:443", "api.test:8443", "b.test:8443"]);
        let plain = hosts(shape, r#""allowPlaintextInject": true, "#, listed);
        assert_eq!(plain, ["api.test:443", "api.test:80", "api.test:8443", "b.test:8443"]);
    }
    assert_eq!(hosts(Shape::Srt, "", ""), ["api.test:443", "b.test:8443"]);
}

#[test]
fn what_may_show_a_secret_or_do_nothing_is_told() {
    let told = |text: &str| {
        let policy = load(&usual_tree(), Layer::User, Shape::Native, text).unwrap();
        policy.notices.iter().map(|notice| notice.text.clone()).collect::<Vec<_>>().join("\n")
    };
    let secret = |more: &str| {
        told(&format!(
            r#"{{"credentials": {{"envVars": [{{"name": "A", "mode": "mask", "extract": "x(.*)"{more}}}]}}}}"#
        ))
    };
    assert!(secret("").contains("credentials.envVars[0] (A): should nothing in it"), "{}", secret(""));
    assert!(!secret(r#", "onExtractNoMatch": "deny""#).contains("should nothing"));
    let ports = told(r#"{"network": {"httpProxyPort": 3333, "socksProxyPort": 4444}}"#);
    assert!(ports.contains("network.httpProxyPort has no effect"), "{ports}");
    assert!(ports.contains("network.socksProxyPort has no effect"), "{ports}");
    let led = told(r#"{"network": {"httpProxyPort": 3333, "proxies": true}}"#);
    assert!(!led.contains("no effect"), "{led}");
}

#[test]
fn loopback_among_the_allowed_hosts_is_told_about() {
    let told = |hosts: &str, more: &str| {
        let text = format!(r#"{{"network": {{"allowedDomains": [{hosts}]{more}}}}}"#);
        let policy = load(&usual_tree(), Layer::User, Shape::Native, &text).unwrap();
        policy.notices.iter().map(|notice| notice.text.clone()).collect::<Vec<_>>().join("\n")
    };
    for (host, option) in [
        ("127.0.0.1", "--forward-port PORT"),
        ("127.0.0.1:5432", "--forward-port 5432"),
        ("localhost:8080", "--forward-port 8080"),
        ("[::1]:8080", "--forward-port 8080"),
    ] {
        let text = told(&format!("{host:?}"), "");
        assert!(text.contains(host) && text.contains(option), "{host}: {text}");
        // The proxies do not lead there either.
        assert_eq!(told(&format!("{host:?}"), r#", "proxies": true"#), text);
    }
    assert_eq!(told(r#""api.test", "10.0.0.1""#, ""), "");
}

#[test]
fn an_address_that_is_nobodys_cannot_be_allowed() {
    for host in ["0.0.0.0", "0.0.0.0:80", "[::]", "[::]:80", "[::ffff:0.0.0.0]"] {
        let text = format!(r#"{{"network": {{"allowedDomains": [{host:?}]}}}}"#);
        let error = load(&usual_tree(), Layer::User, Shape::Native, &text).unwrap_err().to_string();
        assert!(error.contains(host) && error.contains("--forward-port"), "{host}: {error}");
        let denied = format!(r#"{{"network": {{"deniedDomains": [{host:?}]}}}}"#);
        load(&usual_tree(), Layer::User, Shape::Native, &denied).unwrap();
        let srt = format!(
            r#"{{"network": {{"allowedDomains": [{host:?}], "deniedDomains": []}},
                "filesystem": {{"denyRead": [], "allowWrite": [], "denyWrite": []}}}}"#
        );
        load(&usual_tree(), Layer::User, Shape::Srt, &srt).unwrap();
    }
}

#[test]
fn a_forwarded_port_that_a_proxy_has_is_an_error() {
    let load = |port: &str, proxies: bool| {
        let text = format!(r#"{{"network": {{"forwardPorts": [{port:?}], "proxies": {proxies}}}}}"#);
        load(&usual_tree(), Layer::User, Shape::Native, &text)
    };
    for port in ["3128", "1080:5432"] {
        let error = load(port, true).unwrap_err().to_string();
        assert!(error.contains("forwardPorts") && error.contains("network.proxies"), "{error}");
        load(port, false).unwrap();
    }
    load("13128:3128", true).unwrap();
}

/// F35: what the host saves over a masked file is a secret, too.
#[test]
fn a_masked_file_has_to_be_a_stand_in() {
    let plan = plan();
    let broker = plan.broker.as_ref().unwrap();
    assert_eq!(broker.reads, HeldReads::All);
    let netrc = Path::new("/home/me/.netrc");
    let judge = Judge::new(&plan);
    let (rule, refusal) = judge.must_be_stand_in(netrc).unwrap();
    assert_eq!(rule.device, tree().look(netrc).ok().map(|found| found.dev));
    assert_eq!(refusal.rule.unwrap().text, "mask ~/.netrc");
    assert_eq!(refusal.grantable, Switch::Refused);
    assert!(judge.must_be_stand_in("/home/me/.other".as_ref()).is_none());
    let refused = |judgement| matches!(judgement, Judgement::Refused(_));
    assert!(refused(judge.change(netrc)) && refused(judge.change("/home/me".as_ref())));
    assert!(refused(judge.name(netrc, Naming::File)));
    assert!(refused(judge.name("/home/me".as_ref(), Naming::Symlink)));
    assert!(!refused(judge.change("/ws/file".as_ref())));
    // One that is shown as it is has none.
    let mut shown = plan.clone();
    shown.mounts.retain(|mount| !matches!(mount.kind, MountKind::Content { .. }));
    assert!(Judge::new(&shown).must_be_stand_in(netrc).is_none());
}

#[test]
fn a_masked_file_alone_needs_a_broker() {
    let text = r#"{"preset": "strict", "filesystem": {"allowRead": ["~/.netrc"]},
        "credentials": {"files": [{"path": "~/.netrc", "mode": "mask"}]}}"#;
    let plan = load(&tree(), Layer::User, Shape::Native, text).unwrap().plan(&request(), &tree()).unwrap();
    assert_eq!(plan.broker.unwrap().reads, HeldReads::All);
}
