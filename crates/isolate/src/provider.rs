//! The two traits every wall answers to.

use crate::{Attendant, Command, CreateError, DoorSocket, ExecError, Running, StartError, Teller};
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use stockade_policy::{Enforcement, Plan};

/// A boxed future, so that providers can be kept in a registry by name.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Makes a command: what it does besides is done while the walls are built, and before anything runs behind them.
/// Nothing if it must not run after all.
pub type Making<'a> = Box<dyn FnOnce() -> Option<Command> + Send + 'a>;

/// Makes sandboxes of one kind.
pub trait Provider: Send + Sync {
    /// Its name in settings and in `Outcome.kind`: `native`.
    fn kind(&self) -> &'static str;
    /// A start from this very thread is near: an engine may begin with what does not depend on the plan.
    fn get_ready(&self) {}
    /// It is not near after all.
    fn stand_down(&self) {}
    /// Builds the walls of a plan. Nothing runs inside yet. An error leaves nothing behind.
    fn create(&self, plan: Arc<Plan>) -> BoxFuture<'_, Result<Arc<dyn Sandbox>, CreateError>>;
    /// Builds the walls and starts a command, which an engine may do quicker than one after the other.
    fn start<'a>(
        &'a self,
        plan: Arc<Plan>,
        making: Making<'a>,
    ) -> BoxFuture<'a, Result<Started, StartError>> {
        Box::pin(async move {
            let command = making().ok_or(StartError::Withdrawn)?;
            let sandbox = self.create(plan).await?;
            let running = sandbox.exec(command).await?;
            Ok(Started { sandbox, running })
        })
    }
}

/// A sandbox with its first command.
pub struct Started {
    /// Keep it as long as the command runs: dropping the last handle kills everything inside.
    pub sandbox: Arc<dyn Sandbox>,
    /// The command.
    pub running: Running,
}

/// A live instance. Dropping the last handle kills everything inside.
pub trait Sandbox: Send + Sync {
    /// Unique on this host while the sandbox lives.
    fn id(&self) -> &str;
    /// Which walls stand.
    fn enforcement(&self) -> &Enforcement;
    /// Starts a command. Several may run at once.
    fn exec(&self, command: Command) -> BoxFuture<'_, Result<Running, ExecError>>;
    /// Kills every process inside but keeps the walls for the next `exec`.
    fn stop(&self) -> BoxFuture<'_, ()>;
    /// Begins to kill everything. `destroy` waits until it is gone.
    fn kill(&self) {}
    /// Kills everything and waits until it is gone.
    fn destroy(&self) -> BoxFuture<'_, ()>;
    /// Whether another `exec` can work.
    fn health(&self) -> Health;

    /// The sockets of its network that somebody outside has to serve. They are given away once.
    fn doors(&self) -> Vec<DoorSocket> {
        Vec::new()
    }

    /// Through which whoever serves those sockets tells what was refused there.
    fn teller(&self) -> Teller {
        Teller::default()
    }

    /// Tells this one from now on what is refused before it comes to one of those sockets.
    fn attend(&self, _attendant: Arc<dyn Attendant>) {}

    /// Hands on what was refused until now to the commands' events, and tells how many refusals there were
    /// since the start. Where nothing is told late there is nothing to do.
    fn hear(&self) -> u64 {
        0
    }

    /// Whether anything lives inside besides the first process and one other, as this process numbers it. The
    /// other one has to be stopped, or absent: what could still start something is not seen in time.
    fn company(&self, _but: Option<u32>) -> Company {
        Company::Unknown
    }

    /// A fresh IPv4 stream socket of its network, unconnected, that does not block: with it the ports that
    /// commands listen on can be reached.
    fn socket_inside(&self) -> BoxFuture<'_, io::Result<OwnedFd>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

/// Who lives in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nobody but those who are known.
    Nobody,
    /// Somebody else.
    Somebody,
    /// That cannot be told.
    Unknown,
}

/// Whether a sandbox can still be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Its first process lives.
    Running,
    /// It is gone; create another.
    Stopped,
}
