//! Many rules: deny lists that name nothing, files elsewhere, files of the workspace.

use crate::grounds::Grounds;
use crate::report::{Report, milliseconds, samples_of, times};
use crate::tools::{Tools, succeed};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use stockade_bench::{Contender, Table, race};

const COUNTS: [usize; 3] = [10, 1_000, 10_000];

pub(crate) fn measure(tools: &Tools, grounds: &Grounds, rounds: usize, report: &mut Report) -> Result<()> {
    let kinds: [(&str, Vec<PathBuf>); 3] = [
        ("naming nothing", grounds.no_files().collect()),
        ("naming files outside", grounds.files_outside().collect()),
        ("naming files in the workspace", grounds.files_inside().collect()),
    ];
    let mut contenders = Vec::new();
    for (kind, paths) in &kinds {
        for count in COUNTS {
            let settings = grounds.settings(&format!("{count} {kind}.json"));
            std::fs::write(&settings, deny_read(&paths[..count]))
                .with_context(|| format!("could not write {}", settings.display()))?;
            let last = paths[count - 1].display().to_string();
            contenders.push(Contender::new(name(count, kind), {
                let in_force = refuses(tools, grounds, &settings, &last);
                move || {
                    ensure!(in_force, "the rules are not in force: {last} can be read");
                    succeed(&mut with_rules(tools, grounds, &settings, &["/bin/true"]))
                }
            }));
        }
    }
    let laps = race(rounds, contenders);

    let mut table = Table::new("Deny rules (`stockade run`)", &["what", "median", "p90", "× 10 rules"]);
    for (kind, _) in &kinds {
        let few = samples_of(&laps, &name(COUNTS[0], kind));
        for count in COUNTS {
            let name = name(count, kind);
            if let Some(samples) = samples_of(&laps, &name) {
                let (median, p90) = (milliseconds(samples.median()), milliseconds(samples.p90()));
                table.row([name, median, p90, times(samples, few)]);
            }
        }
        let thousand = samples_of(&laps, &name(COUNTS[1], kind));
        let ratio = thousand.zip(few).map(|(thousand, few)| thousand.ratio(few));
        report.promise(format!("1000 rules {kind}, × 10 rules"), 2.0, ratio);
    }
    report.print(&table, &laps);
    Ok(())
}

/// Whether the last rule of a list holds: what is not enforced must not look quick.
fn refuses(tools: &Tools, grounds: &Grounds, settings: &Path, path: &str) -> bool {
    !with_rules(tools, grounds, settings, &["/bin/cat", path]).status().is_ok_and(|status| status.success())
}

/// The same workspace for all, so that its size is in every number alike.
fn with_rules(tools: &Tools, grounds: &Grounds, settings: &Path, argv: &[&str]) -> Command {
    let options = ["--settings".as_ref(), settings.as_os_str()];
    tools.stockade.command_with(grounds, &grounds.full_workspace(), &options, argv)
}

fn name(count: usize, kind: &str) -> String {
    format!("{count} rules {kind}")
}

/// Settings that deny reading these paths.
fn deny_read(paths: &[PathBuf]) -> String {
    serde_json::json!({ "filesystem": { "denyRead": paths } }).to_string()
}
