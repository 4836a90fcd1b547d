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
    let [key, number, whole] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
    assert!(stands_for(whole, shown, &real));
    assert!(key.real.is(b"k3y") && number.real.is(b"7"));
    assert_eq!((key.name.as_str(), whole.name.as_str()), ("JWT (api_key)", "JWT"));
    let expected =
        json!({"sub": "me", "api_key": key.stand_in.as_str(), "n": number.stand_in.as_str(), "exp": 99});
    assert_eq!(claims(shown), expected);
    let parts: Vec<&str> = shown.split('.').collect();
    assert_eq!(parts[0], real.split('.').next().unwrap());
    // Strict decoders look at every letter.
    assert_eq!(URL_SAFE_NO_PAD.decode(parts[2]).unwrap().len(), 33);
    assert!(!shown.contains("c2lnbmF0dXJl"));
}

#[test]
fn without_claims_only_the_signature_is_made_up() {
    let real = real();
    let gathered = gathered(&[("JWT", &real)], with(vec![hiding(variable("JWT"), &[])])).unwrap();
    let shown = seen(&gathered, "JWT").unwrap();
    assert_eq!(claims(shown), claims(&real));
    assert_ne!(shown, real);
    assert!(stands_for(&gathered.entries[0], shown, &real));
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
    let rule = hiding(variable("JWT"), &["absent"]);
    let gathered = gathered(&[("JWT", &good)], with(vec![rule])).unwrap();
    assert_eq!(seen(&gathered, "JWT"), Some(good.as_str()));
    assert_eq!(gathered.masked.warnings.len(), 1);
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
        let [one, two] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
        let (one, two) = (one.stand_in.as_str(), two.stand_in.as_str());
        let content = String::from_utf8(gathered.masked.contents[0].1.clone()).unwrap();
        assert_eq!(content, format!("one: {one}\ntwo: \"{two}\"\nnone: eyJx.y.z\nagain: {one}\n"));
    }
}
