//! Whether a stream may pass whose content cannot be judged.

use crate::gateway::refusal;
use stockade_policy::{Cause, GatewayPlan, NetJudge, NetRefusal, RequestRule, RuleRef, Switch, Target};

/// Refuses a stream whose requests cannot be seen, where the plan has something to say about them.
pub(crate) fn may_pass(judge: &NetJudge, target: &Target) -> Result<(), Box<NetRefusal>> {
    let plan = judge.plan();
    if let Some(rule) = rule_about_requests(plan, target) {
        let reason = "rules about its requests cannot be kept, because they cannot be seen".to_owned();
        return Err(Box::new(refusal(target, Cause::Request, reason, Some(rule))));
    }
    if plan.refuse_opaque_tunnels == Switch::Allowed {
        let reason = "tunnels whose content cannot be judged are refused".to_owned();
        return Err(Box::new(refusal(target, Cause::Protocol, reason, None)));
    }
    Ok(())
}

/// A rule about requests to this target, where there is one.
pub(crate) fn rule_about_requests(plan: &GatewayPlan, target: &Target) -> Option<RuleRef> {
    let about = |rule: &&RequestRule| {
        target.host.fits(&rule.pattern.host) && rule.pattern.port.is_none_or(|port| port == target.port)
    };
    plan.requests.iter().find(about).map(|rule| rule.rule.clone())
}
