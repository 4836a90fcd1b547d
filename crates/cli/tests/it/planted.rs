//! What one run prepares for the next, or for the host: moved directories, planted links, set-user-id
//! programs, and descriptors that lead further than they look.

use crate::act;
use crate::support::{Pty, binaries, each_caller, exchange};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// F12, F20: a secret cannot be carried to where the next run would not look for it.
#[test]
fn secrets_stay_where_rules_find_them() {
    each_caller(|world| {
        world.file("backend/.env", "SECRET");
        world.file("config/prod.yml", "SECRET");
        world.file("plain/file", "text");
        let first = world.run().with("--deny-read", "config/prod.yml").batch([
            act!["mkdir", "x"],
            act!["mkdir", "x/.git"],
            act!["mkdir", "x/.git/objects"],
            act!["rename", "backend", "x/.git/objects/backend"],
            act!["rename", "config", "c2"],
            act!["rename", "plain", "moved"],
        ]);
        first[3].errno(&["EBUSY", "EXDEV", "EACCES"]);
        first[4].errno(&["EBUSY", "EXDEV"]);
        first[5].ok();
        // Were it there already, it would be found there, too.
        world.file("x/.git/objects/deep/.env", "SECRET");
        world.run().probe(act!["read", "x/.git/objects/deep/.env"]).errno(&["EACCES"]);
    });
}

/// An allow rule means what the person wrote, not what a command made of it.
#[test]
fn planted_links_open_nothing() {
    each_caller(|world| {
        let key = world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        let outside = world.dir(world.outside.join("out"));
        world.run().batch([act!["symlink", &key, "data"], act!["symlink", &outside, "build"]])[1].ok();
        let ran = world.run().with("--allow-read", "data").with("--allow-write", "build");
        let answers = ran.batch([act!["read", "data"], act!["create", "build/x"]]);
        answers[0].errno(&["EACCES"]);
        answers[1].errno(&["EROFS"]);
        assert!(answers[0].ran().err().contains("planted"), "{}", answers[0].ran());
        // Named by itself, the place is open.
        world.run().with("--allow-write", &outside).probe(act!["create", outside.join("y")]).ok();
    });
}

/// F05: a link that a command left in one workspace opens nothing in another, nor in a directory below it.
#[test]
fn f05_planted_links_open_nothing_elsewhere() {
    each_caller(|world| {
        let key = world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        let outside = world.dir(world.outside.join("out"));
        let (below, other) = (world.dir("pkg"), world.dir(world.outside.join("ws2")));
        let rules = json!({"filesystem": {
            "allowWrite": [world.ws.join("build")], "allowRead": [world.ws.join("data")],
        }});
        // What a person put there before any command came is the person's.
        world.link(&outside, "build");
        let settings = world.settings(rules.to_string());
        let trying = |cwd: &Path| {
            let acts = [act!["create", outside.join("x")], act!["read", &key]];
            world.run().at(cwd).with("--settings", &settings).batch(acts)
        };
        trying(&other)[0].ok();
        fs::remove_file(outside.join("x")).unwrap();
        fs::remove_file(world.ws.join("build")).unwrap();
        world.run().batch([act!["symlink", &outside, "build"], act!["symlink", &key, "data"]])[1].ok();
        for cwd in [&below, &other, &world.ws] {
            let answers = trying(cwd);
            answers[0].errno(&["EROFS"]);
            answers[1].errno(&["EACCES"]);
            assert!(answers[0].ran().err().contains("planted"), "{}", answers[0].ran());
        }
    });
}

