//! Which act a held call asks for.

use crate::linux::sys::Held;
use rustix::fd::AsRawFd;
use rustix::fs::CWD;
use stockade_policy::ViolationKind;

/// A path argument: where it starts and where it stands in the caller's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathArgument {
    pub(super) directory: i32,
    pub(super) address: u64,
}

/// A held call, its arguments named.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Open {
        path: PathArgument,
        flags: i32,
        mode: u32,
    },
    MakeDirectory {
        path: PathArgument,
        mode: u32,
    },
    MakeNode {
        path: PathArgument,
        mode: u32,
    },
    Symlink {
        target: u64,
        path: PathArgument,
    },
    Link {
        from: PathArgument,
        to: PathArgument,
        flags: i32,
    },
    Rename {
        from: PathArgument,
        to: PathArgument,
        flags: u32,
    },
    Unlink {
        path: PathArgument,
        flags: i32,
    },
    Truncate {
        path: PathArgument,
        length: i64,
    },
    /// Owner and times: recorded, and left to the walls.
    Metadata {
        path: PathArgument,
        follow: Follow,
    },
    /// Mode and attributes.
    Alter {
        whom: Whom,
        change: Change,
    },
    /// File mask or working directory: what is remembered of them is over.
    Surroundings,
    /// On which cores somebody runs, and is to run.
    Cores(Cores),
    Close {
        number: i32,
    },
    Connect {
        socket: i32,
        address: u64,
        length: u64,
    },
    Bind {
        socket: i32,
        address: u64,
        length: u64,
    },
    /// A datagram to an address of its own.
    SendTo {
        socket: i32,
        address: u64,
        length: u64,
    },
    /// A socket for echo requests.
    Ping,
    /// One the kernel would not understand.
    Invalid,
    Unknown,
}

/// What somebody does with the cores it may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cores {
    Asked,
    Chosen,
}

/// Whose mode or attributes change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whom {
    Named {
        path: PathArgument,
        follow: Follow,
    },
    /// An open file. Where it has a name as well, that one counts unless it is empty.
    Open {
        number: i32,
        unless: Option<(PathArgument, Follow)>,
    },
}

/// How they change; addresses are the caller's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Mode(u32),
    SetAttribute { name: u64, value: u64, size: u64, flags: u32 },
    RemoveAttribute { name: u64 },
}

/// Whether the last name is followed when it is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    Yes,
    No,
}

impl Follow {
    fn unless(flags: u64, bit: i32) -> Self {
        if flags as i32 & bit == 0 { Self::Yes } else { Self::No }
    }
}

impl Call {
    /// What it would do, for a record about all of it.
    pub(super) fn kind(self) -> ViolationKind {
        match self {
            Self::Open { flags, .. } if flags & libc::O_CREAT != 0 => ViolationKind::Create,
            Self::Open { flags, .. } if flags & libc::O_ACCMODE == libc::O_RDONLY => ViolationKind::Read,
            Self::MakeDirectory { .. } | Self::MakeNode { .. } | Self::Symlink { .. } | Self::Link { .. } => {
                ViolationKind::Create
            }
            Self::Rename { .. } => ViolationKind::Rename,
            Self::Unlink { .. } => ViolationKind::Unlink,
            Self::Connect { .. } | Self::Bind { .. } | Self::SendTo { .. } => ViolationKind::Unix,
            _ => ViolationKind::Write,
        }
    }

