//! What a command sees of secrets.

mod files;
mod tokens;
mod variables;

use super::CredentialError;
use super::prepare::{Gathered, gather, prepare};
use std::ffi::OsString;
use std::path::Path;
use stockade_net::VaultEntry;
use stockade_policy::{
    CredentialPlan, CredentialSource, DomainPattern, GatewayPlan, Layer, Limits, NetworkPlan, Origin, Plan,
    RootView, RuleRef, Switch, SyscallPlan, UnixSockets, Variable,
};

fn of(source: CredentialSource) -> CredentialPlan {
    let origin = Origin { layer: Layer::User, source: "/s.json".to_owned(), key: "credentials".to_owned() };
    CredentialPlan {
        source,
        inject_hosts: vec![DomainPattern::parse_allowed("api.test").unwrap()],
        extract: None,
        on_no_match: None,
        jwt_claims: None,
        mask_duplicates: Switch::Refused,
        rule: RuleRef { text: "mask".to_owned(), origin },
    }
}

fn variable(name: &str) -> CredentialPlan {
    of(CredentialSource::Variable(name.to_owned()))
}

fn file(path: &Path) -> CredentialPlan {
    of(CredentialSource::File(path.to_owned()))
}

fn extracted(credential: CredentialPlan, expression: &str, no_match: Option<&str>) -> CredentialPlan {
    let on_no_match = no_match.map(str::to_owned);
    CredentialPlan { extract: Some(expression.to_owned()), on_no_match, ..credential }
}

/// A plan that hands on `passed`.
fn plan(passed: &[&str], gateway: GatewayPlan) -> Plan {
    let passed = passed.iter().map(|name| Variable { name: (*name).into(), value: "placeholder".into() });
    Plan {
        preset: "default".to_owned(),
        workspace: "/w".into(),
        root: RootView::Listed,
        mounts: Vec::new(),
        environment: passed.collect(),
        network: NetworkPlan::Gateway(Box::new(gateway)),
        syscalls: SyscallPlan {
            unix_sockets: UnixSockets::PairsOnly,
            nested_user_namespaces: Switch::Refused,
        },
        limits: Limits::default(),
        broker: None,
        layers: Vec::new(),
        notices: Vec::new(),
    }
}

fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// Gathers for a caller who has `variables`, all of which are passed.
fn gathered(variables: &[(&str, &str)], gateway: GatewayPlan) -> Result<Gathered, CredentialError> {
    let passed: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let plan = plan(&passed, gateway);
    gather(&plan, plan.network.gateway().unwrap(), &environment(variables))
}

fn with(credentials: Vec<CredentialPlan>) -> GatewayPlan {
    GatewayPlan { credentials, ..GatewayPlan::default() }
}

/// What the command sees in a variable.
fn seen<'a>(gathered: &'a Gathered, name: &str) -> Option<&'a str> {
    let found = gathered.masked.variables.iter().find(|(variable, _)| variable == name);
    found.map(|(_, value)| value.to_str().unwrap())
}

fn stands_for(entry: &VaultEntry, stand_in: &str, real: &str) -> bool {
    entry.stand_in.as_str() == stand_in && entry.real.is(real.as_bytes())
}
