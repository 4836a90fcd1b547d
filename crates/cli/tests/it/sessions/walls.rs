//! A session's walls are those of `stockade run`, and the way to its host is on the other side of them.

use super::{Hosted, SOON, state};
use crate::act;
use crate::support::{Answer, Run, binaries, each_caller, eventually};
use std::ffi::OsString;

#[track_caller]
fn tried(run: Run<'_>, words: Vec<OsString>) -> Answer {
    let probe = binaries().probe.clone().into_os_string();
    let asked = format!("{words:?}");
    Answer::all(run.program(std::iter::once(probe).chain(words)), &[asked]).remove(0)
}

#[test]
fn a_command_does_not_reach_a_host() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let other = Hosted::new(world, "b", &["--allow-read", "~", "--allow-unix", "~"]);
        let place = state(world).join("sessions");
        for name in ["a", "b"] {
            let socket = place.join(format!("{name}.sock"));
            world.outside_probe(act!["connect-unix", &socket, "stream"]).ok();
            for run in [session.exec(), other.exec(), world.run().with("--allow-unix", &socket)] {
                let answer = tried(run, act!["connect-unix", &socket, "stream"]);
                assert!(!answer.succeeded(), "{}: {}", socket.display(), answer.line());
            }
        }
        for run in [session.exec(), other.exec(), world.run().with("--allow-read", &place)] {
            let answer = tried(run, act!["list", &place]);
            assert!(!answer.succeeded(), "{}", answer.line());
        }
        // Nor through the program itself.
        let stockade = binaries().stockade.to_str().unwrap();
        let ran = session.exec().shell(&format!("{stockade} exec b -c 'touch reached'"));
        assert_ne!(ran.code(), 0, "{ran}");
        assert!(!world.ws.join("reached").exists());
    });
}

#[test]
fn the_walls_are_those_of_the_policy() {
    each_caller(|world| {
        let target = world.outside.join("new");
        let text = format!("touch {}", target.display());
        let session = Hosted::new(world, "a", &[]);
        let ran = session.exec().shell(&text);
        assert_ne!(ran.code(), 0, "{ran}");
        ran.complains(&["1 act was refused", target.to_str().unwrap()]);
        let ran = session.exec().program(["touch", target.to_str().unwrap()]);
        assert_ne!(ran.code(), 0, "{ran}");
        ran.complains(&["1 act was refused", target.to_str().unwrap()]);
        let quiet = session.exec().opt("-q").shell(&text);
        assert!(!quiet.err().contains("refused\n"), "{quiet}");
        assert!(!target.exists());
        let open = Hosted::new(world, "b", &["--allow-write", world.outside.to_str().unwrap()]);
        open.exec().shell(&text).exits(0);
        assert!(target.exists());
    });
}

/// A directory that becomes a link for a moment leads git to files that nobody inside may see.
#[test]
fn a_listed_command_is_not_raced_from_the_background() {
    each_caller(|world| {
        let secret = world.file(world.home.join(".ssh/id_rsa"), "SECRET\n");
        let settings = world.settings(r#"{"excludedCommands": ["git diff"]}"#);
        let session = Hosted::new(world, "a", &["--settings", settings.to_str().unwrap()]);
        let made = "git init -q . && mkdir d && echo 0000 > d/id_rsa && git add . && \
                    git -c user.name=n -c user.email=e commit -qm 1 && echo changed > d/id_rsa";
        session.exec().shell(made).exits(0);
        let ran = session.exec().shell("git diff");
        assert!(ran.err().contains("WITHOUT walls"), "{ran}");
        let flip = format!(
            "ln -sfn {} l; while :; do mv -T d k; mv -T l d; mv -T d l; mv -T k d; done",
            secret.parent().unwrap().display()
        );
        let ran = session.exec().opt("--background").shell(&flip);
        ran.exits(0);
        let id = ran.out().trim().to_owned();
        for _ in 0..10 {
            let ran = session.exec().shell("git diff");
            assert!(!ran.err().contains("WITHOUT walls"), "{ran}");
            assert!(!ran.out().contains("SECRET"), "{ran}");
        }
        world.stockade().opts(["sessions", "stop", "a", &id]).go().exits(0);
        eventually(SOON, || match session.exec().shell("git diff").err().contains("WITHOUT walls") {
            true => Ok(()),
            false => Err("walls are kept".into()),
        });
    });
}
