//! The native engine driven through its door, with plans made by hand.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of a test may fail the test")]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stockade_isolate::{
    Afterwards, Command, CreateError, ExecError, Health, NativeProvider, Provider, Stdio, WindowSize,
};
use stockade_policy::{
    Event, Exit, FileKind, Identity, LayerNeed, Limits, MaskLook, Mount, MountKind, Need, NetworkPlan, Plan,
    Rights, RootView, Switch, SyscallPlan, UnixSockets, WallLayer,
};
use tokio::io::AsyncWriteExt;

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
        broker: None,
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

#[tokio::test]
async fn commands_share_one_sandbox_and_end_apart() {
    let dir = scratch();
    let sandbox = NativeProvider::new().create(Arc::new(plan(dir.path(), vec![]))).await.unwrap();
    let start = |line: &'static str| sandbox.exec(Command::new(["/bin/sh", "-c", line], dir.path()));
    let slow = start("sleep 0.3; cat /tmp/note").await.unwrap();
    let quick = start("echo seen > /tmp/note; exit 3").await.unwrap();
    assert_eq!(quick.wait().await.unwrap().exit_code, 3);
    assert_eq!(slow.wait().await.unwrap().exit_code, 0);
    assert_eq!(sandbox.health(), Health::Running);
    sandbox.destroy().await;
    assert_eq!(sandbox.health(), Health::Stopped);
    assert!(matches!(start("true").await, Err(ExecError::Gone)));
}

#[tokio::test]
async fn a_time_limit_reaches_processes_that_left_the_session() {
    let dir = scratch();
    let sandbox = NativeProvider::new().create(Arc::new(plan(dir.path(), vec![]))).await.unwrap();
    let line = "setsid sh -c 'sleep 0.6; echo late > survivor' & sleep 60";
    let mut command = Command::new(["/bin/sh", "-c", line], dir.path());
    command.time_limit = Some(Duration::from_millis(200));
    let outcome = sandbox.exec(command).await.unwrap().wait().await.unwrap();
    assert_eq!((outcome.exit, outcome.exit_code), (Exit::TimedOut, 137));
    assert_eq!(outcome.blocked_resource.as_deref(), Some("maxExecutionTime 200 ms"));
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert!(!dir.path().join("survivor").exists());
    let again = sandbox.exec(Command::new(["/bin/true"], dir.path())).await.unwrap();
    assert_eq!(again.wait().await.unwrap().exit_code, 0);
}

#[tokio::test]
async fn dropping_a_command_kills_it_and_dropping_the_sandbox_everything() {
    let dir = scratch();
    let sandbox = NativeProvider::new().create(Arc::new(plan(dir.path(), vec![]))).await.unwrap();
    let line = |name: &str| format!("sleep 0.5; touch {name}");
    let dropped = sandbox.exec(Command::new(["/bin/sh", "-c", &line("a")], dir.path())).await.unwrap();
    let kept = sandbox.exec(Command::new(["/bin/sh", "-c", &line("b")], dir.path())).await.unwrap();
    drop(dropped);
    assert_eq!(kept.wait().await.unwrap().exit_code, 0);
    let last = sandbox.exec(Command::new(["/bin/sh", "-c", &line("c")], dir.path())).await.unwrap();
    drop(sandbox);
    assert_eq!(last.wait().await.unwrap().exit, Exit::Signal { signal: 9 });
    tokio::time::sleep(Duration::from_millis(700)).await;
    let made: Vec<_> = ["a", "b", "c"].into_iter().filter(|name| dir.path().join(name).exists()).collect();
    assert_eq!(made, ["b"]);
}

#[tokio::test]
async fn output_beyond_the_limit_is_dropped_and_the_command_goes_on() {
    let dir = scratch();
    let sandbox = NativeProvider::new().create(Arc::new(plan(dir.path(), vec![]))).await.unwrap();
    let line = "head -c 1000000 /dev/zero; touch finished";
    let mut command = Command::new(["/bin/sh", "-c", line], dir.path());
    command.output_limit = Some(1000);
    let mut running = sandbox.exec(command).await.unwrap();
    let (mut bytes, mut cuts) = (0, 0);
    while let Some(event) = running.next().await {
        match event {
            Event::Stdout { data } => bytes += data.len(),
            Event::Truncated { limit: 1000 } => cuts += 1,
            Event::Exited(outcome) => assert!(outcome.truncated),
            _ => {}
        }
    }
    assert_eq!((bytes, cuts), (1000, 1));
    assert!(dir.path().join("finished").exists());
}

