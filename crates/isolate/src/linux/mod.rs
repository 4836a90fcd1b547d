//! The native engine: namespaces, mounts, Landlock and seccomp by direct system calls, no helper program.
//!
//! `script` compiles a Plan; `launch` clones the first process (`init`), which builds the walls and then
//! serves; `sandbox` is the launcher's handle on it; `exec` and `pump` start and follow one command.

mod ahead;
mod broker;
mod claim;
mod company;
mod doors;
mod exec;
mod hearing;
mod init;
mod kept;
mod launch;
mod layers;
mod lookup;
mod notes;
mod outbox;
mod probe;
mod pump;
mod sandbox;
mod script;
mod seccomp;
mod sys;
mod turned_away;
mod undelivered;
mod wire;

pub use probe::{ProbeResult, probe};
pub use sys::{Stillness, hung_up, inherit, keep_still, unread, watch, watch_reading};

use crate::{BoxFuture, CreateError, Making, Provider, Sandbox, StartError, Started};
use sandbox::NativeSandbox;
use std::sync::Arc;
use stockade_policy::Plan;

/// Makes sandboxes out of the Linux kernel's own parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeProvider;

impl NativeProvider {
    /// A provider; it keeps nothing between sandboxes.
    pub fn new() -> Self {
        Self
    }
}

impl Provider for NativeProvider {
    fn kind(&self) -> &'static str {
        "native"
    }

    fn get_ready(&self) {
        ahead::get_ready();
    }

    fn stand_down(&self) {
        ahead::stand_down();
    }

    fn create(&self, plan: Arc<Plan>) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, CreateError>> {
        Box::pin(async move { Ok(Arc::new(NativeSandbox::create(plan).await?) as Arc<dyn Sandbox>) })
    }

    fn start<'a>(
        &'a self,
        plan: Arc<Plan>,
        making: Making<'a>,
    ) -> BoxFuture<'a, Result<Started, StartError>> {
        Box::pin(async move {
            let (sandbox, running) = NativeSandbox::start(plan, making).await?;
            Ok(Started { sandbox: Arc::new(sandbox), running })
        })
    }
}
