//! What the network gateway needs to judge: which hosts, which ports, which addresses, which requests.
//!
//! A [`NetJudge`] is made from the plan alone and touches no socket: it is told what somebody wants and says
//! yes or no with the rule that decided.

mod addresses;
mod host;
mod judge;
mod leading;
mod path;
mod plan;
mod pool;
mod ruling;
mod table;
#[cfg(test)]
mod tests;

pub use host::{Host, HostError, Target};
pub use judge::NetJudge;
pub(crate) use path::is_ambiguous as is_ambiguous_path;
pub use plan::{
    Advice, AwsPairPlan, CredentialPlan, CredentialSource, ForwardPort, GatewayPlan, NetLimits, ProxyPorts,
    Publish, RequestRule, TlsPlan, Unsignable, Upstreams,
};
pub use pool::{lent_addresses, lent_number};
pub use ruling::{AddressOwner, Allowance, Cause, NetRefusal, Ruling};
