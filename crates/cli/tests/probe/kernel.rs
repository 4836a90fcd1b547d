//! Acts on the machine itself.

use crate::answer::{Answer, Args};
use crate::files::done;
use crate::sys::kernel::{self as raw, High};
use std::fs::File;
use std::os::fd::AsRawFd;

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        // The whole table of calls that take no argument from here: `call bpf`.
        "call" => match args.text(0) {
            Ok(name) => done(raw::trial(name)?),
            Err(usage) => Err(usage),
        },
        "mount" => args.name(0).and_then(|over| done(raw::mount(&over))),
        "remount" => args.name(0).and_then(|over| done(raw::remount_writable(&over))),
        "personality" => {
            args.number(0).and_then(|value| Ok(format!("{:#x}", raw::personality(value as usize)?)))
        }
        "setns" => args.path(0).and_then(|path| done(raw::setns(File::open(path)?.as_raw_fd()))),
        "settimeofday" => done(raw::set_time()),
        "clock_settime" => done(raw::set_clock()),
        "tiocsti" => args.int(0).and_then(|fd| done(raw::push_input(fd, High::Clear))),
        "tiocsti-high" => args.int(0).and_then(|fd| done(raw::push_input(fd, High::Set))),
        "tioclinux" => args.int(0).and_then(|fd| done(raw::paste(fd, High::Clear))),
        "tioclinux-high" => args.int(0).and_then(|fd| done(raw::paste(fd, High::Set))),
        #[cfg(target_arch = "x86_64")]
        "int80" => done(raw::int80()),
        #[cfg(target_arch = "x86_64")]
        "x32" => done(raw::x32()),
        _ => return None,
    })
}
