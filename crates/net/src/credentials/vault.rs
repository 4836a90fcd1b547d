//! The secrets of one sandbox.

use super::needles::Needles;
use super::spellings::{SHORTEST, Spellings};
use super::stand_in::StandIn;
use super::stray::Why;
use super::{Channel, Secret};
use std::fmt;
use std::sync::{Arc, OnceLock};
use stockade_policy::{DomainPattern, HostPattern, Switch, Target, Unsignable};

/// The secrets of one sandbox, and where each may go.
pub struct Vault {
    pub(super) store: Arc<Store>,
    pub(super) unsignable: Unsignable,
}

/// One secret.
pub struct VaultEntry {
    /// What it is called in notes: a variable, or a file.
    pub name: String,
    /// What the sandbox sees.
    pub stand_in: StandIn,
    /// What the hosts below get.
    pub real: Secret,
    /// Hosts it may be sent to; nobody when empty.
    pub hosts: Vec<DomainPattern>,
}

impl VaultEntry {
    /// Whether it may be sent to somebody and is too short to be covered where it comes back.
    pub fn is_sent_uncovered(&self) -> bool {
        !self.hosts.is_empty() && self.real.reveal().len() < SHORTEST
    }
}

/// Keys that AWS requests are signed with. Signatures are made for the hosts of `key_id`.
pub struct AwsPair {
    /// The key's name.
    pub key_id: VaultEntry,
    /// The key, which is never sent to anybody.
    pub secret: VaultEntry,
    /// The session's token, where there is one.
    pub session_token: Option<VaultEntry>,
}

pub(super) struct Store {
    pub(super) entries: Vec<Kept>,
    pub(super) pairs: Vec<Pair>,
    pub(super) needles: Needles,
    /// Known once somebody may have been sent a value.
    spellings: OnceLock<Spellings>,
    plaintext: Switch,
}

pub(super) struct Kept {
    pub(super) entry: VaultEntry,
    use_of: Use,
}

/// The places of a pair's members among the entries.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) key_id: usize,
    pub(super) secret: usize,
    pub(super) session_token: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Sent,
    SignedWith,
}

impl Vault {
    /// A vault of these. `plaintext` says whether values may go into requests outside TLS.
    pub fn new(entries: Vec<VaultEntry>, pairs: Vec<AwsPair>, plaintext: Switch) -> Self {
        let mut kept: Vec<Kept> =
            entries.into_iter().map(|entry| Kept { entry, use_of: Use::Sent }).collect();
        let mut keep = |entry, use_of| {
            kept.push(Kept { entry, use_of });
            kept.len() - 1
        };
        let pairs = pairs.into_iter().map(|pair| Pair {
            key_id: keep(pair.key_id, Use::Sent),
            secret: keep(pair.secret, Use::SignedWith),
            session_token: pair.session_token.map(|entry| keep(entry, Use::Sent)),
        });
        let pairs = pairs.collect();
        let needles = Needles::new(kept.iter().map(|kept| kept.entry.stand_in.as_str().as_bytes()));
        let spellings = OnceLock::new();
        let store = Arc::new(Store { entries: kept, pairs, needles, spellings, plaintext });
        Self { store, unsignable: Unsignable::default() }
    }

    /// The same, which lets requests pass as they are whose signature it cannot make anew.
    pub fn passing(self, unsignable: Unsignable) -> Self {
        Self { unsignable, ..self }
    }
}

impl Store {
    /// For every entry whether its value may go there.
    pub(super) fn permits(&self, to: &Target, channel: Channel) -> Vec<Result<(), Why>> {
        let open = channel == Channel::Tls || self.plaintext == Switch::Allowed;
        let permit = |kept: &Kept| match kept {
            kept if !kept.entry.hosts.iter().any(|pattern| fits(to, pattern)) => Err(Why::OtherHost),
            Kept { use_of: Use::SignedWith, .. } => Err(Why::SigningKey),
            _ if !open => Err(Why::Plaintext),
            _ => Ok(()),
        };
        self.entries.iter().map(permit).collect()
    }

    /// Whether this host may have been sent a value, at whichever port. The names of keys and the tokens of
    /// sessions are values like any other; only what is signed with is never sent.
    pub(super) fn may_know(&self, host: &Target) -> bool {
        self.entries.iter().any(|kept| {
            kept.use_of == Use::Sent && kept.entry.hosts.iter().any(|pattern| is_host(host, pattern))
        })
    }

    /// The ways in which values may come back.
    pub(super) fn spellings(&self) -> &Spellings {
        self.spellings.get_or_init(|| Spellings::of(&self.entries))
    }

    pub(super) fn real(&self, number: usize) -> &[u8] {
        self.entries[number].entry.real.reveal()
    }

    pub(super) fn stand_in(&self, number: usize) -> &str {
        self.entries[number].entry.stand_in.as_str()
    }
}

/// Whether a secret for `pattern` is one for `to`. A secret for everybody is none.
fn fits(to: &Target, pattern: &DomainPattern) -> bool {
    is_host(to, pattern) && pattern.port.is_none_or(|port| port == to.port)
}

fn is_host(to: &Target, pattern: &DomainPattern) -> bool {
    pattern.host != HostPattern::Any && to.host.fits(&pattern.host)
}

impl fmt::Debug for Vault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Vault")
    }
}

impl fmt::Debug for VaultEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("VaultEntry")
    }
}

impl fmt::Debug for AwsPair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AwsPair")
    }
}
