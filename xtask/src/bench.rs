//! Builds the binary as shipped and runs the benchmark against it.

use crate::process::{cargo, run as run_step};
use crate::{dist, setup};
use anyhow::{Result, bail};

const OPTIONS: [&str; 2] = ["--quick", "--markdown"];

/// `--quick` takes fewer samples, `--markdown` prints tables for a document.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    if let Some(unknown) = options.iter().find(|option| !OPTIONS.contains(option)) {
        bail!("unknown option `{unknown}` (there are {})", OPTIONS.join(" and "));
    }
    let srt = setup::for_bench();
    let binary = dist::build()?;

    let mut bench = cargo(["bench", "--quiet", "--package", "stockade-bench", "--bench", "start", "--"]);
    bench.args(options).env("STOCKADE_BENCH_BINARY", binary);
    if let Some(srt) = srt {
        bench.env("STOCKADE_BENCH_SRT", srt);
    }
    run_step(&mut bench)
}