#[tokio::test]
async fn input_reaches_the_command_and_ends() {
    let dir = scratch();
    let sandbox = NativeProvider::new().create(Arc::new(plan(dir.path(), vec![]))).await.unwrap();
    let mut command = Command::new(["/bin/sh", "-c", "wc -c > count"], dir.path());
    command.stdio[0] = Stdio::Piped;
    let mut running = sandbox.exec(command).await.unwrap();
    let mut stdin = running.stdin().unwrap();
    stdin.write_all(&[7; 300_000]).await.unwrap();
    drop(stdin);
    assert_eq!(running.wait().await.unwrap().exit_code, 0);
    assert_eq!(std::fs::read_to_string(dir.path().join("count")).unwrap().trim(), "300000");
}

#[tokio::test]
async fn a_private_terminal_is_the_commands_own() {
    let dir = scratch();
    let sandbox = NativeProvider::new().create(Arc::new(plan(dir.path(), vec![]))).await.unwrap();
    let line = "tty > name; stty size >> name; [ -t 0 ] && [ -t 1 ] && : > /dev/tty";
    let mut command = Command::new(["/bin/sh", "-c", line], dir.path());
    command.stdio = std::array::from_fn(|_| Stdio::Terminal(WindowSize { rows: 33, columns: 77 }));
    let mut running = sandbox.exec(command).await.unwrap();
    let _terminal = running.terminal().unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 0);
    assert_eq!(std::fs::read_to_string(dir.path().join("name")).unwrap(), "/dev/pts/0\n33 77\n");
}

#[tokio::test]
async fn a_listed_root_shows_only_what_is_listed() {
    let dir = scratch();
    let mut plan = plan(dir.path(), vec![]);
    plan.root = RootView::Listed;
    for name in ["/usr", "/bin", "/lib", "/lib64"] {
        let path = Path::new(name);
        let kind = match std::fs::read_link(path) {
            Ok(target) => MountKind::Symlink { target },
            Err(_) if path.exists() => {
                MountKind::Bind { identity: identity(path), rights: Rights::READ_ONLY }
            }
            Err(_) => continue,
        };
        plan.mounts.push(mount(path, kind));
    }
    plan.mounts.sort_by(|a, b| a.path.cmp(&b.path));
    let (status, stdout, stderr) =
        sh(plan, "echo /*; touch here; ! touch /usr/x 2>/dev/null; ! ls /etc 2>/dev/null").await;
    assert_eq!(status, 0, "{stderr}");
    assert!(!stdout.contains("/etc") && !stdout.contains("/root") && stdout.contains("/usr"), "{stdout}");
    assert!(dir.path().join("here").exists());
}

#[tokio::test]
async fn errors_name_what_could_not_be_started() {
    let dir = scratch();
    let provider = NativeProvider::new();
    let start = |command| provider.start(Arc::new(plan(dir.path(), vec![])), Box::new(|| Some(command)));
    let error = start(Command::new(["nosuchprogram"], dir.path())).await.err().unwrap();
    assert!(error.to_string().starts_with("nosuchprogram: No such file"), "{error}");
    let error = start(Command::new(["/bin/true"], "/nowhere")).await.err().unwrap();
    assert!(error.to_string().contains("working directory /nowhere"), "{error}");
    let mut command = Command::new(["/bin/true"], dir.path());
    command.stdio[0] = Stdio::Descriptor(std::fs::File::open("/").unwrap().into());
    let error = start(command).await.err().unwrap();
    assert!(error.to_string().starts_with("descriptor 0 is a directory"), "{error}");
}

#[tokio::test]
async fn a_required_wall_that_is_missing_stops_the_start() {
    let dir = scratch();
    let mut plan = plan(dir.path(), vec![]);
    plan.layers.push(LayerNeed { layer: WallLayer::Gateway, need: Need::Required, because: None });
    let error = NativeProvider::new().create(Arc::new(plan)).await.err().unwrap();
    assert!(matches!(error, CreateError::MissingLayer { layer: WallLayer::Gateway, .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_sandboxes_live_in_one_many_threaded_program() {
    let dir = scratch();
    let plan = Arc::new(plan(dir.path(), vec![]));
    let tasks: Vec<_> = (0..60)
        .map(|number| {
            let (plan, cwd) = (Arc::clone(&plan), dir.path().to_path_buf());
            tokio::spawn(async move {
                let mut command =
                    Command::new(["/bin/sh".into(), "-c".into(), format!("exit {number}")], cwd);
                command.afterwards = Afterwards::End;
                let started = NativeProvider::new().start(plan, Box::new(|| Some(command))).await.unwrap();
                let code = started.running.wait().await.unwrap().exit_code;
                started.sandbox.destroy().await;
                code
            })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), number as i32);
    }
}
