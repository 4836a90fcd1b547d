//! A sandbox for an agent's tool calls: made when it is needed, kept, opened where a person says so, and made
//! again when it is lost.

mod allowed;
mod carried;
mod error;
mod giving;
mod handle;
mod input;
mod pending;
mod perform;
mod permission;
mod result;
mod shared;
mod status;
mod tasks;

pub use allowed::Access;
pub use error::ManagerError;
pub use handle::Manager;
pub use input::{InputError, LONGEST_TIMEOUT, ToolInput};
pub use permission::{Answered, PermissionAnswer, PermissionKind, PermissionRequest};
pub use result::ToolResult;
pub use status::{ManagerState, ManagerStatus, SandboxInfo, SandboxStatus};
pub use tasks::BackgroundInfo;
