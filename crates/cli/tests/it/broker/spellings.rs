//! One protected name, spelled in every way a path can be.

use super::names::{PROTECTED, prepare};
use super::records::{Records, all_fine, all_refused, reported};
use crate::act;
use crate::support::{Snapshot, World, each_caller};
use std::ffi::OsString;
use std::path::Path;

/// Spellings of a name in a directory of the workspace, through each way.
fn spelled(world: &World, dir: &Path, name: &str, way: &str, source: &Path) -> Vec<Vec<OsString>> {
    let relative = dir.strip_prefix(&world.ws).unwrap();
    let join = |parts: &[&Path]| {
        parts.iter().fold(OsString::new(), |mut all, part| {
            all.push(part);
            all
        })
    };
    let name_path = Path::new(name);
    let own = dir.join(name);
    let up: std::path::PathBuf = relative.components().map(|_| "..").collect();
    let slash = Path::new("/");
    let mut all = vec![
        act!["make", way, &own, source],
        act!["make-in", &world.ws, way, relative.join(name), source],
        act!["make-in", &world.ws, way, Path::new(".").join(relative).join(name), source],
        act!["make-in", dir, way, name, source],
        act!["make-in", dir, way, Path::new("./././").join(name), source],
        act!["make-in", dir, way, Path::new(&up).join(relative).join(name), source],
        act!["make", way, join(&[&world.ws, Path::new("/./"), relative, Path::new("//"), name_path]), source],
        act!["make", way, join(&[Path::new("//"), dir, Path::new("///"), name_path]), source],
        act!["make", way, world.ws.join("linked").join(relative).join(name), source],
        act!["make", way, world.ws.join("linked/other/..").join(relative).join(name), source],
        act!["make-at", dir, way, name, source],
        act!["make-at", &world.ws, way, relative.join(name), source],
        act!["make-at", world.ws.join("other"), way, Path::new("..").join(relative).join(name), source],
        act!["make-at", world.ws.join("linked"), way, relative.join(name), source],
        act!["make-at", "/", way, own.strip_prefix("/").unwrap(), source],
        act!["make-below", "/proc/self/fd", dir, way, name, source],
        act!["make-below", "/proc/thread-self/fd", dir, way, name, source],
        act!["make-below", "/dev/fd", dir, way, name, source],
        act!["make-below", "/proc/self/fd", &world.ws, way, relative.join(name), source],
        act!["make-below", "/proc/self/root/proc/self/fd", dir, way, name, source],
        act!["make-below", "/proc/../proc/self/fd", dir, way, name, source],
        act!["make-in", dir, way, Path::new("/proc/self/cwd").join(name), source],
        act!["make-in", &world.ws, way, Path::new("/proc/self/cwd").join(relative).join(name), source],
        act![
            "make-in",
            &world.ws,
            way,
            Path::new("/proc/self/cwd/other/..").join(relative).join(name),
            source
        ],
        act!["make", way, join(&[Path::new("/proc/self/root"), slash, &own]), source],
        act!["make", way, join(&[Path::new("/proc/1/root"), &own]), source],
        act!["make", way, join(&[Path::new("/proc/self/task/../root"), &own]), source],
    ];
    if way == "directory" || way == "directory-old" {
        for end in ["/", "//", "/."] {
            all.push(act!["make", way, join(&[&own, Path::new(end)]), source]);
        }
    }
    all
}

fn surroundings(world: &World) {
    world.dir("other");
    world.link(".", "linked");
}

#[test]
fn every_spelling() {
    each_caller(|world| {
        let source = prepare(world);
        surroundings(world);
        let before = Snapshot::of(&world.ws, &[]);
        for (name, rule) in PROTECTED {
            let path = world.ws.join(name);
            let (dir, last) = (path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap());
            let mut acts = Vec::new();
            for way in ["open", "directory", "rename", "symlink", "link", "unnamed-by-link", "bind"] {
                acts.extend(spelled(world, dir, last, way, &source));
            }
            let answers = reported(world).opts(["--deny-write", "kept/absent"]).batch(acts);
            let holes: Vec<String> = answers
                .iter()
                .filter(|answer| answer.succeeded())
                .map(|answer| answer.asked().to_string())
                .collect();
            assert!(holes.is_empty(), "{name}:\n{}", holes.join("\n"));
            Records::of(world).tell("create", &path, rule).only_about(std::slice::from_ref(&path));
        }
        Snapshot::of(&world.ws, &[]).same_as(&before, "after all spellings");
    });
}

/// The same spellings of a free name work, except where nobody but the kernel knows who is meant.
#[test]
fn every_spelling_of_a_free_name() {
    each_caller(|world| {
        surroundings(world);
        for dir in ["", "a/b"] {
            let dir = world.dir(dir);
            for way in ["open", "directory", "symlink", "link"] {
                let source = world.file("source", "plain");
                let acts = spelled(world, &dir, "free", way, &source);
                let count = acts.len();
                let mut batch = Vec::new();
                for act in acts {
                    batch.push(act);
                    batch.push(act![if way == "directory" { "rmdir" } else { "unlink" }, dir.join("free")]);
                }
                let answers = reported(world).batch(batch);
                let failed: Vec<String> = (0..count)
                    .map(|at| &answers[at * 2])
                    .filter(|answer| !answer.succeeded() && !answer.asked().contains("/proc/1/root"))
                    // Nobody can make what does not exist yet by the name of what is in it.
                    .filter(|answer| !answer.asked().contains("/free/."))
                    .map(|answer| format!("{} -> {}", answer.asked(), answer.line()))
                    .collect();
                assert!(failed.is_empty(), "refused but free:\n{}", failed.join("\n"));
            }
        }
    });
}

/// The two ends of a link and of a rename are found through every spelling, too.
#[test]
fn sources_through_descriptors() {
    each_caller(|world| {
        world.dir(".claude");
        let source = world.file("source", "evil");
        let target = world.ws.join(".claude/settings.json");
        let doors = ["/proc/self/cwd/source", "/proc/self/root", "./source", "linked/source"];
        world.link(".", "linked");
        let acts = doors.iter().flat_map(|door| {
            let mut from = OsString::from(door);
            if door.ends_with("root") {
                from.push(&source);
            }
            ["rename", "link"].map(|way| act!["make-in", &world.ws, way, &target, &from])
        });
        all_refused(&reported(world).batch(acts));
        Records::of(world).tell("create", &target, "protected .claude/settings.json");
        assert!(source.exists() && !target.exists());
        let free = world.ws.join("free");
        all_fine(&world.run().batch([act!["make-in", &world.ws, "link", &free, "/proc/self/cwd/source"]]));
        assert!(free.exists());
    });
}
