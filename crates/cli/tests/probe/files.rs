//! Acts on files and directories.

use crate::answer::{Answer, Args, Failure, escape};
use crate::sys::{self, files as raw};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{
    DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink,
};
use std::path::Path;

/// What the probe writes wherever it is let.
const MARK: &[u8] = b"ATTACK";

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "read" => args.path(0).and_then(read),
        "write" => args.path(0).and_then(|path| opened(OpenOptions::new().write(true), path, MARK)),
        "open-write" => args.path(0).and_then(|path| opened(OpenOptions::new().write(true), path, b"")),
        "open-both" => {
            args.path(0).and_then(|path| opened(OpenOptions::new().read(true).write(true), path, b""))
        }
        "append" => args.path(0).and_then(|path| opened(OpenOptions::new().append(true), path, MARK)),
        "empty" => {
            args.path(0).and_then(|path| opened(OpenOptions::new().write(true).truncate(true), path, b""))
        }
        "truncate" => args.name(0).and_then(|path| done(raw::truncate(&path, 0))),
        "create" => args
            .path(0)
            .and_then(|path| opened(OpenOptions::new().write(true).create_new(true).mode(0o644), path, MARK)),
        "put" => args.path(0).and_then(|path| {
            opened(OpenOptions::new().write(true).create(true).truncate(true).mode(0o644), path, MARK)
        }),
        "mkdir" => args.path(0).and_then(|path| done(fs::DirBuilder::new().mode(0o755).create(path))),
        "mknod" => mknod(args),
        "symlink" => pair(args, |target, link| symlink(target, link)),
        "link" => pair(args, |old, new| fs::hard_link(old, new)),
        "rename" => pair(args, |old, new| fs::rename(old, new)),
        "exchange" => exchange(args),
        "unlink" => args.path(0).and_then(|path| done(fs::remove_file(path))),
        "rmdir" => args.path(0).and_then(|path| done(fs::remove_dir(path))),
        "chmod" => args.path(0).and_then(|path| {
            let mode = u32::try_from(args.number(1)?).unwrap_or(0);
            done(fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        }),
        "chown" => args.path(0).and_then(|path| {
            let id = |at| args.number(at).map(|id| u32::try_from(id).ok());
            done(chown(path, id(1)?, id(2)?))
        }),
        "utimens" => args.name(0).and_then(|path| done(raw::touch(&path))),
        "setxattr" => args.name(0).and_then(|path| done(raw::set_attribute(&path))),
        "list" => args.path(0).and_then(list),
        "stat" => args.path(0).and_then(|path| Ok(describe(&fs::metadata(path)?))),
        "lstat" => args.path(0).and_then(|path| Ok(describe(&fs::symlink_metadata(path)?))),
        "readlink" => args.path(0).and_then(|path| Ok(escape(fs::read_link(path)?.as_os_str().as_bytes()))),
        "chdir" => args.path(0).and_then(|path| done(std::env::set_current_dir(path))),
        "openat2" => openat2(args),
        "handle-name" => args.name(0).and_then(|path| done(raw::handle_of(&path))),
        "handle-open" => args.path(0).and_then(|path| {
            let inode = fs::metadata(path)?.ino();
            done(raw::open_handle(inode))
        }),
        "tmpfile" => tmpfile(args, raw::Naming::ProcLink),
        "tmpfile-empty-path" => tmpfile(args, raw::Naming::EmptyPath),
        "openat" => openat(args),
        "fchmod" => args.int(0).and_then(|fd| done(raw::fchmod(fd, 0o666))),
        "futimens" => args.int(0).and_then(|fd| done(raw::futimens(fd))),
        "fsetxattr" => args.int(0).and_then(|fd| done(raw::fset_attribute(fd))),
        "ftruncate" => args.int(0).and_then(|fd| done(raw::ftruncate(fd))),
        "fd-write" => args.int(0).and_then(|fd| Ok(raw::write(fd, MARK)?.to_string())),
        "fd-read" => args.int(0).and_then(|fd| Ok(escape(&raw::read(fd, 200)?))),
        "fd-link" => args.int(0).and_then(|fd| done(raw::link_descriptor(fd, &args.name(1)?))),
        "map-exec" => args.path(0).and_then(|path| {
            let file = File::open(path)?;
            done(raw::map_executable(file.as_raw_fd()))
        }),
        "map-write" => args.path(0).and_then(|path| {
            let file = File::open(path)?;
            done(raw::map_shared_writable(file.as_raw_fd()))
        }),
        _ => return None,
    })
}

