//! Credentials that commands see stand-ins of.

use crate::testing::{inputs, load, request, settings_file, usual_tree};
use crate::{
    AwsPairPlan, CredentialSource, Flags, Inputs, Layer, MountKind, Plan, Policy, Request, Shape, Switch,
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
    "awsPairs": [{"accessKeyId": "AWS_ID", "secretAccessKey": "AWS_KEY"}], "sigv4": {}}}"#;

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
    assert_eq!(token.inject_hosts[0].to_string(), "api.test");
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
    assert_eq!(gateway.tls.as_ref().unwrap().hosts[0].to_string(), "api.test");
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
