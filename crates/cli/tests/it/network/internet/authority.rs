//! Certificates of the private internet, made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Names the servers can prove.
const NAMES: &[&str] = &[
    "allow.test",
    "also.allow.test",
    "api.test",
    "other.test",
    "evil.test",
    "git.test",
    "notallow.test",
    "private.test",
    "v6only.test",
];

/// Words for openssl that make a key and its certificate.
pub(crate) const NEW: [&str; 9] =
    ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"];

/// Certificates in PEM.
pub(crate) struct Authority {
    /// What signs; to be trusted.
    pub(crate) root: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

/// The authority and the certificate of its servers.
pub(crate) fn authority() -> &'static Authority {
    static MADE: OnceLock<Authority> = OnceLock::new();
    MADE.get_or_init(|| {
        let place = tempfile::tempdir().expect("a place for certificates");
        make(place.path())
    })
}

fn make(place: &Path) -> Authority {
    let file = |name: &str| -> PathBuf { place.join(name) };
    let text = |name: &str| file(name).to_str().expect("text").to_owned();
    let names: Vec<String> = NAMES.iter().map(|name| format!("DNS:{name}")).collect();
    let run = |words: &[&str]| {
        let output = Command::new("openssl").args(words).output().expect("openssl");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(&[
        &NEW[..],
        &["-subj", "/CN=Test Authority", "-keyout", &text("root.key"), "-out", &text("root.pem")],
        &["-addext", "keyUsage=critical,keyCertSign,cRLSign"],
    ]
    .concat());
    run(&[
        &NEW[..],
        &["-subj", "/CN=allow.test", "-keyout", &text("key.pem"), "-out", &text("certificate.pem")],
        &["-CA", &text("root.pem"), "-CAkey", &text("root.key")],
        &["-addext", &format!("subjectAltName={}", names.join(","))],
        &["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth"],
    ]
    .concat());
    let read = |name: &str| fs::read_to_string(file(name)).expect("openssl wrote it");
    Authority { root: read("root.pem"), certificate: read("certificate.pem"), key: read("key.pem") }
}
