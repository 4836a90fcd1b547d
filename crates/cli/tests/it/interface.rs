//! What the other commands say.

use crate::support::{World, each_caller, is_root};
use serde_json::Value;

#[track_caller]
fn json(world: &World, words: &[&str]) -> Value {
    let ran = world.stockade().opts(words).go();
    ran.exits(0);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("not JSON: {error}{ran}"))
}

#[test]
fn help_and_version() {
    each_caller(|world| {
        for words in [
            &["--help"][..],
            &["run", "--help"],
            &["plan", "--help"],
            &["explain", "--help"],
            &["doctor", "--help"],
        ] {
            let ran = world.stockade().opts(words).go();
            ran.exits(0);
            assert!(ran.out().contains("Usage"), "{ran}");
            assert!(ran.stderr.is_empty(), "{ran}");
        }
        let text = world.stockade().opts(["run", "--help"]).go().out();
        for option in [
            "--settings",
            "--preset",
            "--cwd",
            "--allow-write",
            "--allow-read",
            "--deny-read",
            "--deny-write",
            "--env",
            "--pass-env",
            "--inherit-fd",
            "--timeout",
            "--max-file",
            "--max-output",
            "--events",
            "--report",
            "-c",
        ] {
            assert!(text.contains(option), "{option} is not in the help:\n{text}");
        }
        let ran = world.stockade().opt("--version").go();
        assert!(ran.out().contains(env!("CARGO_PKG_VERSION")), "{ran}");
        let ran = world.stockade().opt("no-such-command").go();
        assert_ne!(ran.code(), 0, "{ran}");
        ran.complains(&["no-such-command"]);
    });
}

#[test]
fn a_plan_is_json_and_tells_where_rules_come_from() {
    each_caller(|world| {
        world.file("kept", "x");
        world.file(".env", "SECRET");
        let plan = json(world, &["plan", "--deny-write", "kept", "--env", "A=B", "--", "true"]);
        assert_eq!(plan["preset"], "default", "{plan}");
        assert_eq!(plan["workspace"], world.ws.to_str().unwrap());
        let mounts = plan["mounts"].as_array().unwrap();
        let at = |name: &str| {
            let path = world.ws.join(name);
            mounts
                .iter()
                .find(|mount| mount["path"] == path.to_str().unwrap())
                .unwrap_or_else(|| panic!("{plan:#}"))
        };
        assert_eq!(at("kept")["rule"]["origin"]["source"], "--deny-write", "{plan:#}");
        assert_eq!(at(".env")["kind"], "mask", "{plan:#}");
        let variables = plan["environment"].as_array().unwrap();
        assert!(
            variables.iter().any(|variable| variable["name"] == "A" && variable["value"] == "B"),
            "{plan:#}"
        );
        assert!(!world.ws.join("made").exists());
        // Two plans of one request are the same.
        assert_eq!(json(world, &["plan", "--", "true"]), json(world, &["plan", "--", "true"]));
    });
}

#[test]
fn explanations_name_the_rule() {
    each_caller(|world| {
        let key = world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        let outside = world.file(world.outside.join("f"), "x");
        let inside = world.file("f", "x");
        let explain = |path: &std::path::Path| json(world, &["explain", "--json", path.to_str().unwrap()]);
        let about_key = explain(&key);
        assert_eq!(about_key[0]["read"]["allowed"], false, "{about_key:#}");
        assert!(about_key[0]["read"]["rule"]["text"].as_str().unwrap().contains(".ssh"), "{about_key:#}");
        let about_outside = explain(&outside);
        assert_eq!(about_outside[0]["read"]["allowed"], true, "{about_outside:#}");
        assert_eq!(about_outside[0]["write"]["allowed"], false, "{about_outside:#}");
        let change = about_outside[0]["write"]["change"].as_str().unwrap();
        assert!(change.contains("--allow-write"), "{about_outside:#}");
        let about_inside = explain(&inside);
        assert_eq!(about_inside[0]["write"]["allowed"], true, "{about_inside:#}");
        let ran = world.stockade().opts(["explain", key.to_str().unwrap()]).go();
        ran.exits(0);
        assert!(ran.out().contains(".ssh"), "{ran}");
        // Paths that do not exist are judged as well.
        let absent = explain(&world.outside.join("absent/deep"));
        assert_eq!(absent[0]["write"]["allowed"], false, "{absent:#}");
    });
}

