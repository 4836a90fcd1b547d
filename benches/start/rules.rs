//! Many rules: deny lists that name nothing, files elsewhere, files of the workspace.

use crate::grounds::Grounds;
use crate::report::{Report, milliseconds, samples_of, times};
use crate::tools::{Tools, succeed};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::time::Duration;
use stockade_bench::{Contender, Table, race};

const COUNTS: [usize; 3] = [10, 1_000, 10_000];

/// Ten thousand mounts are gone by then.
const PAUSE: Duration = Duration::from_millis(150);

/// A set of paths to deny, and the workspace it is tried in: the empty one where it can be, because looking
/// through many files would hide what the rules cost.
struct Kind {
    name: &'static str,
    paths: Vec<PathBuf>,
    workspace: PathBuf,
}

pub(crate) fn measure(tools: &Tools, grounds: &Grounds, rounds: usize, report: &mut Report) -> Result<()> {
    let (empty, full) = (grounds.workspace(), grounds.full_workspace());
    let kinds = [
        Kind { name: "naming nothing", paths: grounds.no_files().collect(), workspace: empty.clone() },
        Kind { name: "naming files outside", paths: grounds.files_outside().collect(), workspace: empty },
        Kind {
            name: "naming files in the workspace",
            paths: grounds.files_inside().collect(),
            workspace: full,
        },
    ];
    let mut contenders = Vec::new();
    for kind in &kinds {
        for count in COUNTS {
            let settings = grounds.settings(&format!("{}.json", kind.row(count)));
            std::fs::write(&settings, deny_read(&kind.paths[..count]))
                .with_context(|| format!("could not write {}", settings.display()))?;
            let run = move |argv: &[&str]| {
                let options = ["--settings".as_ref(), settings.as_os_str()];
                tools.stockade.command_with(grounds, &kind.workspace, &options, argv)
            };
            // What is not enforced must not look quick: the last rule of the list is tried first.
            let last = kind.paths[count - 1].display().to_string();
            let readable = run(&["/bin/cat", &last]).status().is_ok_and(|status| status.success());
            contenders.push(Contender::new(kind.row(count), move || {
                ensure!(!readable, "the rules are not in force: {last} can be read");
                succeed(&mut run(&["/bin/true"]))
            }));
        }
    }
    let laps = race(rounds, PAUSE, contenders);

    let mut table = Table::new("Deny rules (`stockade run`)", &["what", "median", "p90", "× 10 rules"]);
    for kind in &kinds {
        let few = samples_of(&laps, &kind.row(COUNTS[0]));
        for count in COUNTS {
            let name = kind.row(count);
            if let Some(samples) = samples_of(&laps, &name) {
                let (median, p90) = (milliseconds(samples.median()), milliseconds(samples.p90()));
                table.row([name, median, p90, times(samples, few)]);
            }
        }
        let name = kind.row(COUNTS[1]);
        let ratio = samples_of(&laps, &name).zip(few).map(|(many, few)| many.ratio(few));
        report.promise(format!("{name}, × {} rules", COUNTS[0]), 2.0, ratio);
    }
    report.print(&table, &laps);
    Ok(())
}

impl Kind {
    /// Its name in a table.
    fn row(&self, count: usize) -> String {
        format!("{count} rules {}", self.name)
    }
}

/// Settings that deny reading these paths.
fn deny_read(paths: &[PathBuf]) -> String {
    serde_json::json!({ "filesystem": { "denyRead": paths } }).to_string()
}
