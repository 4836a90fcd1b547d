//! The loops that this program runs inside a sandbox, in an empty working directory.

use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions};
use std::time::Instant;

/// The word that makes this program run a loop and nothing else.
pub(crate) const WORD: &str = "__inside";

/// A system call that the broker may hold, made again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Create,
    Unlink,
    Read,
}

impl Call {
    /// Removing comes last: making files is slow for minutes afterwards on some file systems.
    pub(crate) const ALL: [Self; 3] = [Self::Create, Self::Read, Self::Unlink];

    /// Its name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Unlink => "unlink",
            Self::Read => "read",
        }
    }
}

/// Runs a loop and prints how many nanoseconds it took.
pub(crate) fn main(words: &[String]) -> Result<()> {
    let [call, count] = words else { bail!("usage: {WORD} CALL COUNT") };
    let call = Call::ALL.into_iter().find(|known| known.word() == call);
    let call = call.context("there is no such call")?;
    let count = count.parse().context("the count is no number")?;
    let names: Vec<String> = (0..count).map(|number| format!("f{number}")).collect();
    if call == Call::Unlink {
        names.iter().try_for_each(|name| create(name))?;
    }
    if call == Call::Read {
        create(READ)?;
    }
    let begin = Instant::now();
    for name in &names {
        match call {
            Call::Create => create(name)?,
            Call::Unlink => fs::remove_file(name).context("could not remove a file")?,
            Call::Read => drop(File::open(READ).context("could not open a file")?),
        }
    }
    println!("{}", begin.elapsed().as_nanos());
    Ok(())
}

/// One file is enough: opening it does not change it.
const READ: &str = "read";

fn create(name: &str) -> Result<()> {
    let made = OpenOptions::new().write(true).create_new(true).open(name);
    made.map(drop).context("could not make a file")
}
