//! The srt front, without its network.

use crate::act;
use crate::support::{Answer, Run, World, binaries, each_caller};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The smallest settings srt takes, with these file rules.
fn rules(filesystem: Value) -> String {
    let mut all = json!({"denyRead": [], "allowWrite": [], "denyWrite": []});
    for (key, value) in filesystem.as_object().unwrap() {
        all[key] = value.clone();
    }
    json!({"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": all}).to_string()
}

/// `srt -s F` with these rules, ready for a command. A program after it needs no `--`, but takes one.
fn srt<'a>(world: &'a World, filesystem: Value) -> Run<'a> {
    let file = world.file(world.base.join("srt.json"), rules(filesystem));
    world.srt().with("-s", file)
}

#[track_caller]
fn probe(run: Run<'_>, words: &[&str]) -> Answer {
    run.probe(words)
}

#[test]
fn both_names_and_both_forms() {
    each_caller(|world| {
        let settings = world.file(world.home.join(".srt-settings.json"), rules(json!({})));
        world.srt().opts(["-c", "exit 5"]).go().exits(5);
        world.stockade().opts(["srt", "-c", "exit 5"]).go().exits(5);
        world.srt().opts(["sh", "-c", "exit 6"]).go().exits(6);
        world.srt().opts(["--", "sh", "-c", "exit 6"]).go().exits(6);
        world.srt().opts(["--settings", settings.to_str().unwrap(), "-c", "exit 7"]).go().exits(7);
        fs::remove_file(settings).unwrap();
        // Without a file: no writes, all reads.
        world.srt().opts(["-c", "cat /etc/hostname > /dev/null && ! touch made"]).go().exits(0);
        assert!(!world.ws.join("made").exists());
    });
}

#[test]
fn words_after_the_command_are_its_own() {
    each_caller(|world| {
        let script = world.script("show", "#!/bin/sh\nfor word; do printf '<%s>' \"$word\"; done\n");
        let ran = world.srt().opt(&script).opts(["-d", "-s", "x", "--", "a b", "$HOME", ""]).go();
        assert_eq!(ran.out(), "<-d><-s><x><--><a b><$HOME><>", "{ran}");
    });
}

#[test]
fn exit_statuses() {
    each_caller(|world| {
        world.srt().go().exits(1).complains(&["no command specified"]);
        world.srt().opts(["no-such-program-here"]).go().exits(127);
        let probe = binaries().probe.to_str().unwrap();
        for (signal, status) in [("15", 143), ("9", 137), ("11", 139)] {
            world.srt().opts([probe, "raise", signal]).go().exits(status);
        }
        let ran = world.srt().input("bytes\0\u{ff}").opts(["cat"]).go();
        assert_eq!(ran.stdout, "bytes\0\u{ff}".as_bytes(), "{ran}");
    });
}

