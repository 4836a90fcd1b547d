//! Authorities, and what real programs think of what they sign.

use super::super::authority::{Authority, now};
use super::super::certificate::{self, Role};
use super::super::error::TlsError;
use super::super::roots::pem;
use super::super::termination::Termination;
use rcgen::KeyPair;
use rustls::crypto::{CryptoProvider, ring};
use rustls_pki_types::CertificateDer;
use std::path::{Path, PathBuf};
use std::process::Command;
use stockade_policy::{DomainPattern, Host, Target, TlsPlan};

fn host(name: &str) -> Host {
    Host::parse(name.as_bytes()).unwrap()
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// Openssl takes the certificate for the host's.
fn openssl_trusts(authority: &Authority, host: &str, how: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let (root, leaf) = (directory.path().join("root.pem"), directory.path().join("leaf.pem"));
    let made = authority.sign(&self::host(host), &KeyPair::generate().unwrap(), &provider()).unwrap();
    std::fs::write(&root, pem(authority.certificates().iter())).unwrap();
    std::fs::write(&leaf, pem(made.chain[..1].iter())).unwrap();
    let option = if host.parse::<std::net::IpAddr>().is_ok() { "-verify_ip" } else { "-verify_hostname" };
    let told = Command::new("openssl")
        .args(["verify", "-purpose", "sslserver", option, host])
        .args(how)
        .arg("-CAfile")
        .arg(&root)
        .arg(&leaf)
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}

#[test]
fn what_a_fresh_one_signs_is_trusted() {
    let authority = Authority::fresh(&provider()).unwrap();
    openssl_trusts(&authority, "example.org", &["-x509_strict"]);
    openssl_trusts(&authority, "192.0.2.1", &["-x509_strict"]);
    openssl_trusts(&authority, "2001:db8::1", &["-x509_strict"]);
    let long = format!("{}.example.org", "a".repeat(60));
    openssl_trusts(&authority, &long, &["-x509_strict"]);
}

#[test]
fn a_fresh_one_says_what_it_is() {
    let one = Authority::fresh(&provider()).unwrap();
    let facts = certificate::facts(&one.certificates()[0]).unwrap();
    assert_eq!(facts.role, Role::Authority);
    assert!(facts.not_before <= now() - 86_000 && facts.not_after - facts.not_before == 7 * 86_400);
    let other = Authority::fresh(&provider()).unwrap();
    let other = certificate::facts(&other.certificates()[0]).unwrap();
    assert_ne!(facts.subject, other.subject);
}

/// The number of a certificate, by somebody else's reading.
fn serial(certificate: &CertificateDer<'static>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("one.pem");
    std::fs::write(&path, pem([certificate].into_iter())).unwrap();
    let told = Command::new("openssl").args(["x509", "-noout", "-serial", "-in"]).arg(path).output().unwrap();
    assert!(told.status.success());
    String::from_utf8(told.stdout).unwrap()
}

#[test]
fn leaves_differ_in_number_and_end_with_their_authority() {
    let authority = Authority::fresh(&provider()).unwrap();
    let key = KeyPair::generate().unwrap();
    let of_authority = certificate::facts(&authority.certificates()[0]).unwrap();
    let one = authority.sign(&host("a.example.org"), &key, &provider()).unwrap();
    let same = authority.sign(&host("a.example.org"), &key, &provider()).unwrap();
    let facts = certificate::facts(&one.chain[0]).unwrap();
    assert_eq!(facts.role, Role::Leaf);
    assert_eq!(facts.not_after, one.not_after);
    assert!(facts.not_after <= of_authority.not_after && facts.not_before >= of_authority.not_before);
    assert_ne!(serial(&one.chain[0]), serial(&same.chain[0]));
}

/// Runs openssl in a directory of its own, as people do who make an authority.
fn openssl(directory: &Path, line: &str) {
    let told = Command::new("openssl").args(line.split(' ')).current_dir(directory).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}

#[test]
fn authorities_that_people_made_work() {
    for key in [
        "ecparam -name prime256v1 -genkey -out key.pem",
        "ecparam -name secp384r1 -genkey -noout -out key.pem",
        "genpkey -algorithm ed25519 -out key.pem",
        "genrsa -out key.pem 2048",
        "genrsa -traditional -out key.pem 2048",
    ] {
        let directory = tempfile::tempdir().unwrap();
        openssl(directory.path(), key);
        let subject = "/C=DE/O=Example_Works/CN=Example_CA/emailAddress=ca@example.org";
        openssl(
            directory.path(),
            &format!("req -x509 -new -key key.pem -days 30 -subj {subject} -out ca.pem"),
        );
        let (certificate, key_path) = (directory.path().join("ca.pem"), directory.path().join("key.pem"));
        let authority = Authority::from_files(&certificate, &key_path, &provider()).unwrap();
        openssl_trusts(&authority, "example.org", &[]);
    }
}

#[test]
fn authorities_that_cannot_sign_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { directory.path().join(name) };
    openssl(directory.path(), "req -x509 -newkey rsa:2048 -noenc -keyout key.pem -subj /CN=a -out ca.pem");
    openssl(directory.path(), "req -x509 -newkey rsa:2048 -noenc -keyout other.pem -subj /CN=b -out b.pem");
    let leaf = "req -x509 -newkey rsa:2048 -noenc -keyout leaf.key -subj /CN=c -out leaf.pem \
                -addext basicConstraints=critical,CA:FALSE";
    openssl(directory.path(), leaf);
    openssl(directory.path(), "req -x509 -key key.pem -subj /DC=org/DC=example -out twice.pem");
    let mut old = rcgen::CertificateParams::default();
    old.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    old.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let old_key = KeyPair::generate().unwrap();
    std::fs::write(at("old.pem"), old.self_signed(&old_key).unwrap().pem()).unwrap();
    std::fs::write(at("old.key"), old_key.serialize_pem()).unwrap();
    openssl(directory.path(), "pkcs8 -topk8 -in key.pem -passout pass:word -out sealed.pem");
    let reason = |certificate: &str, key: &str| {
        Authority::from_files(&at(certificate), &at(key), &provider()).err().map(|error| error.to_string())
    };
    assert_eq!(reason("ca.pem", "key.pem"), None);
    for (certificate, key, expected) in [
        ("ca.pem", "other.pem", "what it signs is not accepted"),
        ("leaf.pem", "leaf.key", "CA:TRUE"),
        ("twice.pem", "key.pem", "its subject is not a plain list"),
        ("old.pem", "old.key", "it has expired"),
        ("key.pem", "key.pem", "there is no PEM certificate"),
        ("ca.pem", "sealed.pem", "no unencrypted PEM key"),
        ("ca.pem", "ca.pem", "no unencrypted PEM key"),
        ("absent.pem", "key.pem", "cannot read"),
    ] {
        let told = reason(certificate, key).unwrap_or_default();
        assert!(told.contains(expected), "{certificate} {key}: {told}");
    }
}