    pub(super) fn read(held: &Held) -> Self {
        let [a, b, c, d, e, f] = held.arguments;
        let at = |directory: u64, address: u64| PathArgument { directory: directory as i32, address };
        match i64::from(held.number) {
            libc::SYS_openat => Self::Open { path: at(a, b), flags: c as i32, mode: d as u32 },
            libc::SYS_mkdirat => Self::MakeDirectory { path: at(a, b), mode: c as u32 },
            libc::SYS_mknodat => Self::MakeNode { path: at(a, b), mode: c as u32 },
            libc::SYS_symlinkat => Self::Symlink { target: a, path: at(b, c) },
            libc::SYS_linkat => Self::Link { from: at(a, b), to: at(c, d), flags: e as i32 },
            libc::SYS_renameat => Self::Rename { from: at(a, b), to: at(c, d), flags: 0 },
            libc::SYS_renameat2 => Self::Rename { from: at(a, b), to: at(c, d), flags: e as u32 },
            libc::SYS_unlinkat => Self::Unlink { path: at(a, b), flags: c as i32 },
            libc::SYS_truncate => Self::Truncate { path: here(a), length: b as i64 },
            libc::SYS_umask | libc::SYS_chdir | libc::SYS_fchdir => Self::Surroundings,
            libc::SYS_sched_getaffinity => Self::Cores(Cores::Asked),
            libc::SYS_sched_setaffinity => Self::Cores(Cores::Chosen),
            libc::SYS_close => Self::Close { number: a as i32 },
            libc::SYS_connect => Self::Connect { socket: a as i32, address: b, length: c },
            libc::SYS_bind => Self::Bind { socket: a as i32, address: b, length: c },
            libc::SYS_sendto => Self::SendTo { socket: a as i32, address: e, length: f },
            libc::SYS_socket if is_ping(a, b, c) => Self::Ping,
            libc::SYS_fchmod => Self::Alter { whom: open(a), change: Change::Mode(b as u32) },
            libc::SYS_fchmodat => {
                Self::Alter { whom: named(at(a, b), Follow::Yes), change: Change::Mode(c as u32) }
            }
            // The kernel knows no other flags.
            libc::SYS_fchmodat2 if d as i32 & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 => {
                Self::Invalid
            }
            libc::SYS_fchmodat2 => {
                let (path, follow) = (at(a, b), Follow::unless(d, libc::AT_SYMLINK_NOFOLLOW));
                let whom = match d as i32 & libc::AT_EMPTY_PATH {
                    0 => named(path, follow),
                    _ => Whom::Open { number: a as i32, unless: Some((path, follow)) },
                };
                Self::Alter { whom, change: Change::Mode(c as u32) }
            }
            libc::SYS_setxattr | libc::SYS_lsetxattr | libc::SYS_fsetxattr => Self::Alter {
                whom: whose_attribute(held),
                change: Change::SetAttribute { name: b, value: c, size: d, flags: e as u32 },
            },
            libc::SYS_removexattr | libc::SYS_lremovexattr | libc::SYS_fremovexattr => {
                Self::Alter { whom: whose_attribute(held), change: Change::RemoveAttribute { name: b } }
            }
            libc::SYS_utimensat => {
                Self::Metadata { path: at(a, b), follow: Follow::unless(d, libc::AT_SYMLINK_NOFOLLOW) }
            }
            libc::SYS_fchownat => {
                Self::Metadata { path: at(a, b), follow: Follow::unless(e, libc::AT_SYMLINK_NOFOLLOW) }
            }
            _ => Self::old(held),
        }
    }

    /// Calls that only the oldest architecture has.
    #[cfg(target_arch = "x86_64")]
    fn old(held: &Held) -> Self {
        let [a, b, c, ..] = held.arguments;
        const CREAT: i32 = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
        match i64::from(held.number) {
            libc::SYS_open => Self::Open { path: here(a), flags: b as i32, mode: c as u32 },
            libc::SYS_creat => Self::Open { path: here(a), flags: CREAT, mode: b as u32 },
            libc::SYS_mkdir => Self::MakeDirectory { path: here(a), mode: b as u32 },
            libc::SYS_mknod => Self::MakeNode { path: here(a), mode: b as u32 },
            libc::SYS_symlink => Self::Symlink { target: a, path: here(b) },
            libc::SYS_link => Self::Link { from: here(a), to: here(b), flags: 0 },
            libc::SYS_rename => Self::Rename { from: here(a), to: here(b), flags: 0 },
            libc::SYS_unlink => Self::Unlink { path: here(a), flags: 0 },
            libc::SYS_rmdir => Self::Unlink { path: here(a), flags: libc::AT_REMOVEDIR },
            libc::SYS_chmod => {
                Self::Alter { whom: named(here(a), Follow::Yes), change: Change::Mode(b as u32) }
            }
            libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
                Self::Metadata { path: here(a), follow: Follow::Yes }
            }
            libc::SYS_lchown => Self::Metadata { path: here(a), follow: Follow::No },
            libc::SYS_futimesat => {
                Self::Metadata { path: PathArgument { directory: a as i32, address: b }, follow: Follow::Yes }
            }
            _ => Self::Unknown,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn old(_held: &Held) -> Self {
        Self::Unknown
    }
}

fn is_ping(family: u64, kind: u64, protocol: u64) -> bool {
    const KIND: i32 = 0xf;
    matches!(family as i32, libc::AF_INET | libc::AF_INET6)
        && kind as i32 & KIND == libc::SOCK_DGRAM
        && matches!(protocol as i32, libc::IPPROTO_ICMP | libc::IPPROTO_ICMPV6)
}

fn named(path: PathArgument, follow: Follow) -> Whom {
    Whom::Named { path, follow }
}

fn open(number: u64) -> Whom {
    Whom::Open { number: number as i32, unless: None }
}

/// All calls about attributes have their file in the first argument.
fn whose_attribute(held: &Held) -> Whom {
    let file = held.arguments[0];
    match i64::from(held.number) {
        libc::SYS_fsetxattr | libc::SYS_fremovexattr => open(file),
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => named(here(file), Follow::No),
        _ => named(here(file), Follow::Yes),
    }
}

fn here(address: u64) -> PathArgument {
    PathArgument { directory: CWD.as_raw_fd(), address }
}
