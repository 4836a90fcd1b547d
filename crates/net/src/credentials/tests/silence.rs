//! Real values are in no message and no debug output.

use super::*;

const REAL: &str = "S3CR3T-V4LUE";

#[test]
fn nothing_that_can_be_printed_holds_a_value() {
    let pair = AwsPair {
        key_id: entry("ID", REAL, &["api.test"]),
        secret: entry("KEY", REAL, &["api.test"]),
        session_token: Some(entry("SESSION", REAL, &["api.test"])),
    };
    let single = entry("TOKEN", REAL, &["api.test"]);
    let stand_in = single.stand_in.as_str().to_owned();
    let key_id = pair.key_id.stand_in.as_str().to_owned();
    let key = pair.secret.stand_in.as_str().to_owned();
    let mut shown = format!("{pair:?} {single:?} {:?}", single.real);
    let vault = Vault::new(vec![single], vec![pair], Switch::Refused);
    shown += &format!("{vault:?}");

    let signed = format!(
        "AWS4-HMAC-SHA256 Credential={key_id}/20150830/us-east-1/iam/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
    );
    for (target, authorization) in
        [("api.test:443", stand_in.as_str()), ("evil.test:443", &stand_in), ("api.test:443", &signed)]
    {
        let headers = [
            ("host", target),
            ("authorization", authorization),
            ("x-amz-date", "20150830T123600Z"),
            ("x-key", &key),
        ];
        let mut head = head("GET", "/", &headers);
        let injected = vault.inject(&to(target), Channel::Tls, &mut head).unwrap();
        shown += &format!("{injected:?} {:?}", head.headers);
        shown.extend(injected.strays.iter().map(ToString::to_string));
        match injected.body {
            RequestBody::Signed(signing) => {
                shown += &format!("{signing:?}");
                signing.sign(b"", &mut head).unwrap();
                shown += &format!("{:?}", head.headers);
                assert!(value(&head, "authorization").contains(REAL), "the test looks at a real request");
            }
            RequestBody::Replaced(mut replacer) => {
                replacer.push(stand_in.clone().into());
                shown += &format!("{replacer:?}");
            }
            RequestBody::Untouched => {}
        }
    }
    assert!(!shown.contains(REAL), "{shown}");
    // Nor byte by byte.
    assert!(!shown.contains("83, 51, 67"), "{shown}");
}

#[test]
fn a_signing_key_is_never_sent() {
    let pair = AwsPair {
        key_id: entry("ID", "AKIAREAL", &["api.test"]),
        secret: entry("KEY", REAL, &["api.test"]),
        session_token: None,
    };
    let key = pair.secret.stand_in.as_str().to_owned();
    let vault = Vault::new(Vec::new(), vec![pair], Switch::Allowed);
    let mut head = head("POST", &format!("/{key}?{key}"), &[("x-key", &key)]);
    let injected = vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap();
    assert_eq!(value(&head, "x-key"), key);
    assert_eq!(head.uri.to_string(), format!("/{key}?{key}"));
    let told: Vec<String> = injected.strays.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["the stand-in of KEY was sent to api.test:443, but a key to sign with is never sent"]);
    let RequestBody::Replaced(replacer) = injected.body else { panic!("{:?}", injected.body) };
    assert_eq!(whole(replacer, &key), key);
}
