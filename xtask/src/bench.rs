//! Builds the binary as shipped and runs the benchmark against it.

use crate::process::{cargo, run as run_step};
use crate::{dist, setup};
use anyhow::{Result, bail};

const SWITCHES: [&str; 3] = ["--quick", "--small", "--markdown"];
/// Takes the name of a part, which the benchmark knows.
const ONLY: &str = "--only";

/// `--quick` takes fewer samples, `--small` works on few files, `--markdown` prints tables for a document.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    check(options)?;
    let srt = setup::for_bench();
    let binary = dist::build()?;

    let mut bench = cargo(["bench", "--quiet", "--package", "stockade-bench", "--bench", "start", "--"]);
    bench.args(options).env("STOCKADE_BENCH_BINARY", binary);
    if let Some(srt) = srt {
        bench.env("STOCKADE_BENCH_SRT", srt);
    }
    run_step(&mut bench)
}

/// Building takes minutes: a slip is told before.
fn check(options: &[&str]) -> Result<()> {
    match options {
        [] => Ok(()),
        [ONLY, name, rest @ ..] if !name.starts_with('-') => check(rest),
        [ONLY, ..] => bail!("{ONLY} needs the name of a part"),
        [known, rest @ ..] if SWITCHES.contains(known) => check(rest),
        [unknown, ..] => {
            bail!("unknown option `{unknown}` (there are {} and {ONLY} PART)", SWITCHES.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        assert!(check(&["--quick", "--only", "tar", "--only", "git", "--markdown"]).is_ok());
        for wrong in [&["--fast"][..], &["--only"], &["--only", "--quick"], &["tar"]] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
    }
}
