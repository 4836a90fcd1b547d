use super::*;

/// What the program answers to a call, by interpreting it as the kernel would.
fn answer(program: &[sock_filter], arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let (mut at, mut value) = (0, 0_u32);
    loop {
        let step = program[at];
        at += 1;
        let code = u32::from(step.code);
        let jump = |taken: bool| usize::from(if taken { step.jt } else { step.jf });
        if code == BPF_LD | BPF_W | BPF_ABS {
            value = match step.k {
                NUMBER_OFFSET => number,
                ARCH_OFFSET => arch,
                offset => {
                    let at = offset - ARGS_OFFSET;
                    (arguments[(at / 8) as usize] >> if at.is_multiple_of(8) { 0 } else { 32 }) as u32
                }
            };
        } else if code == BPF_RET | BPF_K {
            return step.k;
        } else if code == BPF_JMP | BPF_JA {
            at += step.k as usize;
        } else if code == BPF_ALU | BPF_AND | BPF_K {
            value &= step.k;
        } else if code == BPF_JMP | BPF_JEQ | BPF_K {
            at += jump(value == step.k);
        } else if code == BPF_JMP | BPF_JGE | BPF_K {
            at += jump(value >= step.k);
        } else if code == BPF_JMP | BPF_JSET | BPF_K {
            at += jump(value & step.k != 0);
        } else {
            panic!("unknown instruction {code:#x}");
        }
    }
}

fn strict() -> SyscallPlan {
    SyscallPlan { unix_sockets: UnixSockets::PairsOnly, nested_user_namespaces: Switch::Refused }
}

fn asked(plan: &SyscallPlan, call: libc::c_long, arguments: &[u64]) -> u32 {
    let mut six = [0; 6];
    six[..arguments.len()].copy_from_slice(arguments);
    answer(&refusing(plan, Caller::Root), AUDIT_ARCH, call as u32, six)
}

#[test]
fn every_row_of_the_table_refuses_and_its_neighbours_pass() {
    let program = refusing(&strict(), Caller::Root);
    for number in 0..=table::HIGHEST {
        let rules: Vec<_> = table::RULES.iter().filter(|rule| rule.call == number).collect();
        let got = answer(&program, AUDIT_ARCH, number, [0; 6]);
        match rules.iter().find(|rule| rule.when.is_empty()) {
            Some(rule) => assert_eq!(got, refusal(rule.errno), "call {number}"),
            None if rules.is_empty() => assert_eq!(got, SECCOMP_RET_ALLOW, "call {number}"),
            None => {}
        }
    }
    assert_eq!(answer(&program, AUDIT_ARCH, table::HIGHEST + 1, [0; 6]), refusal(libc::ENOSYS as u32));
}

#[test]
fn other_interfaces_are_killed() {
    let program = refusing(&strict(), Caller::Root);
    assert_eq!(answer(&program, 0x4000_0003, 20, [0; 6]), SECCOMP_RET_KILL_PROCESS);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(answer(&program, AUDIT_ARCH, X32_BIT | 1, [0; 6]), SECCOMP_RET_KILL_PROCESS);
    }
}

