//! Another thread or process changes what a call is about, while the call is on its way.

use crate::answer::{Answer, Args, Failure};
use crate::naming::way;
use crate::sys::files::openat;
use crate::sys::naming::{self as raw, Way};
use crate::sys::{processes, sockets};
use std::ffi::{CStr, CString};
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// Far from what anybody else uses.
const SWAPPED: i32 = 700;

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "flip-name" => flip_name(args),
        "flip-read" => flip_read(args),
        "flip-directory" => flip_directory(args),
        "flip-link" => flip_link(args),
        "flip-address" => flip_address(args),
        "flip-socket" => flip_socket(args),
        "move-under" => move_under(args),
        _ => return None,
    })
}

/// Two names in one piece of memory.
struct Flipping {
    bytes: Vec<AtomicU8>,
    one: Vec<u8>,
    other: Vec<u8>,
}

impl Flipping {
    fn new(one: &[u8], other: &[u8]) -> Result<Self, Failure> {
        if one.len() != other.len() || one == other {
            return Err(Failure::Usage("the names have to be of one length".into()));
        }
        let bytes = one.iter().copied().chain([0]).map(AtomicU8::new).collect();
        Ok(Self { bytes, one: one.to_vec(), other: other.to_vec() })
    }

    fn address(&self) -> usize {
        self.bytes.as_ptr() as usize
    }

    fn flip_until(&self, over: &AtomicBool) -> u64 {
        let mut flips = 0;
        while !over.load(Ordering::Relaxed) {
            flips += 2;
            for text in [&self.other, &self.one] {
                for (byte, new) in self.bytes.iter().zip(text) {
                    byte.store(*new, Ordering::Relaxed);
                }
            }
        }
        flips
    }
}

/// Does something again and again while another thread flips.
fn among_flips(
    times: u64,
    flip: impl Fn(&AtomicBool) -> u64 + Send + Sync,
    mut act: impl FnMut() -> bool,
) -> Answer {
    /// A busy machine may let the other thread run too seldom for a race.
    const ENOUGH_FLIPS: u64 = 100_000;
    const MOST_ROUNDS: usize = 20;
    let (mut done, mut refused, mut flips) = (0_u64, 0_u64, 0_u64);
    for _ in 0..MOST_ROUNDS {
        let over = AtomicBool::new(false);
        flips += std::thread::scope(|threads| {
            let flipping = threads.spawn(|| flip(&over));
            for _ in 0..times {
                if act() { done += 1 } else { refused += 1 }
            }
            over.store(true, Ordering::Relaxed);
            flipping.join().unwrap_or(0)
        });
        if flips >= ENOUGH_FLIPS {
            break;
        }
    }
    Ok(format!("done={done} refused={refused} flips={flips}"))
}

/// Undoes what went well, so that the next turn can do it again.
fn undo(way: Way, made: &Path, source: &CStr) {
    let moved = matches!(way, Way::Rename | Way::RenameAt | Way::RenameOld | Way::NoReplace);
    if way == Way::Directory {
        let _ = fs::remove_dir(made);
    } else if !moved {
        let _ = fs::remove_file(made);
    } else if let Ok(source) = source.to_str() {
        let _ = fs::rename(made, source);
    }
}

/// `flip-name WAY ALLOWED REFUSED TIMES SOURCE`
fn flip_name(args: &Args) -> Answer {
    let (way, allowed, source) = (way(args, 0)?, args.path(1)?, args.name(4)?);
    let names = Flipping::new(args.name(1)?.as_bytes(), args.name(2)?.as_bytes())?;
    among_flips(
        args.number(3)?.unsigned_abs(),
        |over| names.flip_until(over),
        || {
            let done = raw::make(way, libc::AT_FDCWD, names.address(), &source).is_ok();
            if done {
                undo(way, allowed, &source);
            }
            done
        },
    )
}

/// `flip-read ALLOWED REFUSED TIMES`: how often the refused one was read.
fn flip_read(args: &Args) -> Answer {
    let names = Flipping::new(args.name(0)?.as_bytes(), args.name(1)?.as_bytes())?;
    let mut secrets = 0_u64;
    let answer = among_flips(
        args.number(2)?.unsigned_abs(),
        |over| names.flip_until(over),
        || {
            let Ok(mut file) = raw::open_for_reading(names.address()).map(fs::File::from) else {
                return false;
            };
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            secrets += u64::from(text.starts_with("SECRET"));
            true
        },
    )?;
    Ok(format!("{answer} secret={secrets}"))
}

