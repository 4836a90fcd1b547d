//! Scratch.
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use stockade_isolate::*;
use stockade_policy::*;
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
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let dir = Path::new("/var/tmp/lbws");
    let _ = std::fs::create_dir(dir);
    let n: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(0);
    let mut mounts = vec![];
    for i in 0..n {
        let p = dir.join(format!("s{i:05}"));
        std::fs::write(&p, "x").unwrap();
        mounts.push(mount(&p, MountKind::Mask { identity: identity(&p), look: MaskLook::Unreadable }));
    }
    let plan = Arc::new(plan(dir, mounts));
    let med = |v: &mut Vec<f64>| {
        v.sort_by(|a, b| a.partial_cmp(b).unwrap());
        v[v.len() / 2]
    };
    let (mut a, mut b, mut c, mut d, mut bw, mut bare) = (vec![], vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..200 {
        let t = Instant::now();
        let mut c1 = Command::new(["/bin/true"], dir);
        c1.stdio = [Stdio::Null, Stdio::Null, Stdio::Null];
        c1.afterwards = Afterwards::End;
        let Started { sandbox, running } = NativeProvider::new().start(plan.clone(), c1).await.unwrap();
        a.push(t.elapsed().as_secs_f64() * 1e3);
        let t1 = Instant::now();
        running.wait().await.unwrap();
        b.push(t1.elapsed().as_secs_f64() * 1e3);
        let t2 = Instant::now();
        sandbox.destroy().await;
        c.push(t2.elapsed().as_secs_f64() * 1e3);
        d.push(t.elapsed().as_secs_f64() * 1e3);
        let t = Instant::now();
        std::process::Command::new("bwrap")
            .args(["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true"])
            .status()
            .unwrap();
        bw.push(t.elapsed().as_secs_f64() * 1e3);
        let t = Instant::now();
        std::process::Command::new("/bin/true").status().unwrap();
        bare.push(t.elapsed().as_secs_f64() * 1e3);
    }
    println!(
        "create {:.2} exec {:.2} destroy {:.2} total {:.2} bwrap {:.2} bare {:.2} ratio {:.2}",
        med(&mut a),
        med(&mut b),
        med(&mut c),
        med(&mut d),
        med(&mut bw),
        med(&mut bare),
        med(&mut d) / med(&mut bw)
    );
}