#[test]
fn broken_settings() {
    each_caller(|world| {
        let run = |content: &str| {
            let file = world.file(world.base.join("srt.json"), content);
            let ran = world.srt().with("-s", file).opts(["touch", "ran"]).go();
            assert!(!world.ws.join("ran").exists(), "something was run{ran}");
            ran.keeps_calm();
            ran
        };
        run("").exits(1).complains(&["is empty"]);
        run("{").exits(1).complains(&["is not valid JSON"]);
        run("{}").exits(1).complains(&["does not hold a valid config", "network"]);
        run("{\"network\": {}, \"filesystem\": {}}").exits(1).complains(&["network.allowedDomains"]);
        let domains = |list: Value| {
            json!({"network": {"allowedDomains": list, "deniedDomains": []},
                   "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}})
            .to_string()
        };
        for wrong in [
            json!(["*"]),
            json!(["*.com"]),
            json!(["https://a.test"]),
            json!(["::1"]),
            json!([3]),
            json!("a"),
        ] {
            run(&domains(wrong)).exits(1).complains(&["network.allowedDomains"]);
        }
        run(&rules(json!({"denyRead": [""]}))).exits(1).complains(&["cannot be empty"]);
        run(&rules(json!({"denyRead": ["*.key/"]}))).exits(1).complains(&["ends in a separator"]);
        run(&rules(json!({"denyWrite": [7]}))).exits(1).complains(&["filesystem.denyWrite"]);
        let mut unknown: Value = serde_json::from_str(&rules(json!({}))).unwrap();
        unknown["credentials"] = json!({"nonsense": true});
        run(&unknown.to_string()).exits(1).complains(&["Unrecognized"]);
        let ran = world.srt().opts(["-s", "/nonexistent/srt.json", "touch", "ran"]).go();
        ran.exits(1).complains(&["does not exist"]);
        let ran = world.srt().with("-s", &world.outside).opts(["touch", "ran"]).go();
        ran.exits(1).complains(&["EISDIR"]);
        assert!(!world.ws.join("ran").exists());
    });
}

#[test]
fn unknown_keys_are_ignored() {
    each_caller(|world| {
        let mut settings: Value = serde_json::from_str(&rules(json!({"somethingNew": 1}))).unwrap();
        for (key, value) in [
            ("futureKey", json!({"a": 1})),
            ("ignoreViolations", json!({"*": ["/x"]})),
            ("enableWeakerNestedSandbox", json!(true)),
            ("allowPty", json!(true)),
            ("mandatoryDenySearchDepth", json!(4)),
            ("ripgrep", json!({"command": "rg"})),
            ("bwrapPath", json!("/usr/bin/bwrap")),
        ] {
            settings[key] = value;
        }
        let file = world.file(world.base.join("srt.json"), settings.to_string());
        world.srt().with("-s", &file).opts(["-c", "exit 4"]).go().exits(4);
        let ran = world.srt().opt("-d").with("-s", &file).opts(["-c", "echo out"]).go();
        ran.exits(0);
        assert_eq!(ran.out(), "out\n", "{ran}");
        assert!(ran.err().lines().any(|line| line.starts_with("[SandboxDebug]")), "{ran}");
        let ran = world.srt().var("SRT_DEBUG", "1").with("-s", &file).opts(["-c", "echo out"]).go();
        assert!(ran.err().contains("[SandboxDebug]"), "{ran}");
    });
}

#[test]
fn reads_and_writes() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret/key"), "SECRET");
        let denied_file = world.file(world.outside.join("file"), "SECRET");
        let open = world.file(world.outside.join("secret/open"), "open");
        let plain = world.file(world.outside.join("plain"), "plain");
        let kept = world.file("kept/f", "kept");
        let free = world.file("free", "free");
        let run = || {
            srt(
                world,
                json!({
                    "denyRead": [world.outside.join("secret"), denied_file],
                    "allowRead": [open],
                    "allowWrite": ["."],
                    "denyWrite": ["kept"],
                }),
            )
        };
        run().probe(act!["read", &secret]).errno(&["ENOENT", "EACCES"]);
        run().probe(act!["read", &denied_file]).errno(&["EACCES"]);
        assert_eq!(run().probe(act!["read", &open]).ok(), "open");
        assert_eq!(run().probe(act!["read", &plain]).ok(), "plain");
        run().probe(act!["write", &plain]).errno(&["EROFS"]);
        run().probe(act!["write", &kept]).errno(&["EROFS"]);
        run().probe(act!["write", &free]).ok();
        run().probe(act!["create", world.ws.join("new")]).ok();
        let listed = srt(world, json!({"denyRead": [world.outside.join("secret")]}))
            .probe(act!["list", world.outside.join("secret")]);
        assert_eq!(listed.ok(), "", "a denied directory looks empty{}", listed.ran());
        // A path that is not there is skipped.
        srt(world, json!({"allowWrite": ["/nonexistent/place", "."]})).probe(act!["write", &free]).ok();
    });
}

/// Only what the file says: no deny-read list of our own, the host's /tmp, the whole environment.
#[test]
fn nothing_of_our_own_is_added() {
    each_caller(|world| {
        let key = world.file(world.home.join(".ssh/id_rsa"), "KEY");
        let env = world.file(".env", "VALUE");
        assert_eq!(srt(world, json!({})).probe(act!["read", &key]).ok(), "KEY");
        assert_eq!(srt(world, json!({})).probe(act!["read", &env]).ok(), "VALUE");
        let shared = format!("/tmp/stockade-it-srt-{}-{:?}", std::process::id(), world.caller);
        fs::write(&shared, "shared").unwrap();
        world.give(Path::new(&shared));
        let seen = probe(srt(world, json!({})), &["read", &shared]);
        let written = probe(srt(world, json!({})), &["open-write", &shared]);
        fs::remove_file(&shared).unwrap();
        assert_eq!(seen.ok(), "shared");
        written.errno(&["EROFS"]);
        let seen = srt(world, json!({})).var("MY_TOKEN", "inherited").probe(["env"]);
        assert!(seen.ok().contains("MY_TOKEN=inherited"), "{}{}", seen.line(), seen.ran());
        assert!(seen.ok().contains("SANDBOX_RUNTIME=1"), "{}{}", seen.line(), seen.ran());
        let place = seen.value("TMPDIR");
        let ran = srt(world, json!({}))
            .opts(["-c", &format!("echo x > \"$TMPDIR/file\" && test -d '{place}'")])
            .go();
        ran.exits(0);
    });
}

#[test]
fn always_protected() {
    each_caller(|world| {
        let names = [
            ".gitconfig",
            ".gitmodules",
            ".bashrc",
            ".bash_profile",
            ".zshrc",
            ".zprofile",
            ".profile",
            ".ripgreprc",
            ".mcp.json",
            ".vscode/tasks.json",
            ".idea/x.xml",
            ".claude/commands/x.md",
            ".claude/agents/x.md",
            ".git/hooks/pre-commit",
            ".git/config",
            "deep/er/.bashrc",
            "deep/er/.vscode/x",
            "deep/repo/.git/hooks/x",
        ];
        for name in names {
            world.file(name, "host");
        }
        for git in [".git", "deep/repo/.git"] {
            world.file(Path::new(git).join("HEAD"), "ref: refs/heads/main\n");
            world.dir(Path::new(git).join("objects"));
            world.dir(Path::new(git).join("refs"));
        }
        let module = world.file("node_modules/p/.vscode/x", "free");
        let run = || srt(world, json!({"allowWrite": ["."]}));
        let answers = run().batch(names.map(|name| act!["write", world.ws.join(name)]));
        for answer in &answers {
            answer.errno(&["EROFS"]);
        }
        run().probe(act!["write", &module]).ok();
        run().probe(act!["create", world.ws.join("fine")]).ok();
        let lifted = srt(world, json!({"allowWrite": ["."], "allowGitConfig": true}));
        lifted.probe(act!["write", world.ws.join(".git/config")]).ok();
        let lifted = srt(world, json!({"allowWrite": ["."], "allowGitConfig": true}));
        lifted.probe(act!["write", world.ws.join(".git/hooks/pre-commit")]).errno(&["EROFS"]);
    });
}

