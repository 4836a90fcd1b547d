//! The workspace changes, too.

use super::{apply, held, is};
use crate::support::{Snapshot, World, each_caller};
use std::fs;
use std::os::unix::fs::symlink;

fn project(world: &World) {
    for name in ["a", "b", "c", "src/d", "gone/x", "gone/y"] {
        world.file(name, "old\n");
    }
}

/// The host does something after the run; applying is refused with the name, nothing is done; then by force.
fn meanwhile(command: &str, host: impl Fn(&World), name: &str, after: impl Fn(&World)) {
    each_caller(|world| {
        project(world);
        held(world).shell(command).exits(0);
        host(world);
        let before = Snapshot::of(&world.ws, &[]);
        let ran = apply(world);
        ran.exits(125).complains(&["nothing was applied", name, "--force"]);
        Snapshot::of(&world.ws, &[]).same_as(&before, "a refused apply");
        world.stockade().opts(["apply", "--force"]).go().exits(0);
        after(world);
    });
}

#[test]
fn both_changed_a_file() {
    let host = |world: &World| drop(world.file("b", "host\n"));
    meanwhile("echo new > a; echo new > b", host, "b: it was changed", |world| {
        is(&world.ws.join("a"), "new\n");
        is(&world.ws.join("b"), "new\n");
    });
}

#[test]
fn a_change_that_hides_its_time() {
    let host = |world: &World| {
        let path = world.file("b", "hst\n");
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    };
    meanwhile("echo new > b", host, "b: it was changed", |world| is(&world.ws.join("b"), "new\n"));
}

#[test]
fn both_made_a_file() {
    let host = |world: &World| drop(world.file("made", "host\n"));
    meanwhile("echo new > made", host, "made: it was changed or made", |world| {
        is(&world.ws.join("made"), "new\n");
    });
}

#[test]
fn the_host_removed_what_was_changed() {
    let host = |world: &World| fs::remove_file(world.ws.join("b")).unwrap();
    meanwhile("echo new > b", host, "b: it was removed", |world| is(&world.ws.join("b"), "new\n"));
}

#[test]
fn the_host_changed_what_was_removed() {
    let host = |world: &World| drop(world.file("gone/y", "host\n"));
    meanwhile("rm -r gone", host, "gone/y: it was changed", |world| assert!(!world.ws.join("gone").exists()));
}

#[test]
fn the_host_put_something_into_what_was_removed() {
    let host = |world: &World| drop(world.file("gone/new", "host\n"));
    meanwhile("rm -r gone", host, "gone/new: it was changed or made", |world| {
        assert!(!world.ws.join("gone").exists());
    });
}

#[test]
fn a_directory_was_exchanged() {
    let host = |world: &World| {
        fs::rename(world.ws.join("src"), world.ws.join("src.old")).unwrap();
        fs::rename(world.outside.join("src"), world.ws.join("src")).unwrap();
    };
    each_caller(|world| {
        project(world);
        world.file(world.outside.join("src/d"), "other\n");
        held(world).shell("echo new > src/d").exits(0);
        host(world);
        apply(world).exits(125).complains(&["src/d: a directory above it was moved"]);
        is(&world.ws.join("src/d"), "other\n");
    });
}

/// What does not touch the same files is no conflict.
#[test]
fn other_changes_do_not_matter() {
    each_caller(|world| {
        project(world);
        held(world).shell("echo new > a; echo new > src/new; rm c").exits(0);
        world.file("b", "host\n");
        world.file("src/d", "host\n");
        world.file("src/other", "host\n");
        apply(world).exits(0);
        is(&world.ws.join("a"), "new\n");
        is(&world.ws.join("b"), "host\n");
        is(&world.ws.join("src/new"), "new\n");
        is(&world.ws.join("src/other"), "host\n");
    });
}

/// Both sides made the same change: there is nothing to apply and nothing to complain about.
#[test]
fn the_same_change_on_both_sides() {
    each_caller(|world| {
        project(world);
        held(world).shell("echo same > a; rm b; echo new > c").exits(0);
        world.file("a", "same\n");
        fs::remove_file(world.ws.join("b")).unwrap();
        apply(world).exits(0);
        is(&world.ws.join("c"), "new\n");
    });
}

/// F29: the host, or somebody who can write there, puts a link where a directory was.
#[test]
fn a_link_in_the_place_of_a_directory() {
    each_caller(|world| {
        project(world);
        world.file(world.outside.join("d"), "outside\n");
        held(world).shell("echo new > src/d; echo new > src/new; rm gone/x; chmod 777 gone").exits(0);
        for name in ["src", "gone"] {
            fs::rename(world.ws.join(name), world.base.join(format!("{name}.away"))).unwrap();
            symlink(&world.outside, world.ws.join(name)).unwrap();
        }
        world.file(world.outside.join("x"), "outside\n");
        let before = Snapshot::of(&world.outside, &[]);
        apply(world).exits(125);
        let ran = world.stockade().opts(["apply", "--force"]).go();
        ran.keeps_calm();
        Snapshot::of(&world.outside, &[]).same_as(&before, "a link in the place of a directory");
    });
}

/// The workspace itself is another directory now.
#[test]
fn another_workspace() {
    each_caller(|world| {
        project(world);
        held(world).shell("echo new > a").exits(0);
        fs::rename(&world.ws, world.base.join("away")).unwrap();
        world.dir(&world.ws);
        project(world);
        apply(world).exits(125).complains(&["is not the directory"]);
        is(&world.ws.join("a"), "old\n");
        world.stockade().opt("discard").go().exits(0);
    });
}