#[test]
fn presets() {
    each_caller(|world| {
        let listed = world.stockade().opt("presets").go();
        listed.exits(0);
        for name in [
            "default",
            "strict",
            "development",
            "testing",
            "production",
            "docker",
            "webscraping",
            "aicode",
            "unrestricted",
        ] {
            assert!(listed.out().contains(name), "{name} is not listed{listed}");
            let ran = world.stockade().opts(["presets", name]).go();
            ran.exits(0);
            assert!(ran.out().contains("filesystem") || name == "unrestricted", "{ran}");
        }
        let ran = world.stockade().opts(["presets", "no-such-preset"]).go();
        assert_ne!(ran.code(), 0, "{ran}");
    });
}

#[test]
fn the_strict_preset() {
    each_caller(|world| {
        let file = world.file("f", "x");
        let secret = world.file(world.outside.join("f"), "SECRET");
        // Its limits need a layer; where that is missing the start is refused by name.
        let ran = world.run().opts(["--preset", "strict"]).program(["true"]);
        if ran.code() == 125 {
            ran.refused_to_start(&["cgroup"]);
            return;
        }
        let run = || world.run().opts(["--preset", "strict"]).with("--allow-read", binaries_dir());
        run().probe(["read", file.to_str().unwrap()]).ok();
        run().probe(["write", file.to_str().unwrap()]).errno(&["EROFS"]);
        run().probe(["read", secret.to_str().unwrap()]).errno(&["ENOENT", "EACCES"]);
        run().probe(["create", "/tmp/x"]).ok();
    });
}

/// However the start of the broker and the change of the root fall together, it sees the sandbox's root.
#[test]
fn a_listed_root_is_the_brokers_too() {
    each_caller(|world| {
        let listed = world.file(world.outside.join("listed/f"), "listed");
        let settings = world.settings(
            serde_json::json!({"filesystem": {"readScope": "workspace", "allowRead": [listed.parent().unwrap(), binaries_dir()]}})
                .to_string(),
        );
        for _ in 0..60 {
            let write = ["write", listed.to_str().unwrap()];
            world.run().with("--settings", &settings).probe(write).errno(&["EROFS"]);
        }
        assert_eq!(std::fs::read(&listed).unwrap(), b"listed");
    });
}

/// Reading limited to the system, the workspace and what is listed.
#[test]
fn read_scope_workspace() {
    each_caller(|world| {
        let inside = world.file("f", "inside");
        let outside = world.file(world.outside.join("f"), "SECRET");
        let listed = world.file(world.outside.join("listed/f"), "listed");
        world.file(".env", "SECRET");
        let settings = world.settings(
            serde_json::json!({"filesystem": {"readScope": "workspace", "allowRead": [listed.parent().unwrap(), binaries_dir()]}})
                .to_string(),
        );
        let run = || world.run().with("--settings", &settings);
        assert_eq!(run().probe(["read", inside.to_str().unwrap()]).ok(), "inside");
        run().probe(["write", inside.to_str().unwrap()]).ok();
        run().probe(["read", outside.to_str().unwrap()]).errno(&["ENOENT", "EACCES"]);
        assert_eq!(run().probe(["read", listed.to_str().unwrap()]).ok(), "listed");
        run().probe(["write", listed.to_str().unwrap()]).errno(&["EROFS"]);
        run().probe(["read", ".env"]).errno(&["EACCES"]);
        run().probe(["list", world.home.to_str().unwrap()]).ok();
        run().probe(["read", "/etc/shadow"]).errno(&["EACCES", "ENOENT"]);
        run().probe(["create", "/x"]).errno(&["EROFS", "EACCES"]);
        let listing = run().probe(["list", "/"]);
        assert!(
            !listing.ok().split(' ').any(|name| ["root", "srv", "boot"].contains(&name)),
            "{}",
            listing.line()
        );
        run().shell("ls /usr/bin > /dev/null && sh -c 'exit 0'").exits(0);
    });
}

