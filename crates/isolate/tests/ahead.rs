//! Starts that were begun before there was a plan. One test, because what is ready belongs to the whole process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of a test may fail the test")]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use stockade_isolate::{Command, NativeProvider, Provider};
use stockade_policy::{
    Event, FileKind, Identity, Limits, Mount, MountKind, NetworkPlan, Plan, Rights, RootView, Switch,
    SyscallPlan, UnixSockets,
};

/// Everything a process can tell about the walls around it; namespaces first.
const TELL: &str = "cd /proc/self/ns && readlink user mnt pid net ipc uts cgroup; \
    cat /proc/self/uid_map /proc/self/gid_map; cat /proc/net/dev | cut -d: -f1; cat /proc/net/if_inet6; \
    grep -E 'Cap|NoNewPrivs|Seccomp:|Sig(Blk|Ign|Cgt)|Groups' /proc/self/status; \
    ls /proc/self/fd; mount | cut -d' ' -f3 | sort; echo $$ $PPID";
const NAMESPACES: usize = 7;

fn plan(workspace: &Path) -> Plan {
    let found = std::fs::symlink_metadata(workspace).unwrap();
    let identity = Identity { dev: found.dev(), ino: found.ino(), kind: FileKind::Directory };
    let mount = |path: &Path, kind| Mount { path: path.into(), kind, rule: None };
    let mut mounts = vec![
        mount(Path::new("/tmp"), MountKind::Tmpfs { mode: 0o1777, size: None }),
        mount(Path::new("/dev"), MountKind::Dev),
        mount(Path::new("/proc"), MountKind::Proc),
        mount(workspace, MountKind::Bind { identity, rights: Rights::ALL }),
    ];
    mounts.sort_by(|one, other| one.path.cmp(&other.path));
    Plan {
        preset: "test".into(),
        workspace: workspace.into(),
        root: RootView::Host { rights: Rights::READ_ONLY },
        mounts,
        environment: Vec::new(),
        network: NetworkPlan::Loopback,
        syscalls: SyscallPlan {
            unix_sockets: UnixSockets::PairsOnly,
            nested_user_namespaces: Switch::Refused,
        },
        limits: Limits::default(),
        broker: None,
        layers: Vec::new(),
        notices: Vec::new(),
    }
}

/// What a shell line prints inside.
async fn sh(plan: Plan, line: &str) -> String {
    let cwd = plan.workspace.clone();
    let sandbox = NativeProvider::new().create(Arc::new(plan)).await.unwrap();
    let mut running = sandbox.exec(Command::new(["/bin/sh", "-c", line], cwd)).await.unwrap();
    let mut stdout = Vec::new();
    while let Some(event) = running.next().await {
        if let Event::Stdout { data } = event {
            stdout.extend(data);
        }
    }
    sandbox.destroy().await;
    String::from_utf8(stdout).unwrap()
}

/// The namespaces of `inside` that are this process's own.
fn ours(inside: &str) -> Vec<&str> {
    let is_ours = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        std::fs::read_link(format!("/proc/self/ns/{name}")).is_ok_and(|ours| ours == Path::new(line))
    };
    inside.lines().take(NAMESPACES).filter(is_ours).collect()
}

fn children() -> Vec<i32> {
    let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[tokio::test]
async fn what_was_begun_ahead_changes_nothing_but_the_time() {
    let (dir, native) = (tempfile::tempdir_in("/var/tmp").unwrap(), NativeProvider::new());
    let rest = |told: &str| told.lines().skip(NAMESPACES).map(str::to_owned).collect::<Vec<_>>();
    let usual = sh(plan(dir.path()), TELL).await;
    assert_eq!(ours(&usual), [""; 0], "{usual}");
    assert!(rest(&usual).contains(&"    lo".to_owned()), "{usual}");

    native.get_ready();
    assert_eq!(children().len(), 1);
    let ready = sh(plan(dir.path()), TELL).await;
    assert_eq!(ours(&ready), [""; 0], "{ready}");
    assert_eq!(rest(&ready), rest(&usual));
    assert_eq!(children(), [0; 0]);

    // Not taken.
    native.get_ready();
    native.get_ready();
    assert_eq!(children().len(), 1);
    native.stand_down();
    assert_eq!(children(), [0; 0]);

    // Dead before its time.
    native.get_ready();
    let helper = rustix::process::Pid::from_raw(children()[0]).unwrap();
    rustix::process::kill_process(helper, rustix::process::Signal::KILL).unwrap();
    assert_eq!(rest(&sh(plan(dir.path()), TELL).await), rest(&usual));
    assert_eq!(children(), [0; 0]);

    // With namespaces that the plan does not want.
    native.get_ready();
    let inside = sh(Plan { network: NetworkPlan::Host, ..plan(dir.path()) }, TELL).await;
    assert!(matches!(ours(&inside)[..], [net] if net.starts_with("net:")), "{inside}");
    assert_eq!(children(), [0; 0]);

    // Gone with the thread that wanted it.
    std::thread::spawn(|| NativeProvider::new().get_ready()).join().unwrap();
    assert_eq!(rest(&sh(plan(dir.path()), TELL).await), rest(&usual));
}
