//! Broken settings, wrong options, places that are no workspace: an error that names it, and nothing run.

use crate::act;
use crate::support::{Ran, World, binaries, each_caller};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// A settings file and the key its message has to name. The file's own name is always asked for.
const BROKEN: [(&str, &str); 66] = [
    // Not JSON at all.
    ("", "empty"),
    ("   \n\t ", "empty"),
    ("{", "JSON"),
    ("}", "JSON"),
    ("[", "JSON"),
    ("nonsense", "JSON"),
    ("{\"filesystem\": }", "JSON"),
    ("{\"filesystem\": {}} trailing", "JSON"),
    ("{'filesystem': {}}", "JSON"),
    ("{filesystem: {}}", "JSON"),
    ("{\"a\": 1 \"b\": 2}", "JSON"),
    ("{\"filesystem\": {\"denyRead\": [\"a\" \"b\"]}}", "JSON"),
    ("{\"filesystem\": {\"denyRead\": [\"a]}}", "JSON"),
    ("{\"filesystem\": {\"denyRead\": [\"\\x\"]}}", "JSON"),
    ("/* open comment {}", "JSON"),
    // JSON, but no settings.
    ("null", ""),
    ("[]", ""),
    ("42", ""),
    ("\"text\"", ""),
    ("true", ""),
    // Unknown keys, each a likely slip.
    ("{\"filesytem\": {}}", "filesytem"),
    ("{\"fileSystem\": {}}", "fileSystem"),
    ("{\"filesystem\": {\"denyreads\": []}}", "denyreads"),
    ("{\"filesystem\": {\"deny_read\": []}}", "deny_read"),
    ("{\"filesystem\": {\"allowwrite\": []}}", "allowwrite"),
    ("{\"network\": {\"allowDomains\": []}}", "allowDomains"),
    ("{\"limits\": {\"memory\": 1}}", "memory"),
    ("{\"environment\": {\"deny_all\": true}}", "deny_all"),
    ("{\"filesystem\": {\"protection\": {\"gti\": \"off\"}}}", "gti"),
    ("{\"filesystem\": {\"denyRead\": [{\"path\": \"a\", \"litteral\": true}]}}", "filesystem.denyRead[0]"),
    ("{\"denyRead\": [\"a\"]}", "denyRead"),
    // Wrong types.
    ("{\"filesystem\": []}", "filesystem"),
    ("{\"filesystem\": \"x\"}", "filesystem"),
    ("{\"filesystem\": null}", "filesystem"),
    ("{\"filesystem\": {\"denyRead\": \"a\"}}", "filesystem.denyRead"),
    ("{\"filesystem\": {\"denyRead\": {}}}", "filesystem.denyRead"),
    ("{\"filesystem\": {\"denyRead\": [1]}}", "filesystem.denyRead[0]"),
    ("{\"filesystem\": {\"denyRead\": [\"a\", null]}}", "filesystem.denyRead[1]"),
    ("{\"filesystem\": {\"allowWrite\": [[\"a\"]]}}", "filesystem.allowWrite[0]"),
    ("{\"filesystem\": {\"denyWrite\": [{}]}}", "filesystem.denyWrite[0]"),
    ("{\"filesystem\": {\"denyWrite\": [{\"path\": 1}]}}", "filesystem.denyWrite[0]"),
    (
        "{\"filesystem\": {\"denyWrite\": [{\"path\": \"a\", \"literal\": \"yes\"}]}}",
        "filesystem.denyWrite[0]",
    ),
    ("{\"filesystem\": {\"readScope\": \"some\"}}", "filesystem.readScope"),
    ("{\"filesystem\": {\"readScope\": true}}", "filesystem.readScope"),
    ("{\"filesystem\": {\"temporary\": \"shared\"}}", "filesystem.temporary"),
    ("{\"filesystem\": {\"allowedPaths\": [{\"pattern\": \"a\"}]}}", "filesystem.allowedPaths[0]"),
    (
        "{\"filesystem\": {\"deniedPaths\": [{\"pattern\": \"a\", \"operations\": [\"look\"]}]}}",
        "filesystem.deniedPaths[0]",
    ),
    ("{\"enabled\": \"yes\"}", "enabled"),
    ("{\"preset\": 3}", "preset"),
    ("{\"preset\": \"no-such-preset\"}", "no-such-preset"),
    ("{\"requireLayers\": \"most\"}", "requireLayers"),
    ("{\"limits\": {\"maxMemory\": \"1g\"}}", "limits.maxMemory"),
    ("{\"limits\": {\"maxMemory\": -1}}", "limits.maxMemory"),
    ("{\"limits\": {\"maxExecutionTime\": 1.5}}", "limits.maxExecutionTime"),
    ("{\"environment\": {\"set\": {\"A\": 1}}}", "environment.set"),
    ("{\"environment\": {\"allow\": [1]}}", "environment.allow[0]"),
    // Right types, wrong values.
    ("{\"filesystem\": {\"denyRead\": [\"\"]}}", "filesystem.denyRead[0]"),
    ("{\"filesystem\": {\"denyRead\": [\"a\", \"b\\u0000c\"]}}", "filesystem.denyRead[1]"),
    ("{\"filesystem\": {\"allowWrite\": [\"$NO_SUCH_VARIABLE_HERE/x\"]}}", "NO_SUCH_VARIABLE_HERE"),
    ("{\"filesystem\": {\"denyRead\": [\"{a,b\"]}}", "filesystem.denyRead[0]"),
    ("{\"filesystem\": {\"denyRead\": [\"~somebody/x\"]}}", "filesystem.denyRead[0]"),
    ("{\"network\": {\"allowedDomains\": [\"*\"]}}", "network.allowedDomains[0]"),
    ("{\"network\": {\"allowedDomains\": [\"ok.test\", \"*.com\"]}}", "network.allowedDomains[1]"),
    ("{\"network\": {\"allowedDomains\": [\"https://x.test\"]}}", "network.allowedDomains[0]"),
    ("{\"network\": {\"deniedDomains\": [\"a b\"]}}", "network.deniedDomains[0]"),
    ("{\"environment\": {\"set\": {\"A=B\": \"x\"}}}", "environment.set"),
];