#[test]
fn file_rules_can_be_switched_off() {
    each_caller(|world| {
        let outside = world.file(world.outside.join("f"), "x");
        srt(world, json!({"disabled": true})).probe(act!["write", &outside]).ok();
        // The rest of the wall stands.
        srt(world, json!({"disabled": true})).probe(["socket", "unix", "stream", "0"]).errno(&["EPERM"]);
        srt(world, json!({"disabled": true}))
            .probe(["connect-tcp", "192.0.2.1:80"])
            .errno(&["ENETUNREACH", "ECONNREFUSED"]);
    });
}

#[test]
fn privileges_and_sockets() {
    each_caller(|world| {
        let run = || srt(world, json!({"allowWrite": ["."]}));
        let status = run().probe(["status"]);
        assert_eq!(status.value("CapEff"), "0000000000000000", "{}", status.ran());
        assert_eq!(status.value("NoNewPrivs"), "1", "{}", status.ran());
        for act in [
            &["socket", "unix", "stream", "0"][..],
            &["socket", "vsock", "stream", "0"],
            &["pair", "unix", "dgram"],
            &["call", "io_uring_setup"],
            &["nest", "unshare", "user", "/mnt"],
            &["ptrace-attach", "1"],
        ] {
            probe(run(), act).errno(&["EPERM"]);
        }
        for act in [&["pair", "unix", "stream"][..], &["pair", "unix", "seqpacket"], &["loopback4"]] {
            probe(run(), act).ok();
        }
        let mut settings: Value = serde_json::from_str(&rules(json!({}))).unwrap();
        settings["network"]["allowAllUnixSockets"] = json!(true);
        let file = world.file(world.base.join("srt.json"), settings.to_string());
        probe(world.srt().with("-s", file), &["socket", "unix", "stream", "0"]).ok();
    });
}

#[test]
fn credentials_that_are_denied() {
    each_caller(|world| {
        let token = world.file(world.outside.join("token"), "SECRET");
        let mut settings: Value = serde_json::from_str(&rules(json!({"allowRead": [token]}))).unwrap();
        settings["credentials"] = json!({
            "envVars": [{"name": "MY_TOKEN", "mode": "deny"}],
            "files": [{"path": token, "mode": "deny"}],
        });
        let file = world.file(world.base.join("srt.json"), settings.to_string());
        let seen =
            world.srt().with("-s", &file).var("MY_TOKEN", "SECRET").var("OTHER", "seen").probe(["env"]);
        assert!(
            !seen.ok().contains("MY_TOKEN") && seen.ok().contains("OTHER=seen"),
            "{}{}",
            seen.line(),
            seen.ran()
        );
        world.srt().with("-s", &file).probe(act!["read", &token]).errno(&["EACCES"]);
    });
}

#[test]
fn the_control_descriptor() {
    each_caller(|world| {
        let settings = world.file(world.base.join("srt.json"), rules(json!({})));
        let run = || world.srt().with("-s", &settings);
        for wrong in ["0", "2", "x", "-1"] {
            let ran = run().opts(["--control-fd", wrong, "touch", "ran"]).go();
            assert_ne!(ran.code(), 0, "{ran}");
            ran.keeps_calm();
        }
        let ran = run().opts(["--control-fd", "55", "touch", "ran"]).go();
        assert_ne!(ran.code(), 0, "{ran}");
        ran.complains(&["not usable"]);
        assert!(!world.ws.join("ran").exists());
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut writer, b"this is not JSON\n").unwrap();
        let ran =
            run().holding(reader, 7).opts(["--control-fd", "7", "-c", "sleep 0.3; ls /proc/self/fd"]).go();
        ran.exits(0).complains(&["Invalid config on control fd 7"]);
        assert!(!ran.out().lines().any(|fd| fd == "7"), "the command got the descriptor{ran}");
        drop(writer);
    });
}

#[test]
fn cancelling_is_not_a_success() {
    each_caller(|world| {
        for (signal, status) in [(15, 143), (2, 130)] {
            let live = srt(world, json!({})).start(["hold", "2"]);
            live.first_output(std::time::Duration::from_secs(10));
            crate::support::kill(live.pid(), signal).unwrap();
            live.finish(std::time::Duration::from_secs(10)).exits(status);
        }
    });
}
