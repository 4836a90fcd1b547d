//! What one idle sandbox holds: processes and memory, the command left out.

use crate::grounds::Grounds;
use crate::library::{self, Library};
use crate::report::Report;
use crate::tools::{Tool, Tools};
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::time::Duration;
use stockade_bench::{Family, Table, family};

/// Waits for input, so that it is idle until we let it go, on every tool alike.
pub(crate) const COMMAND: &str = "cat";

/// As many at once in the library.
const LIVE: usize = 20;

/// After this long whatever a launcher still does after the start is over.
const SETTLE: Duration = Duration::from_millis(300);

pub(crate) fn measure(tools: &Tools, library: &Library, grounds: &Grounds, report: &mut Report) {
    let mut table =
        Table::new("One idle sandbox, its command left out", &["what", "processes", "memory (PSS)"]);
    let mut ours = None;
    for tool in tools.all().filter(|tool| !matches!(tool, Tool::Bare)) {
        match idle(tool, grounds) {
            Ok(family) => {
                table.row([
                    tool.name().to_owned(),
                    family.processes.to_string(),
                    format!("{:.2} MB", megabytes(family)),
                ]);
                if matches!(tool, Tool::Stockade(_)) {
                    ours = Some(family);
                }
            }
            Err(error) => table.row([tool.name().to_owned(), "-".to_owned(), format!("{error:#}")]),
        }
    }
    let grown = library.growth(LIVE);
    match &grown {
        Ok(grown) => {
            let processes = grown.processes as f64 / LIVE as f64;
            let row = [format!("{processes:.2}"), format!("{:.2} MB", megabytes(*grown) / LIVE as f64)];
            table.row(std::iter::once(format!("{}, each of {LIVE}", library::NAME)).chain(row));
        }
        Err(error) => table.row([library::NAME.to_owned(), "-".to_owned(), format!("{error:#}")]),
    }
    report.print(&table, &[]);
    // Two processes and 6 MB for the walls, one and 2 MB for the broker.
    let processes = ours.map(|family| family.processes as f64);
    report.promise("processes of one sandbox, broker included", 3.0, processes);
    report.promise("memory of one sandbox, broker included, MB", 8.0, ours.map(megabytes));
    let each = grown.ok().map(|grown| megabytes(grown) / LIVE as f64);
    report.promise(format!("memory of each of {LIVE} sandboxes in the library, MB"), 1.5, each);
}

/// Its memory in the unit of the promises.
pub(crate) fn megabytes(family: Family) -> f64 {
    family.pss_kib as f64 * 1024.0 / 1e6
}

fn idle(tool: &Tool, grounds: &Grounds) -> Result<Family> {
    let mut child = tool
        .command(grounds, &["/bin/cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", tool.name()))?;
    let family = until_idle(&mut child).and_then(|()| family(child.id(), COMMAND));
    // End of file ends the command, and with it the sandbox; killing the launcher could leave others' behind.
    drop(child.stdin.take());
    child.wait().context("could not wait for the sandbox")?;
    family
}

/// The command lives once it has given a byte back.
pub(crate) fn until_idle(child: &mut Child) -> Result<()> {
    let (Some(input), Some(output)) = (child.stdin.as_mut(), child.stdout.as_mut()) else {
        bail!("no pipes to the command");
    };
    input.write_all(b"x").context("could not write to the command")?;
    output.read_exact(&mut [0]).context("the command did not answer")?;
    std::thread::sleep(SETTLE);
    Ok(())
}
