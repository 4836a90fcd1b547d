//! What is measured, and how thoroughly.

use crate::tree;
use crate::work::{Sizes, Work};
use anyhow::{Context, Result, bail, ensure};
use stockade_bench::Format;

/// Parts that are not [`Work`].
const PARTS: [&str; 8] = ["start", "rules", "crowd", "memory", "calls", "tree", "broker", "network"];

/// How many rounds each part takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) start: usize,
    pub(crate) rules: usize,
    pub(crate) crowd: usize,
    pub(crate) calls: usize,
    pub(crate) work: usize,
    pub(crate) network: usize,
    pub(crate) tree: tree::Rounds,
}

const FULL: Effort = Effort {
    start: 200,
    rules: 20,
    crowd: 7,
    calls: 20,
    work: 11,
    network: 15,
    tree: tree::Rounds { starts: 50, searches: 11 },
};
const QUICK: Effort = Effort {
    start: 30,
    rules: 4,
    crowd: 2,
    calls: 6,
    work: 3,
    network: 5,
    tree: tree::Rounds { starts: 10, searches: 3 },
};

/// How large the things are that are worked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) calls: u32,
    pub(crate) work: Sizes,
    pub(crate) tree: usize,
}

const USUAL: Scale =
    Scale { calls: 5_000, work: Sizes { clone: 10_000, archive: 20_000, package: 500 }, tree: 100_000 };
/// For trying the benchmark itself.
const SMALL: Scale = Scale { calls: 100, work: Sizes { clone: 200, archive: 200, package: 20 }, tree: 1_000 };

/// The command line.
pub(crate) struct Options {
    pub(crate) effort: Effort,
    pub(crate) scale: Scale,
    pub(crate) format: Format,
    only: Vec<String>,
}

impl Options {
    /// Reads the words after the program's name.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { effort: FULL, scale: USUAL, format: Format::Text, only: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => options.effort = QUICK,
                "--small" => options.scale = SMALL,
                "--markdown" => options.format = Format::Markdown,
                "--only" => {
                    let name = words.next().context("--only needs the name of a part")?;
                    let known: Vec<&str> = PARTS.into_iter().chain(Work::ALL.map(Work::name)).collect();
                    ensure!(
                        known.contains(&name.as_str()),
                        "no part `{name}` (there are {})",
                        known.join(", ")
                    );
                    options.only.push(name);
                }
                // Cargo says so to every benchmark.
                "--bench" => {}
                unknown => bail!(
                    "unknown option `{unknown}` (there are --quick, --small, --markdown and --only PART)"
                ),
            }
        }
        Ok(options)
    }

    /// Whether a part is to be measured.
    pub(crate) fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == part)
    }

    /// The work that is to be done.
    pub(crate) fn works(&self) -> Vec<Work> {
        Work::ALL.into_iter().filter(|work| self.wants(work.name())).collect()
    }
}
