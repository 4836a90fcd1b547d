//! What can be done to a file through a descriptor that is only good for reading.

use crate::answer::{Answer, Args};
use crate::sys::files as raw;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

/// `kept-metadata PATH`: opens it for reading and says which changes of its metadata worked.
pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    (act == "kept-metadata").then(|| metadata(args))
}

fn metadata(args: &Args) -> Answer {
    let file = File::open(args.path(0)?)?;
    let number = file.as_raw_fd();
    let changes: [(&str, io::Result<()>); 4] = [
        ("fchmod", raw::fchmod(number, 0o666).map(drop)),
        ("futimens", raw::futimens(number).map(drop)),
        ("fsetxattr", raw::fset_attribute(number).map(drop)),
        ("chmod", fs::set_permissions(format!("/proc/self/fd/{number}"), Permissions::from_mode(0o666))),
    ];
    let worked = changes.iter().filter(|(_, result)| result.is_ok()).map(|(name, _)| *name);
    Ok(format!("changed={}", worked.collect::<Vec<_>>().join(",")))
}
