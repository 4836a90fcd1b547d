//! Assembles the system-call wall from the generated table.
//!
//! A small assembler of our own instead of a crate: the broker's filter needs actions the released crates
//! do not have, and a search tree over the call numbers keeps both the
//! kernel's own per-call cache and the install quick.

use super::script::Caller;
use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF, sock_filter,
};
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

/// A row in force: the call, its conditions, and what happens to the call when all of them hold.
type Case = (u32, &'static [Condition], u32);

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
    table::RULES.iter().filter(move |rule| !lifted(rule))
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
    program(rules(plan, caller).map(|rule| (rule.call, rule.when, refusal(rule.errno))).collect(), None)
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
    let refused = |rule: &&Rule| !rule.record;
    let held = held::ROWS.iter().filter(|row| needed(row.need));
    // First: whatever is refused outright is not held.
    let mut cases: Vec<Case> = Vec::with_capacity(table::RULES.len() + held::ROWS.len());
    cases.extend(rules(plan, caller).filter(refused).map(|rule| (rule.call, rule.when, refusal(rule.errno))));
    cases.extend(held.map(|row| (row.call, row.when, SECCOMP_RET_USER_NOTIF)));
    let recorded = rules(plan, caller).filter(|rule| rule.record);
    cases.extend(recorded.map(|rule| (rule.call, rule.when, SECCOMP_RET_USER_NOTIF)));
    program(cases, Some(cookie))
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

/// What becomes of a call.
#[derive(Clone, Copy)]
enum Fate<'a> {
    /// Always the same.
    Always(u32),
    /// The first row whose conditions all hold decides; before all rows, whether it carries the cookie.
    Depends(&'a [Case], Option<u64>),
}

impl Fate<'_> {
    fn is(self, action: u32) -> bool {
        matches!(self, Self::Always(always) if always == action)
    }

    fn steps(self) -> Option<Vec<sock_filter>> {
        const LAST_ARGUMENT: u32 = ARGS_OFFSET + 8 * 5;
        let (cases, cookie) = match self {
            Self::Always(action) => return Some(vec![ret(action)]),
            Self::Depends(cases, cookie) => (cases, cookie),
        };
        let mut steps = Vec::new();
        if let Some(cookie) = cookie {
            steps.extend([
                load(LAST_ARGUMENT + offset(Half::Low)),
                jump(BPF_JEQ, cookie as u32, 0, 3),
                load(LAST_ARGUMENT + offset(Half::High)),
                jump(BPF_JEQ, (cookie >> 32) as u32, 0, 1),
                ret(SECCOMP_RET_ALLOW),
            ]);
        }
        for case in cases {
            steps.extend(act_when(case)?);
        }
        if !cases.iter().any(|(_, when, _)| when.is_empty()) {
            steps.push(ret(SECCOMP_RET_ALLOW));
        }
        Some(steps)
    }
}

/// Calls from this number up to the next span's, which all fare alike.
struct Span<'a> {
    from: u32,
    fate: Fate<'a>,
}

/// The program for rows of which the first that fits counts. Other interfaces, with tables of their own, are closed, and
/// so are calls newer than the table.
fn program(mut cases: Vec<Case>, cookie: Option<u64>) -> Vec<sock_filter> {
    // The sort is stable: rows about one call keep their order.
    cases.sort_by_key(|(call, ..)| *call);
    let mut program = vec![
        load(ARCH_OFFSET),
        jump(BPF_JEQ, AUDIT_ARCH, 1, 0),
        ret(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_OFFSET),
    ];
    search(&spans(&cases, cookie), &mut program);
    program
}

