//! The certificate authority that signs in place of the servers. It is trusted inside its sandbox only.

use super::certificate::{self, Role};
use super::error::TlsError;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType,
};
use rustls::SignatureScheme;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::ParsedCertificate;
use rustls::sign::SigningKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use stockade_policy::Host;

const DAY: u64 = 86_400;
/// How long one that lives in memory is good, from a day ago for clocks that are late.
const LIFE: u64 = 7 * DAY;

/// Signs certificates for hosts.
pub(super) struct Authority {
    /// The one that signs, and those it was signed by, where they were given.
    certificates: Vec<CertificateDer<'static>>,
    issuer: Issuer<'static, Signer>,
    not_before: u64,
    not_after: u64,
}

/// A certificate for one host.
pub(super) struct Leaf {
    /// What the client is sent.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// Seconds since 1970.
    pub(super) not_after: u64,
}

impl Authority {
    /// One that exists in this process only.
    pub(super) fn fresh(provider: &CryptoProvider) -> Result<Self, TlsError> {
        let make = |error: rcgen::Error| TlsError::Make(error.to_string());
        let key = KeyPair::generate().map_err(make)?;
        let mut name = String::from("Stockade sandbox CA ");
        for byte in random::<6>(provider)? {
            let _ = write!(name, "{byte:02x}");
        }
        let mut wanted = CertificateParams::default();
        wanted.distinguished_name = rcgen::DistinguishedName::new();
        wanted.distinguished_name.push(DnType::CommonName, name);
        wanted.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        wanted.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        wanted.use_authority_key_identifier_extension = true;
        wanted.serial_number = Some(serial(provider)?);
        let not_before = now().saturating_sub(DAY);
        wanted.not_before = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(not_before);
        wanted.not_after = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(not_before + LIFE);
        let made = wanted.self_signed(&key).map_err(make)?;
        let mut secret = key.serialize_der();
        let loaded = signing_key(&PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(secret.as_slice())));
        erase(&mut secret);
        let loaded = loaded.ok_or_else(|| TlsError::Make("the key just made is not one".to_owned()))?;
        Self::with(vec![made.der().clone()], loaded, provider).map_err(TlsError::Make)
    }

    /// The one in these two PEM files.
    pub(super) fn from_files(
        certificate: &Path,
        key: &Path,
        provider: &CryptoProvider,
    ) -> Result<Self, TlsError> {
        let read =
            |path: &Path| std::fs::read(path).map_err(|source| TlsError::Read { path: path.into(), source });
        let wrong = |reason: String| TlsError::Authority { path: certificate.into(), reason };
        let text = read(certificate)?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let found = found.map_err(|error| wrong(error.to_string()))?;
        let mut text = read(key)?;
        // What the parser says may quote the file; it must not be passed on.
        let parsed = PrivateKeyDer::from_pem_slice(&text);
        erase(&mut text);
        let wrong_key = |reason| TlsError::Key { path: key.into(), reason };
        let parsed = parsed.map_err(|_| wrong_key("it holds no unencrypted PEM key"))?;
        let loaded = signing_key(&parsed).ok_or_else(|| wrong_key("its kind of key is not supported"))?;
        Self::with(found, loaded, provider).map_err(wrong)
    }

    fn with(
        certificates: Vec<CertificateDer<'static>>,
        key: Arc<dyn SigningKey>,
        provider: &CryptoProvider,
    ) -> Result<Self, String> {
        let first = certificates.first().ok_or("there is no PEM certificate in it")?;
        let facts = certificate::facts(first)?;
        if facts.role != Role::Authority {
            return Err("it is not marked as an authority (CA:TRUE)".to_owned());
        }
        if facts.not_after <= now() || facts.not_before > now() {
            return Err("it has expired, or is not valid yet".to_owned());
        }
        let mut issuer = CertificateParams::default();
        issuer.distinguished_name = facts.subject;
        issuer.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        if let Some(identifier) = facts.key_identifier {
            issuer.key_identifier_method = KeyIdMethod::PreSpecified(identifier);
        }
        let signer = Signer::new(key, facts.public_key).ok_or("its kind of key is not supported")?;
        let issuer = Issuer::new(issuer, signer);
        let (not_before, not_after) = (facts.not_before, facts.not_after);
        let authority = Self { certificates, issuer, not_before, not_after };
        authority.probe(provider).map_err(|reason| format!("what it signs is not accepted: {reason}"))?;
        Ok(authority)
    }

    /// Signs for a host nobody has, and checks the result as a client would: finds a key of something else.
    fn probe(&self, provider: &CryptoProvider) -> Result<(), String> {
        let host = Host::Name("probe.invalid".to_owned());
        let leaf = self.sign(&host, self.issuer.key(), provider).map_err(|error| error.to_string())?;
        let mut trusted = rustls::RootCertStore::empty();
        trusted.add(self.certificates[0].clone()).map_err(|error| error.to_string())?;
        let parsed = ParsedCertificate::try_from(&leaf.chain[0]).map_err(|error| error.to_string())?;
        let known = provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, &trusted, &[], UnixTime::now(), known)
            .map_err(|error| error.to_string())
    }

    /// Every certificate of it, the signing one first.
    pub(super) fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// A certificate that says `key` belongs to `host`.
    pub(super) fn sign(
        &self,
        host: &Host,
        key: &impl PublicKeyData,
        provider: &CryptoProvider,
    ) -> Result<Leaf, TlsError> {
        let mut wanted = CertificateParams::default();
        let not_before = self.not_before.max(now().saturating_sub(DAY));
        let not_after = self.not_after.min(not_before + LIFE);
        wanted.not_before = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(not_before);
        wanted.not_after = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(not_after);
        wanted.serial_number = Some(serial(provider)?);
        wanted.is_ca = IsCa::ExplicitNoCa;
        wanted.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        wanted.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Strict clients (Python since 3.13) want to be told whose key signed.
        wanted.use_authority_key_identifier_extension = true;
        let make = |error: rcgen::Error| TlsError::Make(error.to_string());
        wanted.subject_alt_names = vec![match host {
            Host::Name(name) => SanType::DnsName(name.as_str().try_into().map_err(make)?),
            Host::Address(address) => SanType::IpAddress(*address),
        }];
        let shown = host.to_string();
        wanted.distinguished_name = rcgen::DistinguishedName::new();
        // A common name has at most 64 letters.
        let common = if shown.len() <= 64 { shown } else { "Stockade".to_owned() };
        wanted.distinguished_name.push(DnType::CommonName, common);
        let made = wanted.signed_by(key, &self.issuer).map_err(make)?;
        let mut chain = vec![made.der().clone()];
        if self.certificates.len() > 1 {
            chain.extend(self.certificates.iter().cloned());
        }
        Ok(Leaf { chain, not_after })
    }
}

