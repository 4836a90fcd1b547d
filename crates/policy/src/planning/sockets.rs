//! Unix sockets that may be reached.

use super::settle::Settler;
use crate::broker::powers;
use crate::policy::Policy;
use crate::{Notice, NoticeWeight, UnixRule};

/// The rules, each under the name it was written with and the one it leads to.
pub(super) fn rules(policy: &Policy, settler: &mut Settler<'_>) -> Vec<UnixRule> {
    let mut rules: Vec<UnixRule> = Vec::new();
    for socket in &policy.network.unix_sockets {
        let mut paths = settler.settle(&socket.path);
        paths.push(socket.path.clone());
        for path in paths {
            if !rules.iter().any(|known| known.path == path) {
                rules.push(UnixRule { path, rule: socket.rule.clone() });
            }
        }
    }
    rules
}

/// What listing the powerful ones gives away.
pub(super) fn notices(rules: &[UnixRule]) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    for listed in rules {
        let Some(power) = powers::of(&listed.path) else { continue };
        let text = format!("{} gives commands {}", listed.rule, power.gives);
        if !notices.iter().any(|known| known.text == text) {
            notices.push(Notice { text, weight: NoticeWeight::Warning });
        }
    }
    notices
}
