//! Assembles the system-call wall from the generated table.
//!
//! A small assembler of our own instead of a crate: the broker's filter needs actions the released crates
//! do not have, and a search tree over the call numbers keeps both the
//! kernel's own per-call cache and the install quick.

use super::script::Caller;
use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF,
    sock_filter,
};
use std::collections::BTreeMap;
use stockade_policy::{HeldReads, NetworkPlan, Plan, Switch, SyscallPlan, UnixSockets};

mod table {
    use super::{Condition, Half, Lift, Rule, Test};
    include!(concat!(env!("OUT_DIR"), "/seccomp_native.rs"));
}

mod held {
    use super::{Condition, Half, Need, Row, Test};
    include!(concat!(env!("OUT_DIR"), "/seccomp_broker.rs"));
}

/// One row of the broker's table for one call.
struct Row {
    call: u32,
    when: &'static [Condition],
    need: Need,
}

/// What makes a plan hold a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Writes,
    Reads,
    Metadata,
    Sockets,
    Datagrams,
}

/// One row of the data file for one call.
struct Rule {
    name: &'static str,
    call: u32,
    when: &'static [Condition],
    errno: u32,
    /// Held where there is a broker, so that the refusal is recorded.
    record: bool,
    unless: Option<Lift>,
}

/// All conditions of a row must hold for it to refuse.
#[derive(PartialEq, Eq)]
struct Condition {
    arg: u8,
    half: Half,
    mask: u32,
    test: Test,
}

/// Which 32 bits of an argument are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Low,
    High,
}

