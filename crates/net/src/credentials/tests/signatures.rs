//! AWS signatures. Every expected one was computed by another implementation (botocore) from the real keys.

use super::super::aws::CannotSign;
use super::*;
use stockade_policy::Unsignable;

const KEY: &str = "realSecret/Key+with=chars";
const DAY: &str = "20150830T123600Z";
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct Keys {
    vault: Vault,
    id: String,
    token: Option<String>,
}

fn keys(id: &str, key: &str, token: Option<&str>) -> Keys {
    let names = ["*.amazonaws.com"];
    let mut key_id = entry("ID", id, &names);
    key_id.stand_in = StandIn::mint_key_id(id.as_bytes()).unwrap();
    let session_token = token.map(|token| entry("SESSION", token, &names));
    let id = key_id.stand_in.as_str().to_owned();
    let token = session_token.as_ref().map(|entry| entry.stand_in.as_str().to_owned());
    let pair = AwsPair { key_id, secret: entry("KEY", key, &names), session_token };
    Keys { vault: Vault::new(Vec::new(), vec![pair], Switch::Refused), id, token }
}

fn permanent() -> Keys {
    keys("AKIDREALREALREALREAL", KEY, None)
}

fn temporary() -> Keys {
    keys("ASIAREALREALREALREAL", KEY, Some("realToken//+=="))
}

struct Case {
    keys: Keys,
    method: &'static str,
    host: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    scope: &'static str,
    signed: &'static str,
    signature: &'static str,
}

impl Case {
    fn head(&self) -> Parts {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
            self.keys.id,
            self.scope,
            self.signed,
            "0".repeat(64)
        );
        let mut headers = vec![("host", self.host), ("x-amz-date", DAY), ("authorization", &authorization)];
        headers.extend(self.headers);
        headers.extend(self.keys.token.as_deref().map(|token| ("x-amz-security-token", token)));
        head(self.method, self.path, &headers)
    }

    fn send(&self, head: &mut Parts) -> Result<(), CannotSign> {
        let injected = self.keys.vault.inject(&to(&format!("{}:443", self.host)), Channel::Tls, head)?;
        assert!(injected.strays.is_empty(), "{:?}", injected.strays);
        match injected.body {
            RequestBody::Untouched => Ok(()),
            RequestBody::Signed(signing) => signing.sign(self.body.as_bytes(), head),
            RequestBody::Replaced(_) => panic!("the body of a signed request is replaced"),
        }
    }
}

