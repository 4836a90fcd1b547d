//! The walls a plan stands on.

use super::broker;
use crate::policy::Policy;
use crate::settings::native::RequireLayers;
use crate::{LayerNeed, Need, NetworkPlan, RuleRef, WallLayer};

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
pub(super) fn needs(
    policy: &Policy,
    broker: Option<&broker::Need>,
    network: &NetworkPlan,
    needs_gateway: Option<RuleRef>,
) -> Vec<LayerNeed> {
    let required = |layer| LayerNeed { layer, need: Need::Required, because: None };
    let mut needs: Vec<LayerNeed> = ALWAYS.into_iter().map(required).collect();
    if network.own_namespace() {
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
    if let Some(broker) = broker {
        let because = broker.because.clone();
        needs.push(LayerNeed { layer: WallLayer::Broker, need: Need::Required, because });
    }
    if network.gateway().is_some() {
        // Without it nothing would be reached; whoever listed hosts should hear that, not wait for a time-out.
        needs.push(LayerNeed { layer: WallLayer::Gateway, need: Need::Required, because: needs_gateway });
    }
    needs
}
