//! The private pool: which address stands for which name.

use super::hush::Hush;
use super::room::Room;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, PoisonError, RwLock};
use stockade_policy::{Host, lent_addresses, lent_number};

/// As many names as are remembered. Fewer than the pool has addresses: memory ends first.
const MOST: usize = 100_000;
/// As many of them as no rule allows, and somebody may be asked about. The rest is for names that are allowed,
/// however many others a program makes up.
const MOST_ASKABLE: usize = 10_000;

/// What speaks for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A rule.
    Allowed,
    /// Nothing yet: somebody may be asked when a connection comes.
    Askable,
}

/// What the resolver of one sandbox remembers: the names it gave addresses to, and what it told.
///
/// An address is never given to a second name. A program may keep one for as long as the sandbox lives, and
/// what is judged must be the name it asked for.
pub(crate) struct Names {
    pool: RwLock<Pool>,
    /// What this machine calls itself, which is what the sandbox calls itself.
    own: String,
    pub(super) hush: Hush,
    pub(super) room: Room,
}

struct Pool {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    most: usize,
    /// How many more names may come that nothing speaks for.
    askable: usize,
}

impl Names {
    /// An empty pool.
    pub(crate) fn new() -> Self {
        Self::with_room(MOST, MOST_ASKABLE)
    }

    /// An empty pool for so many names, among them so many that nothing speaks for.
    pub(super) fn with_room(most: usize, askable: usize) -> Self {
        let own = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
        let pool = Pool { numbers: HashMap::new(), names: Vec::new(), most, askable };
        Self { pool: RwLock::new(pool), own, hush: Hush::default(), room: Room::default() }
    }

    /// Whether a name is the sandbox itself. Programs look their own host up, and not every list of hosts has it.
    pub(super) fn is_own(&self, name: &str) -> bool {
        name == "localhost" || name.ends_with(".localhost") || (!self.own.is_empty() && name == self.own)
    }

    /// The addresses that stand for a name; allots them the first time. `None` for a literal address, and
    /// once the part of the pool that is for such names is used up.
    pub(super) fn addresses(&self, host: &Host, standing: Standing) -> Option<(Ipv4Addr, Ipv6Addr)> {
        let Host::Name(name) = host else { return None };
        let known =
            self.pool.read().unwrap_or_else(PoisonError::into_inner).numbers.get(name.as_str()).copied();
        let number = match known {
            Some(number) => number,
            None => self.pool.write().unwrap_or_else(PoisonError::into_inner).allot(name, standing)?,
        };
        lent_addresses(number)
    }

    /// Whether a name has addresses already.
    pub(super) fn has(&self, host: &Host) -> bool {
        let Host::Name(name) = host else { return false };
        self.pool.read().unwrap_or_else(PoisonError::into_inner).numbers.contains_key(name.as_str())
    }

    /// The name an address of the pool stands for.
    pub(crate) fn host_of(&self, address: IpAddr) -> Option<Host> {
        let number = lent_number(address)?;
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        pool.names.get(at).map(|name| Host::Name(name.to_string()))
    }

    /// Whether an address belongs to the pool, allotted or not.
    pub(crate) fn is_pool(address: IpAddr) -> bool {
        lent_number(address).is_some()
    }
}

impl Pool {
    fn allot(&mut self, name: &str, standing: Standing) -> Option<u32> {
        // Somebody else may have come first between the two locks.
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.names.len() >= self.most {
            return None;
        }
        if standing == Standing::Askable {
            self.askable = self.askable.checked_sub(1)?;
        }
        let name: Arc<str> = name.into();
        self.names.push(name.clone());
        let number = u32::try_from(self.names.len()).ok()?;
        self.numbers.insert(name, number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Host {
        Host::parse(text.as_bytes()).unwrap()
    }

    fn allotted(names: &Names, host: &Host) -> Option<(Ipv4Addr, Ipv6Addr)> {
        names.addresses(host, Standing::Allowed)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn counts_upwards_in_both_families_and_remembers() {
        let names = Names::new();
        let first = allotted(&names, &name("one.test")).unwrap();
        assert_eq!(first, ("198.18.0.1".parse().unwrap(), "fd53:746f:636b::1".parse().unwrap()));
        let second = allotted(&names, &name("two.test")).unwrap();
        assert_eq!(second, ("198.18.0.2".parse().unwrap(), "fd53:746f:636b::2".parse().unwrap()));
        assert_eq!(allotted(&names, &name("ONE.test.")), Some(first));
        assert_eq!(names.host_of(first.0.into()), Some(name("one.test")));
        assert_eq!(names.host_of(second.1.into()), Some(name("two.test")));
        assert_eq!(names.host_of(address("::ffff:198.18.0.2")), Some(name("two.test")));
    }

    #[test]
    fn what_was_never_allotted_has_no_name() {
        let names = Names::new();
        allotted(&names, &name("one.test")).unwrap();
        for other in ["198.18.0.0", "198.18.0.2", "198.19.255.255", "fd53:746f:636b::", "fd53:746f:636b::2"] {
            assert_eq!(names.host_of(address(other)), None, "{other}");
        }
        assert_eq!(allotted(&names, &Host::from(address("192.0.2.1"))), None);
    }

    #[test]
    fn ends_before_the_pool_does() {
        let names = Names::new();
        for number in 0..MOST {
            assert!(allotted(&names, &Host::Name(format!("n{number}.test"))).is_some());
        }
        assert_eq!(allotted(&names, &name("one-too-many.test")), None);
        let (last, _) = allotted(&names, &name("n99999.test")).unwrap();
        assert!(Names::is_pool(last.into()));
        assert_eq!(names.host_of(last.into()), Some(name("n99999.test")));
    }

    #[test]
    fn names_that_nothing_speaks_for_leave_room() {
        let names = Names::with_room(5, 2);
        let asked = |text: &str| names.addresses(&name(text), Standing::Askable);
        let first = asked("a.test").unwrap();
        assert!(asked("b.test").is_some());
        assert_eq!(asked("c.test"), None);
        // Who has addresses keeps them, whatever speaks for the name by now.
        assert_eq!(asked("a.test"), Some(first));
        assert_eq!(allotted(&names, &name("a.test")), Some(first));
        for allowed in ["c.test", "d.test", "e.test"] {
            assert!(allotted(&names, &name(allowed)).is_some(), "{allowed}");
        }
        assert_eq!(allotted(&names, &name("f.test")), None);
        assert!(asked("c.test").is_some());
    }

    #[test]
    fn threads_agree() {
        let names = Names::new();
        let all: Vec<_> = std::thread::scope(|scope| {
            let each =
                || (0..500).map(|n| allotted(&names, &Host::Name(format!("n{n}.test"))).unwrap()).collect();
            let running: Vec<_> = (0..4).map(|_| scope.spawn(each)).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<Vec<_>>>()
        });
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
