//! What is typed to a session, and the keys that leave it.

/// Ctrl-].
const LEAD: u8 = 0x1d;
/// After [`LEAD`].
const LEAVE: u8 = b'd';

/// Looks for the keys that leave.
#[derive(Debug, Default)]
pub(super) struct Keys {
    led: bool,
}

/// What some typed bytes mean.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    /// For the shell.
    pub(super) through: Vec<u8>,
    /// Whether the person leaves after that.
    pub(super) leaves: bool,
}

impl Keys {
    /// Takes some bytes. The keys may come in one piece or two.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Typed {
        let mut through = Vec::with_capacity(bytes.len() + 1);
        for byte in bytes {
            match (self.led, *byte) {
                (true, LEAVE) => {
                    self.led = false;
                    return Typed { through, leaves: true };
                }
                (true, LEAD) => {
                    through.push(LEAD);
                    self.led = false;
                }
                (true, other) => {
                    through.extend([LEAD, other]);
                    self.led = false;
                }
                (false, LEAD) => self.led = true,
                (false, other) => through.push(other),
            }
        }
        Typed { through, leaves: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_leave() {
        for (pieces, through, leaves) in [
            (&[&b"ls\r"[..]][..], &b"ls\r"[..], false),
            (&[b"a\x1ddb"], b"a", true),
            (&[b"a\x1d", b"db"], b"a", true),
            (&[b"\x1d\x1dd"], b"\x1dd", false),
            (&[b"\x1d\x1d\x1dd"], b"\x1d", true),
            (&[b"\x1dx"], b"\x1dx", false),
            (&[b"\x1d"], b"", false),
            (&[b"d"], b"d", false),
        ] {
            let mut keys = Keys::default();
            let mut seen = Vec::new();
            let mut left = false;
            for piece in pieces {
                let typed = keys.take(piece);
                seen.extend(typed.through);
                left |= typed.leaves;
            }
            assert_eq!((&seen[..], left), (through, leaves), "{pieces:?}");
        }
    }
}
