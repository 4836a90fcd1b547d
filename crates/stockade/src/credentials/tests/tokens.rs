//! JSON web tokens.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::fs;

fn token(header: &str, payload: &str) -> String {
    let [header, payload] = [header, payload].map(|part| URL_SAFE_NO_PAD.encode(part));
    format!("{header}.{payload}.c2lnbmF0dXJl")
}

fn real() -> String {
    token(r#"{"typ":"JWT","alg":"HS256"}"#, r#"{"sub":"me","api_key":"k3y","n":7,"exp":99}"#)
}

fn hiding(credential: CredentialPlan, claims: &[&str]) -> CredentialPlan {
    CredentialPlan {
        jwt_claims: Some(claims.iter().map(|claim| (*claim).to_owned()).collect()),
        ..credential
    }
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[test]
fn listed_claims_and_the_signature_are_made_up() {
    let real = real();
    let rule = hiding(variable("JWT"), &["api_key", "n", "absent"]);
    let gathered = gathered(&[("JWT", &real)], with(vec![rule])).unwrap();
    let shown = seen(&gathered, "JWT").unwrap();
    let [key, number, payload, signature, whole] = gathered.entries.as_slice() else {
        panic!("{}", gathered.entries.len())
    };
    assert!(stands_for(whole, shown, &real));
    assert!(key.real.is(b"k3y") && number.real.is(b"7"));
    assert_eq!((key.name.as_str(), whole.name.as_str()), ("JWT (api_key)", "JWT"));
    let expected =
        json!({"sub": "me", "api_key": key.stand_in.as_str(), "n": number.stand_in.as_str(), "exp": 99});
    assert_eq!(claims(shown), expected);
    let (parts, real): (Vec<&str>, Vec<&str>) = (shown.split('.').collect(), real.split('.').collect());
    assert_eq!(parts[0], real[0]);
    // Each hidden part is a secret by itself: a server may send back no more of it.
    assert!(stands_for(payload, parts[1], real[1]) && stands_for(signature, parts[2], real[2]));
    assert_eq!((payload.name.as_str(), signature.name.as_str()), ("JWT (payload)", "JWT (signature)"));
    // Strict decoders look at every letter.
    assert_eq!(URL_SAFE_NO_PAD.decode(parts[2]).unwrap().len(), 33);
    assert!(!shown.contains("c2lnbmF0dXJl"));
}

/// A server may send back any part of a listed claim, spelled as it was.
#[test]
fn every_part_of_a_listed_claim_is_a_secret() {
    for (claim, expected) in [
        (r#""acct":["ROLE-1",["ROLE-2"],true]"#, &[r#"["ROLE-1",["ROLE-2"],true]"#, "ROLE-1", "ROLE-2"][..]),
        (
            r#""acct":{"id": "DEEP-\u0033", "n": -1.50,"id":"TWICE"}"#,
            &[r#"{"id": "DEEP-\u0033", "n": -1.50,"id":"TWICE"}"#, "DEEP-3", "-1.50", "TWICE"],
        ),
        (r#""acct":18446744073709551617"#, &["18446744073709551617"]),
        (r#""acct":"FIRST","x":1,"acct":"SECOND""#, &["FIRST", "SECOND"]),
    ] {
        let real = token(r#"{"alg":"HS256"}"#, &format!(r#"{{{claim},"y":2}}"#));
        let gathered = gathered(&[("JWT", &real)], with(vec![hiding(variable("JWT"), &["acct"])])).unwrap();
        let parts = || gathered.entries.iter().filter(|entry| entry.name == "JWT (acct)");
        assert_eq!(parts().count(), expected.len(), "{claim}");
        for text in expected {
            assert!(parts().any(|entry| entry.real.is(text.as_bytes())), "{text}");
        }
        let shown = claims(seen(&gathered, "JWT").unwrap());
        assert!(shown["acct"].as_str().unwrap().starts_with("fake_value_") && shown["y"] == 2, "{shown}");
    }
}

#[test]
fn without_claims_the_whole_token_is_made_up() {
    let header = r#"{"typ":"at+jwt","alg":"HS256","kid":"key-of-ann","sub":"ann"}"#;
    let real = token(header, r#"{"email":"victim@corp.example","exp":99,"deep":{"a":["k3y"]}}"#);
    let gathered = gathered(&[("JWT", &real)], with(vec![hiding(variable("JWT"), &[])])).unwrap();
    let shown = seen(&gathered, "JWT").unwrap();
    let [payload, signature, whole] = gathered.entries.as_slice() else {
        panic!("{}", gathered.entries.len())
    };
    let (parts, real_parts): (Vec<&str>, Vec<&str>) = (shown.split('.').collect(), real.split('.').collect());
    assert_eq!(parts.len(), 3);
    assert!(stands_for(whole, shown, &real));
    assert!(stands_for(payload, parts[1], real_parts[1]));
    assert!(stands_for(signature, parts[2], real_parts[2]));
    for part in real_parts {
        assert!(!shown.contains(part), "{shown}");
    }
    // Programs look for how it is signed and whether it is over.
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[0]).unwrap()).unwrap();
    assert_eq!(header, json!({"alg": "HS256", "typ": "JWT"}));
    let claims = claims(shown);
    assert!(claims["sub"].as_str().unwrap().starts_with("fake_value_"), "{claims}");
    assert_eq!((&claims["exp"], claims.as_object().unwrap().len()), (&json!(2_147_483_647), 3));
    assert_eq!(URL_SAFE_NO_PAD.decode(parts[2]).unwrap().len(), 33);
}

#[test]
fn no_two_tokens_are_made_up_alike() {
    let (one, two) = (real(), token(r#"{"alg":"none"}"#, "{}").replace("c2lnbmF0dXJl", ""));
    let rules = vec![hiding(variable("A"), &[]), hiding(variable("B"), &[])];
    let gathered = gathered(&[("A", &one), ("B", &two)], with(rules)).unwrap();
    let (a, b) = (seen(&gathered, "A").unwrap(), seen(&gathered, "B").unwrap());
    let parts: Vec<&str> = a.split('.').skip(1).chain(b.split('.').skip(1)).collect();
    assert!(parts[0] != parts[2] && parts[1] != parts[3], "{parts:?}");
    // What is not there is no secret.
    let names: Vec<&str> = gathered.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["A (payload)", "A (signature)", "A", "B (payload)", "B"]);
}

/// The header is not part of what is signed for anybody to know, and no more than a word is taken over.
#[test]
fn an_algorithm_that_is_none_is_not_shown() {
    let real = token(r#"{"alg":"a secret, or so"}"#, "{}");
    let gathered = gathered(&[("JWT", &real)], with(vec![hiding(variable("JWT"), &[])])).unwrap();
    let shown = seen(&gathered, "JWT").unwrap().split('.').next().unwrap();
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(shown).unwrap()).unwrap();
    assert_eq!(header, json!({"alg": "HS256", "typ": "JWT"}));
}

#[test]
fn what_is_no_token() {
    let good = real();
    let no_algorithm = token(r#"{"typ":"JWT"}"#, "{}");
    let no_object = token(r#"{"alg":"none"}"#, "[]");
    let four = format!("{good}.x");
    for value in ["plain", "a.b.c", &no_algorithm, &no_object, &four] {
        let rule = CredentialPlan { on_no_match: Some("deny".to_owned()), ..hiding(variable("JWT"), &[]) };
        let gathered = gathered(&[("JWT", value)], with(vec![rule])).unwrap();
        assert_eq!(gathered.masked.withheld.len(), 1, "{value}");
    }
}

#[test]
fn what_is_no_token_is_masked_as_a_whole() {
    let good = real();
    let padded = good.replace(".c2", "==.c2");
    let (encrypted, array) = (format!("{good}.a.b"), token(r#"{"alg":"none"}"#, "[]"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    for value in ["plain", "a.b.c", "Bearer of news", &padded, &encrypted, &array] {
        for (claims, no_match) in [(&[][..], None), (&[], Some("warn")), (&["api_key"], None)] {
            let on_no_match = no_match.map(str::to_owned);
            let masked = |rule| {
                with(vec![CredentialPlan { on_no_match: on_no_match.clone(), ..hiding(rule, claims) }])
            };
            let in_variable = gathered(&[("JWT", value)], masked(variable("JWT"))).unwrap();
            let shown = seen(&in_variable, "JWT").unwrap();
            let (entry, pieces) = in_variable.entries.split_last().unwrap();
            assert!(pieces.iter().all(|piece| piece.name == "JWT (part)"));
            assert!(stands_for(entry, shown, value) && shown.starts_with("fake_value_"), "{shown}");
            assert!(in_variable.masked.warnings[0].contains("masked as a whole"));
            fs::write(&path, format!("{value}\n")).unwrap();
            let in_file = gathered(&[], masked(file(&path))).unwrap();
            let content = String::from_utf8(in_file.masked.contents[0].1.clone()).unwrap();
            assert!(!content.contains(value) && !content.contains("c2lnbmF0dXJl"), "{content}");
        }
    }
    // Who wrote that it is to be seen sees it.
    for (value, claims) in [("plain", "api_key"), (&good, "absent")] {
        let rule = hiding(variable("JWT"), &[claims]);
        let hidden = gathered(&[("JWT", value)], with(vec![rule.clone()])).unwrap();
        assert!(seen(&hidden, "JWT").unwrap().starts_with("fake_value_"));
        let rule = CredentialPlan { on_no_match: Some("warn".to_owned()), ..rule };
        let shown = gathered(&[("JWT", value)], with(vec![rule])).unwrap();
        assert_eq!((seen(&shown, "JWT"), shown.masked.warnings.len()), (Some(value), 1));
    }
}

/// The word before a token is no part of it: a server sends back the token alone.
#[test]
fn a_token_may_have_a_scheme() {
    let real = real();
    for scheme in ["Bearer ", "bearer  ", "DPoP\t"] {
        let value = format!("{scheme}{real}");
        let gathered =
            gathered(&[("JWT", &value)], with(vec![hiding(variable("JWT"), &["api_key"])])).unwrap();
        let shown = seen(&gathered, "JWT").unwrap().strip_prefix(scheme).unwrap();
        assert!(stands_for(gathered.entries.last().unwrap(), shown, &real));
        assert_eq!(claims(shown)["sub"], "me");
        assert!(gathered.masked.warnings.iter().all(|told| !told.contains("as a whole")));
    }
    // What is none of the usual words may be a secret.
    let value = format!("hunter2 {real}");
    let gathered = gathered(&[("JWT", &value)], with(vec![hiding(variable("JWT"), &[])])).unwrap();
    assert!(seen(&gathered, "JWT").unwrap().starts_with("fake_value_"));
    assert!(gathered.entries.iter().any(|entry| entry.real.is(real.as_bytes())));
}

#[test]
fn parts_of_what_is_masked_as_a_whole_are_secrets() {
    let (long, other) = ("b".repeat(16), "c".repeat(20));
    let header = real().split('.').next().unwrap().to_owned();
    for (value, expected) in [
        (format!("{header}.{long}==.{other}"), &[&long, &other][..]),
        (format!("{header}.{long}.short.{other}.tag"), &[&long, &other]),
        (format!("{long}.short.{other}"), &[&long, &other]),
        (format!("{header}.{}.short", &long[1..]), &[]),
        (long.clone(), &[]),
    ] {
        let gathered = gathered(&[("JWT", &value)], with(vec![hiding(variable("JWT"), &["x"])])).unwrap();
        let (whole, pieces) = gathered.entries.split_last().unwrap();
        assert!(stands_for(whole, seen(&gathered, "JWT").unwrap(), &value));
        assert_eq!(pieces.len(), expected.len(), "{value}");
        for (piece, expected) in pieces.iter().zip(expected) {
            assert!(piece.real.is(expected.as_bytes()), "{value}");
        }
    }
    // Claims that are not where they are looked for.
    let real = token(r#"{"alg":"HS256"}"#, r#"{"deep":{"key":"k3y"}}"#);
    let gathered = gathered(&[("JWT", &real)], with(vec![hiding(variable("JWT"), &["key"])])).unwrap();
    let payload = real.split('.').nth(1).unwrap();
    assert!(gathered.entries.iter().any(|entry| entry.real.is(payload.as_bytes())));
}

#[test]
fn tokens_are_found_in_files() {
    let (first, second) = (real(), token(r#"{"alg":"none"}"#, r#"{"a":1}"#));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tokens");
    fs::write(&path, format!("one: {first}\ntwo: \"{second}\"\nnone: eyJx.y.z\nagain: {first}\n")).unwrap();
    for rule in [hiding(file(&path), &[]), extracted(hiding(file(&path), &[]), "\\w+: \"?([^\"\\n]+)", None)]
    {
        let gathered = gathered(&[], with(vec![rule])).unwrap();
        let whole =
            |real: &str| gathered.entries.iter().find(|entry| entry.real.is(real.as_bytes())).unwrap();
        let (one, two) = (whole(&first).stand_in.as_str(), whole(&second).stand_in.as_str());
        assert_ne!(claims(one), claims(&first));
        let none = whole("eyJx.y.z").stand_in.as_str();
        let content = String::from_utf8(gathered.masked.contents[0].1.clone()).unwrap();
        assert_eq!(content, format!("one: {one}\ntwo: \"{two}\"\nnone: {none}\nagain: {one}\n"));
    }
}

/// The person said that it is seen, and has to know what is.
#[test]
fn a_token_beside_other_words_is_not_denied() {
    let real = real();
    let rule = hiding(variable("JWT"), &["api_key"]);
    for (value, beside) in [
        (format!("hunter2 {real}"), true),
        (format!("user:{real}:x"), true),
        (format!("a=b; token=\"{real}\""), true),
        (format!("token={real}"), true),
        ("hunter2 and more".to_owned(), false),
        (format!("hunter2 {}", token(r#"{"alg":"HS256"}"#, r#"{"sub":"me"}"#)), false),
    ] {
        let rule = CredentialPlan { on_no_match: Some("warn".to_owned()), ..rule.clone() };
        let shown = gathered(&[("JWT", &value)], with(vec![rule])).unwrap();
        assert_eq!(seen(&shown, "JWT"), Some(&*value));
        let [told] = shown.masked.warnings.as_slice() else { panic!("{:?}", shown.masked.warnings) };
        assert!(told.ends_with("the command sees it as it is"), "{told}");
        assert_eq!(told.contains("stands in it beside other words"), beside, "{told}");
        assert_eq!(told.contains("nothing in it is a JSON web token"), !beside, "{told}");
    }
}