fn binaries_dir() -> std::path::PathBuf {
    crate::support::binaries().probe.parent().unwrap().to_path_buf()
}

#[test]
fn the_unrestricted_preset_runs_bare_and_says_so() {
    each_caller(|world| {
        let report = world.base.join("report.json");
        let ran = world.run().opts(["--preset", "unrestricted"]).with("--report", &report).shell("echo out");
        ran.exits(0);
        assert_eq!(ran.out(), "out\n", "{ran}");
        assert!(!ran.stderr.is_empty(), "it did not say so{ran}");
        let outcome: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
        assert_eq!(outcome["sandboxed"], false, "{outcome}");
        assert_eq!(outcome["kind"], "none", "{outcome}");
        // A project cannot ask for that.
        world.file(".stockade.json", "{\"preset\": \"unrestricted\"}");
        let kept = world.file(world.outside.join("f"), "host");
        let ran = world.run().program([
            crate::support::binaries().probe.to_str().unwrap(),
            "open-write",
            kept.to_str().unwrap(),
        ]);
        assert!(ran.code() == 125 || ran.out() == "errno EROFS\n", "{ran}");
        world.file(".stockade.json", "{\"enabled\": false}");
        let ran = world.run().program([
            crate::support::binaries().probe.to_str().unwrap(),
            "open-write",
            kept.to_str().unwrap(),
        ]);
        assert!(ran.code() == 125 || ran.out() == "errno EROFS\n", "{ran}");
    });
}

#[test]
fn the_schema_is_one() {
    each_caller(|world| {
        let schema = json(world, &["schema"]);
        assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"), "{schema}");
        for key in ["filesystem", "network", "environment", "limits", "preset"] {
            assert!(!schema["properties"][key].is_null(), "{key}: {schema:#}");
        }
    });
}

#[test]
fn the_doctor_finds_every_wall_standing() {
    each_caller(|world| {
        let found = json(world, &["doctor", "--json"]);
        let text = found.to_string();
        assert!(!text.contains("\"broken\"") && !text.contains("\"failed\""), "{found:#}");
        let ran = world.stockade().opt("doctor").go();
        ran.exits(0);
        assert!(ran.out().to_lowercase().contains("landlock"), "{ran}");
    });
    let _ = is_root();
}

#[test]
fn quiet_and_verbose() {
    each_caller(|world| {
        let quiet = world.run().opt("-q").shell("cat /etc/shadow 2>/dev/null; exit 3");
        quiet.exits(3);
        assert!(quiet.stderr.is_empty(), "-q spoke{quiet}");
        let plain = world.run().program(["true"]);
        plain.exits(0);
        assert!(plain.stderr.is_empty(), "a clean run spoke{plain}");
        let verbose = world.run().opt("-v").var("MY_SECRET", "hunter2").program(["true"]);
        verbose.exits(0).complains(&["MY_SECRET"]);
        assert!(!verbose.err().contains("hunter2"), "a value was shown{verbose}");
        assert!(verbose.stdout.is_empty(), "{verbose}");
    });
}

#[test]
fn a_host_that_was_read_as_a_path_is_told() {
    each_caller(|world| {
        let socket = world.ws.join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let ran = world.stockade().opts(["explain", "socket"]).go();
        assert!(ran.out().contains("it is a socket") && ran.out().contains("--allow-unix"), "{ran}");
        let ran = world.stockade().opts(["explain", "evil.test"]).go();
        ran.exits(0);
        assert!(ran.out().contains("evil.test was read as a path"), "{ran}");
        assert!(ran.out().contains("write evil.test:443\n"), "{ran}");
        world.file("evil.test", "");
        for subject in ["evil.test", "evil.test:443", "./other.test"] {
            let ran = world.stockade().opts(["explain", subject]).go();
            assert!(!ran.out().contains("read as a path"), "{ran}");
        }
        let help = world.stockade().opts(["explain", "--help"]).go();
        assert!(help.out().contains("path or reach a host (HOST:PORT)"), "{help}");
    });
}
