//! Second names: for files whose own name is protected, and for sockets.

use super::records::{Records, all_fine, all_refused, reported};
use crate::act;
use crate::support::{binaries, each_caller};
use std::fs;
use std::time::Duration;

/// A repository made inside has settings that only pass a check under their own name.
#[test]
fn f23_settings_of_a_new_repository_under_a_second_name() {
    each_caller(|world| {
        let at = |name: &str| world.ws.join(name);
        reported(world).program(["git", "init", "-q", "new"]).exits(0);
        let before = fs::read(at("new/.git/config")).unwrap();
        // In the run that made it and in the next one.
        for set_up in ["git init -q again >/dev/null; d=again", "d=new"] {
            let script = format!(
                "{set_up}; ln $d/.git/config second; ln -P $d/.git/config third; \
                 printf '[core]\\n\\tfsmonitor = evil\\n' >> second; rm -f second third; cat $d/.git/config"
            );
            let ran = reported(world).shell(&script);
            assert!(!ran.out().contains("evil"), "written through a second name{ran}");
        }
        assert_eq!(fs::read(at("new/.git/config")).unwrap(), before);
        let again = fs::read_to_string(at("again/.git/config")).unwrap();
        assert!(!again.contains("evil"), "{again}");
        // A descriptor is a second name, too.
        let answers = reported(world).batch([
            act!["make", "link-descriptor", at("fourth"), at("again/.git/config")],
            act!["append", at("fourth")],
            act!["create", at("plain")],
            act!["link", at("plain"), at("plain2")],
        ]);
        assert!(!answers[1].succeeded(), "{}", answers[1].ran());
        all_fine(&answers[2..]);
        assert_eq!(fs::read_to_string(at("again/.git/config")).unwrap(), again);
    });
}

/// F35: after the host saved a new version, a link to the masked file is a way to read it.
#[test]
fn f35_a_second_name_for_a_masked_file() {
    each_caller(|world| {
        let secret = world.file(".env", "SECRET");
        let script = "echo ready; sleep 1; ln .env second; cat second; mv .env third; cat third; \
                      mkdir d && mv .env d/; cat d/.env; cat .env; true";
        let live = reported(world).opt("-c").opt(script).start_words();
        live.first_output(Duration::from_secs(20));
        let fresh = world.file("env.new", "SECRET of today");
        fs::rename(fresh, &secret).unwrap();
        let ran = live.finish(Duration::from_secs(60));
        assert!(!ran.out().contains("SECRET"), "{ran}");
        assert_eq!(fs::read(&secret).unwrap(), b"SECRET of today");
    });
}

/// F20: a secret the host writes after the start, where such names are hidden already.
#[test]
fn f20_a_secret_that_comes_later() {
    each_caller(|world| {
        world.file(".env", "SECRET");
        world.dir("a/b/c/d/e/f");
        let probe = binaries().probe.to_str().unwrap();
        let script = format!(
            "echo ready; sleep 1; {probe} read a/b/c/d/e/f/.env; ln a/b/c/d/e/f/.env x; cat x; \
             mv a/b/c/d/e/f/.env y; cat y; true"
        );
        let live = reported(world).opt("-c").opt(&script).start_words();
        live.first_output(Duration::from_secs(20));
        let late = world.file("a/b/c/d/e/f/.env", "SECRET of today");
        let ran = live.finish(Duration::from_secs(60));
        assert!(!ran.out().contains("SECRET") && !ran.out().contains("ok"), "{ran}");
        Records::of(world).tell("read", &late, "denyRead **/.env");
    });
}

/// A file that is not to be changed has no second name through which it could be.
#[test]
fn f09_second_names_of_protected_files() {
    each_caller(|world| {
        let kept = world.file("kept", "host");
        let hook = world.file(".git/hooks/pre-commit", "host");
        let settings = world.file(".git/config", "[core]\n\tbare = false\n");
        let link = |from: &std::path::Path, to: &str| act!["link", from, world.ws.join(to)];
        let answers = reported(world).opts(["--deny-write", "kept"]).batch([
            link(&kept, "one"),
            link(&hook, "two"),
            link(&settings, "three"),
        ]);
        all_refused(&answers);
    });
}