/// `flip-directory WAY ALLOWED REFUSED NAME TIMES SOURCE`: one number means now this, now that directory.
fn flip_directory(args: &Args) -> Answer {
    let (way, allowed, name, source) = (way(args, 0)?, args.path(1)?, args.name(3)?, args.name(5)?);
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let one = openat(libc::AT_FDCWD, &args.name(1)?, flags)?;
    let other = openat(libc::AT_FDCWD, &args.name(2)?, flags)?;
    raw::replace(one.as_raw_fd(), SWAPPED)?;
    let made = allowed.join(args.path(3)?);
    among_flips(
        args.number(4)?.unsigned_abs(),
        |over| {
            let mut flips = 0;
            while !over.load(Ordering::Relaxed) {
                flips += 2;
                let _ = raw::replace(other.as_raw_fd(), SWAPPED);
                let _ = raw::replace(one.as_raw_fd(), SWAPPED);
            }
            flips
        },
        || {
            let done = raw::make(way, SWAPPED, name.as_ptr() as usize, &source).is_ok();
            if done {
                undo(way, &made, &source);
            }
            done
        },
    )
}

/// `flip-link WAY LINK ALLOWED REFUSED NAME TIMES SOURCE`: another process turns a link round.
fn flip_link(args: &Args) -> Answer {
    let (way, link, allowed, refused) = (way(args, 0)?, args.path(1)?, args.path(2)?, args.path(3)?);
    let source = args.name(6)?;
    let child = processes::fork()?;
    if child == 0 {
        let beside = link.with_extension("new");
        loop {
            for target in [refused, allowed] {
                let _ = symlink(target, &beside);
                let _ = fs::rename(&beside, link);
            }
        }
    }
    let made = allowed.join(args.path(4)?);
    let path = link.join(args.path(4)?);
    let path = CString::new(path.into_os_string().into_encoded_bytes())
        .map_err(|_| Failure::Usage("NUL in a path".into()))?;
    let answer = among_flips(
        args.number(5)?.unsigned_abs(),
        |_| 0,
        || {
            let done = raw::make(way, libc::AT_FDCWD, path.as_ptr() as usize, &source).is_ok();
            if done {
                undo(way, &made, &source);
            }
            done
        },
    );
    let _ = processes::kill(i32::try_from(child).unwrap_or(0), libc::SIGKILL);
    let _ = processes::wait(child);
    answer
}

fn unix_address(path: &CStr) -> Vec<u8> {
    let family = (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes();
    [&family, path.to_bytes()].concat()
}

/// `flip-address ALLOWED REFUSED TIMES`: the path in a socket's address.
fn flip_address(args: &Args) -> Answer {
    let names = Flipping::new(&unix_address(&args.name(0)?), &unix_address(&args.name(1)?))?;
    let length = names.one.len();
    among_flips(
        args.number(2)?.unsigned_abs(),
        |over| names.flip_until(over),
        || {
            let socket = sockets::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0);
            socket
                .is_ok_and(|socket| sockets::connect_at(socket.as_raw_fd(), names.address(), length).is_ok())
        },
    )
}

/// `flip-socket REFUSED TIMES`: one number means now a unix socket, now one of another kind.
fn flip_socket(args: &Args) -> Answer {
    let address = unix_address(&args.name(0)?);
    let other = sockets::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
    let one = sockets::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
    raw::replace(one.as_raw_fd(), SWAPPED)?;
    among_flips(
        args.number(1)?.unsigned_abs(),
        |over| {
            let mut flips = 0;
            while !over.load(Ordering::Relaxed) {
                flips += 2;
                let _ = raw::replace(other.as_raw_fd(), SWAPPED);
                let _ = raw::replace(one.as_raw_fd(), SWAPPED);
            }
            flips
        },
        || sockets::connect_at(SWAPPED, address.as_ptr() as usize, address.len()).is_ok(),
    )
}

/// `move-under WAY DIRECTORY TARGET NAME ROUNDS SOURCE`: one thread moves a directory to a place where a
/// name in it is refused, while another makes that name in it.
fn move_under(args: &Args) -> Answer {
    let (way, from, to) = (way(args, 0)?, args.path(1)?, args.path(2)?);
    let (rounds, source) = (args.number(4)?, args.name(5)?);
    let name = CString::new(from.join(args.path(3)?).into_os_string().into_encoded_bytes())
        .map_err(|_| Failure::Usage("NUL in a path".into()))?;
    let (inner, outer) = (from.join(args.path(3)?), to.join(args.path(3)?));
    let (mut made, mut moved, mut wrong) = (0, 0, 0);
    for round in 0..rounds {
        let pause = Duration::from_micros(round.unsigned_abs() % 50 * 100);
        std::thread::scope(|threads| {
            let mover = threads.spawn(|| fs::rename(from, to).is_ok());
            std::thread::sleep(pause);
            let done = raw::make(way, libc::AT_FDCWD, name.as_ptr() as usize, &source).is_ok();
            made += i64::from(done);
            moved += i64::from(mover.join().unwrap_or(false));
        });
        wrong += i64::from(fs::symlink_metadata(&outer).is_ok());
        for path in [&outer, &inner] {
            undo(way, path, &source);
        }
        let _ = fs::rename(to, from);
    }
    Ok(format!("made={made} moved={moved} wrong={wrong}"))
}
