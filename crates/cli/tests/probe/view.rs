//! What the sandbox looks like from inside.

use crate::answer::{Answer, Args, Failure, escape};
use crate::sys::{files, processes};
use std::fs;
use std::os::unix::ffi::OsStrExt;

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "fds" => Ok(descriptors()),
        "env" => Ok(environment()),
        "status" => status(),
        "mounts" => mounts(),
        "processes" => numbers("/proc"),
        "limit" => limit(args),
        "ids" => identity(),
        "cwd" => std::env::current_dir().map(|dir| escape(dir.as_os_str().as_bytes())).map_err(Failure::from),
        _ => return None,
    })
}

/// Numbers of open descriptors, asked of the kernel and not of a directory that could be covered.
fn descriptors() -> String {
    let open = (0..4096).filter(|fd| files::is_open(*fd)).map(|fd| fd.to_string());
    open.collect::<Vec<_>>().join(" ")
}

fn environment() -> String {
    let mut all: Vec<String> = std::env::vars_os()
        .map(|(name, value)| format!("{}={}", escape(name.as_bytes()), escape(value.as_bytes())))
        .collect();
    all.sort();
    all.join(" ")
}

/// The lines of /proc/self/status that tell privileges.
fn status() -> Answer {
    const TOLD: [&str; 11] = [
        "CapInh",
        "CapPrm",
        "CapEff",
        "CapBnd",
        "CapAmb",
        "NoNewPrivs",
        "Seccomp",
        "Uid",
        "Gid",
        "Groups",
        "NSpid",
    ];
    let text = fs::read_to_string("/proc/self/status")?;
    let told = text.lines().filter_map(|line| line.split_once(':')).filter(|(key, _)| TOLD.contains(key));
    let words = told.map(|(key, value)| {
        let value = value.split_whitespace().collect::<Vec<_>>().join(",");
        format!("{key}={value}")
    });
    Ok(words.collect::<Vec<_>>().join(" "))
}

/// `PATH:OPTIONS:TYPE` of every mount.
fn mounts() -> Answer {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    let words = text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(4);
        let (path, options) = (fields.next()?, fields.next()?);
        let kind = after.split(' ').next()?;
        Some(format!("{}:{options}:{kind}", escape(path.as_bytes())))
    });
    Ok(words.collect::<Vec<_>>().join(" "))
}

fn numbers(dir: &str) -> Answer {
    let mut found: Vec<u32> =
        fs::read_dir(dir)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    found.sort_unstable();
    Ok(found.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
}

fn limit(args: &Args) -> Answer {
    let resource = match args.text(0)? {
        "core" => libc::RLIMIT_CORE,
        "fsize" => libc::RLIMIT_FSIZE,
        "nofile" => libc::RLIMIT_NOFILE,
        "nproc" => libc::RLIMIT_NPROC,
        "as" => libc::RLIMIT_AS,
        other => return Err(Failure::Usage(format!("unknown limit {other}"))),
    };
    let word = |limit: u64| if limit == u64::MAX { "none".to_string() } else { limit.to_string() };
    let [soft, hard] = processes::limit(resource)?;
    Ok(format!("soft={} hard={}", word(soft), word(hard)))
}

fn identity() -> Answer {
    let [uid, gid, pid, ppid, pgid, sid] = processes::identity()?;
    Ok(format!("uid={uid} gid={gid} pid={pid} ppid={ppid} pgid={pgid} sid={sid}"))
}
