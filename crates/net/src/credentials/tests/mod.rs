//! What leaves the vault, and what never does.

mod answers;
mod bodies;
mod frames;
mod heads;
mod letters;
mod pieces;
mod signatures;
mod silence;

use super::*;
use ::http::Request;
use ::http::request::Parts;
use stockade_policy::{DomainPattern, Switch, Target};

/// A secret that needs escaping wherever it is put.
const REAL: &str = "re\"al/+& \\tok%n";

fn to(target: &str) -> Target {
    Target::parse(target.as_bytes(), None).unwrap()
}

fn hosts(hosts: &[&str]) -> Vec<DomainPattern> {
    hosts.iter().map(|host| DomainPattern::parse_denied(host).unwrap()).collect()
}

fn entry(name: &str, real: &str, names: &[&str]) -> VaultEntry {
    VaultEntry {
        name: name.to_owned(),
        stand_in: StandIn::mint().unwrap(),
        real: Secret::new(real.as_bytes().to_vec()),
        hosts: hosts(names),
    }
}

/// A vault with one secret, and its stand-in.
fn one(real: &str, names: &[&str], plaintext: Switch) -> (Vault, String) {
    let entry = entry("TOKEN", real, names);
    let stand_in = entry.stand_in.as_str().to_owned();
    (Vault::new(vec![entry], Vec::new(), plaintext), stand_in)
}

fn head(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
    let request = Request::builder().method(method).uri(uri);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(()).unwrap().into_parts().0
}

fn value<'a>(head: &'a Parts, name: &str) -> &'a str {
    std::str::from_utf8(head.headers[name].as_bytes()).unwrap()
}

/// A body given in one piece.
fn whole(mut replacer: Replacer, body: &str) -> String {
    let first = replacer.push(body.to_owned().into());
    String::from_utf8([first, replacer.finish()].concat()).unwrap()
}
