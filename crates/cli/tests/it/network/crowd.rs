//! Very many connections of one command.

use super::internet::online;
use super::{allowing, resident};
use crate::support::{Caller, eventually, skip};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::Duration;

/// What this process and the launcher need for that many connections: two for each, and some for others.
const fn needed(connections: u64) -> u64 {
    connections * 3 + 1000
}

/// Whether there are descriptors for so many; raises our own limit, which our children inherit.
fn has_room(test: &str, connections: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if most < needed(connections) {
        skip(test, &format!("the hard limit of descriptors is {most}"));
        return false;
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("a limit");
    true
}

/// Kilobytes for five thousand idle connections. Tasks of a build that is not optimised are bigger.
const MOST: u64 = if cfg!(debug_assertions) { 130_000 } else { 100_000 };

#[test]
fn idle_connections_cost_little() {
    const COUNT: usize = 5000;
    if !has_room("network::crowd::idle_connections_cost_little", COUNT as u64) {
        return;
    }
    online(|net, world| {
        net.held(7000);
        // Everything that is needed once is there after the first connection.
        let probe = crate::support::binaries().probe.to_str().unwrap();
        let text = format!(
            "{probe} flood allow.test:7000 1 0; echo begun; read -r go < gate; {probe} flood allow.test:7000 {COUNT} 600000"
        );
        let gate = world.ws.join("gate");
        assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
        world.give(&gate);
        let live = world.run().with("--allow-domain", "allow.test").opts(["-c", &text]).start_words();
        let mut said = String::new();
        while !said.contains("begun") {
            said.push_str(&String::from_utf8_lossy(&live.first_output(Duration::from_secs(30))));
        }
        let before = resident(live.pid());
        std::fs::write(&gate, "go\n").unwrap();
        eventually(Duration::from_secs(60), || match net.connections().len() {
            count if count > COUNT => Ok(()),
            count => Err(format!("{count} of {COUNT} connections arrived")),
        });
        std::thread::sleep(Duration::from_millis(500));
        let grown = resident(live.pid()).saturating_sub(before);
        assert!(grown > 0 && grown < MOST, "the launcher grew by {grown} kB, from {before} kB");
    });
}

#[test]
fn busy_connections_stay_apart() {
    const COUNT: usize = 1000;
    if !has_room("network::crowd::busy_connections_stay_apart", COUNT as u64) {
        return;
    }
    online(|net, world| {
        net.banner(2525);
        let (count, size) = (COUNT.to_string(), if world.caller == Caller::Root { "16" } else { "4" });
        let words = ["choir", "allow.test:2525", &count, size];
        let (answer, judged) = allowing(world, &["allow.test"]).probe(&words);
        assert_eq!(answer.ok(), format!("same={COUNT}"));
        judged.clean();
        assert!(net.connections().len() >= COUNT, "{} connections arrived", net.connections().len());
    });
}