/// The authority's key in the hands of the TLS library; nothing here can write it out.
struct Signer {
    signer: Box<dyn rustls::sign::Signer>,
    algorithm: &'static rcgen::SignatureAlgorithm,
    public_key: Vec<u8>,
}

impl Signer {
    fn new(key: Arc<dyn SigningKey>, public_key: Vec<u8>) -> Option<Self> {
        let signer = key.choose_scheme(&[
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureScheme::ED25519,
            SignatureScheme::RSA_PKCS1_SHA256,
        ])?;
        let algorithm = match signer.scheme() {
            SignatureScheme::ECDSA_NISTP256_SHA256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            SignatureScheme::ECDSA_NISTP384_SHA384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            SignatureScheme::ED25519 => &rcgen::PKCS_ED25519,
            SignatureScheme::RSA_PKCS1_SHA256 => &rcgen::PKCS_RSA_SHA256,
            _ => return None,
        };
        Some(Self { signer, algorithm, public_key })
    }
}

impl PublicKeyData for Signer {
    fn der_bytes(&self) -> &[u8] {
        &self.public_key
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        self.algorithm
    }
}

impl rcgen::SigningKey for Signer {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        self.signer.sign(message).map_err(|_| rcgen::Error::RemoteKeyError)
    }
}

fn signing_key(der: &PrivateKeyDer<'_>) -> Option<Arc<dyn SigningKey>> {
    ring::sign::any_supported_type(der).ok()
}

/// Positive and never the same: some clients refuse two certificates with one number.
fn serial(provider: &CryptoProvider) -> Result<rcgen::SerialNumber, TlsError> {
    let mut bytes = random::<16>(provider)?;
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(rcgen::SerialNumber::from(bytes.to_vec()))
}

fn random<const N: usize>(provider: &CryptoProvider) -> Result<[u8; N], TlsError> {
    let mut bytes = [0; N];
    let filled = provider.secure_random.fill(&mut bytes);
    filled.map_err(|_| TlsError::Make("no random numbers".to_owned()))?;
    Ok(bytes)
}

/// Overwrites a copy of a key that is not needed any more.
fn erase(secret: &mut [u8]) {
    secret.fill(0);
    black_box(secret);
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
