//! A kernel with features missing, as far as a system-call filter can play one.

use std::io;

/// One call that answers an error.
#[derive(Clone, Copy)]
pub(crate) struct Refusal {
    number: libc::c_long,
    when: When,
    errno: i32,
}

/// Which uses of a call are meant, by the first argument.
#[derive(Clone, Copy)]
enum When {
    Always,
    Is(i32),
    HasBits(i32),
}

/// What a feature is to the calls.
pub(crate) fn feature(name: &str) -> Option<Vec<Refusal>> {
    let absent = |number| Refusal { number, when: When::Always, errno: libc::ENOSYS };
    let user = |number| Refusal { number, when: When::HasBits(libc::CLONE_NEWUSER), errno: libc::EPERM };
    Some(match name {
        "landlock" => {
            [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self]
                .map(absent)
                .into()
        }
        "user-namespaces" => vec![absent(libc::SYS_clone3), user(libc::SYS_clone), user(libc::SYS_unshare)],
        "mount-interface" => {
            [libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_mount_setattr]
                .map(absent)
                .into()
        }
        "seccomp" => vec![
            absent(libc::SYS_seccomp),
            Refusal { number: libc::SYS_prctl, when: When::Is(libc::PR_SET_SECCOMP), errno: libc::EINVAL },
        ],
        _ => return None,
    })
}

fn statement(code: u32, operand: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k: operand }
}

/// Goes on at the next instruction when it holds, and `otherwise` instructions later when not.
fn test(code: u32, operand: u32, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: otherwise, k: operand }
}

fn assemble(refusals: &[Refusal]) -> Vec<libc::sock_filter> {
    const NUMBER: u32 = 0;
    const FIRST_ARGUMENT: u32 = 16;
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let answer = |value| statement(libc::BPF_RET | libc::BPF_K, value);
    let mut program = Vec::new();
    for refusal in refusals {
        let number = u32::try_from(refusal.number).unwrap_or(u32::MAX);
        let refuse = answer(libc::SECCOMP_RET_ERRNO | refusal.errno.unsigned_abs());
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let bits = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
        program.push(load(NUMBER));
        match refusal.when {
            When::Always => program.extend([test(equal, number, 1), refuse]),
            When::Is(value) => program.extend([
                test(equal, number, 3),
                load(FIRST_ARGUMENT),
                test(equal, value.unsigned_abs(), 1),
                refuse,
            ]),
            When::HasBits(value) => program.extend([
                test(equal, number, 3),
                load(FIRST_ARGUMENT),
                test(bits, value.unsigned_abs(), 1),
                refuse,
            ]),
        }
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// Takes these calls away from this process and everything it starts.
pub(crate) fn install(refusals: &[Refusal]) -> io::Result<()> {
    let mut program = assemble(refusals);
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: the program outlives the call, which copies it.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
