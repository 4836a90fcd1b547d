//! I19: what a call is about changes while the call is held.

use super::records::{Records, reported};
use crate::act;
use crate::support::{Answer, World, binaries, each_caller};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

/// Acts of each way; what they are about changes far more often.
const TIMES: &str = "5000";
/// The same where one act is over before a busy machine has let the other thread change much.
const MORE_TIMES: &str = "15000";
/// Changes each race has to have seen.
const FLIPS: u64 = 100_000;
const WAYS: [&str; 4] = ["open", "directory", "rename", "link"];

/// The race met both sides, or it was none.
#[track_caller]
fn met_both_sides(answer: &Answer) {
    let count = |key: &str| answer.value(key).parse::<u64>().unwrap();
    assert!(count("done") > 0 && count("refused") > 0, "no race: {}{}", answer.line(), answer.ran());
}

#[track_caller]
fn flipped_often(answer: &Answer) {
    let flips: u64 = answer.value("flips").parse().unwrap();
    assert!(flips >= FLIPS, "only {flips} changes{}", answer.ran());
}

#[test]
fn i19_the_name_in_memory() {
    each_caller(|world| {
        let source = world.file("source", "evil");
        let (allowed, refused) = (world.ws.join("_vscode"), world.ws.join(".vscode"));
        for way in WAYS {
            let answer = reported(world).probe(act!["flip-name", way, &allowed, &refused, TIMES, &source]);
            met_both_sides(&answer);
            flipped_often(&answer);
            assert!(fs::symlink_metadata(&refused).is_err(), "{way} made the protected name{}", answer.ran());
            let _ = fs::remove_dir(&allowed);
            let _ = fs::remove_file(&allowed);
            world.file("source", "evil");
            Records::of(world).tell("create", &refused, "protected .vscode");
        }
    });
}

#[test]
fn i19_the_directory_behind_a_descriptor() {
    each_caller(|world| {
        let source = world.file("source", "evil");
        let (allowed, refused) = (world.dir("plain"), world.dir(".claude"));
        for way in WAYS {
            let answer = reported(world).probe(act![
                "flip-directory",
                way,
                &allowed,
                &refused,
                "hooks",
                TIMES,
                &source
            ]);
            met_both_sides(&answer);
            flipped_often(&answer);
            let made = refused.join("hooks");
            assert!(fs::symlink_metadata(&made).is_err(), "{way} made the protected name{}", answer.ran());
            let _ = fs::remove_dir(allowed.join("hooks"));
            let _ = fs::remove_file(allowed.join("hooks"));
            world.file("source", "evil");
            Records::of(world).tell("create", &made, "protected .claude/hooks");
        }
    });
}

#[test]
fn i19_a_link_turned_round_by_another_process() {
    each_caller(|world| {
        let source = world.file("source", "evil");
        let (allowed, refused) = (world.dir("plain"), world.dir(".claude"));
        let link = world.link("plain", "link");
        for way in WAYS {
            let answer = reported(world).probe(act![
                "flip-link",
                way,
                &link,
                &allowed,
                &refused,
                "hooks",
                "3000",
                &source
            ]);
            met_both_sides(&answer);
            let made = refused.join("hooks");
            assert!(fs::symlink_metadata(&made).is_err(), "{way} made the protected name{}", answer.ran());
            let _ = fs::remove_dir(allowed.join("hooks"));
            let _ = fs::remove_file(allowed.join("hooks"));
            world.file("source", "evil");
            Records::of(world).tell("create", &made, "protected .claude/hooks");
        }
    });
}

/// A directory comes to lie where a name in it is protected, between judging that name and making it.
#[test]
fn i19_f12_a_directory_moves_away_under_a_new_name() {
    each_caller(|world| {
        let source = world.file("source", "evil");
        let (from, to) = (world.dir("p"), world.ws.join(".claude"));
        // Looking through many files makes the move slow.
        for number in 0..2000 {
            world.file(format!("p/f{number}"), "");
        }
        for way in ["open", "directory", "link", "rename"] {
            let acts = act!["move-under", way, &from, &to, "hooks", "30", &source];
            let answer = world.run().probe(acts);
            assert_eq!(answer.value("wrong"), "0", "{way}: {}{}", answer.line(), answer.ran());
            let moved: u32 = answer.value("moved").parse().unwrap();
            assert!(moved > 0, "nothing moved: {}{}", answer.line(), answer.ran());
        }
    });
}

fn connections(listener: &UnixListener) -> usize {
    listener.set_nonblocking(true).unwrap();
    let mut count = 0;
    while listener.accept().is_ok() {
        count += 1;
    }
    count
}

#[test]
fn i19_the_path_in_a_sockets_address() {
    each_caller(|world| {
        let (allowed, refused) = (world.outside.join("a.sock"), world.outside.join("b.sock"));
        let open = UnixListener::bind(&allowed).unwrap();
        let shut = UnixListener::bind(&refused).unwrap();
        for path in [&allowed, &refused] {
            world.give(path);
        }
        let accepting = open.try_clone().unwrap();
        std::thread::spawn(move || while accepting.accept().is_ok() {});
        let answer = reported(world).with("--allow-unix", &allowed).probe(act![
            "flip-address",
            &allowed,
            &refused,
            TIMES
        ]);
        met_both_sides(&answer);
        assert_eq!(connections(&shut), 0, "{}", answer.ran());
        Records::of(world).tell("unix", &refused, "");
    });
}