/// A directory named for the next run is not where a command's link leads.
#[test]
fn planted_links_are_no_workspace() {
    each_caller(|world| {
        let outside = world.dir(world.outside.join("out"));
        world.dir("pkg");
        let makes = [act!["symlink", &outside, "away"], act!["symlink", "pkg", "near"]];
        world.run().batch(makes)[1].ok();
        for cwd in ["away", "pkg/../away", "near/../away", world.ws.join("away").to_str().unwrap()] {
            let words = ["probe", "create", "zz"];
            let ran = world.run().with("--cwd", cwd).program(words);
            ran.refused_to_start(&["planted", outside.to_str().unwrap(), "name that directory itself"]);
            let ran = world.stockade().opts(["sessions", "new", "--name", "s", "--cwd", cwd]).go();
            assert!(ran.code() != 0 && ran.err().contains("planted"), "{ran}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        // One that stays in the workspace, and the place itself, are as good as ever.
        world.run().with("--cwd", "near").probe(act!["create", "zz"]).ok();
        assert!(world.ws.join("pkg/zz").exists());
        world.run().with("--cwd", &outside).probe(act!["create", "zz"]).ok();
        world.run().at(world.ws.join("away")).probe(act!["create", "yy"]).ok();
    });
}

/// F23, F25: a protected name that is a link stays that link.
#[test]
fn protected_links_cannot_be_replaced() {
    each_caller(|world| {
        world.file("m.json", "{}");
        world.file("cfg/claude/settings.json", "{}");
        world.dir(".git");
        world.file("c", "[core]\n");
        world.link("m.json", ".mcp.json");
        world.link("nowhere", ".envrc");
        world.link("../c", ".git/config");
        world.link("cfg/claude", ".claude");
        for name in [".mcp.json", ".envrc", ".git/config", ".claude"] {
            let answers = world.run().batch([
                act!["unlink", name],
                act!["rename", name, "away"],
                act!["symlink", "evil", "new"],
                act!["rename", "new", name],
            ]);
            answers[0].errno(&["EBUSY"]);
            answers[1].errno(&["EBUSY", "EXDEV"]);
            answers[2].ok();
            answers[3].errno(&["EBUSY", "EXDEV", "EROFS", "EACCES"]);
            fs::remove_file(world.ws.join("new")).unwrap();
        }
        let answers = world.run().batch([
            act!["read", ".mcp.json"],
            act!["write", "m.json"],
            act!["write", ".claude/settings.json"],
            act!["write", "cfg/claude/settings.json"],
        ]);
        answers[0].ok();
        for refused in &answers[1..] {
            refused.errno(&["EROFS"]);
        }
    });
}

/// A set-user-id program in the workspace would run outside with the caller's rights.
#[test]
fn no_set_user_id_programs() {
    each_caller(|world| {
        world.file("tool", "x");
        let answers = world.run().batch([
            act!["chmod", "tool", "0o4755"],
            act!["chmod", "tool", "0o6755"],
            act!["chmod", "tool", "0o755"],
        ]);
        answers[0].errno(&["EPERM"]);
        answers[1].errno(&["EPERM"]);
        answers[2].ok();
        assert_eq!(fs::metadata(world.ws.join("tool")).unwrap().mode() & 0o7777, 0o755);
    });
}

/// I26: the limit that keeps piped core handlers away cannot be taken back.
#[test]
fn i26_the_core_limit_stays() {
    each_caller(|world| {
        let ran = world.run().shell("ulimit -c 0 2>/dev/null; ulimit -Hc; ulimit -Sc");
        ran.exits(0);
        let lines =
            world.run().shell(&format!("ulimit -c 0; exec {} limit core", binaries().probe.display()));
        assert!(lines.out().contains("soft=1 hard=1"), "{lines}");
    });
}

/// I04 to I06: sockets of the caller's belong to the host's network.
#[test]
fn sockets_of_the_caller_reach_nowhere_else() {
    each_caller(|world| {
        let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
        listener.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!(
            "import socket,os\ntry:\n s=socket.socket(fileno=0)\n s.sendto(b'x',('127.0.0.1',{port}))\n print('SENT')\nexcept OSError as e:\n print('refused')\n"
        );
        let socket: OwnedFd = UdpSocket::bind("127.0.0.1:0").unwrap().into();
        let ran = world.run().input_from(socket).program(["/usr/bin/python3", "-c", &script]);
        assert_eq!(ran.out(), "refused\n", "{ran}");
        assert!(listener.recv(&mut [0; 8]).is_err(), "a datagram came out{ran}");
        let named: OwnedFd = UnixDatagram::unbound().unwrap().into();
        world.run().holding(named, 9).with("--inherit-fd", "9").program(["true"]).refused_to_start(&["9"]);
        // One end of a pair leads to its other end only, and crosses.
        let (ours, theirs) = UnixStream::pair().unwrap();
        let theirs: OwnedFd = theirs.into();
        world.run().holding(theirs, 9).with("--inherit-fd", "9").shell("echo hello >&9").exits(0);
        let mut text = [0; 6];
        std::io::Read::read_exact(&mut &ours, &mut text).unwrap();
        assert_eq!(&text, b"hello\n");
    });
}

/// The caller's terminal is never in the command's hands, whichever descriptor it is on.
#[test]
fn the_callers_terminal_stays_outside() {
    each_caller(|world| {
        let pty = Pty::open().unwrap();
        world.give(&pty.name());
        let before = fs::metadata(pty.name()).unwrap().permissions().mode();
        let inner = || pty.inner.try_clone().unwrap();
        // Output only: a terminal of its own.
        let ran = world
            .run()
            .input("")
            .output_to(inner(), inner())
            .shell("[ -t 1 ] && tty <&1 > name; chmod 666 /dev/fd/1");
        ran.exits(0);
        assert_eq!(fs::read_to_string(world.ws.join("name")).unwrap(), "/dev/pts/0\n", "{ran}");
        // Input only: the keys are meant for whoever reads the output.
        let ran = world.run().input_from(inner()).shell("[ -t 0 ] && echo terminal; cat; echo end");
        assert_eq!(ran.out(), "end\n", "{ran}");
        assert_eq!(fs::metadata(pty.name()).unwrap().permissions().mode(), before);
    });
}

/// F14: a link that comes and goes while the rules are read opens nothing either.
#[test]
fn links_that_come_and_go_open_nothing() {
    each_caller(|world| {
        world.file(world.home.join(".ssh/id_x"), "SECRET");
        let key = world.home.join(".ssh/id_x");
        world.file("d/id_x", "decoy");
        world.link("../.ssh", "dl");
        let (one, other) = (world.ws.join("d"), world.ws.join("dl"));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    exchange(&one, &other).unwrap();
                }
            });
            for _ in 0..60 {
                let ran = world.run().with("--allow-read", "d/id_x").program([
                    binaries().probe.as_os_str(),
                    OsStr::new("read"),
                    key.as_os_str(),
                ]);
                let leaked = ran.out().contains("SECRET");
                if leaked {
                    done.store(true, Ordering::Relaxed);
                }
                assert!(!leaked, "{ran}");
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

/// A rule that finds its file through links finds it the next time, too.
#[test]
fn links_of_a_rule_stay_in_place() {
    each_caller(|world| {
        world.file("conf/prod", "SECRET");
        world.link("conf/prod", ".env");
        world.file("cfgd/x/s", "SECRET");
        world.link("cfgd", "cl");
        let ran = world.run().with("--deny-read", "cl/x/s");
        let answers = ran.batch([
            act!["unlink", ".env"],
            act!["rename", "cl", "cl2"],
            act!["read", "conf/prod"],
            act!["read", "cfgd/x/s"],
            act!["put", "conf/other"],
        ]);
        answers[0].errno(&["EBUSY"]);
        answers[1].errno(&["EBUSY"]);
        answers[2].errno(&["EACCES"]);
        answers[3].errno(&["EACCES"]);
        answers[4].ok();
    });
}

/// F23: what a protected directory holds by link, and every link of a chain.
#[test]
fn chains_of_protected_links_hold() {
    each_caller(|world| {
        world.file("scripts/hook.sh", "#!/bin/sh\n");
        world.dir(".git/hooks");
        world.link("../../scripts/hook.sh", ".git/hooks/pre-commit");
        world.file("cfgreal", "[core]\n");
        world.link("cfgreal", "cfgl");
        world.link("../cfgl", ".git/config");
        world.file("scripts/other.sh", "");
        let answers = world.run().batch([
            act!["append", "scripts/hook.sh"],
            act!["unlink", "scripts/hook.sh"],
            act!["unlink", "cfgl"],
            act!["write", "cfgreal"],
            act!["append", "scripts/other.sh"],
        ]);
        answers[0].errno(&["EROFS"]);
        answers[1].errno(&["EBUSY"]);
        answers[2].errno(&["EBUSY"]);
        // Git itself may change it, to keys that run nothing.
        answers[3].errno(&["EACCES"]);
        answers[4].ok();
    });
}

/// A link that an earlier command put in the place of a directory does not lead reports and events elsewhere.
#[test]
fn reports_and_events_follow_no_planted_directory() {
    each_caller(|world| {
        let elsewhere = world.dir(world.outside.join("elsewhere"));
        world.run().probe(act!["symlink", &elsewhere, "rdir"]).ok();
        for option in ["--report", "--events"] {
            for path in ["rdir/out.json".into(), world.ws.join("rdir/out.json")] {
                let ran = world.run().with(option, &path).shell("echo ran");
                ran.refused_to_start(&[
                    "rdir is a symbolic link in a directory that commands may write",
                    "hint: ",
                ]);
                assert_eq!(ran.out(), "", "{ran}");
            }
        }
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        // A real directory is as good as ever, and so is a link of the person's own elsewhere.
        world.dir("real");
        let link = world.link(&elsewhere, world.outside.join("mine"));
        for path in [world.ws.join("real/out.json"), link.join("out.json")] {
            world.run().with("--report", &path).shell("exit 0").exits(0);
            assert!(fs::read_to_string(&path).unwrap().contains("exitCode"));
        }
    });
}
