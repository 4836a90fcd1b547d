//! Crowds, limits and signals around ordinary work.

use crate::answer::{Answer, Args};
use crate::sys::faults as raw;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "limited" => limited(args),
        "full-table" => full_table(args),
        "undumpable" => undumpable(args),
        "crowd" => crowd(args),
        "signalled" => signalled(args),
        "alarmed" => alarmed(args),
        "churn" => churn(args),
        "refusals" => refusals(args),
        _ => return None,
    })
}

/// `limited DESCRIPTORS ACT...`
fn limited(args: &Args) -> Answer {
    raw::limit_descriptors(args.number(0)?.unsigned_abs())?;
    crate::attempt(&args.0[1..])
}

/// `full-table ACT...`: with no descriptor left.
fn full_table(args: &Args) -> Answer {
    raw::limit_descriptors(64)?;
    let mut all = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        all.push(file);
    }
    let answer = crate::attempt(args.0);
    drop(all);
    answer
}

/// `undumpable ACT...`: closed to everybody's eyes.
fn undumpable(args: &Args) -> Answer {
    raw::set_dumpable(false)?;
    let answer = crate::attempt(args.0);
    raw::set_dumpable(true)?;
    answer
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// One small life of files.
fn work(dir: &Path, name: &str) -> io::Result<()> {
    let (file, moved, below) =
        (dir.join(name), dir.join(format!("{name}.moved")), dir.join(format!("{name}.d")));
    create_new(&file)?.write_all(b"x")?;
    fs::rename(&file, &moved)?;
    fs::create_dir(&below)?;
    fs::hard_link(&moved, below.join("l"))?;
    fs::remove_file(below.join("l"))?;
    fs::remove_dir(&below)?;
    fs::remove_file(&moved)
}

/// `crowd THREADS DIRECTORY REFUSED`: everybody at once; half of them also try what is refused.
fn crowd(args: &Args) -> Answer {
    let (wanted, dir, refused) = (args.number(0)?.unsigned_abs(), args.path(1)?, args.path(2)?);
    let (failed, holes, gate) = (AtomicU64::new(0), AtomicU64::new(0), RwLock::new(()));
    let shut = gate.write();
    let mut started = 0_u64;
    let first = Mutex::new(None);
    std::thread::scope(|threads| {
        for number in 0..wanted {
            let (failed, holes, gate, first) = (&failed, &holes, &gate, &first);
            let body = move || {
                drop(gate.read());
                if let Err(error) = work(dir, &format!("t{number}")) {
                    failed.fetch_add(1, Ordering::Relaxed);
                    *first.lock().unwrap_or_else(PoisonError::into_inner) = error.raw_os_error();
                }
                if number % 2 == 0 && fs::create_dir(refused).is_ok() {
                    holes.fetch_add(1, Ordering::Relaxed);
                }
            };
            match std::thread::Builder::new().stack_size(64 * 1024).spawn_scoped(threads, body) {
                Ok(_) => started += 1,
                Err(_) => break,
            }
        }
        drop(shut);
    });
    let error = first.into_inner().unwrap_or_default().unwrap_or(0);
    let (failed, holes) = (failed.into_inner(), holes.into_inner());
    Ok(format!("started={started} failed={failed} holes={holes} error={error}"))
}

/// `signalled TIMES DIRECTORY restart|fail`: new files among a thousand signals a second.
fn signalled(args: &Args) -> Answer {
    let (times, dir, restart) = (args.number(0)?, args.path(1)?, args.text(2)? == "restart");
    raw::signal_every(1000, restart)?;
    let (mut made, mut existed, mut interrupted) = (0, 0, 0);
    for number in 0..times {
        let path = dir.join(format!("s{number}"));
        loop {
            let result = if number % 2 == 0 { create_new(&path).map(drop) } else { fs::create_dir(&path) };
            match result.map_err(|error| error.raw_os_error()) {
                Ok(()) => made += 1,
                Err(Some(libc::EEXIST)) => existed += 1,
                Err(Some(libc::EINTR)) => {
                    interrupted += 1;
                    continue;
                }
                Err(_) => {}
            }
            break;
        }
    }
    raw::signal_every(0, restart)?;
    Ok(format!("made={made} existed={existed} interrupted={interrupted}"))
}

/// `alarmed MILLISECONDS ACT...`: a handled signal comes while the act waits.
fn alarmed(args: &Args) -> Answer {
    raw::signal_every(args.number(0)? * 1000, false)?;
    let answer = crate::attempt(&args.0[1..]);
    raw::signal_every(0, false)?;
    answer
}

/// `churn DIRECTORY THREADS SECONDS`: says `ok`, then makes, moves and removes without end.
fn churn(args: &Args) -> Answer {
    let (dir, count) = (args.path(0)?, args.number(1)?.unsigned_abs());
    let end = Instant::now() + Duration::from_secs(args.number(2)?.unsigned_abs());
    let ready = Barrier::new(usize::try_from(count).unwrap_or(1));
    std::thread::scope(|threads| {
        for number in 0..count {
            let ready = &ready;
            threads.spawn(move || {
                if ready.wait().is_leader() {
                    println!("ok");
                }
                let mut turn = 0_u64;
                while Instant::now() < end {
                    turn += 1;
                    let _ = work(dir, &format!("c{number}-{turn}"));
                }
            });
        }
    });
    Ok(String::new())
}

/// `refusals COUNT DIRECTORY`: as many different refused acts.
fn refusals(args: &Args) -> Answer {
    let (count, dir) = (args.number(0)?, args.path(1)?);
    let refused = (0..count).filter(|number| fs::create_dir(dir.join(format!("n{number}"))).is_err()).count();
    Ok(format!("refused={refused}"))
}
