//! Run commands that an AI agent wrote, so that they can do their work and nothing else.
//!
//! A [`Runtime`] holds one policy — a preset, the settings files, the caller's flags — and a way to
//! enforce it. Every command takes the same road: the policy decides, a [`Plan`] is made of plain data,
//! a [`Provider`] builds a sandbox from it, the command runs inside and ends with an [`Outcome`] that
//! says which walls really stood.
//!
//! ```
//! use stockade::{CommandLine, Exit, Flags, LayerState, Runtime, WallLayer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let place = tempfile::tempdir()?;
//! let workspace = place.path().join("project");
//! std::fs::create_dir(&workspace)?;
//! std::fs::write(workspace.join("token"), "secret")?;
//!
//! // The preset `default`: the workspace may be written, nothing else; there is no network.
//! let runtime = Runtime::builder()
//!     .cwd(&workspace)
//!     .flags(Flags { deny_read: vec!["token".into()], ..Flags::default() })
//!     .build()?;
//!
//! let done = runtime.run(CommandLine::Shell("echo made > result; cat result".into())).await?;
//! assert_eq!(done.stdout, b"made\n");
//! assert_eq!(done.outcome.exit, Exit::Code { code: 0 });
//! assert!(done.outcome.sandboxed);
//! assert_eq!(std::fs::read_to_string(workspace.join("result"))?, "made\n");
//!
//! // A denied file cannot be read, and nothing outside the workspace can be changed.
//! let done = runtime.run(CommandLine::Shell("cat token".into())).await?;
//! assert!(done.stdout.is_empty());
//! assert_ne!(done.outcome.exit_code, 0);
//! let done = runtime.run(CommandLine::Shell("echo mine > /etc/motd".into())).await?;
//! assert_ne!(done.outcome.exit_code, 0);
//!
//! // Which walls stood is reported, never assumed.
//! let seccomp = done.outcome.enforcement.state(WallLayer::Seccomp);
//! assert!(matches!(seccomp, Some(LayerState::Enforced { .. })));
//! # Ok(())
//! # }
//! ```
//!
//! For output as it comes, input, a terminal or cancelling, use [`Runtime::prepare`] and
//! [`Runtime::start`], which gives a [`Running`] command.
//!
//! For an agent's tool calls in one sandbox that stays, and permissions that a person gives, use a [`Manager`].
#![forbid(unsafe_code)]

mod annotate;
mod asking;
mod audit;
mod backlog;
mod bare;
mod bare_limits;
mod builder;
mod connect;
mod credentials;
mod crossing;
mod directories;
mod files;
mod grants;
mod hosting;
mod ledger;
mod manager;
mod network;
mod overlay;
mod places;
mod private;
mod providers;
mod ready;
mod records;
mod relay;
mod reload;
mod review;
mod routing;
mod running;
mod runtime;
mod session;
mod shell;
mod shifts;
mod trust;
mod violations;
mod wiring;
mod workspaces;

pub use annotate::{annotate_stderr, remove_violations};
pub use asking::{AskNotice, Asker, Question, visible};
pub use audit::{
    Appended, AuditError, AuditEvent, AuditKind, AuditLine, AuditLog, AuditRecord, Durability, Finding, Flaw,
    Lost, Rotation, Unfinished, Verified, policy_digest,
};
pub use bare::OpeningError;
pub use builder::{BuildError, Builder, ClaudeSettings, StandardSettings};
pub use credentials::CredentialError;
pub use crossing::CrossError;
pub use directories::{Directories, home};
pub use files::RealFiles;
pub use grants::{Grant, GrantError, GrantStore, Revoked, Scope};
pub use hosting::{
    AttachWish, Attachment, BackgroundSaid, Claim, Closed, Ending, Host, HostError, HostOptions, Lifetime,
    Parting, RemoteRun, SaidChunk, SessionClient, SessionName, SessionPlace, SessionStatus, TerminalState,
};
pub use manager::{
    Access, Answered, BackgroundInfo, InputError, LONGEST_TIMEOUT, Manager, ManagerError, ManagerState,
    ManagerStatus, PermissionAnswer, PermissionKind, PermissionRequest, SandboxInfo, SandboxStatus,
    ToolInput, ToolResult,
};
pub use network::{NetworkError, NetworkHandle};
pub use overlay::{
    Applied, Apply, Change, ChangeKind, Conflict, Counted, Entry, EntryKind, LeftOut, Lines, OnConflict,
    Overlay, OverlayError, OverlayStore, Selection, Unshown, quoted,
};
pub use places::{LOCAL_SETTINGS, MANAGED_SETTINGS, PROJECT_SETTINGS, claude_settings, project_settings};
pub use providers::{Providers, UnknownProvider};
pub use ready::Ready;
pub use records::{RecordFault, Records};
pub use relay::{Inlet, Outlet};
pub use review::{BareWatch, Review, ReviewError, ReviewScope};
pub use routing::{Routed, Router, Taken};
pub use running::Running;
pub use runtime::{Captured, PrepareError, Prepared, RunError, Runtime, StartError};
pub use session::{
    BackgroundChunk, BackgroundId, BackgroundOutput, BackgroundState, BackgroundStream, Canceller, Session,
    SessionCommand, SessionError, SessionInput, SessionOptions, SessionRun, WITHOUT_WALLS,
};
pub use trust::{ContentDigest, Standing, TrustError, TrustStore, TrustedFile};
pub use violations::{
    Cleared, Counts, Filter, Hidden, IgnoreList, Recorded, Retention, StoreError, StoredViolation,
    SubjectPattern, ViolationStore,
};
pub use wiring::Wiring;

pub use stockade_isolate::{
    Afterwards, BoxFuture, Command, Company, CreateError, ExecError, Health, NativeProvider, ProbeResult,
    Provider, Sandbox, Started, Stdio, WindowSize, probe, resize,
};
pub use stockade_policy::{
    Answer, Approval, Ask, AtWork, AuditMode, BareWish, Caller, Chooser, CommandLine, Connection,
    ConnectionVerdict, Consent, Decision, DescribedFile, DescribedRule, DescribedValue, Description,
    Enforcement, Event, Exit, Explanation, FileKind, Files, Flags, Footing, GatewayPlan, HostExplanation,
    Identity, IgnoreRule, Inputs, Layer, LayerNeed, LayerReport, LayerState, Limits, MaskLook, Mount,
    MountKind, Need, NetworkPlan, NetworkStatistics, Notice, NoticeWeight, Origin, Outcome, OwnPaths,
    PartDecision, Plan, PlanError, Policy, Presence, PresetInfo, Publish, Reply, Request, ReviewChange,
    ReviewItem, ReviewKind, Rights, RootView, RuleRef, SettingsError, SettingsErrors, SettingsFile, Shape,
    Switch, SyscallPlan, Trust, UnixSockets, Usage, Variable, Verdict, Violation, ViolationKind, WallLayer,
    Walls, Worker, presets, schema,
};
