//! Sessions that outlive the terminal: hosts, clients, and what stands between them and the sandbox.

mod exec;
mod hostile;
mod hosts;
mod shell;
mod telling;
mod walls;

use crate::support::{Run, World, processes_of};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// Long enough for a busy machine, short enough to notice a leftover.
const SOON: Duration = Duration::from_secs(20);

/// A session that ends with the test.
struct Hosted<'a> {
    world: &'a World,
    name: &'static str,
}

impl<'a> Hosted<'a> {
    #[track_caller]
    fn new(world: &'a World, name: &'static str, options: &[&str]) -> Self {
        let hosted = Self::expected(world, name);
        let ran = world.stockade().opts(["sessions", "new", "--name", name]).opts(options).go();
        ran.exits(0);
        assert_eq!(ran.out(), format!("{name}\n"), "{ran}");
        hosted
    }

    /// One that somebody else makes.
    fn expected(world: &'a World, name: &'static str) -> Self {
        Self { world, name }
    }

    fn exec(&self) -> Run<'a> {
        self.world.stockade().opts(["exec", self.name])
    }

    /// How it is; nothing where it does not live.
    fn status(&self) -> Option<Value> {
        let ran = self.world.stockade().opts(["sessions", "--json"]).go();
        ran.exits(0);
        let all: Vec<Value> = serde_json::from_str(&ran.out()).expect("a list");
        all.into_iter().find(|one| one["name"] == self.name)
    }

    #[track_caller]
    fn pid(&self) -> u32 {
        let status = self.status().expect("a living session");
        u32::try_from(status["pid"].as_u64().expect("a number")).expect("a process")
    }

    fn kill(&self) -> Run<'a> {
        self.world.stockade().opts(["sessions", "kill", self.name])
    }
}

impl Drop for Hosted<'_> {
    fn drop(&mut self) {
        let _ = self.kill().start_words().reap();
    }
}

fn state(world: &World) -> PathBuf {
    world.home.join(".local/state/stockade")
}

/// What sessions have left: files but for the log, and the directories of their pipes.
fn leftovers(world: &World) -> Vec<String> {
    let list = |name: &str| {
        let entries = fs::read_dir(state(world).join(name)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let mut found = list("sessions");
    found.retain(|name| name != "log");
    found.extend(list("shells"));
    found
}

/// Processes of a world whose command line begins like this.
fn running(world: &World, words: &str) -> usize {
    processes_of(&world.base).iter().filter(|(_, line)| line.starts_with(words)).count()
}
