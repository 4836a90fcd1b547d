//! The native engine driven through its door, with plans made by hand.
#![cfg(target_os = "linux")]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use stockade_isolate::{Command, CreateError, NativeProvider, Provider};
use stockade_policy::{
    Event, FileKind, Identity, Limits, MaskLook, Mount, MountKind, NetworkPlan, Plan, Rights, RootView,
    Switch, SyscallPlan, UnixSockets,
};

fn identity(path: &Path) -> Identity {
    let found = std::fs::symlink_metadata(path).unwrap();
    let kind = if found.is_dir() { FileKind::Directory } else { FileKind::File };
    Identity { dev: found.dev(), ino: found.ino(), kind }
}

fn mount(path: &Path, kind: MountKind) -> Mount {
    Mount { path: path.into(), kind, rule: None }
}

fn plan(workspace: &Path, mut mounts: Vec<Mount>) -> Plan {
    mounts.push(mount(Path::new("/tmp"), MountKind::Tmpfs { mode: 0o1777, size: None }));
    mounts.push(mount(Path::new("/dev"), MountKind::Dev));
    mounts.push(mount(Path::new("/proc"), MountKind::Proc));
    mounts.push(mount(workspace, MountKind::Bind { identity: identity(workspace), rights: Rights::ALL }));
    mounts.sort_by(|a, b| a.path.cmp(&b.path));
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
        layers: Vec::new(),
        notices: Vec::new(),
    }
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

/// Runs a shell line and gives its exit status, output and errors.
async fn sh(plan: Plan, line: &str) -> (i32, String, String) {
    let cwd = plan.workspace.clone();
    let sandbox = NativeProvider::new().create(Arc::new(plan)).await.unwrap();
    let mut running = sandbox.exec(Command::new(["/bin/sh", "-c", line], cwd)).await.unwrap();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    while let Some(event) = running.next().await {
        match event {
            Event::Stdout { data } => stdout.extend(data),
            Event::Stderr { data } => stderr.extend(data),
            Event::Exited(outcome) => {
                sandbox.destroy().await;
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                return (outcome.exit_code, text(stdout), text(stderr));
            }
            _ => {}
        }
    }
    panic!("no outcome");
}

#[tokio::test]
async fn a_command_runs_and_its_status_comes_back() {
    let dir = scratch();
    let (status, stdout, stderr) = sh(plan(dir.path(), vec![]), "echo out; echo err >&2; exit 7").await;
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (7, "out\n", "err\n"));
}

#[tokio::test]
async fn only_the_workspace_is_writable() {
    let dir = scratch();
    let (status, stdout, stderr) = sh(
        plan(dir.path(), vec![]),
        "echo x > inside && ! touch /etc/x && echo y > /tmp/z && cat inside /tmp/z",
    )
    .await;
    assert_eq!((status, stdout.as_str()), (0, "x\ny\n"), "{stderr}");
    assert!(stderr.contains("Read-only file system"), "{stderr}");
    assert_eq!(std::fs::read_to_string(dir.path().join("inside")).unwrap(), "x\n");
    assert!(!Path::new("/tmp/z").exists());
}

#[tokio::test]
async fn masks_hide_and_holes_open() {
    let dir = scratch();
    let (secret, closed, open) =
        (dir.path().join("secret"), dir.path().join("closed"), dir.path().join("closed/open"));
    std::fs::write(&secret, "s").unwrap();
    std::fs::create_dir(&closed).unwrap();
    std::fs::write(&open, "o").unwrap();
    std::fs::write(closed.join("other"), "x").unwrap();
    let mask = |path: &Path, look| mount(path, MountKind::Mask { identity: identity(path), look });
    let mounts = vec![
        mask(&secret, MaskLook::Unreadable),
        mask(&closed, MaskLook::Holes),
        mount(&open, MountKind::Bind { identity: identity(&open), rights: Rights::READ_ONLY }),
    ];
    let line = "cat secret; cat closed/open; echo; ls closed; cat closed/other; echo n > closed/new; id -u";
    let (_, stdout, stderr) = sh(plan(dir.path(), mounts), line).await;
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(stdout, format!("o\nopen\n{uid}\n"), "{stderr}");
    assert!(stderr.contains("secret: Permission denied"), "{stderr}");
    assert!(!closed.join("new").exists());
}

#[tokio::test]
async fn a_path_that_changed_stops_the_start() {
    let dir = scratch();
    let file = dir.path().join("file");
    std::fs::write(&file, "1").unwrap();
    let kind = MountKind::Mask { identity: identity(&file), look: MaskLook::Unreadable };
    let plan = plan(dir.path(), vec![mount(&file, kind)]);
    std::fs::rename(&file, dir.path().join("moved")).unwrap();
    std::fs::write(&file, "2").unwrap();
    let error = NativeProvider::new().create(Arc::new(plan)).await.err().unwrap();
    assert!(matches!(&error, CreateError::Changed { path } if *path == file), "{error}");
}
