//! Deciding about a command without running it, and commands that an embedder runs itself.

use crate::reload::Fault;
use crate::runtime::{PrepareError, not_started};
use crate::shifts::Shift;
use crate::{Captured, RealFiles, Runtime};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use stockade_isolate::{BoxFuture, probe};
use stockade_policy::{
    AtWork, Decision, Enforcement, Exit, LayerState, PartDecision, Policy, Request, Verdict, WallLayer, Walls,
};

/// The engine whose walls the probe tells about.
const PROBED: &str = "native";

/// Without any of these there is no sandbox at all.
const NEEDED: [WallLayer; 5] = [
    WallLayer::UserNamespace,
    WallLayer::MountNamespace,
    WallLayer::PidNamespace,
    WallLayer::NetworkNamespace,
    WallLayer::Seccomp,
];

/// Somebody who takes commands of their own before the policy is asked: an agent's slash commands, commands of
/// extensions. What is taken runs in the embedder's process, outside every wall; what is not taken goes on as
/// if there were no router.
///
/// Any `Fn(&Request) -> Routed` is one:
///
/// ```
/// use stockade::{CommandLine, Request, Routed, Runtime, Taken};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let place = tempfile::tempdir()?;
/// # let workspace = place.path().join("project");
/// # std::fs::create_dir(&workspace)?;
/// let runtime = Runtime::builder()
///     .cwd(&workspace)
///     .router(|request: &Request| match &request.command {
///         CommandLine::Shell(text) if text == "/status" => {
///             Routed::taken(async { Taken { stdout: b"all is well\n".to_vec(), ..Taken::default() } })
///         }
///         _ => Routed::Native,
///     })
///     .build()?;
///
/// let done = runtime.run(CommandLine::Shell("/status".into())).await?;
/// assert_eq!(done.stdout, b"all is well\n");
/// assert_eq!((done.outcome.kind.as_str(), done.outcome.sandboxed), ("router", false));
///
/// // Everything else takes the usual road.
/// let done = runtime.run(CommandLine::Shell("echo native".into())).await?;
/// assert!(done.outcome.sandboxed);
/// # Ok(())
/// # }
/// ```
pub trait Router: Send + Sync {
    /// Takes a command, or leaves it. Called once for each command and should not wait: the work belongs into
    /// the future of [`Routed::Taken`].
    fn route(&self, request: &Request) -> Routed;
}

impl<F: Fn(&Request) -> Routed + Send + Sync> Router for F {
    fn route(&self, request: &Request) -> Routed {
        self(request)
    }
}

/// Whose a command is.
pub enum Routed {
    /// The embedder's: this runs it.
    Taken(BoxFuture<'static, Taken>),
    /// Nobody's: the policy decides.
    Native,
}

impl Routed {
    /// A command that the embedder runs.
    pub fn taken(work: impl Future<Output = Taken> + Send + 'static) -> Self {
        Self::Taken(Box::pin(work))
    }
}

impl fmt::Debug for Routed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Taken(_) => "Taken",
            Self::Native => "Native",
        })
    }
}

/// What became of a command that the embedder ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Bytes of standard output.
    pub stdout: Vec<u8>,
    /// Bytes of standard error.
    pub stderr: Vec<u8>,
    /// The exit status.
    pub code: u8,
}

/// Who counts as being at work when a command is judged.
pub(crate) enum Others<'a> {
    /// Nobody: it is judged again before it runs.
    Nobody,
    /// All sandboxes of the user but for one's own, of which whoever judges says what is at work in it.
    But {
        /// One's own.
        own: Option<&'a Shift>,
        /// Who is at work there.
        inside: Vec<AtWork>,
    },
}

impl<'a> Others<'a> {
    /// Everybody but one's own sandbox, which is at rest.
    pub(crate) fn but(own: Option<&'a Shift>) -> Self {
        Self::But { own, inside: Vec::new() }
    }
}

/// A router that several runtimes share.
#[derive(Clone)]
pub(crate) struct SharedRouter(pub(crate) Arc<dyn Router>);

impl fmt::Debug for SharedRouter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Router")
    }
}

impl Runtime {
    /// What would become of a command, part by part. Nothing runs, and no router is asked.
    pub fn check(&self, request: &Request) -> Decision {
        self.check_beside(request, &Others::but(None))
    }

