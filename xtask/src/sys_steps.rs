//! Following a program step by step.

#![expect(unsafe_code, reason = "tracing is a system call without a safe form")]

use anyhow::{Context, Result, bail, ensure};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

/// Runs a program and tells where its first thread is before each instruction, counted from the program's own
/// beginning.
pub(crate) fn follow(command: &mut Command, mut tell: impl FnMut(u64)) -> Result<()> {
    // SAFETY: between fork and exec only a system call is made.
    let traced = unsafe { command.pre_exec(|| request(libc::PTRACE_TRACEME, 0, 0).map(drop)) };
    let child = traced.spawn().context("could not start the program")?;
    let child = i32::try_from(child.id()).context("an impossible process id")?;
    ensure!(libc::WIFSTOPPED(wait(child)?), "the program did not stop where it begins");
    let base = base(child)?;
    let mut signal = 0;
    loop {
        request(libc::PTRACE_SINGLESTEP, child, signal).context("could not follow the program")?;
        let status = wait(child)?;
        if libc::WIFEXITED(status) {
            ensure!(libc::WEXITSTATUS(status) == 0, "the program failed");
            return Ok(());
        }
        if !libc::WIFSTOPPED(status) {
            bail!("the program was killed");
        }
        // Everything but the steps themselves is the program's own.
        signal = match libc::WSTOPSIG(status) {
            libc::SIGTRAP => 0,
            other => other.into(),
        };
        tell(at(child)?.wrapping_sub(base));
    }
}

fn wait(child: i32) -> Result<i32> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    let done = unsafe { libc::waitpid(child, &raw mut status, 0) };
    ensure!(done == child, "could not wait for the program: {}", std::io::Error::last_os_error());
    Ok(status)
}

/// Where a stopped process was loaded.
fn base(child: i32) -> Result<u64> {
    let maps =
        std::fs::read_to_string(format!("/proc/{child}/maps")).context("could not read its mappings")?;
    let first = maps.split('-').next().unwrap_or_default();
    u64::from_str_radix(first, 16).context("its mappings make no sense")
}

/// The next instruction of a stopped process.
fn at(child: i32) -> Result<u64> {
    // SAFETY: all-zero is a valid value.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let mut place =
        libc::iovec { iov_base: (&raw mut registers).cast(), iov_len: size_of::<libc::user_regs_struct>() };
    // SAFETY: the kernel writes at most as much as the place says, which outlives the call.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, child, libc::NT_PRSTATUS, &raw mut place) };
    ensure!(done == 0, "could not read its registers: {}", std::io::Error::last_os_error());
    #[cfg(target_arch = "x86_64")]
    let at = registers.rip;
    #[cfg(target_arch = "aarch64")]
    let at = registers.pc;
    Ok(at)
}

fn request(what: u32, child: i32, data: i64) -> std::io::Result<i64> {
    // SAFETY: these requests take a number where others take an address.
    let done = unsafe { libc::ptrace(what, child, ptr::null_mut::<libc::c_void>(), data) };
    if done == -1 { Err(std::io::Error::last_os_error()) } else { Ok(done) }
}
