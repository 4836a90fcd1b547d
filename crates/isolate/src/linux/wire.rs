//! What launcher and first process say to each other, over a seqpacket socket.
//!
//! Fixed-size packets, encoded by hand: the first process must not allocate.

/// Bytes of every packet.
pub(crate) const PACKET: usize = 48;
/// Descriptors one packet may carry (the kernel allows 253).
pub(crate) const MAX_DESCRIPTORS: usize = 64;
/// Listening sockets that travel in one packet.
pub(crate) const MAX_DOORS: usize = 16;

/// Launcher to first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The id maps are written: go on.
    Go,
    /// Start a command. Descriptors: the image, then those of 0, 1, 2 that are neither the private terminal
    /// nor /dev/null, then the named ones, whose numbers inside stand in the image.
    Exec {
        id: u32,
        image_length: u64,
        /// Which of 0, 1, 2 are the private terminal, as bits.
        terminal: u32,
        /// Which are the sandbox's own /dev/null.
        null: u32,
        rows: u16,
        columns: u16,
        /// The first process ends, and with it everything inside, when this command does.
        last: bool,
    },
    /// Signal a command's process group.
    Signal { id: u32, signal: i32 },
    /// Kill every process but the first.
    KillAll,
    /// Make a stream socket in the sandbox's network.
    Socket { id: u32 },
}

/// First process to launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The walls stand.
    Ready,
    /// A step of the set-up failed.
    Failed { step: Step, index: u32, errno: i32 },
    /// A command runs. Carries the terminal's outer end if one was asked for.
    Started { id: u32, pid: u32 },
    /// A command could not be started.
    NotStarted { id: u32, stage: Stage, errno: i32 },
    /// Listening sockets of the sandbox's network come along. In their order: which ones of the script's,
    /// counted from 1; 0 is none.
    Doors { doors: [u16; MAX_DOORS] },
    /// A stream socket of the sandbox's network comes along, or an error number.
    Socket { id: u32, errno: i32 },
    /// A command ended.
    Exited { id: u32, status: i32, user_us: u64, system_us: u64, max_rss_kib: u64 },
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum $name { $($variant),+ }
        impl $name {
            const ALL: &[Self] = &[$(Self::$variant),+];
            fn from_number(number: u64) -> Option<Self> {
                Self::ALL.get(usize::try_from(number).ok()?).copied()
            }
        }
    };
}

numbered! {
    /// Steps of building the walls.
    Step { Network, Gateway, Doors, Root, Staging, Open, Changed, Bind, Mask, Directory, Tmpfs, Overlay, Overlaid, Content, Device, Proc, Cover, Pivot, Privileges, Seccomp, Broker, Serve }
}

numbered! {
    /// Steps of starting a command.
    Stage { Table, Image, Terminal, Process, Session, Descriptors, Limits, Directory, Landlock, Program }
}

impl Order {
    pub(crate) fn encode(self) -> [u8; PACKET] {
        pack(match self {
            Self::Go => [0, 0, 0, 0, 0, 0],
            Self::Exec { id, image_length, terminal, null, rows, columns, last } => {
                let size = u64::from(rows) | u64::from(columns) << 16;
                [1, id.into(), image_length, u64::from(terminal) | u64::from(null) << 8, size, last.into()]
            }
            Self::Signal { id, signal } => [2, id.into(), signal as u64, 0, 0, 0],
            Self::KillAll => [3, 0, 0, 0, 0, 0],
            Self::Socket { id } => [4, id.into(), 0, 0, 0, 0],
        })
    }

    pub(crate) fn decode(packet: &[u8; PACKET]) -> Option<Self> {
        let [tag, a, b, c, d, e] = unpack(packet);
        Some(match tag {
            0 => Self::Go,
            1 => Self::Exec {
                id: a as u32,
                image_length: b,
                terminal: (c & 0xff) as u32,
                null: (c >> 8) as u32,
                rows: d as u16,
                columns: (d >> 16) as u16,
                last: e != 0,
            },
            2 => Self::Signal { id: a as u32, signal: b as i32 },
            3 => Self::KillAll,
            4 => Self::Socket { id: a as u32 },
            _ => return None,
        })
    }
}

