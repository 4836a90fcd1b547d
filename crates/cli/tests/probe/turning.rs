//! A second thread rewrites the path in memory while the first one's call is looked at.

use crate::answer::{Answer, Args, Failure};
use crate::sys::turning::Turning;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// A file whose first bytes are these was not to be read.
const SECRET: &[u8] = b"SECRET";

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    let attempt: fn(&Turning) -> Result<Seen, Failure> = match act {
        "sway-read" | "turn-read" => read,
        "sway-write" => write,
        "turn-mkdir" => |path| Ok(path.mkdir().map(|()| Seen::Allowed)?),
        _ => return None,
    };
    Some(if act.starts_with("sway") { sway(args, attempt) } else { turn(args, attempt) })
}

enum Seen {
    Allowed,
    Secret,
}

/// `sway-read ONE OTHER TIMES`: as fast as it goes, again and again.
fn sway(args: &Args, attempt: fn(&Turning) -> Result<Seen, Failure>) -> Answer {
    let (one, other, times) = (args.name(0)?, args.name(1)?, args.number(2)?.unsigned_abs());
    let path = Turning::new(&one);
    let over = AtomicBool::new(false);
    let (mut allowed, mut refused, mut secret) = (0_u64, 0_u64, 0_u64);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                path.turn_to(&other);
                path.turn_to(&one);
            }
        });
        for _ in 0..times {
            match attempt(&path) {
                Ok(Seen::Allowed) => allowed += 1,
                Ok(Seen::Secret) => secret += 1,
                Err(_) => refused += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    Ok(format!("allowed={allowed} refused={refused} secret={secret}"))
}

/// `turn-read ONE OTHER MILLISECONDS`: once, that long after the call began.
fn turn(args: &Args, attempt: fn(&Turning) -> Result<Seen, Failure>) -> Answer {
    let (one, other, wait) = (args.name(0)?, args.name(1)?, args.number(2)?.unsigned_abs());
    let path = Turning::new(&one);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            sleep(Duration::from_millis(wait));
            path.turn_to(&other);
        });
        attempt(&path).map(|seen| if matches!(seen, Seen::Secret) { "secret" } else { "allowed" }.to_string())
    })
}

fn read(path: &Turning) -> Result<Seen, Failure> {
    let mut start = [0; SECRET.len()];
    let count = File::from(path.open(libc::O_RDONLY)?).read(&mut start)?;
    Ok(if start[..count] == *SECRET { Seen::Secret } else { Seen::Allowed })
}

/// Whether the wrong file changed is for the caller outside to see.
fn write(path: &Turning) -> Result<Seen, Failure> {
    File::from(path.open(libc::O_WRONLY)?).write_all(b"ATTACK")?;
    Ok(Seen::Allowed)
}
