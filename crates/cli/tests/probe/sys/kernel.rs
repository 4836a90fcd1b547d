//! Calls that no command behind walls needs.

use super::{call, signed};
use std::ffi::CStr;
use std::io;
use std::os::fd::RawFd;

/// Room for structures the kernel may fill in.
type Room = [u64; 64];

/// One call by name, with arguments that would do no harm if it got through.
pub(crate) fn trial(name: &str) -> Option<io::Result<usize>> {
    let mut room: Room = [0; 64];
    let room = (&raw mut room) as usize;
    let text = |text: &'static CStr| text.as_ptr() as usize;
    let here = signed(libc::AT_FDCWD);
    let (number, args): (libc::c_long, Vec<usize>) = match name {
        "io_uring_setup" => (libc::SYS_io_uring_setup, vec![8, room]),
        "io_uring_enter" => (libc::SYS_io_uring_enter, vec![signed(-1), 0, 0, 0]),
        "io_uring_register" => (libc::SYS_io_uring_register, vec![signed(-1), 0, 0, 0]),
        "bpf" => (libc::SYS_bpf, vec![0, room, 128]),
        "perf_event_open" => (libc::SYS_perf_event_open, vec![room, 0, signed(-1), signed(-1), 0]),
        "userfaultfd" => (libc::SYS_userfaultfd, vec![signed(libc::O_CLOEXEC)]),
        "userfaultfd_user" => (libc::SYS_userfaultfd, vec![signed(libc::O_CLOEXEC) | 1]),
        "keyctl" => (libc::SYS_keyctl, vec![0, signed(-3), 1]),
        "add_key" => (libc::SYS_add_key, vec![text(c"user"), text(c"stockade"), text(c"x"), 1, signed(-2)]),
        "request_key" => (libc::SYS_request_key, vec![text(c"user"), text(c"stockade"), 0, signed(-2)]),
        "kexec_load" => (libc::SYS_kexec_load, vec![0, 0, 0, 0]),
        "kexec_file_load" => (libc::SYS_kexec_file_load, vec![signed(-1), signed(-1), 0, 0, 0]),
        "umount2" => (libc::SYS_umount2, vec![text(c"/proc"), libc::MNT_DETACH as usize]),
        "fsopen" => (libc::SYS_fsopen, vec![text(c"tmpfs"), 0]),
        "fsconfig" => (libc::SYS_fsconfig, vec![signed(-1), 0, 0, 0, 0]),
        "fsmount" => (libc::SYS_fsmount, vec![signed(-1), 0, 0]),
        "fspick" => (libc::SYS_fspick, vec![here, text(c"/"), 0]),
        "open_tree" => (libc::SYS_open_tree, vec![here, text(c"/"), 1]),
        "move_mount" => (libc::SYS_move_mount, vec![here, text(c"/"), here, text(c"/mnt"), 0]),
        "mount_setattr" => (libc::SYS_mount_setattr, vec![here, text(c"/"), 0, room, 32]),
        "pivot_root" => (libc::SYS_pivot_root, vec![text(c"."), text(c".")]),
        "chroot" => (libc::SYS_chroot, vec![text(c"/")]),
        "init_module" => (libc::SYS_init_module, vec![room, 0, text(c"")]),
        "finit_module" => (libc::SYS_finit_module, vec![signed(-1), text(c""), 0]),
        "delete_module" => (libc::SYS_delete_module, vec![text(c"no_such_module"), 0]),
        "swapon" => (libc::SYS_swapon, vec![text(c"/nonexistent"), 0]),
        "swapoff" => (libc::SYS_swapoff, vec![text(c"/nonexistent")]),
        // The magic numbers are wrong on purpose: through a hole this answers EINVAL and nothing more.
        "reboot" => (libc::SYS_reboot, vec![1, 2, 3, 0]),
        "sethostname" => (libc::SYS_sethostname, vec![text(c"x"), 1]),
        "setdomainname" => (libc::SYS_setdomainname, vec![text(c"x"), 1]),
        "acct" => (libc::SYS_acct, vec![text(c"/nonexistent")]),
        "quotactl" => (libc::SYS_quotactl, vec![0, 0, 0, 0]),
        "fanotify_init" => (libc::SYS_fanotify_init, vec![0, 0]),
        "syslog" => (libc::SYS_syslog, vec![3, room, 512]),
        "vhangup" => (libc::SYS_vhangup, vec![]),
        "kcmp" => (libc::SYS_kcmp, vec![1, 1, 0, 0, 0]),
        "setns" => (libc::SYS_setns, vec![signed(-1), 0]),
        #[cfg(target_arch = "x86_64")]
        "iopl" => (libc::SYS_iopl, vec![3]),
        #[cfg(target_arch = "x86_64")]
        "ioperm" => (libc::SYS_ioperm, vec![0, 1, 1]),
        _ => return None,
    };
    Some(call(number, &args))
}