#[test]
fn i19_the_socket_behind_a_descriptor() {
    each_caller(|world| {
        let refused = world.outside.join("host.sock");
        let shut = UnixListener::bind(&refused).unwrap();
        world.give(&refused);
        let answer = reported(world).probe(act!["flip-socket", &refused, MORE_TIMES]);
        assert_eq!(answer.value("done"), "0", "{}", answer.ran());
        flipped_often(&answer);
        assert_eq!(connections(&shut), 0, "{}", answer.ran());
        Records::of(world).tell("unix", &refused, "");
    });
}

/// F35: the mask goes with the old file; the broker refuses the new one by its name.
#[test]
fn f35_a_masked_file_saved_anew() {
    each_caller(|world| {
        let secret = world.file(".env", "SECRET");
        let live = reported(world)
            .opt("--")
            .opts(["sh", "-c", "echo ready; sleep 1; exec \"$@\"", "sh"])
            .opt(&binaries().probe)
            .opts(act!["read", &secret])
            .start_words();
        live.first_output(Duration::from_secs(20));
        saved_over(world);
        let ran = live.finish(Duration::from_secs(100));
        ran.exits(0);
        assert!(!ran.out().contains("%53ECRET") && !ran.out().contains("ok SECRET"), "{ran}");
        Records::of(world).tell("read", &secret, "denyRead **/.env");
    });
}

/// Every way to what stands under a name: read, open for both, by a descriptor that only names, under a second
/// name, moved away, and behind a directory that is moved away.
const EVERY_WAY: &str = r#"
cat "$1"; echo ready; sleep 1
cat "$1"; cat <>"$1"; cat "/proc/$$/root$1"
python3 -c 'import os, sys
file = os.open(sys.argv[1], os.O_PATH)
print(open("/proc/self/fd/%d" % file).read())' "$1"
ln "$1" second && cat second
mv "$1" third && cat third
mv "$2" fourth && cat "fourth/${1##*/}"
true"#;

/// F35: the same in every way to what stands under a name.
#[test]
fn f35_a_masked_file_saved_anew_in_every_way() {
    each_caller(|world| {
        let secret = world.file("conf/.env", "SECRET");
        let conf = secret.parent().unwrap();
        let live = reported(world)
            .opt("--")
            .opts(["sh", "-c", &format!("echo ready; {EVERY_WAY}"), "sh"])
            .opts([&secret, conf])
            .start_words();
        live.first_output(Duration::from_secs(20));
        let fresh = world.file("conf/.env.new", "SECRET of today");
        fs::rename(fresh, &secret).unwrap();
        let ran = live.finish(Duration::from_secs(100));
        assert!(!ran.out().contains("SECRET"), "{ran}");
        Records::of(world).tell("read", &secret, "denyRead **/.env");
        assert_eq!(fs::read(&secret).unwrap(), b"SECRET of today");
    });
}

/// Reads a file whose name lies in memory that nobody else can read.
const UNREADABLE_NAME: &str = r#"
import ctypes, mmap, os, sys
place = mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE)
address = ctypes.addressof(ctypes.c_char.from_buffer(place))
name = os.fsencode(sys.argv[1]) + b"\0"
ctypes.memmove(address, name, len(name))
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0, os.O_PATH):
    file = libc.open(ctypes.c_void_p(address), flags)
    if file < 0: print("errno", ctypes.get_errno())
    elif flags: print(open("/proc/self/fd/%d" % file).read())
    else: print(os.read(file, 99))
"#;

/// F35: a name that cannot be read cannot be judged.
#[test]
fn f35_the_name_lies_where_nobody_can_read_it() {
    each_caller(|world| {
        let secret = world.file(".env", "SECRET");
        let script = format!("echo ready; sleep 1; cat \"$1\"; python3 -c '{UNREADABLE_NAME}' \"$1\"");
        let live = reported(world).opt("--").opts(["sh", "-c", &script, "sh"]).opt(&secret).start_words();
        live.first_output(Duration::from_secs(20));
        let fresh = world.file(".env.new", "SECRET of today");
        fs::rename(fresh, &secret).unwrap();
        let ran = live.finish(Duration::from_secs(100));
        assert!(!ran.out().contains("SECRET") && ran.out().contains("errno"), "{ran}");
        // Control: where reads are not held the same program reads.
        fs::remove_file(&secret).unwrap();
        let plain = world.file("plain", "PLAIN");
        let ran = world.run().opt("--").opts(["python3", "-c", UNREADABLE_NAME]).opt(&plain).go();
        assert!(ran.out().contains("PLAIN"), "{ran}");
    });
}

