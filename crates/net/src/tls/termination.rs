//! What looking into TLS needs: an authority inside, roots outside, and which hosts.

use super::authority::Authority;
use super::error::TlsError;
use super::leaves::Leaves;
use super::roots::{self, Roots};
use rustls::crypto::ring;
use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{DomainPattern, Host, Target, TlsPlan};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const HANDSHAKE: Duration = Duration::from_secs(10);

/// Looks into the TLS of one sandbox. The authority's key is in memory only, and nothing shows it.
pub struct Termination {
    authority: Authority,
    leaves: Leaves,
    bundle: Vec<u8>,
    client: ClientConfig,
    absent: Option<String>,
    hosts: Vec<DomainPattern>,
    exclude: Vec<DomainPattern>,
    tunnels: Option<(u32, Arc<Semaphore>)>,
    patience: Duration,
}

/// A place among the connections that are looked into at once.
pub(super) struct Place {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Termination {
    /// Makes or reads the authority, and reads whom servers may be signed by.
    pub fn new(plan: &TlsPlan) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let authority = match &plan.authority {
            Some((certificate, key)) => Authority::from_files(certificate, key, &provider)?,
            None => Authority::fresh(&provider)?,
        };
        let roots = Roots::load(&plan.extra_roots)?;
        let bundle = roots::pem(authority.certificates().iter().chain(&roots.certificates));
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Make(error.to_string()))?
            .with_root_certificates(roots.store)
            .with_no_client_auth();
        Ok(Self {
            authority,
            leaves: Leaves::new(provider)?,
            bundle,
            client,
            absent: roots.absent,
            hosts: plan.hosts.clone(),
            exclude: plan.exclude.clone(),
            tunnels: plan.max_tunnels.map(|most| (most, Arc::new(Semaphore::new(most as usize)))),
            patience: plan.handshake_timeout_ms.map_or(HANDSHAKE, Duration::from_millis),
        })
    }

    /// What programs inside have to trust: our authority, the host's certificates, and those of the
    /// settings, as PEM.
    pub fn bundle(&self) -> &[u8] {
        &self.bundle
    }

    /// Whether TLS to this target is looked into.
    pub(crate) fn wants(&self, target: &Target) -> bool {
        let listed = |patterns: &[DomainPattern]| patterns.iter().any(|pattern| fits(target, pattern));
        (self.hosts.is_empty() || listed(&self.hosts)) && !listed(&self.exclude)
    }

    /// How long a handshake may take, and so may half of its first message.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// A place, or how many there are when all are taken.
    pub(super) fn place(&self) -> Result<Place, u32> {
        let permit = match &self.tunnels {
            Some((most, free)) => Some(free.clone().try_acquire_owned().map_err(|_| *most)?),
            None => None,
        };
        Ok(Place { _permit: permit })
    }

    /// How a client that wants this host is met.
    pub(super) fn server(&self, host: &Host) -> Result<Arc<ServerConfig>, TlsError> {
        self.leaves.config(host, &self.authority)
    }

    /// How servers are met, with these protocols; the error says why nobody can be.
    pub(super) fn client(&self, alpn: &[&[u8]]) -> Result<Arc<ClientConfig>, &str> {
        if let Some(why) = &self.absent {
            return Err(why);
        }
        // A clone shares the memory of earlier sessions.
        let mut config = self.client.clone();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

impl fmt::Debug for Termination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hosts, exclude, patience, .. } = self;
        out.debug_struct("Termination")
            .field("hosts", hosts)
            .field("exclude", exclude)
            .field("patience", patience)
            .finish_non_exhaustive()
    }
}

/// Whether a rule about hosts is about this target.
pub(super) fn fits(target: &Target, pattern: &DomainPattern) -> bool {
    target.host.fits(&pattern.host) && pattern.port.is_none_or(|port| port == target.port)
}