/// A fresh tmpfs over a directory.
pub(crate) fn mount(over: &CStr) -> io::Result<usize> {
    call(
        libc::SYS_mount,
        &[c"none".as_ptr() as usize, over.as_ptr() as usize, c"tmpfs".as_ptr() as usize, 0, 0],
    )
}

/// Makes the mount of a path writable again.
pub(crate) fn remount_writable(path: &CStr) -> io::Result<usize> {
    let flags = libc::MS_REMOUNT | libc::MS_BIND;
    let flags = usize::try_from(flags).map_err(io::Error::other)?;
    call(libc::SYS_mount, &[0, path.as_ptr() as usize, 0, flags, 0])
}

pub(crate) fn personality(value: usize) -> io::Result<usize> {
    call(libc::SYS_personality, &[value])
}

pub(crate) fn setns(fd: RawFd) -> io::Result<usize> {
    call(libc::SYS_setns, &[signed(fd), 0])
}

/// Sets the clock to what it is.
pub(crate) fn set_time() -> io::Result<usize> {
    let mut now = [0_i64; 2];
    call(libc::SYS_gettimeofday, &[now.as_mut_ptr() as usize, 0])?;
    call(libc::SYS_settimeofday, &[now.as_ptr() as usize, 0])
}

pub(crate) fn set_clock() -> io::Result<usize> {
    let mut now = [0_i64; 2];
    let clock = signed(libc::CLOCK_REALTIME);
    call(libc::SYS_clock_gettime, &[clock, now.as_mut_ptr() as usize])?;
    call(libc::SYS_clock_settime, &[clock, now.as_ptr() as usize])
}

/// Which bits go above the 32 the kernel looks at.
#[derive(Clone, Copy)]
pub(crate) enum High {
    Clear,
    Set,
}

fn request(request: libc::c_ulong, high: High) -> usize {
    let low = request as usize & 0xffff_ffff;
    match high {
        High::Clear => low,
        High::Set => low | 0x7_0000_0000,
    }
}

/// Pushes a character into a terminal's input.
pub(crate) fn push_input(fd: RawFd, high: High) -> io::Result<usize> {
    let character = b'#';
    call(libc::SYS_ioctl, &[signed(fd), request(libc::TIOCSTI, high), (&raw const character) as usize])
}

/// Pastes the console's selection, the other way to type into a terminal.
pub(crate) fn paste(fd: RawFd, high: High) -> io::Result<usize> {
    let subcode = 3_u8;
    call(libc::SYS_ioctl, &[signed(fd), request(libc::TIOCLINUX, high), (&raw const subcode) as usize])
}

/// A system call of the 32-bit kind from a 64-bit program.
#[cfg(target_arch = "x86_64")]
pub(crate) fn int80() -> io::Result<usize> {
    let result: i64;
    // SAFETY: number 20 is getpid there, which has no arguments and no effect; rbx is kept by hand
    // because the compiler reserves it.
    unsafe {
        std::arch::asm!(
            "push rbx", "int 0x80", "pop rbx",
            inlateout("rax") 20_i64 => result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(0)))
}

/// A system call of the x32 kind.
#[cfg(target_arch = "x86_64")]
pub(crate) fn x32() -> io::Result<usize> {
    const X32: libc::c_long = 0x4000_0000;
    call(X32 | libc::SYS_getpid, &[])
}
