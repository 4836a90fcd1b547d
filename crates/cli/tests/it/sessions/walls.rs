//! A session's walls are those of `stockade run`, and the way to its host is on the other side of them.

use super::{Hosted, SOON, state};
use crate::act;
use crate::support::{Answer, Run, binaries, each_caller, eventually};
use std::ffi::OsString;
use std::time::Duration;

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

/// Code in the shell itself that has the kernel continue it, again and again, and notes each time.
const WAKES_ITSELF: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static void act(int signal) { int f = open("ticks", O_WRONLY | O_APPEND); if (write(f, "x", 1)) {} close(f); }
__attribute__((constructor)) static void begin(void) {
    struct sigaction action = {.sa_handler = act, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct itimerspec often = {{0, 5000000}, {0, 5000000}};
    timer_t timer;
    sigaction(SIGCONT, &action, 0);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, 0);
}
"#;

/// The shell is no process beside itself: it is kept still by something that no signal ends.
#[test]
fn the_shell_does_not_wake_itself_beside_a_listed_command() {
    each_caller(|world| {
        let settings = world.settings(r#"{"excludedCommands": ["sleep 1.5"]}"#);
        let session = Hosted::new(world, "a", &["--settings", settings.to_str().unwrap()]);
        let source = world.file("wakes.c", WAKES_ITSELF);
        let library = world.ws.join("wakes.so");
        let mut gcc = std::process::Command::new("gcc");
        let built =
            gcc.args(["-shared", "-fPIC", "-Wl,-z,nodelete", "-o"]).arg(&library).arg(source).status();
        assert!(built.unwrap().success());
        world.give(&library);
        let ticks = world.file("ticks", "");
        let count = || std::fs::metadata(&ticks).unwrap().len();
        let grows = |before: u64| match count() > before {
            true => Ok(()),
            false => Err("it does not wake".to_owned()),
        };
        // It is no builtin, but what was loaded stays.
        session.exec().shell("enable -f ./wakes.so wakes; true").exits(0);
        eventually(SOON, || grows(0));
        let bare = session.exec().opts(["-c", "sleep 1.5"]).start_words();
        std::thread::sleep(Duration::from_millis(500));
        let before = count();
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(count(), before);
        let ran = bare.finish(Duration::from_secs(60));
        assert!(ran.err().contains("WITHOUT walls"), "{ran}");
        eventually(SOON, || grows(before));
        session.exec().shell("true").exits(0);
    });
}

/// A program that waits for a listed command to end has not begun, and whoever goes takes it along.
#[test]
fn a_program_that_waits_can_be_cancelled() {
    each_caller(|world| {
        let settings = world.settings(r#"{"excludedCommands": ["sleep 4"]}"#);
        let session = Hosted::new(world, "a", &["--settings", settings.to_str().unwrap()]);
        session.exec().shell("true").exits(0);
        let bare = session.exec().opts(["-c", "sleep 4"]).start_words();
        std::thread::sleep(Duration::from_millis(700));
        let killed = session.exec().opts(["--", "touch", "killed"]).start_words();
        let waiting = session.exec().opts(["--", "touch", "cancelled"]).start_words();
        std::thread::sleep(Duration::from_millis(500));
        crate::support::kill(killed.pid(), 9).unwrap();
        crate::support::kill(waiting.pid(), 2).unwrap();
        let began = std::time::Instant::now();
        killed.finish(SOON);
        let ran = waiting.finish(SOON);
        assert!(began.elapsed() < Duration::from_secs(2) && !ran.status.success(), "{ran}");
        bare.finish(SOON).exits(0);
        session.exec().opts(["--", "touch", "later"]).go().exits(0);
        assert!(world.ws.join("later").exists());
        assert!(!world.ws.join("killed").exists() && !world.ws.join("cancelled").exists());
    });
}
