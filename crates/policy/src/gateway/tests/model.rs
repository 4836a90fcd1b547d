//! The judge against a model that is too plain to be wrong.

use super::{is_allowed, judge, rule};
use crate::Switch;
use crate::gateway::{GatewayPlan, Host, Target};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

/// A rule before it is one.
#[derive(Clone, Debug)]
struct Draft {
    host: String,
    wild: bool,
    port: Option<u16>,
}

impl Draft {
    fn text(&self) -> String {
        let star = if self.wild { "*." } else { "" };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{star}{}{port}", self.host)
    }

    /// By labels, from the last to the first.
    fn is_about(&self, host: &str) -> bool {
        let labels = |text: &str| text.rsplit('.').map(str::to_owned).collect::<Vec<_>>();
        let (ours, theirs) = (labels(&self.host), labels(host));
        if self.wild { theirs.len() > ours.len() && theirs.starts_with(&ours) } else { ours == theirs }
    }
}

fn name() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof![6 => "a", 3 => "b", 1 => "ab", 1 => "xn--bcher-kva"], 1..4)
        .prop_map(|labels| labels.join("."))
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![Just(22), Just(80), Just(443), Just(8080)]
}

fn draft() -> impl Strategy<Value = Draft> {
    let named = (name(), any::<bool>(), proptest::option::of(port()));
    let named = named.prop_map(|(host, wild, port)| Draft { host, wild, port });
    let literal = (0u8..4, proptest::option::of(port()));
    let literal =
        literal.prop_map(|(last, port)| Draft { host: format!("192.0.2.{last}"), wild: false, port });
    prop_oneof![4 => named, 1 => literal]
}

fn model(allowed: &[Draft], denied: &[Draft], ports: &[u16], host: &str, port: u16) -> bool {
    let denies = |rule: &Draft| rule.is_about(host) && (rule.port.is_none() || rule.port == Some(port));
    let usual = ports.is_empty() || ports.contains(&port);
    let allows = |rule: &Draft| {
        rule.is_about(host)
            && match rule.port {
                Some(named) => named == port,
                None => usual,
            }
    };
    !denied.iter().any(denies) && allowed.iter().any(allows)
}

proptest! {
    // Wildcards below wildcards are rare.
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn judge_and_model_agree(
        allowed in proptest::collection::vec(draft(), 0..6),
        denied in proptest::collection::vec(draft(), 0..4),
        ports in proptest::collection::vec(port(), 0..3),
        name in name(),
        last in 0u8..4,
        port in port(),
    ) {
        let rules = |list: &str, drafts: &[Draft]| drafts.iter().map(|draft| rule(list, &draft.text())).collect();
        let judge = judge(GatewayPlan {
            allowed: rules("allowedDomains", &allowed),
            denied: rules("deniedDomains", &denied),
            ports: ports.clone(),
            asking: Switch::Allowed,
            ..GatewayPlan::default()
        });
        let literal = IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        for host in [Host::Name(name), Host::from(literal)] {
            let text = host.to_string();
            let expected = model(&allowed, &denied, &ports, &text, port);
            let ruling = judge.connect(&Target { host: host.clone(), port }, None);
            prop_assert_eq!(is_allowed(&ruling), expected, "{}:{}", &text, port);
            // A name may be looked up exactly when some port of it is open; 1 stands for all nobody named.
            let open = [22, 80, 443, 8080, 1].iter().any(|port| model(&allowed, &denied, &ports, &text, *port));
            prop_assert_eq!(is_allowed(&judge.name(&host)), open, "{}", &text);
        }
    }
}
