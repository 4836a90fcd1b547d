//! Which walls a plan needs and which of them this engine puts up.

use super::probe::{LANDLOCK_HINT, landlock_reason};
use super::script::MIN_LANDLOCK_ABI;
use crate::CreateError;
use stockade_policy::{Enforcement, HeldReads, LayerState, Need, NetworkPlan, Plan, WallLayer};

/// Every wall the engine builds whatever the plan says.
const ALWAYS: [WallLayer; 8] = [
    WallLayer::UserNamespace,
    WallLayer::MountNamespace,
    WallLayer::PidNamespace,
    WallLayer::IpcNamespace,
    WallLayer::UtsNamespace,
    WallLayer::CgroupNamespace,
    WallLayer::Seccomp,
    WallLayer::Privileges,
];

/// What will stand once the set-up succeeds, or the required wall that cannot.
pub(crate) fn settle(plan: &Plan, landlock_abi: u32) -> Result<Enforcement, CreateError> {
    let mut enforcement = Enforcement::default();
    let stands = |detail: String| LayerState::Enforced { detail };
    for layer in ALWAYS {
        enforcement.set(layer, stands(String::new()));
    }
    enforcement.set(
        WallLayer::NetworkNamespace,
        match &plan.network {
            NetworkPlan::Loopback => stands("own loopback only".into()),
            NetworkPlan::Gateway(_) => stands("own loopback, and the gateway".into()),
            NetworkPlan::Host => LayerState::NotNeeded,
        },
    );
    enforcement.set(
        WallLayer::Landlock,
        if landlock_abi >= MIN_LANDLOCK_ABI {
            stands(format!("ABI {landlock_abi}"))
        } else {
            absent(plan, WallLayer::Landlock, &landlock_reason(landlock_abi), LANDLOCK_HINT)?
        },
    );
    enforcement.set(WallLayer::ProcessLimits, stands("core dumps off".into()));
    let limits = &plan.limits;
    enforcement.set(
        WallLayer::Launcher,
        if limits.max_execution_time.is_some() || limits.max_output.is_some() {
            stands(String::new())
        } else {
            LayerState::NotNeeded
        },
    );
    enforcement.set(
        WallLayer::Broker,
        match &plan.broker {
            Some(broker) if broker.reads == HeldReads::All => stands("writes, names and reads held".into()),
            Some(_) => stands("writes and names held".into()),
            None => LayerState::NotNeeded,
        },
    );
    enforcement.set(
        WallLayer::Gateway,
        match &plan.network {
            // Which protocols it leads there is only known inside.
            NetworkPlan::Gateway(_) => stands("nft redirect".into()),
            NetworkPlan::Loopback | NetworkPlan::Host => {
                let reason = "nothing is led to a gateway: the plan has none";
                absent(plan, WallLayer::Gateway, reason, "allow a domain, or leave out the requirement")?
            }
        },
    );
    let reason = "memory, processor and process-count limits are not built yet";
    let hint = "leave out the rule, or use a release that has this layer";
    enforcement.set(WallLayer::Cgroup, absent(plan, WallLayer::Cgroup, reason, hint)?);
    Ok(enforcement)
}

/// A wall that cannot be had: nothing if the plan does without, an error if it cannot.
fn absent(plan: &Plan, layer: WallLayer, reason: &str, hint: &str) -> Result<LayerState, CreateError> {
    let mut needs = plan.layers.iter().filter(|need| need.layer == layer).peekable();
    if needs.peek().is_none() {
        return Ok(LayerState::NotNeeded);
    }
    match needs.find(|need| need.need == Need::Required) {
        None => Ok(LayerState::Missing { reason: reason.into() }),
        Some(need) => Err(CreateError::MissingLayer {
            layer,
            because: need.because.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default(),
            reason: reason.into(),
            hint: hint.into(),
        }),
    }
}
