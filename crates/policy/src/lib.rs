//! Pure policy: what a command may do, where each rule came from, and the [`Plan`] that engines obey.
#![forbid(unsafe_code)]

mod enforcement;
mod event;
mod files;
mod limits;
mod origin;
mod outcome;
mod plan;
mod request;
mod text;
mod violation;

pub use enforcement::{Enforcement, LayerReport, LayerState, WallLayer};
pub use event::Event;
pub use files::Files;
pub use limits::Limits;
pub use origin::{Layer, Origin, RuleRef};
pub use outcome::{Exit, Outcome, Usage};
pub use plan::{
    FileKind, Identity, LayerNeed, MaskLook, Mount, MountKind, Need, NetworkPlan, Notice, NoticeWeight, Plan,
    Rights, RootView, Switch, SyscallPlan, UnixSockets, Variable,
};
pub use request::{BareWish, CommandLine, Decision, Request, Verdict};
pub use violation::{Violation, ViolationKind};
