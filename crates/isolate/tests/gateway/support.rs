//! Plans made by hand, and commands that are this program.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stockade_isolate::{
    Command, Concern, DoorSocket, DoorSocketKind, NativeProvider, NetNote, Provider, Running, Sandbox,
};
use stockade_policy::{
    BrokerPlan, DomainPattern, DomainRule, Event, FileKind, GatewayPlan, Identity, Layer, Limits, Mount,
    MountKind, NetworkPlan, Origin, Outcome, Plan, Rights, RootView, RuleRef, Switch, SyscallPlan,
    UnixSockets, ViolationKind,
};

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

pub(crate) fn mount(path: &Path, kind: MountKind) -> Mount {
    Mount { path: path.into(), kind, rule: None }
}

pub(crate) fn identity(directory: &Path) -> Identity {
    let found = std::fs::symlink_metadata(directory).unwrap();
    Identity { dev: found.dev(), ino: found.ino(), kind: FileKind::Directory }
}

/// Everything readable, the workspace writable, held calls answered by a broker.
pub(crate) fn plan(workspace: &Path, network: NetworkPlan) -> Plan {
    Plan {
        preset: "test".into(),
        workspace: workspace.into(),
        root: RootView::Host { rights: Rights::READ_ONLY },
        mounts: vec![
            mount(Path::new("/dev"), MountKind::Dev),
            mount(Path::new("/proc"), MountKind::Proc),
            mount(workspace, MountKind::Bind { identity: identity(workspace), rights: Rights::ALL }),
        ],
        environment: Vec::new(),
        network,
        syscalls: SyscallPlan { unix_sockets: UnixSockets::Judged, nested_user_namespaces: Switch::Refused },
        limits: Limits::default(),
        broker: Some(BrokerPlan::default()),
        layers: Vec::new(),
        notices: Vec::new(),
    }
}

pub(crate) fn gateway(plan: GatewayPlan) -> NetworkPlan {
    NetworkPlan::Gateway(Box::new(plan))
}

fn allowing(host: &str) -> DomainRule {
    let origin = Origin { layer: Layer::Flag, source: "--allow-domain".into(), key: String::new() };
    DomainRule {
        pattern: DomainPattern::parse_allowed(host).unwrap(),
        reason: None,
        limits: Default::default(),
        rule: RuleRef { text: format!("--allow-domain {host}"), origin },
    }
}

/// Some literal addresses are let through to the gateway.
pub(crate) fn open() -> GatewayPlan {
    let allowed = ["1.2.3.9", "[2606:4700::9]"].map(allowing);
    GatewayPlan { allowed: allowed.to_vec(), ..GatewayPlan::default() }
}

pub(crate) async fn create(plan: Plan) -> Arc<dyn Sandbox> {
    NativeProvider::new().create(Arc::new(plan)).await.unwrap()
}

/// This very program, doing what `act` names.
pub(crate) fn doing(act: &str, cwd: &Path) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(
        [program.as_os_str(), "inside::act".as_ref(), "--exact".as_ref(), "--nocapture".as_ref()],
        cwd,
    );
    command.environment.push(("INSIDE".into(), act.into()));
    command
}

/// Follows a command to its end: what it said, and what became of it.
pub(crate) async fn finish(mut running: Running) -> (Vec<String>, Outcome, Vec<Event>) {
    let (mut said, mut others) = (Vec::new(), Vec::new());
    let following = async {
        while let Some(event) = running.next().await {
            match event {
                Event::Stdout { data } => said.extend(data),
                Event::Exited(outcome) => return *outcome,
                other => others.push(other),
            }
        }
        panic!("no outcome");
    };
    let outcome = tokio::time::timeout(PATIENCE, following).await.unwrap();
    (lines(&said), outcome, others)
}

/// What the act itself printed, without the harness around it.
pub(crate) fn lines(said: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(said);
    said.lines().filter_map(|line| line.split_once("> ")).map(|(_, line)| line.to_owned()).collect()
}

pub(crate) async fn run(sandbox: &Arc<dyn Sandbox>, act: &str, cwd: &Path) -> (Vec<String>, Outcome) {
    let running = sandbox.exec(doing(act, cwd)).await.unwrap();
    let (said, outcome, _) = finish(running).await;
    (said, outcome)
}

/// Two things that need each other; waiting for ever is a failure.
pub(crate) async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    tokio::time::timeout(PATIENCE, async { tokio::join!(one, other) }).await.unwrap()
}

/// Takes out the sockets of a kind: IPv4, then IPv6.
pub(crate) fn take(doors: &mut Vec<DoorSocket>, kind: DoorSocketKind) -> Vec<rustix::fd::OwnedFd> {
    let (taken, rest) = std::mem::take(doors).into_iter().partition(|door| door.kind == kind);
    *doors = rest;
    let taken: Vec<DoorSocket> = taken;
    taken.into_iter().map(|door| door.socket).collect()
}

pub(crate) fn listener(socket: rustix::fd::OwnedFd) -> tokio::net::TcpListener {
    tokio::net::TcpListener::from_std(socket.into()).unwrap()
}

pub(crate) fn note(subject: &str) -> NetNote {
    NetNote {
        kind: ViolationKind::Connect,
        concern: Concern::default(),
        subject: subject.into(),
        reason: "not on any list".into(),
        rule: None,
        suggestion: Some("--allow-domain x".into()),
        peer: None,
        destination: None,
    }
}
