//! Who lives in a sandbox, seen from outside.
//!
//! Every process inside is below the first one. Whoever wants to stay unseen can end and go on as its own child, which
//! moves up to the first process then. So the other way round is looked: first whether the one that is known has
//! children, then whether the first process has any other. Below the known one nobody comes back, and as new
//! children come last in the list, one that ends right after the known one leaves nobody out.

use crate::Company;
use std::fs;
use std::io;

/// Whether the first process has any descendant besides one that is stopped or gone.
pub(super) fn of(first: u32, but: Option<u32>) -> Company {
    look(first, but).unwrap_or(Company::Unknown)
}

fn look(first: u32, but: Option<u32>) -> io::Result<Company> {
    if let Some(known) = but
        && let Some(threads) = if_there(threads(known))?
    {
        // A second thread could start something, and has a list of its own.
        if threads != 1 {
            return Ok(Company::Somebody);
        }
        if if_there(children(known))?.is_some_and(|below| !below.is_empty()) {
            return Ok(Company::Somebody);
        }
    }
    let others = children(first)?.iter().any(|child| Some(*child) != but);
    Ok(if others { Company::Somebody } else { Company::Nobody })
}

fn if_there<T>(seen: io::Result<T>) -> io::Result<Option<T>> {
    match seen {
        Ok(seen) => Ok(Some(seen)),
        // The kernel says so of a process that ends while it is looked at.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn threads(process: u32) -> io::Result<usize> {
    Ok(fs::read_dir(format!("/proc/{process}/task"))?.count())
}

/// The children of a process with one thread, dead ones that nobody has waited for among them.
fn children(process: u32) -> io::Result<Vec<u32>> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
    list.split_whitespace().map(|pid| pid.parse().map_err(io::Error::other)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// A process that has started what the text says.
    fn first(text: &str) -> Child {
        Command::new("sh").args(["-c", text]).stdout(Stdio::null()).spawn().unwrap()
    }

    fn becomes(expected: Company, look: impl Fn() -> Company) {
        let patience = Instant::now() + Duration::from_secs(20);
        while look() != expected {
            assert!(Instant::now() < patience, "{:?}", look());
        }
    }

    #[test]
    fn everybody_else_is_company() {
        let mut alone = first("exec sleep 30");
        becomes(Company::Nobody, || of(alone.id(), None));
        let mut two = first("sleep 30 & exec sleep 30");
        becomes(Company::Somebody, || of(two.id(), None));
        let known = children(two.id()).unwrap()[0];
        assert_eq!(of(two.id(), Some(known)), Company::Nobody);
        assert_eq!(of(two.id(), Some(alone.id())), Company::Somebody);
        let mut below = first("sh -c 'sleep 30 & exec sleep 30' & exec sleep 30");
        let child = || children(below.id()).ok().and_then(|list| list.first().copied());
        becomes(Company::Somebody, || of(below.id(), child()));
        for child in [&mut alone, &mut two, &mut below] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(of(alone.id(), None), Company::Unknown);
    }
}
