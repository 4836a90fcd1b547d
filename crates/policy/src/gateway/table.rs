//! Domain rules by host, so that long lists cost no more than short ones.

use super::host::Host;
use crate::domain::HostPattern;
use crate::network::DomainRule;
use std::collections::HashMap;

/// Where the rules about a host stand in their list.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    exact: HashMap<Host, Vec<usize>>,
    below: HashMap<String, Vec<usize>>,
    any: Vec<usize>,
}

impl Table {
    pub(super) fn new(rules: &[DomainRule]) -> Self {
        let mut table = Self::default();
        for (index, rule) in rules.iter().enumerate() {
            match &rule.pattern.host {
                HostPattern::Name(name) => {
                    table.exact.entry(Host::Name(name.clone())).or_default().push(index)
                }
                HostPattern::Address(address) => {
                    table.exact.entry(Host::from(*address)).or_default().push(index);
                }
                HostPattern::Below(name) => table.below.entry(name.clone()).or_default().push(index),
                HostPattern::Any => table.any.push(index),
            }
        }
        table
    }

    /// Whether a rule names this very host.
    pub(super) fn has(&self, host: &Host) -> bool {
        self.exact.contains_key(host)
    }

    /// The rules about this host, the nearest first: itself, then the domains it lies in, then every host.
    pub(super) fn about(&self, host: &Host) -> Vec<usize> {
        let mut found = self.exact.get(host).cloned().unwrap_or_default();
        if let Host::Name(name) = host {
            let mut rest = name.as_str();
            while let Some((_, above)) = rest.split_once('.') {
                found.extend(self.below.get(above).into_iter().flatten());
                rest = above;
            }
        }
        found.extend(&self.any);
        found
    }
}