fn cases() -> Vec<Case> {
    vec![
        // The worked example of the signature's own documentation.
        Case {
            keys: keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None),
            method: "GET",
            host: "iam.amazonaws.com",
            path: "/?Action=ListUsers&Version=2010-05-08",
            headers: &[("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
            body: "",
            scope: "20150830/us-east-1/iam/aws4_request",
            signed: "content-type;host;x-amz-date",
            signature: "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        },
        Case {
            keys: permanent(),
            method: "GET",
            host: "iam.amazonaws.com",
            path: "/?Version=2010-05-08&Action=ListUsers",
            headers: &[("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
            body: "",
            scope: "20150830/us-east-1/iam/aws4_request",
            signed: "content-type;host;x-amz-date",
            signature: "46d87f774da9c29bf2a81f84ae50daf82cbe02bf60f366d56e2ac28f3011e8bb",
        },
        Case {
            keys: temporary(),
            method: "POST",
            host: "dynamodb.eu-central-1.amazonaws.com",
            path: "/",
            headers: &[
                ("x-amz-target", "DynamoDB_20120810.ListTables"),
                ("content-type", "application/x-amz-json-1.0"),
            ],
            body: "{\"Limit\":1}",
            scope: "20150830/eu-central-1/dynamodb/aws4_request",
            signed: "content-type;host;x-amz-date;x-amz-security-token;x-amz-target",
            signature: "8a4e0823cededd99df391cae92a65dcc8b73e70c4e12f3067961e5a9c6d144a7",
        },
        Case {
            keys: permanent(),
            method: "GET",
            host: "lambda.us-west-2.amazonaws.com",
            path: "/2015-03-31//functions/arn%3Aaws%3Alambda/./skip/../x%20y/?b=2&a=1&a=0&empty",
            headers: &[("x-amz-note", "  two   spaces  inside ")],
            body: "",
            scope: "20150830/us-west-2/lambda/aws4_request",
            signed: "host;x-amz-date;x-amz-note",
            signature: "81406e82714f0887481ff38243d2a0830f5e5df5ed94a05af266d74be6266bae",
        },
        Case {
            keys: permanent(),
            method: "GET",
            host: "bucket.s3.us-east-1.amazonaws.com",
            path: "/a%20b//c%2Bd/../e?list-type=2&prefix=p%2Fq",
            headers: &[("x-amz-content-sha256", EMPTY)],
            body: "",
            scope: "20150830/us-east-1/s3/aws4_request",
            signed: "host;x-amz-content-sha256;x-amz-date",
            signature: "2bcadb176c59dc42f9808539ef3376907a90f3a3f19d3d556b85b401ddd4313a",
        },
        Case {
            keys: temporary(),
            method: "PUT",
            host: "bucket.s3.us-east-1.amazonaws.com",
            path: "/key?x-id=PutObject",
            headers: &[("x-amz-content-sha256", "UNSIGNED-PAYLOAD")],
            body: "hello",
            scope: "20150830/us-east-1/s3/aws4_request",
            signed: "host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
            signature: "34cbc076a05f2dfde0aa055896820c66bd0fb03a4b35508d175f6de612afd25e",
        },
        Case {
            keys: permanent(),
            method: "PUT",
            host: "bucket.s3.us-east-1.amazonaws.com",
            path: "/key",
            headers: &[
                ("content-encoding", "aws-chunked"),
                ("x-amz-trailer", "x-amz-checksum-crc32"),
                ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
            ],
            body: "",
            scope: "20150830/us-east-1/s3/aws4_request",
            signed: "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-trailer",
            signature: "45f3759fb48022223499e7ae54d9a7515a8b8fbd908167c8f4c029cc757808ca",
        },
    ]
}

#[test]
fn signed_anew_with_the_real_keys() {
    for case in cases() {
        let mut head = case.head();
        case.send(&mut head).unwrap();
        let authorization = value(&head, "authorization");
        assert!(
            authorization.ends_with(&format!("Signature={}", case.signature)),
            "{} {authorization}",
            case.path
        );
        assert!(authorization.contains(&format!("/{}, SignedHeaders={},", case.scope, case.signed)));
        assert!(!authorization.contains(&case.keys.id));
        if case.keys.token.is_some() {
            assert_eq!(value(&head, "x-amz-security-token"), "realToken//+==");
        }
        assert!(head.headers["authorization"].is_sensitive());
    }
}

/// Servers may not look at the case of a scheme.
#[test]
fn a_scheme_in_small_letters_is_signed_anew() {
    let case = cases().remove(1);
    let (mut usual, mut small) = (case.head(), case.head());
    let changed = value(&small, "authorization").replace("AWS4-HMAC-SHA256", "aws4-hmac-sha256");
    small.headers.insert("authorization", changed.parse().unwrap());
    case.send(&mut usual).unwrap();
    case.send(&mut small).unwrap();
    assert_eq!(value(&small, "authorization"), value(&usual, "authorization"));
}

#[test]
fn a_token_the_client_left_out_is_sent_and_signed() {
    let case = cases().remove(2);
    let mut whole = case.head();
    case.send(&mut whole).unwrap();
    let left_out = Case { signed: "content-type;host;x-amz-date;x-amz-target", ..cases().remove(2) };
    let mut head = left_out.head();
    head.headers.remove("x-amz-security-token");
    left_out.send(&mut head).unwrap();
    assert_eq!(value(&head, "authorization"), value(&whole, "authorization"));
}

#[test]
fn http2_has_its_host_in_the_address() {
    let case = cases().remove(1);
    let mut head = case.head();
    head.headers.remove("host");
    head.uri = format!("https://{}{}", case.host, case.path).parse().unwrap();
    case.send(&mut head).unwrap();
    assert!(value(&head, "authorization").ends_with(case.signature));
}

#[test]
fn elsewhere_and_outside_tls_nothing_is_signed() {
    for (target, channel) in [("evil.test:443", Channel::Tls), ("iam.amazonaws.com:80", Channel::Plain)] {
        let case = cases().remove(1);
        let mut head = case.head();
        head.headers.remove("host");
        let before = value(&head, "authorization").to_owned();
        let injected = case.keys.vault.inject(&to(target), channel, &mut head).unwrap();
        assert_eq!(value(&head, "authorization"), before);
        assert!(matches!(injected.body, RequestBody::Untouched));
        assert_eq!(injected.strays.len(), 1, "{:?}", injected.strays);
    }
}

#[test]
fn signatures_of_other_keys_are_left_alone() {
    let case = cases().remove(1);
    let mut head = case.head();
    let other = value(&head, "authorization").replace(&case.keys.id, "AKIAOTHER");
    head.headers.insert("authorization", other.parse().unwrap());
    let target = to(&format!("{}:443", case.host));
    case.keys.vault.inject(&target, Channel::Tls, &mut head).unwrap();
    assert_eq!(value(&head, "authorization"), other);
}

type Damage = fn(&mut Parts, &str);

#[test]
fn what_cannot_be_signed_is_refused() {
    fn authorization(head: &mut Parts, from: &str, to: &str) {
        let new = value(head, "authorization").replace(from, to);
        head.headers.insert("authorization", new.parse().unwrap());
    }
    let damages: &[(Damage, CannotSign)] = &[
        (
            |head, _| {
                let streaming = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
                head.headers.insert("x-amz-content-sha256", streaming.parse().unwrap());
            },
            CannotSign::Streaming,
        ),
        (
            |head, _| {
                head.headers.insert("x-amz-content-sha256", "what".parse().unwrap());
            },
            CannotSign::Malformed,
        ),
        (
            |head, id| {
                head.headers.remove("authorization");
                head.uri = format!("/?X-Amz-Credential={id}%2F20150830&X-Amz-Signature=0").parse().unwrap();
            },
            CannotSign::Presigned,
        ),
        (
            |head, id| {
                head.headers.remove("authorization");
                let id = id.replacen('A', "%41", 1);
                head.uri = format!("/?a&X%2DAmz-%63redential={id}%2F20150830").parse().unwrap();
            },
            CannotSign::Presigned,
        ),
        (|head, _| authorization(head, "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"), CannotSign::Asymmetric),
        (|head, _| authorization(head, "AWS4-HMAC-SHA256", "aws4-ecdsa-p256-sha256"), CannotSign::Asymmetric),
        (|head, _| authorization(head, "SignedHeaders", "Signed"), CannotSign::Malformed),
        (|head, _| authorization(head, "aws4_request", "aws4_reques"), CannotSign::Malformed),
        (|head, _| authorization(head, "/us-east-1/", "//"), CannotSign::Malformed),
        (|head, _| authorization(head, "host;", ""), CannotSign::Malformed),
        (|head, _| authorization(head, "host;", "host;not there;"), CannotSign::Malformed),
        (|head, _| authorization(head, "host;", "host;x-gone;"), CannotSign::Header("x-gone".to_owned())),
        (|head, _| authorization(head, "host;", "host;range;"), CannotSign::Slice),
        (
            |head, _| {
                head.headers.remove("x-amz-date");
            },
            CannotSign::Date,
        ),
        (
            |head, _| {
                head.headers.insert("x-amz-date", "20150831T000000Z".parse().unwrap());
            },
            CannotSign::Date,
        ),
    ];
    for (number, (damage, expected)) in damages.iter().enumerate() {
        let case = cases().remove(1);
        let mut head = case.head();
        damage(&mut head, &case.keys.id);
        assert_eq!(case.send(&mut head).unwrap_err(), *expected, "{number}");
    }
}

/// Such requests go as they are: nothing is put into them, wherever it stands.
#[test]
fn what_cannot_be_signed_passes_where_it_may() {
    let all =
        Unsignable { streaming: Switch::Allowed, presigned: Switch::Allowed, asymmetric: Switch::Allowed };
    let kinds: [(Unsignable, Damage); 3] = [
        (Unsignable { streaming: Switch::Refused, ..all }, |head, _| {
            let streaming = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
            head.headers.insert("x-amz-content-sha256", streaming.parse().unwrap());
        }),
        (Unsignable { presigned: Switch::Refused, ..all }, |head, id| {
            head.headers.remove("authorization");
            head.uri = format!("/{id}?X-Amz-Credential={id}%2F20150830&X-Amz-Signature=0").parse().unwrap();
        }),
        (Unsignable { asymmetric: Switch::Refused, ..all }, |head, _| {
            let new = value(head, "authorization").replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256");
            head.headers.insert("authorization", new.parse().unwrap());
        }),
    ];
    for (others, damage) in kinds {
        for (unsignable, passes) in [(all, true), (others, false)] {
            let case = cases().remove(2);
            let keys = Keys { vault: case.keys.vault.passing(unsignable), ..case.keys };
            let case = Case { keys, ..case };
            let mut head = case.head();
            damage(&mut head, &case.keys.id);
            let (headers, uri) = (head.headers.clone(), head.uri.clone());
            assert_eq!(case.send(&mut head).is_ok(), passes, "{unsignable:?}");
            assert_eq!((head.headers, head.uri), (headers, uri));
        }
    }
    // What is simply wrong does not.
    let case = cases().remove(2);
    let vault = case.keys.vault.passing(all);
    let mut head =
        head("GET", "/", &[("authorization", &format!("AWS4-HMAC-SHA256 Credential={}", case.keys.id))]);
    let refused = vault.inject(&to("dynamodb.eu-central-1.amazonaws.com:443"), Channel::Tls, &mut head);
    assert_eq!(refused.unwrap_err(), CannotSign::Malformed);
}

/// The key's name and the session's token are sent like any value, in paths, headers and unsigned bodies: a host
/// that keeps what it is sent would show them bit by bit.
#[test]
fn a_host_that_is_sent_the_names_of_keys_sends_no_parts() {
    for keys in [permanent(), temporary()] {
        for port in [443, 80, 8443] {
            let scrubber = keys.vault.scrubber(&to(&format!("s3.amazonaws.com:{port}"))).unwrap();
            let mut headers = http::HeaderMap::new();
            headers.insert(http::header::RANGE, "bytes=0-9".parse().unwrap());
            headers.insert(http::header::IF_RANGE, "\"x\"".parse().unwrap());
            scrubber.ask_plainly(&mut headers);
            assert!(
                !headers.contains_key(http::header::RANGE) && !headers.contains_key(http::header::IF_RANGE)
            );
            for status in [206, 416] {
                let (head, ()) = http::Response::builder().status(status).body(()).unwrap().into_parts();
                assert!(scrubber.can_read(&head).is_err());
            }
        }
    }
}

/// The key itself is sent to nobody: where nothing else goes, nothing can come back.
#[test]
fn a_host_that_is_sent_nothing_may_send_parts() {
    let mut key_id = entry("ID", "AKIDREALREALREALREAL", &["other.test"]);
    key_id.stand_in = StandIn::mint_key_id(b"AKID").unwrap();
    let pair = AwsPair { key_id, secret: entry("KEY", KEY, &["*.amazonaws.com"]), session_token: None };
    let vault = Vault::new(Vec::new(), vec![pair], Switch::Refused);
    assert!(vault.scrubber(&to("s3.amazonaws.com:443")).is_none());
}

/// A part is one by any sign of it, not only by its status.
#[test]
fn parts_are_known_by_their_headers_too() {
    let keys = permanent();
    let scrubber = keys.vault.scrubber(&to("s3.amazonaws.com:443")).unwrap();
    let can_read = |name: &str, value: &str| {
        let response = http::Response::builder().status(200).header(name, value).body(()).unwrap();
        scrubber.can_read(&response.into_parts().0).is_ok()
    };
    assert!(!can_read("content-type", "Multipart/ByteRanges; boundary=x"));
    assert!(!can_read("content-range", "bytes 0-7/32"));
    assert!(can_read("content-type", "multipart/mixed; boundary=x"));
}

#[test]
fn a_body_too_long_to_collect() {
    let case = cases().remove(2);
    let mut head = case.head();
    let injected =
        case.keys.vault.inject(&to(&format!("{}:443", case.host)), Channel::Tls, &mut head).unwrap();
    let RequestBody::Signed(signing) = injected.body else { panic!("{:?}", injected.body) };
    let long = vec![0; Signing::LONGEST_BODY + 1];
    assert_eq!(signing.sign(&long, &mut head).unwrap_err(), CannotSign::TooLong);
}