/// All numbers there are, by what becomes of them.
fn spans<'a>(cases: &'a [Case], cookie: Option<u64>) -> Vec<Span<'a>> {
    let mut spans: Vec<Span<'a>> = Vec::with_capacity(2 * cases.len());
    let mut add = |from, fate: Fate<'a>| match (spans.last(), fate) {
        (Some(last), Fate::Always(action)) if last.fate.is(action) => {}
        _ => spans.push(Span { from, fate }),
    };
    let mut next = 0;
    for cases in cases.chunk_by(|(one, ..), (other, ..)| one == other) {
        let call = cases[0].0;
        let cookie = cookie.filter(|_| [libc::SYS_openat, libc::SYS_chdir].contains(&i64::from(call)));
        if call > next {
            add(next, Fate::Always(SECCOMP_RET_ALLOW));
        }
        add(
            call,
            match cases {
                [(_, [], action), ..] if cookie.is_none() => Fate::Always(*action),
                _ => Fate::Depends(cases, cookie),
            },
        );
        next = call + 1;
    }
    if next <= table::HIGHEST {
        add(next, Fate::Always(SECCOMP_RET_ALLOW));
    }
    add(next.max(table::HIGHEST + 1), Fate::Always(refusal(libc::ENOSYS as u32)));
    if cfg!(target_arch = "x86_64") {
        add(X32_BIT, Fate::Always(SECCOMP_RET_KILL_PROCESS));
    }
    spans
}

/// Emits a search tree. The kernel asks a program about every number there is when it is given one, to remember which
/// calls always pass, and translates it; the first costs by the depth of the tree, the second by its size.
fn search(spans: &[Span<'_>], program: &mut Vec<sock_filter>) {
    /// More cannot be passed by a jump, which is one byte.
    const TOGETHER: usize = 128;
    if spans.len() <= TOGETHER
        && let Some(steps) = block(spans)
    {
        return program.extend(steps);
    }
    if let [_] = spans {
        // More conditions than a jump can pass: no table has such a row, and none opens a call by having one.
        return program.push(ret(refusal(libc::ENOSYS as u32)));
    }
    let (low, high) = spans.split_at(spans.len() / 2);
    let mut below = Vec::new();
    search(low, &mut below);
    match u8::try_from(below.len()) {
        Ok(length) => program.push(jump(BPF_JGE, high[0].from, length, 0)),
        Err(_) => program.extend([jump(BPF_JGE, high[0].from, 0, 1), skip(below.len())]),
    }
    program.extend(below);
    search(high, program);
}

/// Where a comparison leads.
#[derive(Clone, Copy)]
enum Way {
    /// To another one.
    Comparison(usize),
    /// To the fate that begins this many steps behind all comparisons.
    Fate(usize),
}

/// A tree of comparisons, then what becomes of the calls, once for all that always fare alike. Nothing if a jump would
/// have to be longer than they can be.
fn block(spans: &[Span<'_>]) -> Option<Vec<sock_filter>> {
    let mut fates = Vec::new();
    let mut always: Vec<(u32, usize)> = Vec::new();
    let mut ways = Vec::with_capacity(spans.len());
    for span in spans {
        let known = always.iter().find(|(action, _)| span.fate.is(*action));
        ways.push(Way::Fate(known.map_or(fates.len(), |(_, at)| *at)));
        if known.is_none() {
            if let Fate::Always(action) = span.fate {
                always.push((action, fates.len()));
            }
            fates.extend(span.fate.steps()?);
        }
    }
    let mut comparisons = Vec::with_capacity(spans.len());
    branch(spans, &ways, &mut comparisons);
    let count = comparisons.len();
    let mut steps = Vec::with_capacity(count + fates.len());
    for (at, (number, beyond, below)) in comparisons.into_iter().enumerate() {
        let distance = |way| {
            let to = match way {
                Way::Comparison(number) => number,
                Way::Fate(after) => count + after,
            };
            u8::try_from(to - at - 1).ok()
        };
        steps.push(jump(BPF_JGE, number, distance(beyond)?, distance(below)?));
    }
    steps.extend(fates);
    Some(steps)
}

/// Puts the comparisons for these spans in order, each before those it leads to; tells where to begin.
fn branch(spans: &[Span<'_>], ways: &[Way], comparisons: &mut Vec<(u32, Way, Way)>) -> Way {
    if let [way] = ways {
        return *way;
    }
    let middle = spans.len() / 2;
    let here = comparisons.len();
    comparisons.push((spans[middle].from, Way::Fate(0), Way::Fate(0)));
    comparisons[here].2 = branch(&spans[..middle], &ways[..middle], comparisons);
    comparisons[here].1 = branch(&spans[middle..], &ways[middle..], comparisons);
    Way::Comparison(here)
}

/// One row: acts if every condition holds, falls through otherwise.
fn act_when((_, when, action): &Case) -> Option<Vec<sock_filter>> {
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
