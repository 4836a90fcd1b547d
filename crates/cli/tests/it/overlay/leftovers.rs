//! What others do at the same time, did meanwhile, or left behind.

use super::{apply, held, is, names, overlays};
use crate::support::{Caller, World, binaries, each_caller};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn mode(world: &World, path: &str) -> u32 {
    fs::metadata(world.ws.join(path)).expect("stat").permissions().mode() & 0o7777
}

fn set_mode(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.ws.join(path), fs::Permissions::from_mode(mode)).expect("chmod");
}

/// The layer holds the permissions of every directory on the way; those are not the command's change.
#[test]
fn permissions_that_the_host_changed_are_kept() {
    each_caller(|world| {
        for name in ["p", "q"] {
            world.file(format!("{name}/s"), "s\n");
            set_mode(world, name, 0o755);
        }
        world.run().opt("--overlay=x").shell("echo n > p/n; echo n > q/n").exits(0);
        set_mode(world, "p", 0o700);
        set_mode(world, "q", 0o700);
        // Now its content is younger than the overlay, too.
        world.file("q/host", "h\n");
        assert_eq!(names(world), ["A p/n", "A q/n"]);
        world.stockade().opts(["apply", "p"]).go().exits(0);
        assert_eq!(mode(world, "p"), 0o700);
        // Not after a part was applied either.
        world.run().opt("--overlay=x").shell("echo m > p/m").exits(0);
        apply(world).exits(0);
        assert_eq!((mode(world, "p"), mode(world, "q")), (0o700, 0o700));
        is(&world.ws.join("p/m"), "m\n");
        is(&world.ws.join("q/n"), "n\n");
    });
}

#[test]
fn permissions_that_both_changed_are_a_conflict() {
    each_caller(|world| {
        world.file("p/s", "s\n");
        set_mode(world, "p", 0o755);
        held(world).shell("chmod 711 p").exits(0);
        set_mode(world, "p", 0o700);
        apply(world).exits(125).complains(&["p: its permissions were changed meanwhile"]);
        assert_eq!(mode(world, "p"), 0o700);
        world.stockade().opts(["apply", "--force"]).go().exits(0);
        assert_eq!(mode(world, "p"), 0o711);
    });
}

#[test]
fn a_name_is_one_overlay() {
    each_caller(|world| {
        for round in 0..3 {
            let runs: Vec<_> = (0..4)
                .map(|at| {
                    world
                        .run()
                        .opt("--overlay=x")
                        .opts(["-c", &format!("echo {at} > made{at}")])
                        .start_words()
                })
                .collect();
            for run in runs {
                run.reap();
            }
            assert_eq!(overlays(world).len(), 1, "round {round}");
            world.stockade().opts(["discard", "x"]).go().exits(0);
        }
    });
}

/// Drafts of an apply that was killed go; what only looks a little like one stays.
#[test]
fn drafts_of_a_killed_apply_are_removed() {
    each_caller(|world| {
        world.file("dir/a", "a\n");
        held(world).shell("echo b > dir/a; echo b > top").exits(0);
        for draft in ["dir/.stockade.4194999.0", ".stockade.4194999.12"] {
            world.file(draft, "half");
        }
        let live = format!(".stockade.{}.0", std::process::id());
        let kept = ["dir/.stockade.4194999", ".stockade.x.1", "dir/.stockade.4194999.0.1", live.as_str()];
        for other in kept {
            world.file(other, "mine");
        }
        world.dir(".stockade.4194999.13");
        apply(world).exits(0);
        assert!(!world.ws.join("dir/.stockade.4194999.0").exists());
        assert!(!world.ws.join(".stockade.4194999.12").exists());
        for other in kept {
            is(&world.ws.join(other), "mine");
        }
        assert!(world.ws.join(".stockade.4194999.13").is_dir());
    });
}

#[test]
fn a_mount_is_told_when_changes_are_applied() {
    if !crate::support::is_root() {
        return crate::support::skip("a_mount_is_told_when_changes_are_applied", "only root can mount");
    }
    let world = World::new(Caller::Root);
    world.file("inner/a", "a\n");
    held(&world).shell("echo b > inner/a; echo b > other").exits(0);
    let mounted = |act: &str| {
        let program = binaries().stockade.to_str().expect("text").to_owned();
        let text = format!("mount -t tmpfs none inner && exec {program} {act}");
        world.bare("/usr/bin/unshare").opts(["-m", "sh", "-c", &text]).go()
    };
    mounted("apply").exits(125).complains(&["inner/a: something else is mounted there now"]);
    assert!(!world.ws.join("other").exists());
    mounted("apply --force").exits(1).complains(&["left out: inner/a: something else is mounted there now"]);
    is(&world.ws.join("other"), "b\n");
    is(&world.ws.join("inner/a"), "a\n");
}