#[track_caller]
fn nothing_ran(world: &World, ran: &Ran) {
    assert!(!world.ws.join("ran").exists(), "something was run{ran}");
}

#[test]
fn broken_settings_name_file_and_key() {
    each_caller(|world| {
        let mut failures = Vec::new();
        for (content, key) in BROKEN {
            let settings = world.settings(content);
            let ran = world.run().with("--settings", &settings).program(["touch", "ran"]);
            nothing_ran(world, &ran);
            ran.keeps_calm();
            let text = ran.err();
            if ran.code() != 125 || !text.contains("settings.json") || !text.contains(key) {
                failures.push(format!("settings {content:?} should give 125 and name {key:?}{ran}"));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    });
}

#[test]
fn settings_that_cannot_be_read() {
    each_caller(|world| {
        let run = |path: &str| world.run().opts(["--settings", path]).program(["touch", "ran"]);
        run("/nonexistent/s.json").refused_to_start(&["/nonexistent/s.json", "does not exist"]);
        run(world.outside.to_str().unwrap()).refused_to_start(&["outside"]);
        let locked = world.settings("{}");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        if world.caller.become_ids().is_some() {
            run(locked.to_str().unwrap()).refused_to_start(&["settings.json"]);
        }
        fs::remove_file(&locked).unwrap();
        let bytes = world.settings(b"{\"preset\": \"\xff\"}");
        run(bytes.to_str().unwrap()).refused_to_start(&["settings.json", "UTF-8"]);
        let deep = world.settings("[".repeat(100_000));
        run(deep.to_str().unwrap()).refused_to_start(&["settings.json"]);
        let fifo = world.base.join("fifo");
        world.outside_probe(act!["mknod", &fifo, "fifo"]).ok();
        let begun = Instant::now();
        run(fifo.to_str().unwrap()).refused_to_start(&["fifo"]);
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert!(!world.ws.join("ran").exists());
    });
}

/// Settings nobody named count as well, and being broken is no reason to run without them.
#[test]
fn broken_standard_settings() {
    each_caller(|world| {
        let own = world.file(world.home.join(".config/stockade/settings.json"), "{\"filesystem\": 3}");
        world.run().program(["touch", "ran"]).refused_to_start(&["stockade/settings.json", "filesystem"]);
        fs::remove_file(&own).unwrap();
        let project = world.file(".stockade.json", "{");
        world.run().program(["touch", "ran"]).refused_to_start(&[".stockade.json"]);
        fs::remove_file(&project).unwrap();
        world.run().program(["true"]).exits(0);
        assert!(!world.ws.join("ran").exists());
    });
}

#[test]
fn comments_and_trailing_commas_are_fine() {
    each_caller(|world| {
        let kept = world.file("kept", "kept");
        let settings = world
            .settings("\u{feff}// mine\n{ \"filesystem\": { /* here */ \"denyWrite\": [\"kept\",], }, }");
        world.run().with("--settings", &settings).probe(act!["write", &kept]).errno(&["EROFS"]);
    });
}

#[test]
fn wrong_options() {
    each_caller(|world| {
        for words in [
            &["--no-such-option"][..],
            &["--alow-write", "/tmp"],
            &["--allow-write"],
            &["--timeout", "soon"],
            &["--timeout", "-1"],
            &["--max-file", "big"],
            &["--max-output", "-5"],
            &["--preset", "no-such-preset"],
            &["--provider", "no-such-provider"],
            &["--engine", "no-such-engine"],
            &["--inherit-fd", "0"],
            &["--events", "fd:x"],
            &["--allow-write", ""],
            &["--deny-read", ""],
            &["-q", "-v"],
            &["--deny-read", "$NO_SUCH_VARIABLE_HERE"],
        ] {
            let ran = world.run().opts(words).program(["touch", "ran"]);
            ran.refused_to_start(&[]);
            nothing_ran(world, &ran);
        }
        world.run().go().refused_to_start(&[]);
        world.run().opt("--").go().refused_to_start(&[]);
        world.run().opts(["-c", "touch ran", "extra"]).go().refused_to_start(&[]);
        assert!(!world.ws.join("ran").exists());
    });
}

/// Options whose wall does not stand yet are refused, never dropped.
#[test]
fn options_without_a_wall() {
    each_caller(|world| {
        for words in [&["--memory", "1g"][..], &["--cpus", "1"], &["--pids", "10"]] {
            let ran = world.run().opts(words).program(["touch", "ran"]);
            ran.refused_to_start(&[words[0]]);
            nothing_ran(world, &ran);
        }
        let settings = world.settings("{\"network\": {\"allowedDomains\": [\"example.org\"]}}");
        // What is on no list is refused, not out of reach.
        let answer = world.run().with("--settings", &settings).probe(["connect-tcp", "192.0.2.1:80"]);
        answer.errno(&["ECONNREFUSED"]);
        let settings = world.settings("{\"limits\": {\"maxMemory\": 1000000}, \"requireLayers\": \"all\"}");
        let ran = world.run().with("--settings", &settings).program(["touch", "ran"]);
        ran.refused_to_start(&["cgroup"]);
        nothing_ran(world, &ran);
    });
}

#[test]
fn workspaces_that_are_none() {
    each_caller(|world| {
        let file = world.file("file", "x");
        let run = || world.run();
        run()
            .opts(["--cwd", "/nonexistent/place"])
            .program(["true"])
            .refused_to_start(&["/nonexistent/place"]);
        run().with("--cwd", &file).program(["true"]).refused_to_start(&["file"]);
        let gone = world.dir("gone");
        let text = format!(
            "cd '{0}' && rmdir '{0}' && exec '{1}' run -- touch ran",
            gone.display(),
            binaries().stockade.display()
        );
        let ran = world.bare("/bin/sh").opts(["-c", &text]).go();
        ran.refused_to_start(&["working directory"]);
        // A directory that exists and cannot be entered by this caller.
        let shut = world.dir("shut");
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
        let ran = run().with("--cwd", &shut).program(["touch", "ran"]);
        assert!([125, 126].contains(&ran.code()), "{ran}");
        ran.keeps_calm();
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o755)).unwrap();
        // A relative one is taken from where the caller stands.
        world.dir("sub/dir");
        let answer = world.run().opts(["--cwd", "sub/dir"]).probe(["cwd"]);
        assert!(answer.ok().ends_with("/sub/dir"), "{}{}", answer.line(), answer.ran());
    });
}