#[derive(PartialEq, Eq)]
enum Test {
    AnyBit(u32),
    Is(&'static [u32]),
    Not(&'static [u32]),
}

/// The switch of the plan, or the fact about the caller, that lifts a row.
#[derive(Clone, Copy)]
enum Lift {
    OrdinaryCaller,
    UnixSockets,
    AllUnixSockets,
    NestedUserNamespaces,
}

impl Lift {
    fn lifted(self, plan: &SyscallPlan, caller: Caller) -> bool {
        match self {
            Self::OrdinaryCaller => matches!(caller, Caller::User),
            Self::UnixSockets => plan.unix_sockets != UnixSockets::PairsOnly,
            Self::AllUnixSockets => plan.unix_sockets == UnixSockets::All,
            Self::NestedUserNamespaces => plan.nested_user_namespaces == Switch::Allowed,
        }
    }
}

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;

const NUMBER_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
const ARGS_OFFSET: u32 = 16;
/// Set in the call number by the x32 interface, which has its own table of calls.
const X32_BIT: u32 = 0x4000_0000;

/// Conditions, and what happens to the call when all of them hold.
type Case = (&'static [Condition], u32);

/// What every process inside runs under: one program, because the kernel takes its time for each it is given.
pub(crate) enum Filter {
    /// Calls are refused or pass.
    Refuses(Vec<sock_filter>),
    /// Some wait for the broker.
    Holds(Vec<sock_filter>),
}

/// The rows of the table that are in force.
fn rules(plan: &SyscallPlan, caller: Caller) -> impl Iterator<Item = &'static Rule> {
    let lifted = move |rule: &&Rule| rule.unless.is_some_and(|lift| lift.lifted(plan, caller));
    let in_force: Vec<&'static Rule> = table::RULES.iter().filter(|rule| !lifted(rule)).collect();
    in_force.into_iter()
}

/// The program for a plan.
pub(crate) fn assemble(plan: &Plan, caller: Caller, cookie: u64) -> Filter {
    let Some(broker) = &plan.broker else { return Filter::Refuses(refusing(&plan.syscalls, caller)) };
    let reads = broker.reads == HeldReads::All;
    let needed = |need: Need| match need {
        Need::Writes => true,
        Need::Reads => reads,
        Need::Metadata => reads || broker.asking == Switch::Allowed,
        Need::Sockets => plan.syscalls.unix_sockets == UnixSockets::Judged,
        Need::Datagrams => plan.network != NetworkPlan::Host,
    };
    Filter::Holds(holding(needed, &plan.syscalls, caller, cookie))
}

/// The program that refuses calls.
fn refusing(plan: &SyscallPlan, caller: Caller) -> Vec<sock_filter> {
    let mut blocks: BTreeMap<u32, Vec<Case>> = BTreeMap::new();
    for rule in rules(plan, caller) {
        blocks.entry(rule.call).or_default().push((rule.when, refusal(rule.errno)));
    }
    let mut program = beginning();
    search(&blocks.into_iter().collect::<Vec<_>>(), &mut program);
    program
}

/// The program that refuses calls and holds others for the broker, also those whose refusal is to be recorded: it
/// refuses them with the same error.
///
/// A call that carries the cookie in its last, unused argument passes: the first process opens a few
/// files itself, and need not wait for a broker that cannot look into it.
fn holding(
    needed: impl Fn(Need) -> bool,
    plan: &SyscallPlan,
    caller: Caller,
    cookie: u64,
) -> Vec<sock_filter> {
    let mut blocks: BTreeMap<u32, Vec<Case>> = BTreeMap::new();
    // First: whatever is refused outright is not held.
    for rule in rules(plan, caller).filter(|rule| !rule.record) {
        blocks.entry(rule.call).or_default().push((rule.when, refusal(rule.errno)));
    }
    for row in held::ROWS.iter().filter(|row| needed(row.need)) {
        blocks.entry(row.call).or_default().push((row.when, SECCOMP_RET_USER_NOTIF));
    }
    for rule in rules(plan, caller).filter(|rule| rule.record) {
        blocks.entry(rule.call).or_default().push((rule.when, SECCOMP_RET_USER_NOTIF));
    }
    let mut program = beginning();
    const LAST_ARGUMENT: u32 = ARGS_OFFSET + 8 * 5;
    for call in [libc::SYS_openat, libc::SYS_chdir] {
        let at = LAST_ARGUMENT;
        program.extend([
            jump(BPF_JEQ, call as u32, 0, 6),
            load(at + offset(Half::Low)),
            jump(BPF_JEQ, cookie as u32, 0, 3),
            load(at + offset(Half::High)),
            jump(BPF_JEQ, (cookie >> 32) as u32, 0, 1),
            ret(SECCOMP_RET_ALLOW),
            load(NUMBER_OFFSET),
        ]);
    }
    search(&blocks.into_iter().collect::<Vec<_>>(), &mut program);
    program
}

/// The name and the error of a call that the table refuses and the broker answers.
pub(crate) fn refused(
    plan: &SyscallPlan,
    caller: Caller,
    call: i32,
    arguments: &[u64; 6],
) -> Option<(&'static str, u32)> {
    let fits = |rule: &&Rule| {
        rule.record
            && rule.call == call as u32
            && rule.when.iter().all(|condition| condition.holds(arguments))
    };
    rules(plan, caller).find(fits).map(|rule| (rule.name, rule.errno))
}

impl Condition {
    fn holds(&self, arguments: &[u64; 6]) -> bool {
        let argument = arguments.get(usize::from(self.arg)).copied().unwrap_or_default();
        let value = match self.half {
            Half::Low => argument as u32,
            Half::High => (argument >> 32) as u32,
        } & self.mask;
        match self.test {
            Test::AnyBit(bits) => value & bits != 0,
            Test::Is(values) => values.contains(&value),
            Test::Not(values) => !values.contains(&value),
        }
    }
}

/// Other interfaces, with tables of their own, are closed, and so are calls newer than the table; then the call's
/// number is looked at.
fn beginning() -> Vec<sock_filter> {
    let mut program = vec![
        load(ARCH_OFFSET),
        jump(BPF_JEQ, AUDIT_ARCH, 1, 0),
        ret(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_OFFSET),
    ];
    if cfg!(target_arch = "x86_64") {
        program.extend([jump(BPF_JSET, X32_BIT, 0, 1), ret(SECCOMP_RET_KILL_PROCESS)]);
    }
    program.extend([jump(BPF_JGT, table::HIGHEST, 0, 1), ret(refusal(libc::ENOSYS as u32))]);
    program
}

/// Emits a search tree: halves until a few calls are left.
fn search(blocks: &[(u32, Vec<Case>)], program: &mut Vec<sock_filter>) {
    /// The kernel remembers which calls always pass, so that few ever come here, and takes its time for every step of
    /// a program it is given.
    const TOGETHER: usize = 20;
    if blocks.len() <= TOGETHER
        && let Some(steps) = leaf(blocks)
    {
        return program.extend(steps);
    }
    if let [(call, _)] = blocks {
        // More conditions than a jump can pass: no table has such a row, and none opens a call by having one.
        return program.extend([
            jump(BPF_JEQ, *call, 0, 1),
            ret(refusal(libc::ENOSYS as u32)),
            ret(SECCOMP_RET_ALLOW),
        ]);
    }
    let (low, high) = blocks.split_at(blocks.len() / 2);
    let mut below = Vec::new();
    search(low, &mut below);
    match u8::try_from(below.len()) {
        Ok(length) => program.push(jump(BPF_JGE, high[0].0, length, 0)),
        Err(_) => program.extend([jump(BPF_JGE, high[0].0, 0, 1), skip(below.len())]),
    }
    program.extend(below);
    search(high, program);
}

/// A comparison for each call, then what becomes of them, once for all that fare alike. Nothing if a jump would have
/// to be longer than they can be.
fn leaf(blocks: &[(u32, Vec<Case>)]) -> Option<Vec<sock_filter>> {
    let mut fates = Vec::new();
    let mut ways: Vec<(u32, usize)> = Vec::new();
    for (at, (call, cases)) in blocks.iter().enumerate() {
        let fate = fate(cases)?;
        let alike = blocks[..at].iter().position(|(_, others)| others == cases);
        match alike {
            Some(other) => ways.push((*call, ways[other].1)),
            None => {
                ways.push((*call, fates.len()));
                fates.extend(fate);
            }
        }
    }
    let mut steps = Vec::new();
    for (number, (call, at)) in ways.iter().enumerate() {
        let left = ways.len() - number - 1;
        let pass = if left == 0 { fates.len() } else { 0 };
        steps.push(jump(BPF_JEQ, *call, u8::try_from(left + at).ok()?, u8::try_from(pass).ok()?));
    }
    steps.extend(fates);
    steps.push(ret(SECCOMP_RET_ALLOW));
    Some(steps)
}

/// What becomes of a call: the first row whose conditions all hold decides.
fn fate(cases: &[Case]) -> Option<Vec<sock_filter>> {
    let mut steps = Vec::new();
    for case in cases {
        steps.extend(act_when(case)?);
    }
    if !cases.iter().any(|(when, _)| when.is_empty()) {
        steps.push(ret(SECCOMP_RET_ALLOW));
    }
    Some(steps)
}

/// One row: acts if every condition holds, falls through otherwise.
fn act_when((when, action): &Case) -> Option<Vec<sock_filter>> {
    let mut body = vec![ret(*action)];
    for condition in when.iter().rev() {
        let rest = u8::try_from(body.len()).ok()?;
        let mut test = vec![load(ARGS_OFFSET + 8 * u32::from(condition.arg) + offset(condition.half))];
        if condition.mask != u32::MAX {
            test.push(sock_filter {
                code: (BPF_ALU | BPF_AND | BPF_K) as u16,
                jt: 0,
                jf: 0,
                k: condition.mask,
            });
        }
        match condition.test {
            Test::AnyBit(bits) => test.push(jump(BPF_JSET, bits, 0, rest)),
            Test::Is(values) => {
                for (at, value) in values.iter().enumerate() {
                    let left = u8::try_from(values.len() - at - 1).ok()?;
                    test.push(jump(BPF_JEQ, *value, left, if left == 0 { rest } else { 0 }));
                }
            }
            Test::Not(values) => {
                for (at, value) in values.iter().enumerate() {
                    let beyond = u8::try_from(values.len() - at - 1 + body.len()).ok()?;
                    test.push(jump(BPF_JEQ, *value, beyond, 0));
                }
            }
        }
        test.extend(body);
        body = test;
    }
    Some(body)
}

fn offset(half: Half) -> u32 {
    match (half, cfg!(target_endian = "big")) {
        (Half::Low, false) | (Half::High, true) => 0,
        (Half::Low, true) | (Half::High, false) => 4,
    }
}

fn refusal(errno: u32) -> u32 {
    SECCOMP_RET_ERRNO | errno
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

fn jump(test: u32, value: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | test | BPF_K) as u16, jt, jf, k: value }
}

fn skip(count: usize) -> sock_filter {
    sock_filter { code: (BPF_JMP | BPF_JA) as u16, jt: 0, jf: 0, k: count as u32 }
}

fn ret(action: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: action }
}

#[cfg(test)]
mod tests;
