//! The life of a host: what it holds, how it ends, what is left.

use super::{Hosted, SIGKILL, SIGTERM, SOON, leftovers, running, state};
use crate::support::{each_caller, eventually, has_ended, kill};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_host_belongs_to_nobody() {
    each_caller(|world| {
        let held = File::create(world.outside.join("held")).unwrap();
        let session = Hosted::expected(world, "a");
        let made = world.stockade().opts(["sessions", "new", "--name", "a"]).holding(held, 7).go();
        made.exits(0);
        let pid = session.pid();
        let look = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).unwrap_or_default();
        assert_eq!(look("cwd").to_str(), Some("/"));
        for number in ["fd/0", "fd/1", "fd/2"] {
            assert_eq!(look(number).to_str(), Some("/dev/null"), "{number}");
        }
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            assert!(!target.starts_with(&world.outside), "{}", target.display());
        }
        // Field 5 and on, after the name: state, parent, group, session, terminal.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        assert_ne!(fields[3], std::process::id().to_string());
        assert_ne!(fields[3], pid.to_string(), "a leader could get a terminal");
        assert_eq!(fields[4], "0", "it has a terminal");
    });
}

#[test]
fn a_name_is_taken_once() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let again = world.stockade().opts(["sessions", "new", "--name", "a"]).go();
        again.exits(125).complains(&["there is a session a already"]);
        let other = world.stockade().opts(["sessions", "new"]).go();
        other.exits(0);
        let name = other.out().trim().to_owned();
        let list = world.stockade().opt("sessions").go();
        assert!(list.out().contains(&name) && list.out().contains("a  "), "{list}");
        world.stockade().opts(["sessions", "kill", "--all"]).go().exits(0);
        assert_eq!(world.stockade().opt("sessions").go().out(), "no sessions\n");
        session.kill().go().exits(1).complains(&["there is no session a"]);
        assert_eq!(leftovers(world), Vec::<String>::new());
    });
}

#[test]
fn an_asked_for_end_leaves_nothing() {
    each_caller(|world| {
        for signal in [None, Some(SIGTERM)] {
            let session = Hosted::new(world, "a", &[]);
            let pid = session.pid();
            let live = session.exec().opts(["-c", "echo begun; sleep 4715; true"]).start_words();
            live.first_output(SOON);
            session.exec().opt("--background").program(["sleep", "4715"]).exits(0);
            match signal {
                None => drop(session.kill().go()),
                Some(signal) => kill(pid, signal).unwrap(),
            }
            let ran = live.finish(SOON);
            assert_ne!(ran.code(), 0, "{ran}");
            eventually(SOON, || if has_ended(pid) { Ok(()) } else { Err("the host lives".into()) });
            assert_eq!(running(world, "sleep 4715"), 0);
            assert_eq!(leftovers(world), Vec::<String>::new());
            let words = fs::read_to_string(state(world).join("sessions/log")).unwrap();
            let expected = if signal.is_some() { "signal 15 ended it" } else { "a client ended it" };
            assert!(words.lines().last().unwrap().contains(expected), "{words}");
        }
    });
}

#[test]
fn a_killed_host_takes_everything_along() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let pid = session.pid();
        let live = session.exec().opts(["-c", "echo begun; sleep 4716; true"]).start_words();
        live.first_output(SOON);
        session.exec().opt("--background").program(["sleep", "4716"]).exits(0);
        kill(pid, SIGKILL).unwrap();
        live.finish(SOON).exits(125).complains(&["the session a ended"]);
        eventually(SOON, || match running(world, "sleep 4716") {
            0 => Ok(()),
            count => Err(format!("{count} still run")),
        });
        eventually(SOON, || if session.status().is_none() { Ok(()) } else { Err("listed".into()) });
        assert!(!state(world).join("sessions/a.sock").exists());
        assert!(!state(world).join("sessions/a.lock").exists());
        session.exec().program(["true"]).exits(125).complains(&["there is no session a"]);
        // The name and the place are free, and what the dead one left is gone.
        let next = Hosted::new(world, "a", &[]);
        next.exec().shell("true").exits(0);
        next.kill().go().exits(0);
        assert_eq!(leftovers(world), Vec::<String>::new());
    });
}

#[test]
fn nobody_keeps_an_idle_session() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &["--idle", "1"]);
        let kept = Hosted::new(world, "b", &["--idle", "1"]);
        kept.exec().opt("--background").program(["sleep", "4717"]).exits(0);
        let pid = session.pid();
        eventually(SOON, || if has_ended(pid) { Ok(()) } else { Err("the host lives".into()) });
        assert!(session.status().is_none() && kept.status().is_some());
        let words = fs::read_to_string(state(world).join("sessions/log")).unwrap();
        assert!(words.contains("nobody used it"), "{words}");
    });
}

#[test]
fn a_session_that_cannot_be_made_is_told() {
    each_caller(|world| {
        for (options, complaint) in [
            (&["--preset", "no-such"][..], "no-such"),
            (&["--settings", "/no/such/file"], "/no/such/file"),
            (&["--provider", "no-such"], "Unknown sandbox provider"),
        ] {
            let ran = world.stockade().opts(["sessions", "new", "--name", "a"]).opts(options).go();
            ran.exits(125).complains(&[complaint]);
            assert_eq!(ran.out(), "", "{ran}");
            assert_eq!(leftovers(world), Vec::<String>::new());
        }
        world.stockade().opts(["sessions", "new", "--name", "../a"]).go().exits(2);
        world.stockade().opts(["sessions", "new", "--no-such"]).go().exits(2);
        assert_eq!(world.stockade().opt("sessions").go().out(), "no sessions\n");
    });
}

#[test]
fn only_a_private_directory_will_do() {
    each_caller(|world| {
        let place = state(world).join("sessions");
        drop(Hosted::new(world, "a", &[]));
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        let new = || world.stockade().opts(["sessions", "new", "--name", "a"]).go();
        new().exits(125).complains(&["others may look into it"]);
        world.stockade().opt("sessions").go().exits(125);
        world.stockade().opts(["exec", "a"]).program(["true"]).exits(125);
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
        fs::rename(&place, world.outside.join("moved")).unwrap();
        symlink(world.outside.join("moved"), &place).unwrap();
        world.give(&place);
        new().exits(125);
        assert!(!world.outside.join("moved/a.sock").exists());
    });
}
