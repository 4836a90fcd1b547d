//! What a SOCKS client is told.

use crate::gateway::DialError;
use std::io::ErrorKind;

/// Which SOCKS a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// SOCKS 4 and 4a.
    Four,
    /// SOCKS 5.
    Five,
}

/// How a request ended; the numbers are those of SOCKS 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Connected = 0,
    Failed = 1,
    Forbidden = 2,
    NetworkUnreachable = 3,
    HostUnreachable = 4,
    Refused = 5,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

impl Reply {
    /// What a dial that failed is called.
    pub(super) fn to(error: &DialError) -> Self {
        match error {
            DialError::Denied(_) => Self::Forbidden,
            DialError::Unreachable { source, .. } => Self::of(source.kind()),
        }
    }

    fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => Self::NetworkUnreachable,
            // A name that nobody has is a host that cannot be reached, too.
            ErrorKind::HostUnreachable | ErrorKind::TimedOut | ErrorKind::NotFound => Self::HostUnreachable,
            _ => Self::Failed,
        }
    }

    /// The reply in bytes. The address in it is always nobody's: which address the host connects from is
    /// not for the sandbox to know, and clients do not look.
    pub(super) fn bytes(self, dialect: Dialect) -> Vec<u8> {
        match dialect {
            Dialect::Four => {
                let code = if self == Self::Connected { 0x5a } else { 0x5b };
                vec![0, code, 0, 0, 0, 0, 0, 0]
            }
            Dialect::Five => vec![5, self as u8, 0, 1, 0, 0, 0, 0, 0, 0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_their_numbers() {
        let number = |kind| Reply::of(kind).bytes(Dialect::Five)[1];
        assert_eq!(number(ErrorKind::ConnectionRefused), 5);
        assert_eq!(number(ErrorKind::HostUnreachable), 4);
        assert_eq!(number(ErrorKind::TimedOut), 4);
        assert_eq!(number(ErrorKind::NetworkUnreachable), 3);
        assert_eq!(number(ErrorKind::ConnectionReset), 1);
    }

    #[test]
    fn both_dialects() {
        assert_eq!(Reply::Connected.bytes(Dialect::Five), [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Reply::Forbidden.bytes(Dialect::Five), [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Reply::Connected.bytes(Dialect::Four), [0, 0x5a, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Reply::Forbidden.bytes(Dialect::Four), [0, 0x5b, 0, 0, 0, 0, 0, 0]);
    }
}
