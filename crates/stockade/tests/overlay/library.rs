//! How a program uses overlays.

use std::fs;
use std::path::Path;
use stockade::{
    Apply, ChangeKind, CommandLine, Directories, OnConflict, Overlay, OverlayError, OverlayStore, Records,
    Runtime, Selection, StandardSettings,
};

/// A place with a workspace, and overlays of its own.
pub(crate) struct World {
    pub(crate) place: tempfile::TempDir,
    pub(crate) store: OverlayStore,
}

impl World {
    pub(crate) fn new() -> Self {
        let place = tempfile::Builder::new().prefix("stockade-overlay-").tempdir_in("/var/tmp").unwrap();
        fs::create_dir(place.path().join("ws")).unwrap();
        let directories = Directories {
            config: place.path().join("config/stockade"),
            state: place.path().join("state/stockade"),
            cache: place.path().join("cache/stockade"),
        };
        Self { store: OverlayStore::new(&directories), place }
    }

    pub(crate) fn ws(&self) -> std::path::PathBuf {
        self.place.path().join("ws")
    }

    pub(crate) fn runtime(&self, workspace: &Path, overlay: Option<&Overlay>) -> Runtime {
        let mut builder = Runtime::builder()
            .cwd(workspace)
            .standard_settings(StandardSettings::ManagedOnly)
            .records(Records::Nowhere);
        if let Some(overlay) = overlay {
            builder = builder.overlay(overlay);
        }
        builder.build().unwrap()
    }

    pub(crate) async fn run(&self, workspace: &Path, overlay: Option<&Overlay>, text: &str) -> String {
        let runtime = self.runtime(workspace, overlay);
        let done = runtime.run(CommandLine::Shell(text.into())).await.unwrap();
        assert!(done.outcome.sandboxed);
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Applies everything.
    pub(crate) fn apply(&self, overlay: &mut Overlay) -> Result<stockade::Applied, OverlayError> {
        let runtime = self.runtime(&overlay.workspace(), None);
        let prepared = runtime.prepare(runtime.request(CommandLine::Argv(vec!["true".into()]))).unwrap();
        let wish =
            Apply { selection: &Selection::All, on_conflict: OnConflict::Refuse, plan: &prepared.plan };
        overlay.apply(&wish)
    }
}

#[tokio::test]
async fn a_program_looks_before_it_applies() {
    let world = World::new();
    let ws = world.ws();
    fs::write(ws.join("a"), "one\n").unwrap();
    let mut overlay = world.store.create(&ws, None).unwrap();
    assert_eq!(world.run(&ws, Some(&overlay), "echo two >> a; cat a").await, "one\ntwo\n");
    assert_eq!(fs::read_to_string(ws.join("a")).unwrap(), "one\n");

    let changes = overlay.changes().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].kind(), ChangeKind::Modified);
    let mut text = Vec::new();
    overlay.write_diff(&changes, &mut text).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n one\n+two\n"
    );

    assert_eq!(world.store.list().unwrap().len(), 1);
    let applied = world.apply(&mut overlay).unwrap();
    assert_eq!((applied.changes.len(), applied.left_out.len(), applied.remaining), (1, 0, 0));
    assert_eq!(fs::read_to_string(ws.join("a")).unwrap(), "one\ntwo\n");
    assert!(overlay.changes().unwrap().is_empty());
    overlay.discard().unwrap();
    assert!(world.store.list().unwrap().is_empty());
}

/// A full disk in the middle of a file: the file that was there is still there, whole.
#[tokio::test]
async fn half_a_file_is_never_applied() {
    let world = World::new();
    let ws = world.ws();
    fs::write(ws.join("a"), "whole\n").unwrap();
    let mut overlay = world.store.create(&ws, None).unwrap();
    world.run(&ws, Some(&overlay), "head -c 400000 /dev/urandom > a").await;
    // The change cannot be read to its end.
    let changed = overlay.directory().join("upper/a");
    fs::remove_file(&changed).unwrap();
    fs::create_dir(overlay.directory().join("upper/b")).unwrap();
    assert!(world.apply(&mut overlay).is_ok());
    assert_eq!(fs::read_to_string(ws.join("a")).unwrap(), "whole\n");
}

#[tokio::test]
async fn a_conflict_calls_the_overlay_by_its_name() {
    let world = World::new();
    let mut overlay = world.store.create(&world.ws(), Some("mine")).unwrap();
    world.run(&world.ws(), Some(&overlay), "echo new > made").await;
    fs::write(world.ws().join("made"), "host").unwrap();
    let refused = world.apply(&mut overlay).unwrap_err();
    assert!(matches!(&refused, OverlayError::Conflicts { id, .. } if id == "mine"), "{refused}");
    assert!(refused.to_string().contains("since overlay mine was made"), "{refused}");
}
