//! Broken settings: every message names the place and says what to do.

use crate::testing::{inputs, load, settings_file, usual_tree};
use crate::{Inputs, Layer, Presence, SettingsFile, Shape};
use std::io;

/// The text, and what the message must hold.
type Broken = (&'static str, &'static [&'static str]);

const NATIVE: &[Broken] = &[
    ("", &["/settings.json is empty", "hint"]),
    ("  \n\t", &["is empty"]),
    ("{", &["is not valid JSON", "line 1, column 1"]),
    ("{\n  \"preset\": \"default\"\n  \"enabled\": true\n}", &["is not valid JSON", "line 3"]),
    ("{\"preset\": 'x'}", &["is not valid JSON", "line 1"]),
    ("nonsense", &["is not valid JSON", "line 1, column 2"]),
    ("{} {}", &["is not valid JSON", "trailing"]),
    ("{\n/* open", &["is not valid JSON"]),
    ("[]", &["does not hold a valid config"]),
    ("3", &["does not hold a valid config"]),
    ("\"x\"", &["does not hold a valid config"]),
    (r#"{"presett": "x"}"#, &["presett", "Unrecognized key", "did you mean preset?"]),
    (r#"{"colour": 1}"#, &["colour", "Unrecognized key", "known here", "filesystem"]),
    (r#"{"preset": 3}"#, &["preset", "expected a string"]),
    (r#"{"preset": "strickt"}"#, &["preset", "strickt", "did you mean strict?", "webscraping"]),
    (r#"{"preset": "zzz"}"#, &["preset", "zzz", "known: default, strict"]),
    (r#"{"enabled": "yes"}"#, &["enabled", "expected a boolean"]),
    (r#"{"provider": ""}"#, &["provider", "cannot be empty"]),
    (r#"{"filesystem": []}"#, &["filesystem", "invalid"]),
    (r#"{"filesystem": {"denyread": []}}"#, &["filesystem.denyread", "did you mean denyRead?"]),
    (
        r#"{"filesystem": {"readScope": "everything"}}"#,
        &["filesystem.readScope", "everything", "all", "workspace"],
    ),
    (r#"{"filesystem": {"denyRead": "x"}}"#, &["filesystem.denyRead", "sequence"]),
    (r#"{"filesystem": {"denyRead": [1]}}"#, &["filesystem.denyRead[0]", "a path, or an object"]),
    (r#"{"filesystem": {"denyRead": [""]}}"#, &["filesystem.denyRead[0]", "cannot be empty"]),
    (r#"{"filesystem": {"denyRead": ["a", null]}}"#, &["filesystem.denyRead[1]", "a path, or an object"]),
    (r#"{"filesystem": {"denyRead": ["a\u0000b"]}}"#, &["filesystem.denyRead[0]", "NUL"]),
    (
        r#"{"filesystem": {"allowRead": ["$NOWHERE/x"]}}"#,
        &["filesystem.allowRead[0]", "NOWHERE", "not set", "literal"],
    ),
    (r#"{"filesystem": {"allowRead": ["${OPEN/x"]}}"#, &["filesystem.allowRead[0]", "not closed"]),
    (r#"{"filesystem": {"allowRead": ["~bob/x"]}}"#, &["filesystem.allowRead[0]", "~bob"]),
    (r#"{"filesystem": {"allowWrite": ["a{b,c"]}}"#, &["filesystem.allowWrite[0]", "{ is not closed"]),
    (r#"{"filesystem": {"allowWrite": ["*/../x"]}}"#, &["filesystem.allowWrite[0]", ".. cannot follow"]),
    (
        r#"{"filesystem": {"denyWrite": [{"path": "x", "litteral": true}]}}"#,
        &["filesystem.denyWrite[0]", "litteral", "did you mean literal?"],
    ),
    (
        r#"{"filesystem": {"denyWrite": [{"literal": true}]}}"#,
        &["filesystem.denyWrite[0]", "missing field `path`"],
    ),
    (r#"{"filesystem": {"denyWrite": [{"path": 3}]}}"#, &["filesystem.denyWrite[0]", "expected a string"]),
    (
        r#"{"filesystem": {"allowedPaths": [{"pattern": "x"}]}}"#,
        &["filesystem.allowedPaths[0]", "operations"],
    ),
    (
        r#"{"filesystem": {"allowedPaths": [{"pattern": "x", "operations": []}]}}"#,
        &["filesystem.allowedPaths[0].operations", "cannot be empty"],
    ),
    (
        r#"{"filesystem": {"deniedPaths": [{"pattern": "x", "operations": ["raed"]}]}}"#,
        &["filesystem.deniedPaths[0].operations[0]", "raed", "did you mean read?"],
    ),
    (r#"{"filesystem": {"protection": {"git": "of"}}}"#, &["filesystem.protection.git", "did you mean off?"]),
    (
        r#"{"filesystem": {"protection": {"gti": "off"}}}"#,
        &["filesystem.protection.gti", "did you mean git?"],
    ),
    (r#"{"network": {"allowedDomains": ["*"]}}"#, &["network.allowedDomains[0]", "every host"]),
    (
        r#"{"network": {"allowedDomains": ["a.example", "*.com"]}}"#,
        &["network.allowedDomains[1]", "*.com", "one more label"],
    ),
    (r#"{"network": {"allowedDomains": ["*.co.uk"]}}"#, &["network.allowedDomains[0]", "*.co.uk"]),
    (
        r#"{"network": {"allowedDomains": ["https://a.example"]}}"#,
        &["network.allowedDomains[0]", "scheme", "the host alone"],
    ),
    (
        r#"{"network": {"allowedDomains": ["::1"]}}"#,
        &["network.allowedDomains[0]", "without brackets", "[::1]"],
    ),
    (
        r#"{"network": {"allowedDomains": ["evil\u0000.example"]}}"#,
        &["network.allowedDomains[0]", "control character"],
    ),
    (r#"{"network": {"deniedDomains": [""]}}"#, &["network.deniedDomains[0]", "cannot be empty"]),
    (r#"{"network": {"deniedDomains": ["a.example:http"]}}"#, &["network.deniedDomains[0]", "port"]),
    (r#"{"network": {"ports": [0]}}"#, &["network.ports[0]", "not a port"]),
    (r#"{"network": {"ports": [70000]}}"#, &["network.ports[0]", "70000"]),
    (r#"{"network": {"protocols": ["htp"]}}"#, &["network.protocols[0]", "did you mean http?"]),
    (r#"{"network": {"maxRequestsPerMinute": 0}}"#, &["network.maxRequestsPerMinute", "more than 0"]),
    (r#"{"network": {"maxRequestsPerMinute": -1}}"#, &["network.maxRequestsPerMinute", "-1"]),
    (
        r#"{"network": {"deniedResolvedAddresses": ["10.0.0.0/99"]}}"#,
        &["network.deniedResolvedAddresses[0]", "10.0.0.0/99"],
    ),
    (r#"{"network": {"tlsTerminate": {"caCertPath": "/x"}}}"#, &["network.tlsTerminate", "caKeyPath"]),
    (
        r#"{"network": {"tlsTerminate": {"hosts": ["a b"]}}}"#,
        &["network.tlsTerminate.hosts[0]", "white space"],
    ),
    (r#"{"network": {"connectionsPerSecond": 0}}"#, &["network.connectionsPerSecond", "more than 0"]),
    (r#"{"network": {"totalBytes": 0}}"#, &["network.totalBytes", "more than 0"]),
    (
        r#"{"network": {"allowedDomains": [{"domain": "a.test", "bytesPerSecond": 0}]}}"#,
        &["network.allowedDomains[0].bytesPerSecond", "more than 0"],
    ),
    (
        r#"{"network": {"allowedDomains": [{"domain": "a.test", "bytePerSecond": 1}]}}"#,
        &["network.allowedDomains[0].bytePerSecond", "did you mean bytesPerSecond?"],
    ),
    (r#"{"network": {"allowedDomains": [{"domain": "*"}]}}"#, &["network.allowedDomains[0]", "every host"]),
    (r#"{"network": {"allowedDomains": [7]}}"#, &["network.allowedDomains[0]", "a domain"]),
    (r#"{"network": {"publish": ["80:x"]}}"#, &["network.publish[0]", "80:x", "8080:80"]),
    (r#"{"network": {"publish": ["80:1", "80:2"]}}"#, &["network.publish[1]", "twice"]),
    (r#"{"network": {"forwardPorts": [0]}}"#, &["network.forwardPorts[0]", "15432:5432"]),
    (r#"{"network": {"forwardPorts": [true]}}"#, &["network.forwardPorts[0]", "a port"]),
    (r#"{"network": {"forwardPorts": [53]}}"#, &["network.forwardPorts[0]", "own resolver", "1053:53"]),
    (r#"{"network": {"requests": [{"host": "a.test"}]}}"#, &["network.requests[0]", "allow"]),
    (
        r#"{"network": {"requests": [{"host": "http://a.test", "allow": true}]}}"#,
        &["network.requests[0].host", "scheme"],
    ),
    (
        r#"{"network": {"requests": [{"host": "a.test", "methods": ["G T"], "allow": true}]}}"#,
        &["network.requests[0].methods[0]", "not a method"],
    ),
    (
        r#"{"network": {"requests": [{"host": "a.test", "paths": ["/a/../b"], "allow": true}]}}"#,
        &["network.requests[0].paths[0]", "one way only"],
    ),
    (
        r#"{"credentials": {"envVars": [{"name": "A", "mode": "mask", "maskClaim": []}]}}"#,
        &["credentials.envVars[0].maskClaim", "did you mean maskClaims?"],
    ),
    (r#"{"network": {"httpProxyPort": 0}}"#, &["network.httpProxyPort", "not a port"]),
    (
        r#"{"network": {"tlsTerminate": {"maxTunnels": 0}}}"#,
        &["network.tlsTerminate.maxTunnels", "more than 0", "leave it out"],
    ),
    (
        r#"{"network": {"tlsTerminate": {"handshakeTimeoutMs": 0}}}"#,
        &["network.tlsTerminate.handshakeTimeoutMs", "more than 0", "leave it out"],
    ),
    (
        r#"{"network": {"stripResponseHeaders": ["server", "set cookie"]}}"#,
        &["network.stripResponseHeaders[1]", "set cookie", "set-cookie"],
    ),
    (r#"{"network": {"stripResponseHeaders": [""]}}"#, &["network.stripResponseHeaders[0]"]),
    (
        r#"{"network": {"ambiguousRequestTarget": "alow"}}"#,
        &["network.ambiguousRequestTarget", "alow", "did you mean allow?", "deny"],
    ),
    (
        r#"{"network": {"parentProxy": {"noProxy": "localhost,10.0.0.0/99 a_b:x"}}}"#,
        &["network.parentProxy.noProxy", "10.0.0.0/99", "a_b:x", "10.0.0.0/8"],
    ),
    (r#"{"environment": {"inherit": "some"}}"#, &["environment.inherit", "some", "allowlist"]),
    (r#"{"environment": {"allow": ["A-B"]}}"#, &["environment.allow[0]", "A-B", "not a variable name"]),
    (r#"{"environment": {"set": {"A=B": "x"}}}"#, &["environment.set.A=B", "no ="]),
    (r#"{"environment": {"set": {"A": 1}}}"#, &["environment.set.A", "expected a string"]),
    (r#"{"limits": {"maxMemory": "1g"}}"#, &["limits.maxMemory", "u64"]),
    (r#"{"limits": {"maxCpu": 0}}"#, &["limits.maxCpu", "more than 0"]),
    (r#"{"limits": {"maxmemory": 1}}"#, &["limits.maxmemory", "did you mean maxMemory?"]),
    (r#"{"limits": {"maxExecutionTime": 0}}"#, &["limits.maxExecutionTime", "more than 0"]),
    (r#"{"requireLayers": "every"}"#, &["requireLayers", "every", "all", "needed"]),
    (r#"{"audit": true}"#, &["audit"]),
    (r#"{"enabled": true, "enabled": false}"#, &["duplicate field"]),
];

const SRT: &[Broken] = &[
    ("", &["is empty"]),
    ("{", &["is not valid JSON", "line 1"]),
    ("{}", &["does not hold a valid config", "network", "filesystem", "is required"]),
    (
        r#"{"network": {}, "filesystem": {}}"#,
        &[
            "network.allowedDomains",
            "network.deniedDomains",
            "filesystem.denyRead",
            "filesystem.allowWrite",
            "filesystem.denyWrite",
        ],
    ),
    (
        r#"{"network": {"allowedDomains": ["*"], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}"#,
        &["does not hold a valid config", "network.allowedDomains[0]"],
    ),
    (
        r#"{"network": {"allowedDomains": "x", "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}"#,
        &["network.allowedDomains"],
    ),
    (
        r#"{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": ["**/*.key/"], "allowWrite": [], "denyWrite": []}}"#,
        &["filesystem.denyRead[0]", "ends in a separator"],
    ),
    (
        r#"{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": [""], "denyWrite": []}}"#,
        &["filesystem.allowWrite[0]", "cannot be empty"],
    ),
    (
        r#"{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": [{"path": ""}], "allowWrite": [], "denyWrite": []}}"#,
        &["filesystem.denyRead[0]", "cannot be empty"],
    ),
    (
        r#"{"network": {"allowedDomains": [], "deniedDomains": [], "ambiguousRequestTarget": "perhaps"}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}"#,
        &["network.ambiguousRequestTarget", "perhaps", "allow, deny"],
    ),
    (
        r#"{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": [], "disabled": "yes"}}"#,
        &["filesystem.disabled", "expected a boolean"],
    ),
];

/// Only the credentials block, between valid others.
const CREDENTIALS: &[Broken] = &[
    (r#"{"envVar": []}"#, &["credentials.envVar", "Unrecognized", "did you mean envVars?"]),
    (r#"{"envVars": [{"name": "A", "mode": "hide"}]}"#, &["credentials.envVars[0].mode", "hide", "deny"]),
    (
        r#"{"envVars": [{"name": "A", "mode": "deny", "extra": 1}]}"#,
        &["credentials.envVars[0].extra", "Unrecognized"],
    ),
    (
        r#"{"envVars": [{"name": "1A", "mode": "deny"}]}"#,
        &["credentials.envVars[0].name", "not a variable name"],
    ),
    (r#"{"envVars": [{"mode": "deny"}]}"#, &["credentials.envVars[0].name", "is required"]),
    (r#"{"files": [{"path": "", "mode": "deny"}]}"#, &["credentials.files[0].path", "cannot be empty"]),
    (r#"{"files": [{"name": "A", "mode": "deny"}]}"#, &["credentials.files[0].name", "Unrecognized"]),
    (
        r#"{"envVars": [{"name": "A", "mode": "mask"}]}"#,
        &["credentials.envVars[0].mode", "tlsTerminate", "allowPlaintextInject"],
    ),
    (
        r#"{"allowPlaintextInject": true, "envVars": [{"name": "A", "mode": "mask", "extract": "abc"}]}"#,
        &["credentials.envVars[0].extract", "capturing group"],
    ),
    (
        r#"{"allowPlaintextInject": true, "envVars": [{"name": "A", "mode": "mask", "injectHosts": ["other.example"]}]}"#,
        &["credentials.envVars[0].injectHosts[0]", "not reachable via", "network.allowedDomains"],
    ),
    (
        r#"{"envVars": [{"name": "A", "mode": "deny", "injectHosts": ["a.example"]}]}"#,
        &["credentials.envVars[0].injectHosts", "never sent"],
    ),
    (
        r#"{"awsPairs": [{"accessKeyId": "K"}]}"#,
        &["credentials.awsPairs[0].accessKeyId", "credentials.awsPairs[0].secretAccessKey"],
    ),
    (r#"{"sigv4": {"bogus": 1}}"#, &["credentials.sigv4", "bogus", "nrecognized"]),
    (r#"{"sigv4": {"presigned": "nonsense"}}"#, &["credentials.sigv4.presigned", "deny", "passthrough"]),
    (r#"{"sigv4": {"streaming": true}}"#, &["credentials.sigv4.streaming"]),
    (r#"{"sigv4": 1}"#, &["credentials.sigv4"]),
    (r#"{"sigv4": {}}"#, &["credentials.sigv4", "credentials.awsPairs"]),
];

fn check(shape: Shape, text: &str, wanted: &[&str]) {
    let message = match load(&usual_tree(), Layer::User, shape, text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => errors.to_string(),
    };
    for wanted in wanted.iter().chain(&["/settings.json"]) {
        assert!(message.contains(wanted), "{text}\nshould say {wanted:?}, says\n{message}");
    }
}

#[test]
fn broken_native_settings() {
    for (text, wanted) in NATIVE {
        check(Shape::Native, text, wanted);
    }
}

#[test]
fn broken_srt_settings() {
    for (text, wanted) in SRT {
        check(Shape::Srt, text, wanted);
    }
    for (text, wanted) in CREDENTIALS {
        let text = format!(
            r#"{{"network": {{"allowedDomains": ["a.example"], "deniedDomains": []}},
                "filesystem": {{"denyRead": [], "allowWrite": [], "denyWrite": []}}, "credentials": {text}}}"#
        );
        check(Shape::Srt, &text, wanted);
    }
}

#[test]
fn the_tables_are_big_enough() {
    assert!(NATIVE.len() + SRT.len() + CREDENTIALS.len() >= 60);
}

#[test]
fn everything_wrong_is_told_at_once_with_the_places_of_the_file() {
    let text = r#"{"presett": 1, "enabled": "x", "filesystem": {"denyRead": [1, "ok", 2, ""], "readScope": "no"}, "limits": {"x": 1}}"#;
    let error = load(&usual_tree(), Layer::User, Shape::Native, text).unwrap_err();
    let message = error.to_string();
    for wanted in [
        "presett",
        "enabled",
        "filesystem.denyRead[0]",
        "filesystem.denyRead[2]",
        "filesystem.readScope",
        "limits.x",
    ] {
        assert!(message.contains(wanted), "{wanted} in\n{message}");
    }
    assert_eq!(error.0.len(), 6, "{message}");
    let values =
        r#"{"filesystem": {"denyRead": ["", "ok", "$NO"]}, "network": {"allowedDomains": ["*", "x y"]}}"#;
    assert_eq!(load(&usual_tree(), Layer::User, Shape::Native, values).unwrap_err().0.len(), 4);
}

#[test]
fn files_that_are_not_there_or_cannot_be_read() {
    let file = |presence| SettingsFile {
        path: "/no/such.json".into(),
        presence,
        ..settings_file(Layer::User, Shape::Native)
    };
    let load = |file: SettingsFile, tree: &crate::testing::Tree| {
        crate::Policy::load(Inputs { settings: vec![file], ..inputs() }, tree)
            .map_err(|errors| errors.to_string())
    };
    let tree = usual_tree().directory("/a-directory").broken("/closed.json", io::ErrorKind::PermissionDenied);
    assert!(load(file(Presence::Optional), &tree).is_ok());
    assert!(load(file(Presence::Named), &tree).unwrap_err().contains("/no/such.json does not exist"));
    for presence in [Presence::Named, Presence::Optional] {
        let directory = SettingsFile { path: "/a-directory".into(), ..file(presence) };
        assert!(load(directory, &tree).unwrap_err().contains("EISDIR"));
        let closed = SettingsFile { path: "/closed.json".into(), ..file(presence) };
        assert!(load(closed, &tree).unwrap_err().contains("EACCES"));
    }
}

#[test]
fn text_that_is_not_utf8_is_told_with_its_place() {
    let bytes = b"{\n \"a\": \"\xff\"}";
    let error = crate::settings::read::parse::<crate::settings::native::Settings>(
        "/x.json".as_ref(),
        bytes,
        crate::settings::read::UnknownKeys::Refused,
    );
    let message = error.err().unwrap()[0].to_string();
    assert!(message.contains("line 2, column 8"), "{message}");
}

#[test]
fn flags_are_named_in_their_errors() {
    let flags = crate::Flags {
        allow_write: vec![String::new()],
        deny_read: vec!["$NOWHERE".into()],
        env_pass: vec!["A B".into()],
        env_set: vec![(String::new(), "x".into())],
        ..crate::Flags::default()
    };
    let errors =
        crate::Policy::load(Inputs { flags, preset: Some("nope".into()), ..inputs() }, &usual_tree())
            .unwrap_err();
    let message = errors.to_string();
    for wanted in [
        "--allow-write: ",
        "--deny-read: ",
        "--pass-env: ",
        "--env: ",
        "--preset: there is no preset \"nope\"",
    ] {
        assert!(message.contains(wanted), "{wanted} in\n{message}");
    }
}

#[test]
fn srt_ignores_keys_it_does_not_know() {
    let text = r#"{"network": {"allowedDomains": [], "deniedDomains": [], "future": 1},
        "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}, "new": {"x": 1}, "allowPty": true}"#;
    let policy = load(&usual_tree(), Layer::User, Shape::Srt, text).unwrap();
    let told = &policy.notices()[0].text;
    assert!(told.contains("network.future") && told.contains("new") && told.contains("allowPty"), "{told}");
}
