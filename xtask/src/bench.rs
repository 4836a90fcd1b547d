//! Builds for release and runs the benchmark against it.

use crate::process::{cargo, run as run_step, target};
use crate::setup;
use anyhow::{Result, bail};

const OPTIONS: [&str; 2] = ["--quick", "--markdown"];

/// `--quick` takes fewer samples, `--markdown` prints tables for a document.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    if let Some(unknown) = options.iter().find(|option| !OPTIONS.contains(option)) {
        bail!("unknown option `{unknown}` (there are {})", OPTIONS.join(" and "));
    }
    let srt = setup::for_bench();
    run_step(&mut cargo(["build", "--release", "--quiet", "--package", "stockade-cli"]))?;

    let mut bench = cargo(["bench", "--quiet", "--package", "stockade-bench", "--bench", "start", "--"]);
    bench.args(options).env("STOCKADE_BENCH_BINARY", target().join("release/stockade"));
    if let Some(srt) = srt {
        bench.env("STOCKADE_BENCH_SRT", srt);
    }
    run_step(&mut bench)
}