    /// The same, if these others are at work.
    pub(crate) fn check_beside(&self, request: &Request, others: &Others<'_>) -> Decision {
        let policy = self.policy();
        let request = self.with_walls(&policy, request);
        let decision = policy.decide_in_parts(&request, &RealFiles);
        let bare = |part: &PartDecision| part.verdict == Verdict::Unsandboxed;
        let beside = decision.parts.iter().any(bare).then(|| self.beside(&request, others)).flatten();
        beside.map_or(decision, |request| policy.decide_in_parts(&request, &RealFiles))
    }

    /// The request with who is at work now; nothing where nobody is.
    pub(crate) fn beside(&self, request: &Request, others: &Others<'_>) -> Option<Request> {
        let (own, inside) = match others {
            Others::Nobody => return None,
            Others::But { own, inside } => (*own, inside),
        };
        let elsewhere = self.shifts().at_work(own);
        let at_work = [&request.at_work, inside, &elsewhere].into_iter().flatten();
        let at_work: Vec<AtWork> = at_work.cloned().collect();
        (at_work.len() > request.at_work.len()).then(|| Request { at_work, ..request.clone() })
    }

    /// Asks the policy in force, which comes along, whether a command may run.
    pub(crate) fn judge(&self, request: &Request) -> Result<(Arc<Policy>, Decision), PrepareError> {
        self.judge_beside(request, &Others::but(None))
    }

    /// The same, if these others are at work.
    pub(crate) fn judge_beside(
        &self,
        request: &Request,
        others: &Others<'_>,
    ) -> Result<(Arc<Policy>, Decision), PrepareError> {
        let (policy, fault) = self.reload().newest();
        let request = self.with_walls(&policy, request);
        let mut decision = policy.decide(&request, &RealFiles);
        // Most commands keep their walls anyway.
        if decision.verdict == Verdict::Unsandboxed
            && let Some(request) = self.beside(&request, others)
        {
            decision = policy.decide(&request, &RealFiles);
        }
        if let (Verdict::Unsandboxed, Some(Fault { file, error })) = (decision.verdict, fault) {
            return Err(PrepareError::Unsettled { file, error, reason: decision.reason });
        }
        match decision.verdict {
            Verdict::Refuse => Err(PrepareError::Refused { reason: decision.reason, rule: decision.rule }),
            Verdict::Ask => Err(PrepareError::NobodyToAsk { reason: decision.reason, rule: decision.rule }),
            Verdict::Unsandboxed if policy.overlay().is_some() => {
                let reason = format!("nothing holds changes back without walls, and {}", decision.reason);
                Err(PrepareError::Refused { reason, rule: decision.rule })
            }
            Verdict::Sandbox | Verdict::Unsandboxed => Ok((policy, decision)),
        }
    }

    /// Whose a command is. [`Runtime::run`] and sessions ask this first; whoever uses [`Runtime::prepare`] may do the same.
    pub fn route(&self, request: &Request) -> Routed {
        self.router().map_or(Routed::Native, |router| router.0.route(request))
    }

    /// The request with what is known about walls. They are tried only where the answer depends on it.
    pub(crate) fn with_walls<'r>(&self, policy: &Policy, request: &'r Request) -> Cow<'r, Request> {
        let open = request.walls == Walls::Standing && self.provider().kind() == PROBED;
        if !open || !policy.minds_missing_walls() {
            return Cow::Borrowed(request);
        }
        let missing = probe().into_iter().find_map(|result| match result.state {
            LayerState::Missing { reason } if NEEDED.contains(&result.layer) => {
                Some(format!("{}: {reason}", result.layer))
            }
            _ => None,
        });
        match missing {
            Some(reason) => Cow::Owned(Request { walls: Walls::Unavailable { reason }, ..request.clone() }),
            None => Cow::Borrowed(request),
        }
    }
}

/// What an embedder's own command is to whoever waits for it.
pub(crate) fn captured(taken: Taken, begun: Instant) -> Captured {
    let exit = Exit::Code { code: taken.code.into() };
    let mut outcome =
        not_started(&std::io::Error::from_raw_os_error(0), "router", begun, Enforcement::default());
    (outcome.exit, outcome.exit_code, outcome.sandboxed) = (exit, exit.status(), false);
    Captured { stdout: taken.stdout, stderr: taken.stderr, outcome }
}
