//! Runs whose changes are held back: what is seen inside, what is told, what is applied.

mod applying;
mod conflicts;
mod hidden;
mod hostile;
mod leftovers;
mod patch;
mod running;
mod walls;

use crate::support::{Ran, Run, World};
use std::fs;
use std::path::{Path, PathBuf};

/// `stockade run --overlay`.
fn held(world: &World) -> Run<'_> {
    world.run().opt("--overlay")
}

/// The lines of `stockade diff --name-only`.
#[track_caller]
fn names(world: &World) -> Vec<String> {
    let ran = world.stockade().opts(["diff", "--name-only"]).go();
    ran.exits(0);
    ran.out().lines().map(str::to_owned).collect()
}

fn apply(world: &World) -> Ran {
    world.stockade().opt("apply").go()
}

/// The only overlay's own directory.
#[track_caller]
fn directory(world: &World) -> PathBuf {
    let mut overlays = overlays(world);
    assert_eq!(overlays.len(), 1, "{overlays:?}");
    overlays.remove(0)
}

fn overlays(world: &World) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(world.home.join(".local/state/stockade/overlays")) else {
        return Vec::new();
    };
    entries.map(|entry| entry.expect("list").path()).collect()
}

#[track_caller]
fn is(path: &Path, content: &str) {
    let found = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found, content, "{}", path.display());
}
