//! A process, its descendants, and the memory they hold.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;

/// A process with everything it started, some commands left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// How many.
    pub processes: usize,
    /// Their proportional share of memory, in KiB: pages that several map are counted once in total.
    pub pss_kib: u64,
}

/// The process `head` and its descendants, without those whose program is called `command`.
pub fn family(head: u32, command: &str) -> Result<Family> {
    let table = process_table()?;
    let mut family = Family::default();
    for pid in members(head, &table) {
        if table.get(&pid).is_some_and(|process| process.name == command) {
            continue;
        }
        family.processes += 1;
        family.pss_kib += pss(pid)?;
    }
    Ok(family)
}

struct Process {
    parent: u32,
    name: String,
}

fn process_table() -> Result<BTreeMap<u32, Process>> {
    let mut table = BTreeMap::new();
    for entry in fs::read_dir("/proc").context("could not list /proc")? {
        let Some(pid) = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse().ok()) else {
            continue;
        };
        // A process that ended since the listing is nobody's.
        if let Some(process) =
            fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|text| stat(&text))
        {
            table.insert(pid, process);
        }
    }
    Ok(table)
}

/// `PID (NAME) STATE PARENT ...`, where NAME may hold anything, parentheses included.
fn stat(text: &str) -> Option<Process> {
    let (front, back) = text.rsplit_once(')')?;
    let (_, name) = front.split_once('(')?;
    let parent = back.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { parent, name: name.to_owned() })
}

fn members(head: u32, table: &BTreeMap<u32, Process>) -> Vec<u32> {
    let mut found = vec![head];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(table.iter().filter(|(_, process)| process.parent == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

fn pss(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {path}"))?;
    pss_line(&text).with_context(|| format!("{path} has no Pss line"))
}

fn pss_line(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Pss:"))?.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_stat_line() {
        let process = stat("12 (a) b) S 7 12 12 0 -1").unwrap();
        assert_eq!((process.parent, process.name.as_str()), (7, "a) b"));
    }

    #[test]
    fn finds_descendants() {
        let child_of = |parent| Process { parent, name: String::new() };
        let table = BTreeMap::from([(2, child_of(1)), (3, child_of(2)), (4, child_of(9)), (5, child_of(2))]);
        assert_eq!(members(2, &table), [2, 3, 5]);
    }

    #[test]
    fn reads_the_share_of_memory() {
        assert_eq!(pss_line("Rss:  900 kB\nPss:       412 kB\nPss_Anon: 1 kB\n"), Some(412));
        assert_eq!(pss_line("Rss: 1 kB\n"), None);
    }
}
