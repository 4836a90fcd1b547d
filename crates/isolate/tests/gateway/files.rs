//! Files with a content of our own.

use crate::support::*;
use std::path::Path;
use std::sync::Arc;
use stockade_isolate::{Command, Sandbox};
use stockade_policy::{Event, GatewayPlan, MountKind, Rights, RootView};

#[tokio::test]
async fn a_file_of_our_own_is_read_and_not_changed() {
    let dir = scratch();
    let covered = dir.path().join("covered");
    std::fs::write(&covered, "underneath").unwrap();
    let long: Vec<u8> = (0..300 * 1024).map(|at| b'a' + (at % 23) as u8).collect();
    let mut plan = plan(dir.path(), gateway(GatewayPlan::default()));
    let content = |data: &[u8]| MountKind::Content { data: data.to_vec(), mode: 0o644 };
    plan.mounts.insert(1, mount(Path::new("/dev/stockade/ca.pem"), content(&long)));
    plan.mounts.push(mount(&covered, content(b"on top")));
    let sandbox = create(plan).await;
    let line = "cat /dev/stockade/ca.pem > copy && cat covered && stat -c ' %a %u' /dev/stockade/ca.pem \
        && ! echo x > covered && ! echo x > /dev/stockade/ca.pem && ! rm -f /dev/stockade/ca.pem \
        && ! mv covered elsewhere && stat -c %a /dev/stockade";
    let (status, said, complaints) = sh(&sandbox, line, dir.path()).await;
    let uid = rustix::process::getuid().as_raw();
    assert_eq!((status, said), (0, format!("on top 644 {uid}\n755\n")), "{complaints}");
    assert_eq!(std::fs::read(dir.path().join("copy")).unwrap(), long);
    assert_eq!(std::fs::read_to_string(&covered).unwrap(), "underneath");
}

#[tokio::test]
async fn a_file_of_our_own_is_read_where_nothing_else_is() {
    let dir = scratch();
    let mut plan = plan(dir.path(), gateway(GatewayPlan::default()));
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
    let kind = MountKind::Content { data: b"only this".to_vec(), mode: 0o644 };
    plan.mounts.push(mount(Path::new("/etc/ssl/ca.pem"), kind));
    plan.mounts.sort_by(|a, b| a.path.cmp(&b.path));
    let sandbox = create(plan).await;
    let line = "cat /etc/ssl/ca.pem && echo && ls /etc/ssl /etc";
    let (status, said, complaints) = sh(&sandbox, line, dir.path()).await;
    assert_eq!((status, said.as_str()), (0, "only this\n/etc:\nssl\n\n/etc/ssl:\nca.pem\n"), "{complaints}");
}

/// Runs a shell line to its end and ends the sandbox.
async fn sh(sandbox: &Arc<dyn Sandbox>, line: &str, cwd: &Path) -> (i32, String, String) {
    let mut running = sandbox.exec(Command::new(["/bin/sh", "-c", line], cwd)).await.unwrap();
    let (mut said, mut complaints) = (Vec::new(), Vec::new());
    let status = loop {
        match running.next().await.unwrap() {
            Event::Stdout { data } => said.extend(data),
            Event::Stderr { data } => complaints.extend(data),
            Event::Exited(outcome) => break outcome.exit_code,
            _ => {}
        }
    };
    sandbox.destroy().await;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status, text(said), text(complaints))
}
