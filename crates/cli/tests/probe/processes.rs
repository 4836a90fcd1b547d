//! Acts on processes: making them, ending them, reaching into them.

use crate::answer::{Answer, Args, Failure};
use crate::files::done;
use crate::sys::processes::{self as raw, Ending, How};
use crate::sys::{errno, filter};
use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PTRACE_SEIZE: u32 = 0x4206;

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "exec" => exec(args),
        "without" => without(args),
        "nest" => nest(args),
        "kill" => args.int(0).and_then(|pid| done(raw::kill(pid, args.int(1)?))),
        "ptrace-attach" => args.int(0).and_then(|pid| done(raw::trace(libc::PTRACE_ATTACH, pid))),
        "ptrace-seize" => args.int(0).and_then(|pid| done(raw::trace(PTRACE_SEIZE, pid))),
        "vm-read" => args.int(0).and_then(|pid| done(raw::vm_read(pid))),
        "vm-write" => args.int(0).and_then(|pid| done(raw::vm_write(pid))),
        "pidfd-open" => args.int(0).and_then(|pid| done(raw::pidfd_open(pid))),
        "pidfd-getfd" => args.int(0).and_then(|pid| done(raw::steal(pid, args.int(1)?))),
        "setuid" => done(raw::become_root()),
        "setgroups" => done(raw::set_groups()),
        "core" => core(),
        "exit" => match args.int(0) {
            Ok(code) => std::process::exit(code),
            Err(usage) => Err(usage),
        },
        "raise" => args.int(0).and_then(|signal| done(raw::raise(signal))),
        "daemon" => daemon(args),
        "hold" => hold(args),
        "flood" => flood(args),
        "sleep" => args.number(0).map(|milliseconds| {
            sleep(Duration::from_millis(milliseconds.unsigned_abs()));
            String::new()
        }),
        _ => return None,
    })
}

fn exec(args: &Args) -> Answer {
    let status = Command::new(args.word(0)?).args(&args.0[1..]).output()?.status;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit={code}"),
        (None, signal) => format!("signal={}", signal.unwrap_or(0)),
    })
}

/// `without FEATURE PROGRAM ARGS...`: becomes the program on a kernel that lacks something.
fn without(args: &Args) -> Answer {
    let name = args.text(0)?;
    let refusals = filter::feature(name).ok_or_else(|| Failure::Usage(format!("unknown feature {name}")))?;
    filter::install(&refusals)?;
    Err(Command::new(args.word(1)?).args(&args.0[2..]).exec().into())
}

/// `nest unshare|clone|clone3 user,mount,... DIRECTORY`
fn nest(args: &Args) -> Answer {
    let how = match args.text(0)? {
        "unshare" => How::Unshare,
        "clone" => How::Clone,
        "clone3" => How::Clone3,
        other => return Err(Failure::Usage(format!("unknown way {other}"))),
    };
    let mut flags = 0_u64;
    for word in args.text(1)?.split(',') {
        let flag = match word {
            "none" => 0,
            "user" => libc::CLONE_NEWUSER,
            "mount" => libc::CLONE_NEWNS,
            "pid" => libc::CLONE_NEWPID,
            "net" => libc::CLONE_NEWNET,
            "ipc" => libc::CLONE_NEWIPC,
            "uts" => libc::CLONE_NEWUTS,
            "cgroup" => libc::CLONE_NEWCGROUP,
            "time" => 0x80,
            other => return Err(Failure::Usage(format!("unknown namespace {other}"))),
        };
        flags |= u64::from(flag.unsigned_abs());
    }
    let mounted = match raw::nest(how, flags, &args.name(2)?)? {
        0 => "done".to_string(),
        error => errno::name(error),
    };
    Ok(format!("mount={mounted}"))
}

fn core() -> Answer {
    Ok(match raw::dump_core()? {
        Ending::Exit(code) => format!("exit={code}"),
        Ending::Signal { number, core } => format!("signal={number} core={core}"),
    })
}

/// Leaves a process behind that has its own session, hears no signal, keeps the descriptors, and writes
/// into a file as long as it lives.
fn daemon(args: &Args) -> Answer {
    let (marker, seconds) = (args.path(0)?, args.number(1)?.unsigned_abs());
    if raw::fork()? != 0 {
        return Ok(String::new());
    }
    let _ = raw::setsid();
    raw::ignore_signals();
    if raw::fork()? != 0 {
        raw::leave(0);
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut beat = 0_u64;
    while Instant::now() < end {
        beat += 1;
        let _ = fs::write(marker, beat.to_string());
        sleep(Duration::from_millis(10));
    }
    raw::leave(0)
}

/// Says `ok` at once and stays, with as many deaf children in their own sessions as asked for.
fn hold(args: &Args) -> Answer {
    let children = args.0.first().map_or(Ok(0), |_| args.number(0))?;
    for _ in 0..children {
        if raw::fork()? == 0 {
            let _ = raw::setsid();
            raw::ignore_signals();
            sleep(Duration::from_secs(600));
            raw::leave(0);
        }
    }
    println!("ok");
    std::io::stdout().flush()?;
    sleep(Duration::from_secs(600));
    raw::leave(0)
}

/// So many bytes of output, then the answer's line.
fn flood(args: &Args) -> Answer {
    let mut left = args.number(0)?.unsigned_abs();
    let block = [b'x'; 8192];
    let mut out = std::io::stdout().lock();
    while left > 0 {
        let count = left.min(block.len() as u64);
        out.write_all(&block[..usize::try_from(count).unwrap_or(block.len())])?;
        left -= count;
    }
    writeln!(out)?;
    Ok(String::new())
}
