//! File calls that the standard library does not have.

use super::{call, signed};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Extended attribute the probe sets.
const ATTRIBUTE: &CStr = c"user.stockade";

/// Kinds of special files.
#[derive(Clone, Copy)]
pub(crate) enum Node {
    Character,
    Block,
    Fifo,
    Socket,
}

/// How a nameless file gets its name.
#[derive(Clone, Copy)]
pub(crate) enum Naming {
    ProcLink,
    EmptyPath,
}

fn address(text: &CStr) -> usize {
    text.as_ptr() as usize
}

pub(super) fn owned(fd: usize) -> io::Result<OwnedFd> {
    let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just handed out this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn openat(dir: RawFd, path: &CStr, flags: i32) -> io::Result<OwnedFd> {
    owned(call(libc::SYS_openat, &[signed(dir), address(path), signed(flags | libc::O_CLOEXEC), 0o644])?)
}

/// Opens with exactly these flags.
pub(crate) fn openat_with(path: &CStr, flags: i32, mode: i64) -> io::Result<OwnedFd> {
    let mode = usize::try_from(mode).map_err(io::Error::other)?;
    owned(call(libc::SYS_openat, &[signed(libc::AT_FDCWD), address(path), signed(flags), mode])?)
}

pub(crate) fn openat2(dir: RawFd, path: &CStr, flags: i32, resolve: u64) -> io::Result<OwnedFd> {
    let mode = if flags & libc::O_CREAT == 0 { 0 } else { 0o644 };
    let how: [u64; 3] = [u64::try_from(flags | libc::O_CLOEXEC).unwrap_or(0), mode, resolve];
    let fd = call(
        libc::SYS_openat2,
        &[signed(dir), address(path), how.as_ptr() as usize, std::mem::size_of_val(&how)],
    )?;
    owned(fd)
}

pub(crate) fn truncate(path: &CStr, length: usize) -> io::Result<usize> {
    call(libc::SYS_truncate, &[address(path), length])
}

pub(crate) fn ftruncate(fd: RawFd) -> io::Result<usize> {
    call(libc::SYS_ftruncate, &[signed(fd), 0])
}

pub(crate) fn mknod(path: &CStr, node: Node, major: i64, minor: i64) -> io::Result<usize> {
    let kind = match node {
        Node::Character => libc::S_IFCHR,
        Node::Block => libc::S_IFBLK,
        Node::Fifo => libc::S_IFIFO,
        Node::Socket => libc::S_IFSOCK,
    };
    let device = libc::makedev(u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0));
    let device = usize::try_from(device).map_err(io::Error::other)?;
    call(libc::SYS_mknodat, &[signed(libc::AT_FDCWD), address(path), (kind | 0o666) as usize, device])
}

pub(crate) fn exchange(one: &CStr, other: &CStr) -> io::Result<usize> {
    let here = signed(libc::AT_FDCWD);
    call(libc::SYS_renameat2, &[here, address(one), here, address(other), libc::RENAME_EXCHANGE as usize])
}

pub(crate) fn touch(path: &CStr) -> io::Result<usize> {
    call(libc::SYS_utimensat, &[signed(libc::AT_FDCWD), address(path), 0, 0])
}

pub(crate) fn futimens(fd: RawFd) -> io::Result<usize> {
    call(libc::SYS_utimensat, &[signed(fd), 0, 0, 0])
}

pub(crate) fn set_attribute(path: &CStr) -> io::Result<usize> {
    call(libc::SYS_setxattr, &[address(path), address(ATTRIBUTE), address(c"x"), 1, 0])
}

pub(crate) fn fset_attribute(fd: RawFd) -> io::Result<usize> {
    call(libc::SYS_fsetxattr, &[signed(fd), address(ATTRIBUTE), address(c"x"), 1, 0])
}

pub(crate) fn fchmod(fd: RawFd, mode: usize) -> io::Result<usize> {
    call(libc::SYS_fchmod, &[signed(fd), mode])
}

pub(crate) fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    call(libc::SYS_write, &[signed(fd), bytes.as_ptr() as usize, bytes.len()])
}

pub(crate) fn read(fd: RawFd, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; most];
    let count = call(libc::SYS_read, &[signed(fd), bytes.as_mut_ptr() as usize, most])?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Whether a number is an open descriptor.
pub(crate) fn is_open(fd: RawFd) -> bool {
    call(libc::SYS_fcntl, &[signed(fd), libc::F_GETFD as usize]).is_ok()
}

pub(crate) fn link_descriptor(fd: RawFd, name: &CStr) -> io::Result<usize> {
    let here = signed(libc::AT_FDCWD);
    let source = CString::new(format!("/proc/self/fd/{fd}"))?;
    call(libc::SYS_linkat, &[here, address(&source), here, address(name), libc::AT_SYMLINK_FOLLOW as usize])
}

pub(crate) fn tmpfile(dir: &CStr, name: &CStr, naming: Naming) -> io::Result<usize> {
    let file = openat(libc::AT_FDCWD, dir, libc::O_TMPFILE | libc::O_RDWR)?;
    write(file.as_raw_fd(), b"ATTACK")?;
    match naming {
        Naming::ProcLink => link_descriptor(file.as_raw_fd(), name),
        Naming::EmptyPath => call(
            libc::SYS_linkat,
            &[
                signed(file.as_raw_fd()),
                address(c""),
                signed(libc::AT_FDCWD),
                address(name),
                libc::AT_EMPTY_PATH as usize,
            ],
        ),
    }
}

/// Room for a file handle of the largest kind: its size, its type, then bytes.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    body: [u8; 128],
}

pub(crate) fn handle_of(path: &CStr) -> io::Result<usize> {
    let mut handle = Handle { bytes: 128, kind: 0, body: [0; 128] };
    let mut mount = 0_i32;
    call(
        libc::SYS_name_to_handle_at,
        &[signed(libc::AT_FDCWD), address(path), (&raw mut handle) as usize, (&raw mut mount) as usize, 0],
    )
}

/// Opens a file by inode number alone, the way a container's escape once did.
pub(crate) fn open_handle(inode: u64) -> io::Result<usize> {
    const INODE_AND_GENERATION: i32 = 1;
    let mut handle = Handle { bytes: 8, kind: INODE_AND_GENERATION, body: [0; 128] };
    handle.body[..8].copy_from_slice(&inode.to_ne_bytes());
    let root = openat(libc::AT_FDCWD, c"/", libc::O_RDONLY)?;
    call(libc::SYS_open_by_handle_at, &[signed(root.as_raw_fd()), (&raw mut handle) as usize, 0])
}

fn map(fd: RawFd, protection: i32, flags: i32) -> io::Result<usize> {
    call(libc::SYS_mmap, &[0, 4096, signed(protection), signed(flags), signed(fd), 0])
}

pub(crate) fn map_executable(fd: RawFd) -> io::Result<usize> {
    map(fd, libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE)
}

pub(crate) fn map_shared_writable(fd: RawFd) -> io::Result<usize> {
    map(fd, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED)
}
