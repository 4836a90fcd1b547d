//! A session's walls are those of `stockade run`, and the way to its host is on the other side of them.

use super::{Hosted, state};
use crate::act;
use crate::support::{Answer, Run, binaries, each_caller};
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
