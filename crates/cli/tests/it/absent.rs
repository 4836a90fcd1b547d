//! I27: a kernel or container without a needed feature. The start is refused, with a name and a remedy.

use crate::support::{Run, World, binaries, each_caller};
use std::fs;

/// `stockade run` on a machine that lacks something.
fn without<'a>(world: &'a World, feature: &str) -> Run<'a> {
    world.bare(&binaries().probe).opts(["without", feature]).opt(&binaries().stockade).opt("run")
}

#[test]
fn i27_no_user_namespaces() {
    each_caller(|world| {
        let ran = without(world, "user-namespaces").program(["touch", "ran"]);
        ran.refused_to_start(&["user namespace", "hint"]);
        assert!(!world.ws.join("ran").exists());
    });
}

#[test]
fn i27_no_mount_interface() {
    each_caller(|world| {
        let ran = without(world, "mount-interface").program(["touch", "ran"]);
        ran.refused_to_start(&["hint"]);
        assert!(!world.ws.join("ran").exists());
    });
}

#[test]
fn i27_no_seccomp() {
    each_caller(|world| {
        let ran = without(world, "seccomp").program(["touch", "ran"]);
        ran.refused_to_start(&["seccomp", "hint"]);
        assert!(!world.ws.join("ran").exists());
    });
}

/// Landlock is the second wall: without it the first has to hold all the same, and the outcome says so.
#[test]
fn i27_no_landlock() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        let report = world.base.join("report.json");
        let ran = without(world, "landlock")
            .with("--report", &report)
            .with("--deny-read", &secret)
            .program([binaries().probe.to_str().unwrap(), "read", secret.to_str().unwrap()]);
        if ran.code() == 125 {
            ran.refused_to_start(&["landlock"]);
        } else {
            ran.exits(0);
            assert_eq!(ran.out(), "errno EACCES\n", "{ran}");
            let outcome: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
            let layers = outcome["enforcement"].as_array().unwrap();
            let landlock = layers.iter().find(|layer| layer["layer"] == "landlock").unwrap();
            assert_eq!(landlock["state"], "missing", "{outcome:#}");
            // A descriptor from outside is not reopened with more rights either.
            let file = world.file(world.outside.join("f"), "host");
            let ran = without(world, "landlock").input_from(fs::File::open(&file).unwrap()).program([
                binaries().probe.to_str().unwrap(),
                "write",
                "/proc/self/fd/0",
            ]);
            ran.exits(0);
            assert_eq!(fs::read(&file).unwrap(), b"host", "{ran}");
        }
        // Whoever requires every layer does not get a run without one.
        let settings = world.settings("{\"requireLayers\": \"all\"}");
        let ran = without(world, "landlock").with("--settings", &settings).program(["touch", "ran"]);
        ran.refused_to_start(&["landlock", "hint"]);
        assert!(!world.ws.join("ran").exists());
    });
}

/// The doctor says what is missing instead of calling the machine healthy.
#[test]
fn i27_the_doctor_notices() {
    each_caller(|world| {
        for feature in ["user-namespaces", "seccomp", "landlock"] {
            let ran = world
                .bare(&binaries().probe)
                .opts(["without", feature])
                .opt(&binaries().stockade)
                .opts(["doctor"])
                .go();
            ran.exits(1).keeps_calm();
        }
        world.stockade().opt("doctor").go().exits(0);
    });
}