/// F12: what a rule denies by its place stays a secret when a directory above it is moved, though it came to stand
/// there after the start.
#[test]
fn f12_f35_a_late_secret_and_the_directory_above_it() {
    each_caller(|world| {
        world.dir("lit/sub");
        world.dir("pat/conf");
        let script = "echo ready; sleep 1; mv lit l2; mv lit/sub l3; mv pat/conf p2; cat l2/* l3/* p2/*; \
                      mv pat p3 && echo moved; cat p3/conf/*";
        let live = reported(world)
            .with("--deny-read", "lit/sub/secret")
            .with("--deny-read", "**/conf/*.yml")
            .opts(["--", "sh", "-c", script])
            .start_words();
        live.first_output(Duration::from_secs(20));
        let literal = world.file("lit/sub/secret", "SECRET");
        let matched = world.file("pat/conf/a.yml", "SECRET");
        let ran = live.finish(Duration::from_secs(100));
        assert_eq!(ran.out(), "moved\n", "{ran}");
        Records::of(world).tell("rename", &literal, "denyRead lit/sub/secret");
        Records::of(world).tell("rename", &matched, "denyRead **/conf/*.yml");
    });
}

/// F35: modes and times of what is not to be changed, after it was saved anew outside.
#[test]
fn f35_the_mode_of_a_file_saved_anew() {
    each_caller(|world| {
        let secret = world.file(".env", "SECRET");
        let live = reported(world)
            .opts([
                "--",
                "sh",
                "-c",
                "echo ready; sleep 1; chmod 666 .env && echo done; chmod 600 plain && echo plain",
            ])
            .start_words();
        live.first_output(Duration::from_secs(20));
        world.file("plain", "");
        let fresh = world.file(".env.new", "SECRET of today");
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(fresh, &secret).unwrap();
        let ran = live.finish(Duration::from_secs(100));
        assert_eq!(ran.out(), "plain\n", "{ran}");
        assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
        Records::of(world).tell("write", &secret, "denyRead **/.env");
    });
}

/// F27: a rename leaves no device behind.
#[test]
fn f27_no_whiteouts() {
    each_caller(|world| {
        world.file("f", "x");
        let rename = "import ctypes; print(ctypes.CDLL(None).renameat2(-100, b\"f\", -100, b\"g\", 4))";
        let ran = world.run().opts(["--", "python3", "-c", rename]).go();
        assert_eq!(ran.out(), "-1\n", "{ran}");
        assert!(world.ws.join("f").is_file());
    });
}

/// F35: the stand-in goes with the old file; the new one is a secret as well.
#[track_caller]
fn stays_a_secret(world: &World, directory: &Path) {
    let secret = world.file(directory.join("token"), "SECRET");
    let text = json!({"credentials": {"files": [{"path": secret, "mode": "mask"}]}}).to_string();
    world.file(world.home.join(".config/stockade/settings.json"), text);
    let live = reported(world)
        .opt("--")
        .opts(["sh", "-c", EVERY_WAY, "sh"])
        .opts([&secret, directory])
        .start_words();
    let seen = live.first_output(Duration::from_secs(20));
    assert!(seen.starts_with(b"fake_value_token"), "{}", String::from_utf8_lossy(&seen));
    let fresh = world.file(directory.join("token.new"), "SECRET of today");
    fs::rename(fresh, &secret).unwrap();
    let ran = live.finish(Duration::from_secs(100));
    ran.exits(0);
    assert!(!ran.out().contains("SECRET"), "{ran}");
    Records::of(world).tell("read", &secret, &format!("mask {}", secret.display()));
    assert_eq!(fs::read(&secret).unwrap(), b"SECRET of today");
}

#[test]
fn f35_a_masked_credential_in_the_workspace_saved_anew() {
    each_caller(|world| stays_a_secret(world, &world.dir("conf")));
}

#[test]
fn f35_a_masked_credential_in_home_saved_anew() {
    each_caller(|world| stays_a_secret(world, &world.dir(world.home.join("conf"))));
}

/// What an editor does.
fn saved_over(world: &World) {
    let fresh = world.file("env.new", "SECRET of today");
    fs::rename(fresh, world.ws.join(".env")).unwrap();
}

/// A name that is asked for again and again until the host makes it: an answer must not send the kernel to look again.
#[test]
fn i19_a_secret_is_not_caught_as_it_appears() {
    const POLL: &str = r#"
import os, time
print("ready", flush=True)
until = time.monotonic() + 1.2
while time.monotonic() < until:
    for flags in (os.O_RDONLY, os.O_PATH):
        try: got = os.open("late.pem", flags)
        except OSError: continue
        try: print(os.read(got if flags == 0 else os.open("/proc/self/fd/%d" % got, 0), 99), flush=True)
        except OSError: pass
        os.close(got)
"#;
    each_caller(|world| {
        for _ in 0..4 {
            let run = world.run().with("--deny-read", "**/*.pem");
            let live = run.opts(["--", "python3", "-c", POLL]).start_words();
            live.first_output(Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(300));
            let draft = world.file("draft", "SECRET");
            fs::rename(&draft, world.ws.join("late.pem")).unwrap();
            let ran = live.finish(Duration::from_secs(30));
            assert!(!ran.out().contains("SECRET"), "{ran}");
            fs::remove_file(world.ws.join("late.pem")).unwrap();
        }
    });
}