#[test]
fn nothing_shows_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    openssl(directory.path(), "req -x509 -newkey rsa:2048 -noenc -keyout key.pem -subj /CN=a -out ca.pem");
    let plan = TlsPlan { authority: Some((at("ca.pem"), at("key.pem"))), ..TlsPlan::default() };
    let secret = std::fs::read_to_string(at("key.pem")).unwrap();
    let line = secret.lines().nth(5).unwrap();
    let termination = Termination::new(&plan).unwrap();
    assert!(!String::from_utf8_lossy(termination.bundle()).contains(line));
    assert!(!format!("{termination:#?}").contains("authority"));
    // A parser that stumbles in the middle would quote where it did.
    std::fs::write(at("key.pem"), secret.replace(line, &format!("-----{line}"))).unwrap();
    let error = Termination::new(&plan).unwrap_err();
    assert!(matches!(error, TlsError::Key { .. }));
    assert!(!format!("{error} {error:?}").contains(&line[..20]));
}

#[test]
fn the_bundle_begins_with_our_authority_and_holds_the_others() {
    let directory = tempfile::tempdir().unwrap();
    openssl(
        directory.path(),
        "req -x509 -newkey rsa:2048 -noenc -keyout key.pem -subj /CN=extra -out extra.pem",
    );
    let extra = directory.path().join("extra.pem");
    let plan = TlsPlan { extra_roots: vec![extra.clone()], ..TlsPlan::default() };
    let termination = Termination::new(&plan).unwrap();
    let text = termination.bundle().to_vec();
    let all: Vec<CertificateDer<'_>> =
        rustls_pki_types::pem::PemObject::pem_slice_iter(&text).map(Result::unwrap).collect();
    assert_eq!(certificate::facts(&all[0]).unwrap().role, Role::Authority);
    let extra = String::from_utf8(std::fs::read(extra).unwrap()).unwrap();
    assert!(String::from_utf8(text).unwrap().ends_with(&extra));
}

#[test]
fn which_hosts_are_looked_into() {
    let patterns = |texts: &[&str]| -> Vec<DomainPattern> {
        texts.iter().map(|text| DomainPattern::parse_denied(text).unwrap()).collect()
    };
    let wants = |hosts: &[&str], exclude: &[&str], target: &str| {
        let plan = TlsPlan { hosts: patterns(hosts), exclude: patterns(exclude), ..TlsPlan::default() };
        let target = Target::parse(target.as_bytes(), Some(443)).unwrap();
        Termination::new(&plan).unwrap().wants(&target)
    };
    assert!(wants(&[], &[], "example.org"));
    assert!(!wants(&[], &["*.example.org"], "a.example.org"));
    assert!(wants(&[], &["*.example.org"], "example.org"));
    assert!(wants(&["*.example.org"], &[], "a.example.org"));
    assert!(!wants(&["*.example.org"], &[], "example.com"));
    assert!(!wants(&["*.example.org"], &["a.example.org"], "a.example.org"));
    assert!(wants(&["example.org:8443"], &[], "example.org:8443"));
    assert!(!wants(&["example.org:8443"], &[], "example.org:443"));
    assert!(wants(&["192.0.2.1"], &[], "192.0.2.1"));
}
