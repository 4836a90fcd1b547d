//! `stockade config`: settings shown, checked, trusted, imported; and settings that change during a run.

mod import;
mod links;
mod reload;
mod show;
mod trust;
mod validate;

use crate::support::{Ran, World};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

/// `stockade config ...`
#[track_caller]
fn config(world: &World, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
    let ran = world.stockade().opt("config").opts(words).go();
    ran.keeps_calm();
    ran
}

/// The user's settings file.
fn user_file(world: &World) -> PathBuf {
    world.home.join(".config/stockade/settings.json")
}

/// Saves a file as editors do: a new one in the place of the old.
fn save(world: &World, path: PathBuf, text: &str) -> PathBuf {
    let new = world.file(path.with_extension("new"), text);
    fs::rename(new, &path).expect("rename");
    path
}