#[test]
fn arguments_are_judged_by_their_low_half() {
    let eperm = refusal(libc::EPERM as u32);
    let strict = strict();
    let high = 0xdead_beef_0000_0000;
    for (call, arguments, expected) in [
        (libc::SYS_ioctl, &[0, 0x5412][..], eperm),
        (libc::SYS_ioctl, &[0, high | 0x5412], eperm),
        (libc::SYS_ioctl, &[0, 0x5401], SECCOMP_RET_ALLOW),
        (libc::SYS_clone, &[0x1000_0000], eperm),
        (libc::SYS_clone, &[high | 0x0011], SECCOMP_RET_ALLOW),
        (libc::SYS_unshare, &[0x400], SECCOMP_RET_ALLOW),
        (libc::SYS_unshare, &[0x80], eperm),
        (libc::SYS_socket, &[1, 1, 0], eperm),
        (libc::SYS_socket, &[2, 1, 0], SECCOMP_RET_ALLOW),
        (libc::SYS_socket, &[10, 2 | 0o2000000, 17], SECCOMP_RET_ALLOW),
        (libc::SYS_socket, &[2, 3, 1], eperm),
        (libc::SYS_socket, &[2, 1, 132], eperm),
        (libc::SYS_socket, &[16, 3, 0], SECCOMP_RET_ALLOW),
        (libc::SYS_socket, &[16, 3, 15], eperm),
        (libc::SYS_socket, &[40, 1, 0], eperm),
        (libc::SYS_socketpair, &[1, 1, 0], SECCOMP_RET_ALLOW),
        (libc::SYS_socketpair, &[1, 5 | 0o4000, 0], SECCOMP_RET_ALLOW),
        (libc::SYS_socketpair, &[1, 2, 0], eperm),
        (libc::SYS_socketpair, &[1, 3, 0], eperm),
        (libc::SYS_fchmod, &[3, 0o4755], eperm),
        (libc::SYS_fchmod, &[3, 0o2755], eperm),
        (libc::SYS_fchmod, &[3, 0o1777], SECCOMP_RET_ALLOW),
        (libc::SYS_openat, &[0, 0, 0o100, 0o4755], eperm),
        (libc::SYS_openat, &[0, 0, 0, 0o4755], SECCOMP_RET_ALLOW),
        (libc::SYS_prlimit64, &[0, 4, 0, 1], SECCOMP_RET_ALLOW),
        (libc::SYS_prlimit64, &[0, 4, 1 << 32, 0], refusal(0)),
        (libc::SYS_prlimit64, &[0, 7, 1, 0], SECCOMP_RET_ALLOW),
        (libc::SYS_prlimit64, &[1, 0, 1, 0], eperm),
        (libc::SYS_prlimit64, &[high | 1, 7, 0, 1], eperm),
        (libc::SYS_sched_setaffinity, &[1, 8, 1], eperm),
        (libc::SYS_sched_setaffinity, &[2, 8, 1], SECCOMP_RET_ALLOW),
        (libc::SYS_setpriority, &[0, 1, 19], eperm),
        (libc::SYS_setpriority, &[0, 0, 19], SECCOMP_RET_ALLOW),
        (libc::SYS_ioprio_set, &[1, 1, 0], eperm),
        (libc::SYS_personality, &[0xffff_ffff], SECCOMP_RET_ALLOW),
        (libc::SYS_personality, &[0x0040_0000], eperm),
    ] {
        assert_eq!(asked(&strict, call, arguments), expected, "call {call} {arguments:x?}");
    }
}

#[test]
fn switches_lift_their_rows_and_no_others() {
    let open = SyscallPlan { unix_sockets: UnixSockets::All, nested_user_namespaces: Switch::Allowed };
    let eperm = refusal(libc::EPERM as u32);
    assert_eq!(asked(&open, libc::SYS_socket, &[1, 2, 0]), SECCOMP_RET_ALLOW);
    assert_eq!(asked(&open, libc::SYS_socketpair, &[1, 2, 0]), SECCOMP_RET_ALLOW);
    assert_eq!(asked(&open, libc::SYS_clone3, &[]), SECCOMP_RET_ALLOW);
    assert_eq!(asked(&open, libc::SYS_socket, &[40, 1, 0]), eperm);
    assert_eq!(asked(&open, libc::SYS_io_uring_setup, &[]), eperm);
    let ordinary = refusing(&strict(), Caller::User);
    let fchmod = |mode| answer(&ordinary, AUDIT_ARCH, libc::SYS_fchmod as u32, [3, mode, 0, 0, 0, 0]);
    assert_eq!((fchmod(0o2775), fchmod(0o4755)), (SECCOMP_RET_ALLOW, eperm));
}

/// What the rows say, read one after the other.
fn expected(rows: &[Case], cookie: Option<u64>, number: u32, arguments: &[u64; 6]) -> u32 {
    let has_cookie =
        [libc::SYS_openat, libc::SYS_chdir].contains(&i64::from(number)) && cookie == Some(arguments[5]);
    let holds = |when: &[Condition]| when.iter().all(|condition| condition.holds(arguments));
    match rows.iter().find(|(call, when, _)| *call == number && holds(when)) {
        _ if has_cookie => SECCOMP_RET_ALLOW,
        Some((.., action)) => *action,
        None if number >= X32_BIT && cfg!(target_arch = "x86_64") => SECCOMP_RET_KILL_PROCESS,
        None if number > table::HIGHEST => refusal(libc::ENOSYS as u32),
        None => SECCOMP_RET_ALLOW,
    }
}

