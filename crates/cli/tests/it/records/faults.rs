//! Records that cannot be kept: the run works and says so, unless a log is required.

use super::{kinds, state, stored};
use crate::support::{Ran, World, each_caller};
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// A run with one refusal that works all the same.
#[track_caller]
fn works(world: &World) -> Ran {
    let line = format!("mkdir {}/d 2>/dev/null; echo done", world.outside.display());
    let ran = world.run().shell(&line);
    ran.exits(0).keeps_calm();
    assert_eq!(ran.out(), "done\n", "{ran}");
    assert!(ran.err().contains("1 act was refused"), "{ran}");
    ran
}

#[test]
fn a_damaged_store_is_set_aside() {
    each_caller(|world| {
        world.file(
            state(world).join("violations.db"),
            "this is no database, however long it may be".repeat(100),
        );
        works(world).complains(&["warning: the store of refusals was damaged", "violations.db.broken-"]);
        assert_eq!(stored(world, &[]).len(), 1);
        let ran = works(world);
        assert!(!ran.err().contains("warning"), "{ran}");
        assert_eq!(stored(world, &[]).len(), 2);
    });
}

#[test]
fn a_store_of_another_version_is_left_alone() {
    each_caller(|world| {
        works(world);
        let path = state(world).join("violations.db");
        let mut bytes = fs::read(&path).unwrap();
        // The version of the content, in the header of the file.
        bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
        fs::write(&path, &bytes).unwrap();
        for companion in ["-wal", "-shm"] {
            let _ = fs::remove_file(state(world).join(format!("violations.db{companion}")));
        }
        works(world).complains(&["warning: what was refused is not in the store", "form 99"]);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    });
}

#[test]
fn no_home_for_records() {
    each_caller(|world| {
        let line = format!("mkdir {}/d 2>/dev/null; echo done", world.outside.display());
        let ran = world.run().var("XDG_STATE_HOME", "/nonexistent/state").shell(&line);
        ran.exits(0).complains(&[
            "warning: not everything is in the audit log",
            "not in the store",
            "1 act was refused",
        ]);
        assert_eq!(ran.out(), "done\n", "{ran}");
        assert_eq!(ran.err().matches("not everything").count(), 1, "said once{ran}");
        assert!(!std::path::Path::new("/nonexistent").exists());
    });
}

/// Read-only for everybody but root, whom modes do not stop: for root a file stands in the way.
#[test]
fn a_place_that_cannot_be_written() {
    each_caller(|world| {
        let state = world.dir(state(world));
        let blocked = || {
            if world.caller == crate::support::Caller::Root {
                fs::remove_dir_all(&state).unwrap();
                world.file(&state, "");
            } else {
                fs::set_permissions(&state, Permissions::from_mode(0o500)).unwrap();
            }
        };
        blocked();
        works(world).complains(&["warning: not everything is in the audit log", "not in the store"]);
        let quiet = world.run().opt("-q").shell("echo done");
        quiet.exits(0);
        assert_eq!(quiet.err(), "", "{quiet}");

        // Who requires a log runs nothing without one.
        let settings = world.settings(json!({"audit": "required"}).to_string());
        for option in [["--settings", settings.to_str().unwrap()], ["--preset", "production"]] {
            let ran = world.run().opts(option).shell("echo ran");
            ran.exits(125);
            assert!(ran.stdout.is_empty(), "{ran}");
        }
        let ran = world.run().with("--settings", &settings).shell("touch ran");
        ran.refused_to_start(&[
            "the audit log is required and cannot be written; nothing was run",
            "audit.head",
        ]);
        assert!(!world.ws.join("ran").exists());
        if world.caller != crate::support::Caller::Root {
            fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
            world.run().with("--settings", &settings).shell("touch ran").exits(0);
            assert_eq!(kinds(world), ["start", "end"]);
        }
    });
}

/// A log that is required and breaks while the command runs ends the command.
#[test]
fn a_required_log_that_breaks_ends_the_run() {
    each_caller(|world| {
        let settings = world.settings(json!({"audit": "required"}).to_string());
        let line = format!(
            "touch begun; until [ -e go ]; do sleep 0.02; done; mkdir {}/d; sleep 60",
            world.outside.display()
        );
        let live = world.run().with("--settings", &settings).opt("-c").opt(line).start_words();
        let patience = std::time::Duration::from_secs(20);
        crate::support::eventually(patience, || {
            if world.ws.join("begun").exists() { Ok(()) } else { Err("not begun".into()) }
        });
        let log = state(world).join("audit.jsonl");
        fs::remove_file(&log).unwrap();
        fs::create_dir(&log).unwrap();
        world.file("go", "");
        let ran = live.finish(patience);
        ran.exits(137).complains(&["not everything is in the audit log"]);
    });
}

/// Nobody's records are readable inside, not even those that the run itself has just begun.
#[test]
fn records_are_hidden_inside() {
    each_caller(|world| {
        for _ in 0..2 {
            let ran = world.run().shell(&format!(
                "cat {0}/audit.jsonl; ls -A {0}; echo x > {0}/audit.jsonl",
                state(world).display()
            ));
            assert_eq!(ran.out(), "", "{ran}");
            assert_ne!(ran.code(), 0, "{ran}");
        }
        world.stockade().opts(["audit", "verify"]).go().exits(0);
    });
}
