//! The walls a plan stands on.

use crate::policy::Policy;
use crate::rules::{Place, RuleId};
use crate::settings::native::RequireLayers;
use crate::survey::Survey;
use crate::{Layer, LayerNeed, Need, NetworkPlan, RuleRef, WallLayer};

/// Walls that no plan can do without.
const ALWAYS: [WallLayer; 6] = [
    WallLayer::UserNamespace,
    WallLayer::MountNamespace,
    WallLayer::PidNamespace,
    WallLayer::IpcNamespace,
    WallLayer::UtsNamespace,
    WallLayer::CgroupNamespace,
];

/// Which walls are needed, and how badly.
pub(crate) fn needs(policy: &Policy, survey: &Survey, network: NetworkPlan) -> Vec<LayerNeed> {
    let required = |layer| LayerNeed { layer, need: Need::Required, because: None };
    let mut needs: Vec<LayerNeed> = ALWAYS.into_iter().map(required).collect();
    if network == NetworkPlan::Loopback {
        needs.push(required(WallLayer::NetworkNamespace));
    }
    let second_wall = match policy.require_layers {
        RequireLayers::All => Need::Required,
        RequireLayers::Needed => Need::Wished,
    };
    needs.push(LayerNeed { layer: WallLayer::Landlock, need: second_wall, because: None });
    needs.push(required(WallLayer::Seccomp));
    needs.push(required(WallLayer::Privileges));
    let limits = &policy.limits;
    if limits.max_file_size.is_some() || limits.max_file_descriptors.is_some() {
        needs.push(required(WallLayer::ProcessLimits));
    }
    if limits.max_execution_time.is_some() || limits.max_output.is_some() {
        needs.push(required(WallLayer::Launcher));
    }
    if limits.max_memory.is_some() || limits.max_cpu.is_some() || limits.max_processes.is_some() {
        // A preset's limit is good to have; one that somebody asked for must hold.
        let because = policy.limits_asked.clone();
        let need = if because.is_some() { Need::Required } else { Need::Wished };
        needs.push(LayerNeed { layer: WallLayer::Cgroup, need, because });
    }
    if let Some(rule) = names_that_may_appear(policy, survey) {
        needs.push(LayerNeed { layer: WallLayer::Broker, need: Need::Wished, because: Some(rule) });
    }
    if policy.network.reaches_out() && network == NetworkPlan::Loopback {
        let because = policy.network.allowed.first().map(|rule| rule.rule.clone());
        needs.push(LayerNeed { layer: WallLayer::Gateway, need: Need::Wished, because });
    }
    needs
}

/// A rule about names that do not exist yet, the person's own before a built-in one. Mounts cannot hold those.
fn names_that_may_appear(policy: &Policy, survey: &Survey) -> Option<RuleRef> {
    let floats = |id: &RuleId| !matches!(policy.book.get(*id).place, Place::Literal(_) | Place::Unlistable);
    let absent = survey.absent.iter().copied();
    let floating = policy.book.iter().map(|(id, _)| id).filter(floats);
    let rule = absent.chain(floating).max_by_key(|id| policy.book.layer(*id) != Layer::BuiltIn)?;
    Some(policy.book.quote(rule))
}