#[test]
fn programs_answer_as_the_first_row_that_fits() {
    let cookie = 0x1234_5678_9abc_def0;
    let native = |rule: &Rule| (rule.call, rule.when, refusal(rule.errno));
    let held = held::ROWS.iter().map(|row| (row.call, row.when, SECCOMP_RET_USER_NOTIF));
    let few: Vec<Case> = table::RULES.iter().map(native).collect();
    let all: Vec<Case> = few.iter().copied().chain(held).collect();
    // Every value that a condition mentions, near misses, and both halves; a plain generator for the rest.
    let mut values: Vec<u64> = vec![0, 1, u64::MAX, cookie, cookie ^ 1, cookie ^ (1 << 40)];
    for condition in all.iter().flat_map(|(_, when, _)| *when) {
        let mentioned = match condition.test {
            Test::AnyBit(bits) => vec![bits],
            Test::Is(values) | Test::Not(values) => values.to_vec(),
        };
        values.extend(mentioned.iter().flat_map(|value| [*value, value.wrapping_add(1)]).map(u64::from));
        values.extend(mentioned.iter().map(|value| u64::from(*value) << 32));
    }
    values.sort_unstable();
    values.dedup();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        values[(state >> 33) as usize % values.len()]
    };
    let beyond = [table::HIGHEST + 1, X32_BIT - 1, X32_BIT, X32_BIT | 1, u32::MAX];
    for (rows, cookie) in [(&few, None), (&all, Some(cookie)), (&all, None), (&Vec::new(), None)] {
        let program = program(rows.clone(), cookie);
        for number in (0..=table::HIGHEST).chain(beyond) {
            for _ in 0..200 {
                let arguments = std::array::from_fn(|_| next());
                let got = answer(&program, AUDIT_ARCH, number, arguments);
                assert_eq!(got, expected(rows, cookie, number, &arguments), "call {number} {arguments:x?}");
            }
        }
    }
}

/// The kernel asks about every number when it is given a program.
#[test]
fn programs_are_quick_to_install() {
    let program = holding(|_| true, &strict(), Caller::Root, 7);
    assert!(program.len() < 420, "{} steps", program.len());
    let spans = program.iter().filter(|step| u32::from(step.code) == BPF_JMP | BPF_JGE | BPF_K).count();
    assert!(spans < 200, "{spans} comparisons");
}

/// One program answers as two would of which the stricter answer counts.
#[test]
fn what_is_refused_is_not_held() {
    let refusing = refusing(&strict(), Caller::Root);
    let holding = holding(|_| true, &strict(), Caller::Root, 7 << 32);
    let eperm = refusal(libc::EPERM as u32);
    let arguments =
        [[0; 6], [u64::MAX; 6], [0, 0, 0o100, 0o4755, 0, 0], [1, 2, 3, 4, 5, 6], [16, 3, 15, 0, 0, 0]];
    for number in 0..=table::HIGHEST + 3 {
        for arguments in arguments {
            let (one, other) = (
                answer(&refusing, AUDIT_ARCH, number, arguments),
                answer(&holding, AUDIT_ARCH, number, arguments),
            );
            let is_recorded = refused(&strict(), Caller::Root, number as i32, &arguments).is_some();
            match one {
                SECCOMP_RET_ALLOW => assert!(matches!(other, SECCOMP_RET_ALLOW | SECCOMP_RET_USER_NOTIF)),
                _ if is_recorded && other == SECCOMP_RET_USER_NOTIF => {}
                refused => assert_eq!(other, refused, "call {number} {arguments:x?}"),
            }
        }
    }
    let open = |arguments| answer(&holding, AUDIT_ARCH, libc::SYS_openat as u32, arguments);
    assert_eq!(open([0, 0, 0o100, 0o644, 0, 0]), SECCOMP_RET_USER_NOTIF);
    assert_eq!(open([0, 0, 0o100, 0o644, 0, 7 << 32]), SECCOMP_RET_ALLOW);
    assert_eq!(open([0, 0, 0o100, 0o4644, 0, 0]), eperm);
    assert_eq!(answer(&holding, 0x4000_0003, 20, [0; 6]), SECCOMP_RET_KILL_PROCESS);
}

#[test]
fn what_is_recorded_is_held_and_still_refused() {
    let program = holding(|_| true, &strict(), Caller::Root, 7 << 32);
    for rule in table::RULES.iter().filter(|rule| rule.when.is_empty()) {
        let got = answer(&program, AUDIT_ARCH, rule.call, [0; 6]);
        let expected = if rule.record { SECCOMP_RET_USER_NOTIF } else { refusal(rule.errno) };
        assert_eq!(got, expected, "{}", rule.name);
        let told = refused(&strict(), Caller::Root, rule.call as i32, &[0; 6]);
        assert_eq!(told.is_some(), rule.record, "{}", rule.name);
    }
    let new_user = [0x1000_0000, 0, 0, 0, 0, 0];
    assert_eq!(refused(&strict(), Caller::Root, libc::SYS_unshare as i32, &new_user), Some(("unshare", 1)));
    assert_eq!(refused(&strict(), Caller::Root, libc::SYS_unshare as i32, &[0x400, 0, 0, 0, 0, 0]), None);
}
