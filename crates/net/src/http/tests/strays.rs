//! Stand-ins that are sent where their secrets do not go: each is told of, with what would change that.

use super::{origin, until, witnessed};
use crate::Vault;
use crate::credentials::{Secret, StandIn, VaultEntry};
use crate::gateway::testing::{Recorder, plan, rule};
use std::sync::Arc;
use stockade_policy::{Cause, CredentialPlan, CredentialSource, DomainPattern, GatewayPlan, Switch};

/// The reason and the suggestion for a stand-in in a request without TLS, of a secret for `hosts`.
async fn told(proxy: bool, hosts: fn(u16) -> String) -> (u16, String, Option<String>) {
    told_with(proxy, |port| vec![hosts(port)], Switch::Refused).await
}

/// The same with what is said about requests without TLS.
async fn told_with(
    proxy: bool,
    hosts: impl Fn(u16) -> Vec<String>,
    plaintext: Switch,
) -> (u16, String, Option<String>) {
    let port = origin().await;
    let inject_hosts: Vec<DomainPattern> =
        hosts(port).iter().map(|host| DomainPattern::parse_allowed(host).unwrap()).collect();
    let stand_in = StandIn::mint().unwrap();
    let entry = VaultEntry {
        name: "TOKEN".into(),
        stand_in: stand_in.clone(),
        real: Secret::new(b"real-value-real-value".to_vec()),
        hosts: inject_hosts.clone(),
    };
    let credential = CredentialPlan {
        source: CredentialSource::Variable("TOKEN".into()),
        inject_hosts,
        extract: None,
        on_no_match: None,
        jwt_claims: None,
        mask_duplicates: Switch::Refused,
        rule: rule("a.test").rule,
    };
    let credentials = vec![credential];
    let plan = GatewayPlan { credentials, plaintext_credentials: plaintext, ..plan(&["127.0.0.1"]) };
    let vault = Arc::new(Vault::new(vec![entry], vec![], plaintext));
    let witness = Recorder::new();
    let (_gateway, mut client) = witnessed(plan, &witness, None, Some(vault)).await;
    let at = format!("127.0.0.1:{port}");
    let to = if proxy { format!("http://{at}") } else { String::new() };
    if !proxy {
        until(&mut client, format!("CONNECT {at} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
    }
    let request = format!("GET {to}/ HTTP/1.1\r\nHost: {at}\r\nX: {}\r\n\r\n", stand_in.as_str());
    until(&mut client, request, ">").await;
    let refusals = witness.refusals.lock().unwrap();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!((refusals[0].subject.as_str(), refusals[0].cause), (at.as_str(), Cause::StandIn));
    (port, refusals[0].reason.clone(), refusals[0].suggestion.clone())
}

#[tokio::test]
async fn a_stand_in_outside_tls_is_told_of_on_every_road() {
    for proxy in [true, false] {
        let (port, reason, suggestion) = told(proxy, |_| "other.test:443".into()).await;
        let expected = format!("sent to 127.0.0.1:{port}, which is not among its injectHosts");
        assert!(reason.ends_with(&expected), "{reason}");
        assert_eq!(suggestion, None);
        let (port, reason, suggestion) = told(proxy, |_| "127.0.0.1:443".into()).await;
        assert!(reason.contains("for port 443 only; an entry without a port means 443"), "{reason}");
        assert_eq!(suggestion, Some(format!("list 127.0.0.1:{port} in its injectHosts")));
        let (_, reason, suggestion) = told(proxy, |port| format!("127.0.0.1:{port}")).await;
        assert!(reason.ends_with("outside TLS, where it is not replaced"), "{reason}");
        assert!(suggestion.is_some_and(|text| text.contains("allowPlaintextInject")));
    }
}

/// With `allowPlaintextInject` an entry without a port means two.
#[tokio::test]
async fn all_ports_of_a_host_are_named() {
    let both = |_: u16| vec!["127.0.0.1:443".into(), "127.0.0.1:80".into()];
    for proxy in [true, false] {
        let (_, reason, _) = told_with(proxy, both, Switch::Allowed).await;
        let expected = "for ports 443 and 80 only; an entry without a port means 443 and 80";
        assert!(reason.ends_with(expected), "{reason}");
    }
}
