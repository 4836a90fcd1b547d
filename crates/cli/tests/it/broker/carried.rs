//! F12: directories above the workspace are renamed while a sandbox runs. Its paths then mean nothing the plan knows.

use super::records::{Records, reported};
use crate::support::{World, each_caller};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Acts that only the broker can refuse, each of which says whether it was done.
const ACTS: &str = "
    git config core.fsmonitor EVIL && echo done config
    echo {} > .mcp.json && echo done mcp
    mkdir .vscode && echo done vscode
    touch .env && echo done env
    mkdir -p r/objects r/refs && touch r/HEAD && echo done bare
    ln -s /etc d && echo done link
    touch plain && echo done plain";

fn nothing_was_done(world: &World, ws: &Path, before: &str) {
    assert_eq!(fs::read_to_string(ws.join(".git/config")).unwrap(), before);
    let left: Vec<_> = fs::read_dir(ws).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left == [".git"], "{left:?} in {}", world.base.display());
}

/// The directories between a private /tmp and the workspace are the sandbox's own.
#[test]
fn f12_by_the_command_itself_below_a_private_tmp() {
    each_caller(|world| {
        let world = World::below(world.caller, Path::new("/tmp"));
        let ws = world.dir(world.home.join("a/b/ws"));
        world.run().with("--cwd", &ws).shell("git init -q .").exits(0);
        let before = fs::read_to_string(ws.join(".git/config")).unwrap();
        let (a, b) = (world.home.join("a"), world.home.join("a/b"));
        let ways = [
            format!("mv '{0}/b' '{0}/c' && echo moved; cd '{0}/c/ws'", a.display()),
            // To where the old path is a prefix of the new one.
            format!(
                "mv '{0}' '{0}2' && mkdir -p '{1}/ws' && mv '{0}2' '{1}/ws/x' && echo moved; cd '{1}/ws/x/b/ws'",
                a.display(),
                b.display()
            ),
        ];
        for way in ways {
            let ran = reported(&world).with("--cwd", &ws).shell(&format!("{way}; {ACTS}"));
            assert!(!ran.out().contains("done"), "{way}{ran}");
            nothing_was_done(&world, &ws, &before);
            Records::of(&world).tell("create", &ws, "");
        }
        // Control: what is not the workspace may be moved and written.
        let own = format!(
            "mkdir -p '{0}/x/y'; mv '{0}/x' '{0}/z' && touch '{0}/z/y/f' plain",
            world.base.display()
        );
        world.run().with("--cwd", &ws).shell(&own).exits(0);
        assert!(ws.join("plain").exists());
    });
}

/// Somebody outside renames the directory above, or the workspace.
#[test]
fn f12_by_the_host() {
    each_caller(|world| {
        for (number, renamed) in ["up", "up/ws"].into_iter().enumerate() {
            let base = world.dir(world.home.join(format!("h{number}")));
            let ws = world.dir(base.join("up/ws"));
            world.run().with("--cwd", &ws).shell("git init -q .").exits(0);
            let before = fs::read_to_string(ws.join(".git/config")).unwrap();
            let live = reported(world)
                .with("--cwd", &ws)
                .opts(["--", "sh", "-c"])
                .opt(format!("echo ready; sleep 1; {ACTS}"))
                .start_words();
            live.first_output(Duration::from_secs(20));
            fs::rename(base.join(renamed), base.join("elsewhere")).unwrap();
            let ran = live.finish(Duration::from_secs(100));
            assert!(!ran.out().contains("done"), "{ran}");
            let now = base.join("elsewhere").join(Path::new("up/ws").strip_prefix(renamed).unwrap());
            nothing_was_done(world, &now, &before);
            Records::of(world).tell("create", &ws, "");
        }
    });
}

/// Reads that only the broker refuses.
#[test]
fn f12_f20_reads_are_not_judged_by_other_paths() {
    each_caller(|world| {
        let base = world.dir(world.home.join("r"));
        let ws = world.dir(base.join("up/ws"));
        let late = ws.join("late.key");
        let live = reported(world)
            .with("--cwd", &ws)
            .with("--deny-read", "**/*.key")
            .opts(["--", "sh", "-c", "echo ready; sleep 1; cat late.key; cat plain"])
            .start_words();
        live.first_output(Duration::from_secs(20));
        world.file(&late, "SECRET");
        world.file(ws.join("plain"), "PLAIN");
        fs::rename(base.join("up"), base.join("elsewhere")).unwrap();
        let ran = live.finish(Duration::from_secs(100));
        assert!(!ran.out().contains("SECRET"), "{ran}");
        Records::of(world).tell("read", &ws, "");
    });
}
