//! Pure policy: what a command may do, where each rule came from, and the [`Plan`] that engines obey.
#![forbid(unsafe_code)]

mod access;
mod ask;
mod asked;
mod broker;
mod channel;
mod command;
mod connection;
mod data;
mod decide;
mod describe;
mod domain;
mod enforcement;
mod environment;
mod event;
mod explain;
mod explain_host;
mod files;
mod gateway;
mod git;
mod inputs;
mod limits;
mod load;
mod named_trees;
mod network;
mod origin;
mod outcome;
mod pattern;
mod plan;
mod planning;
mod policy;
mod presets;
mod records;
mod request;
mod review;
mod rules;
mod schema;
mod settings;
mod survey;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod violation;
mod work_trees;

pub use ask::{Ask, Reply};
pub use broker::{
    BrokerPlan, Check, GuardPlace, GuardRule, HeldReads, Judge, Judgement, Naming, Refusal, StandInRule,
    UnixRule,
};
pub use connection::{Connection, ConnectionVerdict, HostStatistics, NetworkStatistics, Via};
pub use describe::{DescribedFile, DescribedRule, DescribedValue, Description};
pub use domain::{DomainError, DomainPattern, HostPattern};
pub use enforcement::{Enforcement, LayerReport, LayerState, WallLayer};
pub use event::Event;
pub use explain::{Answer, Explanation};
pub use explain_host::HostExplanation;
pub use files::{Caller, Files};
pub use gateway::{
    AddressOwner, Advice, Allowance, AwsPairPlan, Cause, CredentialPlan, CredentialSource, ForwardPort,
    GatewayPlan, Host, HostError, NetJudge, NetLimits, NetRefusal, ProxyPorts, Publish, RequestRule, Ruling,
    Target, TlsPlan, Unsignable, Upstreams, lent_addresses, lent_number,
};
pub use git::{
    GitPlaces, GitRefusal, ObjectFormat, check_git_config, check_git_config_change, check_git_index,
    check_git_pointer, check_git_state, check_worktree_commondir, check_worktree_pointer,
    git_config_addresses, git_config_values, git_config_with_relative_worktree, git_config_worktree,
    git_conflicts, git_index_names, git_module_owner, settled_git_index,
};
pub use inputs::{Flags, Granted, GrantedList, Inputs, OwnPaths, Presence, SettingsFile, Shape, Trust};
pub use limits::Limits;
pub use named_trees::NamedTree;
pub use network::{DomainRule, GatewayOptions, NetworkRules, SocketRule};
pub use origin::{Layer, Origin, RuleRef};
pub use outcome::{Exit, Outcome, Usage};
pub use pattern::{Glob, PatternError};
pub use plan::{
    FileKind, Identity, LayerNeed, MaskLook, Mount, MountKind, Need, NetworkPlan, Notice, NoticeWeight, Plan,
    Rights, RootView, Switch, SyscallPlan, UnixSockets, Variable,
};
pub use policy::Policy;
pub use presets::{PresetInfo, presets};
pub use records::{AuditMode, IgnoreRule, SrtIgnoreRule, ViolationRules};
pub use request::{
    Approval, AtWork, BareWish, Chooser, CommandLine, Consent, Decision, Footing, Opening, Opens,
    PartDecision, Request, Verdict, Walls, Worker,
};
pub use review::{
    ReviewChange, ReviewEntry, ReviewFiles, ReviewGroup, ReviewItem, ReviewKind, ReviewList, ReviewLook,
    ReviewPackages, ReviewTell, review_list,
};
pub use rules::List;
pub use schema::schema;
pub use settings::{MitmProxy, ParentProxy, Protocol, SettingsError, SettingsErrors, TlsTerminate};
pub use survey::PlanError;
pub use violation::{Violation, ViolationKind};
pub use work_trees::{link_on_the_way, remembered_conflicts, submodule_work_trees};
