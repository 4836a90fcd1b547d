//! A second thread flips a name between an allowed and a refused target while the first one uses it.

use crate::answer::{Answer, Args};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A file whose first bytes are these was not to be read.
const SECRET: &[u8] = b"SECRET";

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    match act {
        "race-read" => Some(race(args, read)),
        "race-write" => Some(race(args, write)),
        _ => None,
    }
}

/// `race-read LINK ALLOWED REFUSED TIMES`
fn race(args: &Args, try_once: fn(&Path) -> Seen) -> Answer {
    let (link, allowed, refused) = (args.path(0)?, args.path(1)?, args.path(2)?);
    let times = args.number(3)?.unsigned_abs();
    let mut beside = link.as_os_str().as_bytes().to_vec();
    beside.extend_from_slice(b".new");
    let beside = PathBuf::from(std::ffi::OsStr::from_bytes(&beside));
    let over = AtomicBool::new(false);
    let (mut allowed_count, mut secrets, mut refusals) = (0_u64, 0_u64, 0_u64);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for target in [allowed, refused].iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let _ = symlink(target, &beside);
                let _ = fs::rename(&beside, link);
            }
        });
        for _ in 0..times {
            match try_once(link) {
                Seen::Allowed => allowed_count += 1,
                Seen::Secret => secrets += 1,
                Seen::Refusal => refusals += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    Ok(format!("allowed={allowed_count} refused={refusals} secret={secrets}"))
}

enum Seen {
    Allowed,
    Secret,
    Refusal,
}

fn read(path: &Path) -> Seen {
    let mut start = [0; SECRET.len()];
    match fs::File::open(path).and_then(|mut file| file.read(&mut start)) {
        Ok(_) if start == SECRET => Seen::Secret,
        Ok(_) => Seen::Allowed,
        Err(_) => Seen::Refusal,
    }
}

/// Writes; whether the refused file changed is for the caller outside to see.
fn write(path: &Path) -> Seen {
    match OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(b"ATTACK")) {
        Ok(()) => Seen::Allowed,
        Err(_) => Seen::Refusal,
    }
}