impl Report {
    pub(crate) fn encode(self) -> [u8; PACKET] {
        pack(match self {
            Self::Ready => [0, 0, 0, 0, 0, 0],
            Self::Failed { step, index, errno } => [1, step as u64, index.into(), errno as u64, 0, 0],
            Self::Started { id, pid } => [2, id.into(), pid.into(), 0, 0, 0],
            Self::NotStarted { id, stage, errno } => [3, id.into(), stage as u64, errno as u64, 0, 0],
            Self::Exited { id, status, user_us, system_us, max_rss_kib } => {
                [4, id.into(), status as u64, user_us, system_us, max_rss_kib]
            }
            Self::Doors { doors } => {
                let mut words = [5, 0, 0, 0, 0, 0];
                for (at, door) in doors.into_iter().enumerate() {
                    words[1 + at / DOORS_IN_A_WORD] |= u64::from(door) << (16 * (at % DOORS_IN_A_WORD));
                }
                words
            }
            Self::Socket { id, errno } => [6, id.into(), errno as u64, 0, 0, 0],
        })
    }

    pub(crate) fn decode(packet: &[u8; PACKET]) -> Option<Self> {
        let [tag, a, b, c, d, e] = unpack(packet);
        Some(match tag {
            0 => Self::Ready,
            1 => Self::Failed { step: Step::from_number(a)?, index: b as u32, errno: c as i32 },
            2 => Self::Started { id: a as u32, pid: b as u32 },
            3 => Self::NotStarted { id: a as u32, stage: Stage::from_number(b)?, errno: c as i32 },
            4 => Self::Exited { id: a as u32, status: b as i32, user_us: c, system_us: d, max_rss_kib: e },
            5 => {
                let words = [a, b, c, d];
                let door = |at: usize| words[at / DOORS_IN_A_WORD] >> (16 * (at % DOORS_IN_A_WORD));
                Self::Doors { doors: std::array::from_fn(|at| door(at) as u16) }
            }
            6 => Self::Socket { id: a as u32, errno: b as i32 },
            _ => return None,
        })
    }
}

const DOORS_IN_A_WORD: usize = 4;

fn pack(words: [u64; 6]) -> [u8; PACKET] {
    let mut packet = [0; PACKET];
    for (chunk, word) in packet.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    packet
}

fn unpack(packet: &[u8; PACKET]) -> [u64; 6] {
    let mut words = [0; 6];
    for (word, chunk) in words.iter_mut().zip(packet.chunks_exact(8)) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(chunk);
        *word = u64::from_le_bytes(bytes);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_survive_the_wire() {
        for order in [
            Order::Go,
            Order::Exec {
                id: 7,
                image_length: 1 << 40,
                terminal: 5,
                null: 2,
                rows: 50,
                columns: 200,
                last: true,
            },
            Order::Signal { id: 9, signal: 15 },
            Order::KillAll,
            Order::Socket { id: 3 },
        ] {
            assert_eq!(Order::decode(&order.encode()), Some(order));
        }
        for report in [
            Report::Ready,
            Report::Failed { step: Step::Serve, index: 3, errno: 13 },
            Report::Started { id: 1, pid: 2 },
            Report::NotStarted { id: 1, stage: Stage::Program, errno: 2 },
            Report::Exited { id: 1, status: -1, user_us: 2, system_us: 3, max_rss_kib: 4 },
            Report::Doors { doors: std::array::from_fn(|at| 65_535 - at as u16) },
            Report::Socket { id: 4, errno: 24 },
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }

    #[test]
    fn unknown_packets_are_refused() {
        assert_eq!(Order::decode(&[255; PACKET]), None);
        assert_eq!(Report::decode(&[255; PACKET]), None);
    }
}
