//! Plans that hold changes to the workspace back.

use crate::testing::{inputs, request, usual_tree};
use crate::{Flags, Inputs, MountKind, NoticeWeight, Plan, PlanError, Policy, Rights};
use std::path::Path;

const DIRECTORY: &str = "/home/me/.local/state/stockade/overlays/1";

fn plan(inputs: Inputs) -> Result<Plan, PlanError> {
    let tree = usual_tree()
        .files(&[
            "/ws/src/main.rs",
            "/ws/.git/HEAD",
            "/ws/.git/config",
            "/ws/.git/hooks/x",
            "/ws/.env",
            "/out/x",
        ])
        .directory(DIRECTORY);
    Policy::load(inputs, &tree).unwrap().plan(&request(), &tree)
}

fn held() -> Inputs {
    let mut inputs = inputs();
    inputs.own.overlay = Some(DIRECTORY.into());
    inputs
}

#[test]
fn the_overlay_takes_the_place_of_the_writable_bind() {
    let (bare, held) = (plan(inputs()).unwrap(), plan(held()).unwrap());
    let at = |plan: &Plan| plan.mounts.iter().position(|mount| mount.path == Path::new("/ws")).unwrap();
    assert_eq!(at(&bare), at(&held));
    let mut swapped = held.mounts.clone();
    let laid = std::mem::replace(&mut swapped[at(&held)], bare.mounts[at(&bare)].clone());
    match laid.kind {
        MountKind::Overlay { rights, directory, .. } => {
            assert_eq!((rights, directory.as_path()), (Rights::ALL, Path::new(DIRECTORY)));
        }
        other => panic!("{other:?}"),
    }
    // Everything else is as without: masks, protected names, pins, the broker's rules.
    assert_eq!(swapped, bare.mounts);
    assert_eq!(held.broker, bare.broker);
    assert_eq!(held.notices, bare.notices);
}

#[test]
fn a_workspace_in_a_writable_directory_gets_a_mount_of_its_own() {
    let mut inputs = held();
    inputs.flags = Flags { allow_write: vec!["/ws".into(), "/out".into()], ..Flags::default() };
    inputs.cwd = "/ws/src".into();
    let plan = plan(inputs).unwrap();
    let kind =
        |path: &str| plan.mounts.iter().find(|mount| mount.path == Path::new(path)).map(|mount| &mount.kind);
    assert!(matches!(kind("/ws"), Some(MountKind::Bind { rights, .. }) if rights.write));
    assert!(matches!(kind("/ws/src"), Some(MountKind::Overlay { rights, .. }) if rights.write));
    let told = plan.notices.iter().find(|notice| notice.text.contains("changed directly")).unwrap();
    assert_eq!(told.weight, NoticeWeight::Warning);
    assert!(told.text.contains("/out") && told.text.contains("/ws"), "{told:?}");
}

#[test]
fn what_cannot_be_held_back_is_refused() {
    let refused = |inputs: Inputs| match plan(inputs) {
        Err(PlanError::Overlay { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let mut inputs = held();
    inputs.flags = Flags { deny_write: vec!["/ws".into()], ..Flags::default() };
    assert!(refused(inputs).contains("nothing to hold back"));
    let mut inputs = held();
    inputs.own.overlay = Some("/ws/state/overlays/1".into());
    assert!(refused(inputs).contains("holds the directory"));
}
