//! Certificates for hosts, made when first wanted and kept.

use super::authority::{Authority, now};
use super::error::TlsError;
use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use stockade_policy::Host;

/// How many hosts' certificates are kept.
const KEPT: usize = 1000;
/// Seconds before its end from which one is not handed out any more.
const MARGIN: u64 = 3600;

/// What is shown to clients, per host.
pub(super) struct Leaves {
    provider: Arc<CryptoProvider>,
    /// One key for all of them: it never leaves this process, and making one costs more than signing.
    key: KeyPair,
    signing: Arc<dyn SigningKey>,
    tickets: Arc<dyn ProducesTickets>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_host: HashMap<Host, Entry>,
    turn: u64,
}

struct Entry {
    config: Arc<ServerConfig>,
    not_after: u64,
    used: u64,
}

impl Leaves {
    pub(super) fn new(provider: Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let make = |error: rustls::Error| TlsError::Make(error.to_string());
        let key = KeyPair::generate().map_err(|error| TlsError::Make(error.to_string()))?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialized_der()));
        let signing = ring::sign::any_supported_type(&der).map_err(make)?;
        let tickets = ring::Ticketer::new().map_err(make)?;
        Ok(Self { provider, key, signing, tickets, kept: Mutex::default() })
    }

    /// How a client that wants this host is met. Those who come while it is made wait for that one.
    pub(super) fn config(&self, host: &Host, authority: &Authority) -> Result<Arc<ServerConfig>, TlsError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.turn += 1;
        let turn = kept.turn;
        if let Some(entry) = kept.by_host.get_mut(host).filter(|entry| entry.not_after > now() + MARGIN) {
            entry.used = turn;
            return Ok(entry.config.clone());
        }
        let leaf = authority.sign(host, &self.key, &self.provider)?;
        let shown = CertifiedKey::new(leaf.chain, self.signing.clone());
        let config = Arc::new(self.server(shown)?);
        if kept.by_host.len() >= KEPT
            && let Some(oldest) = kept.by_host.iter().min_by_key(|(_, entry)| entry.used)
        {
            let oldest = oldest.0.clone();
            kept.by_host.remove(&oldest);
        }
        let entry = Entry { config: config.clone(), not_after: leaf.not_after, used: turn };
        kept.by_host.insert(host.clone(), entry);
        Ok(config)
    }

    fn server(&self, shown: CertifiedKey) -> Result<ServerConfig, TlsError> {
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Make(error.to_string()))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
        // Tickets hold everything; a table per host would hold memory for hosts seen once.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = self.tickets.clone();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves() -> (Leaves, Authority) {
        let provider = Arc::new(ring::default_provider());
        let authority = Authority::fresh(&provider).unwrap();
        (Leaves::new(provider).unwrap(), authority)
    }

    fn host(name: &str) -> Host {
        Host::parse(name.as_bytes()).unwrap()
    }

    #[test]
    fn one_host_has_one_certificate_however_many_ask() {
        let (leaves, authority) = leaves();
        let all: Vec<Arc<ServerConfig>> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| leaves.config(&host("a.example.org"), &authority).unwrap()))
                .collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(all.iter().all(|one| Arc::ptr_eq(one, &all[0])));
        let other = leaves.config(&host("b.example.org"), &authority).unwrap();
        assert!(!Arc::ptr_eq(&all[0], &other));
    }

    #[test]
    fn the_one_not_used_for_longest_goes_first() {
        let (leaves, authority) = leaves();
        let first = leaves.config(&host("h0.example.org"), &authority).unwrap();
        let second = leaves.config(&host("h1.example.org"), &authority).unwrap();
        for number in 2..KEPT {
            leaves.config(&host(&format!("h{number}.example.org")), &authority).unwrap();
        }
        leaves.config(&host("h0.example.org"), &authority).unwrap();
        leaves.config(&host("one-more.example.org"), &authority).unwrap();
        assert_eq!(leaves.kept.lock().unwrap().by_host.len(), KEPT);
        assert!(Arc::ptr_eq(&first, &leaves.config(&host("h0.example.org"), &authority).unwrap()));
        assert!(!Arc::ptr_eq(&second, &leaves.config(&host("h1.example.org"), &authority).unwrap()));
    }

    #[test]
    fn one_that_is_about_to_end_is_made_anew() {
        let (leaves, authority) = leaves();
        let first = leaves.config(&host("a.example.org"), &authority).unwrap();
        for entry in leaves.kept.lock().unwrap().by_host.values_mut() {
            entry.not_after = now() + MARGIN;
        }
        assert!(!Arc::ptr_eq(&first, &leaves.config(&host("a.example.org"), &authority).unwrap()));
    }
}