/// F08
#[test]
fn f08_no_directory_widens_what_may_be_written() {
    each_caller(|world| {
        let home_file = world.file(world.home.join("file"), "host");
        let base_file = world.file(world.base.join("file"), "host");
        let places = [
            "/".to_string(),
            world.home.display().to_string(),
            "/etc".into(),
            "/usr".into(),
            "/var/tmp".into(),
        ];
        for place in places {
            for target in [&home_file, &base_file] {
                let ran = world.run().opts(["--cwd", &place]).program([
                    binaries().probe.to_str().unwrap(),
                    "open-write",
                    target.to_str().unwrap(),
                ]);
                match ran.code() {
                    125 => _ = ran.refused_to_start(&[]),
                    0 => assert_eq!(
                        ran.out(),
                        "errno EROFS\n",
                        "--cwd {place} opened {}{ran}",
                        target.display()
                    ),
                    _ => panic!("{ran}"),
                }
            }
        }
        // The same without the option, standing there.
        let ran = world.run().at("/").program([
            binaries().probe.to_str().unwrap(),
            "open-write",
            home_file.to_str().unwrap(),
        ]);
        assert!(ran.code() == 125 || ran.out() == "errno EROFS\n", "{ran}");
        let ran = world.run().at(&world.home).program(["touch", "made"]);
        assert!(!world.home.join("made").exists(), "HOME became a workspace{ran}");
    });
}