/// A success without detail.
pub(crate) fn done<T>(result: std::io::Result<T>) -> Answer {
    result.map(|_| String::new()).map_err(Failure::from)
}

fn read(path: &Path) -> Answer {
    let mut start = [0; 200];
    let count = File::open(path)?.read(&mut start)?;
    Ok(escape(&start[..count]))
}

fn opened(options: &mut OpenOptions, path: &Path, bytes: &[u8]) -> Answer {
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    Ok(String::new())
}

fn pair(args: &Args, act: impl Fn(&Path, &Path) -> std::io::Result<()>) -> Answer {
    done(act(args.path(0)?, args.path(1)?))
}

fn exchange(args: &Args) -> Answer {
    done(raw::exchange(&args.name(0)?, &args.name(1)?))
}

fn mknod(args: &Args) -> Answer {
    let kind = match args.text(1)? {
        "char" => raw::Node::Character,
        "block" => raw::Node::Block,
        "fifo" => raw::Node::Fifo,
        "socket" => raw::Node::Socket,
        other => return Err(Failure::Usage(format!("unknown node {other}"))),
    };
    let number = |at: usize| args.0.get(at).map_or(Ok(0), |_| args.number(at));
    done(raw::mknod(&args.name(0)?, kind, number(2)?, number(3)?))
}

fn list(path: &Path) -> Answer {
    let mut names = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| escape(entry.file_name().as_bytes())))
        .collect::<Result<Vec<_>, _>>()?;
    names.sort();
    Ok(names.join(" "))
}

fn describe(data: &fs::Metadata) -> String {
    let kind = data.file_type();
    let kind = match () {
        () if kind.is_dir() => "dir",
        () if kind.is_symlink() => "link",
        () if kind.is_fifo() => "fifo",
        () if kind.is_socket() => "socket",
        () if kind.is_char_device() => "char",
        () if kind.is_block_device() => "block",
        () => "file",
    };
    let (mode, size) = (data.mode() & 0o7777, data.size());
    format!("kind={kind} mode={mode:o} uid={} gid={} size={size}", data.uid(), data.gid())
}

fn openat2(args: &Args) -> Answer {
    let resolve = match args.text(1)? {
        "plain" => 0,
        "beneath" => libc::RESOLVE_BENEATH,
        "in-root" => libc::RESOLVE_IN_ROOT,
        other => return Err(Failure::Usage(format!("unknown resolve {other}"))),
    };
    let flags = match args.text(2)? {
        "r" => libc::O_RDONLY,
        "w" => libc::O_WRONLY,
        "c" => libc::O_WRONLY | libc::O_CREAT,
        other => return Err(Failure::Usage(format!("unknown flags {other}"))),
    };
    done(raw::openat2(libc::AT_FDCWD, &args.name(0)?, flags, resolve))
}

fn tmpfile(args: &Args, naming: raw::Naming) -> Answer {
    done(raw::tmpfile(&args.name(0)?, &args.name(1)?, naming))
}

/// Opens a path relative to a descriptor the probe was handed; `list` shows what is there.
fn openat(args: &Args) -> Answer {
    let flags = match args.text(2)? {
        "r" => libc::O_RDONLY,
        "w" => libc::O_WRONLY,
        "c" => libc::O_WRONLY | libc::O_CREAT,
        "d" => libc::O_RDONLY | libc::O_DIRECTORY,
        other => return Err(Failure::Usage(format!("unknown flags {other}"))),
    };
    let fd = sys::files::openat(args.int(0)?, &args.name(1)?, flags)?;
    if args.text(2)? == "d" {
        return list(Path::new(&format!("/proc/self/fd/{}", fd.into_raw_fd())));
    }
    Ok(String::new())
}
