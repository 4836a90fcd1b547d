//! Numbers of the protocol.

/// The flags of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u16);

impl Flags {
    const ANSWER: u16 = 0x8000;
    const OPCODE: u16 = 0x7800;
    const TRUNCATED: u16 = 0x0200;
    const RECURSION_DESIRED: u16 = 0x0100;
    const RECURSION_AVAILABLE: u16 = 0x0080;
    const CHECKING_DISABLED: u16 = 0x0010;

    pub(super) fn is_answer(self) -> bool {
        self.0 & Self::ANSWER != 0
    }

    /// Whether this is an ordinary question, not a transfer notice, an update or the like.
    pub(super) fn is_query(self) -> bool {
        self.0 & Self::OPCODE == 0
    }

    /// The flags of an answer to this.
    pub(super) fn answer(self, rcode: Rcode) -> Self {
        let kept = self.0 & (Self::OPCODE | Self::RECURSION_DESIRED | Self::CHECKING_DISABLED);
        Self(kept | Self::ANSWER | Self::RECURSION_AVAILABLE | rcode.low())
    }

    pub(super) fn truncated(self) -> Self {
        Self(self.0 | Self::TRUNCATED)
    }
}

/// How an answer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rcode(pub(super) u16);

impl Rcode {
    pub(super) const GOOD: Self = Self(0);
    pub(super) const FORMAT: Self = Self(1);
    pub(super) const FAILED: Self = Self(2);
    pub(super) const NO_SUCH_NAME: Self = Self(3);
    pub(super) const NOT_IMPLEMENTED: Self = Self(4);
    pub(super) const REFUSED: Self = Self(5);
    pub(super) const BAD_VERSION: Self = Self(16);

    /// What fits in the header.
    pub(super) fn low(self) -> u16 {
        self.0 & 0xf
    }

    /// What goes into the EDNS record.
    pub(super) fn high(self) -> u8 {
        self.0.to_be_bytes()[1] >> 4
    }
}

/// What is asked about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(pub(super) u16);

impl Kind {
    pub(super) const A: Self = Self(1);
    pub(super) const SOA: Self = Self(6);
    pub(super) const PTR: Self = Self(12);
    pub(super) const AAAA: Self = Self(28);
    pub(super) const OPT: Self = Self(41);
    pub(super) const ANY: Self = Self(255);

    /// Whether this is no question but a wish for a whole zone (IXFR, AXFR) or one about other servers' use
    /// of keys (TKEY, TSIG, MAILB, MAILA).
    pub(super) fn is_transfer(self) -> bool {
        (249..=254).contains(&self.0)
    }
}

/// The class of everything here.
pub(super) const INTERNET: u16 = 1;