/// F32
#[test]
fn f32_a_glob_with_very_many_matches() {
    each_caller(|world| {
        const FILES: usize = 30_000;
        for dir in 0..FILES / 1000 {
            let dir = world.ws.join(format!("many/{dir}"));
            fs::create_dir_all(&dir).unwrap();
            for file in 0..1000 {
                fs::write(dir.join(format!("{file}.key")), "").unwrap();
            }
        }
        world.give_all(&world.ws.join("many"));
        let begun = Instant::now();
        let ran = world.run().opts(["--deny-read", "**/*.key"]).patience(Duration::from_secs(60)).program([
            binaries().probe.to_str().unwrap(),
            "read",
            "many/3/7.key",
        ]);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(20), "the start took {took:?}{ran}");
        match ran.code() {
            125 => _ = ran.refused_to_start(&["*.key"]),
            0 => assert_eq!(ran.out(), "errno EACCES\n", "{ran}"),
            _ => panic!("{ran}"),
        }
        // A tree of that size does not slow ordinary runs down for long.
        let begun = Instant::now();
        world.run().program(["true"]).exits(0);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    });
}

/// Whoever could change the settings that hold would write its own rules.
#[test]
fn settings_in_use_stay_what_they_are() {
    each_caller(|world| {
        let native = r#"{"network": {"allowedDomains": ["allow.test"]}}"#;
        let srt = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}"#;
        let folder = world.ws.join("conf");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("settings.json");
        let link = world.ws.join("link.json");
        world.give(&folder);
        for (text, named) in [(native, &file), (native, &link), (srt, &file), (srt, &link)] {
            fs::write(&file, text).unwrap();
            world.give(&file);
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&file, &link).unwrap();
            let run = || match text == srt {
                true => world.srt().with("-s", named),
                false => world.run().with("--settings", named),
            };
            let tried = run().shell(
                "echo x > conf/settings.json; mv conf/settings.json y; rm -f conf/settings.json; mv conf z; \
                 rm -rf conf; rm -f link.json; echo x > link.json; ln -f /etc/hostname conf/settings.json; \
                 echo free > other; cat other",
            );
            assert!(tried.out().ends_with("free\n"), "{tried}");
            assert_eq!(fs::read_to_string(named).unwrap(), text, "{tried}");
            assert!(file.is_file() && !world.ws.join("y").exists() && !world.ws.join("z").exists());
        }
    });
}
