//! Opening with flags of one's choice, and everything that can be seen of the result.

use crate::answer::{Answer, Args, Failure};
use crate::files::done;
use crate::sys::{errno, faults, files as raw};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "opened" => opened(args),
        "mask" => args.number(0).and_then(|mask| done(faults::set_mask(mask.unsigned_abs() as usize))),
        "made" => args.path(0).and_then(|path| Ok(describe(&fs::symlink_metadata(path)?))),
        "written" => args.path(0).and_then(|path| done(fs::write(path, "text"))),
        _ => return None,
    })
}

fn flags(text: &str) -> Result<i32, Failure> {
    text.split(',').try_fold(0, |flags, word| {
        let flag = match word {
            "r" => libc::O_RDONLY,
            "w" => libc::O_WRONLY,
            "rw" => libc::O_RDWR,
            "neither" => libc::O_ACCMODE,
            "creat" => libc::O_CREAT,
            "excl" => libc::O_EXCL,
            "trunc" => libc::O_TRUNC,
            "append" => libc::O_APPEND,
            "cloexec" => libc::O_CLOEXEC,
            "nofollow" => libc::O_NOFOLLOW,
            "directory" => libc::O_DIRECTORY,
            "nonblock" => libc::O_NONBLOCK,
            "sync" => libc::O_SYNC,
            "dsync" => libc::O_DSYNC,
            "noatime" => libc::O_NOATIME,
            "tmpfile" => libc::O_TMPFILE,
            "direct" => libc::O_DIRECT,
            "noctty" => libc::O_NOCTTY,
            "path" => libc::O_PATH,
            "unknown" => 0x0800_0000,
            other => return Err(Failure::Usage(format!("unknown flag {other}"))),
        };
        Ok(flags | flag)
    })
}

/// `opened PATH FLAGS MODE`
fn opened(args: &Args) -> Answer {
    let file = File::from(raw::openat_with(&args.name(0)?, flags(args.text(1)?)?, args.number(2)?)?);
    let status = faults::status_flags(file.as_raw_fd())?;
    let kept = faults::descriptor_flags(file.as_raw_fd())?;
    let written = match raw::write(file.as_raw_fd(), b"x") {
        Ok(_) => "done".to_string(),
        Err(error) => errno::name(error.raw_os_error().unwrap_or(0)),
    };
    Ok(format!("{} status={status:o} kept={kept} write={written}", describe(&file.metadata()?)))
}

fn describe(data: &fs::Metadata) -> String {
    let links = if data.is_dir() { 0 } else { data.nlink() };
    let size = if data.is_dir() { 0 } else { data.size() };
    format!("mode={:o} uid={} gid={} links={links} size={size}", data.mode(), data.uid(), data.gid())
}
