//! Whom servers may be signed by: the host's own certificates, and those named in the settings.

use super::error::TlsError;
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The certificates servers are checked against.
pub(super) struct Roots {
    pub(super) store: Arc<RootCertStore>,
    /// The same ones as they are written.
    pub(super) certificates: Vec<CertificateDer<'static>>,
    /// Why there are none, where there are none: only somebody who connects has to know.
    pub(super) absent: Option<String>,
}

impl Roots {
    /// Finds the host's and reads the others.
    pub(super) fn load(extra: &[PathBuf]) -> Result<Self, TlsError> {
        let found = rustls_native_certs::load_native_certs();
        let mut certificates = found.certs;
        let mut store = RootCertStore::empty();
        // A host's list may hold relics that nobody can parse.
        store.add_parsable_certificates(certificates.iter().cloned());
        for path in extra {
            for certificate in read(path)? {
                let wrong = |error: rustls::Error| TlsError::ExtraRoots {
                    path: path.clone(),
                    reason: error.to_string(),
                };
                store.add(certificate.clone()).map_err(wrong)?;
                certificates.push(certificate);
            }
        }
        let absent = store.is_empty().then(|| {
            let because = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
            format!(
                "this machine has no certificates to check servers against{because}; install its ca-certificates \
                 package, or name a file in SSL_CERT_FILE or tlsTerminate.extraCaCertPaths"
            )
        });
        Ok(Self { store: Arc::new(store), certificates, absent })
    }
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = std::fs::read(path).map_err(|source| TlsError::Read { path: path.into(), source })?;
    let wrong = |reason: String| TlsError::ExtraRoots { path: path.into(), reason };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("there is none in it".to_owned())) } else { Ok(found) }
}

/// Certificates as the text files programs read.
pub(super) fn pem<'a>(certificates: impl Iterator<Item = &'a CertificateDer<'static>>) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::new();
    for certificate in certificates {
        text.extend_from_slice(b"-----BEGIN CERTIFICATE-----\n");
        for line in certificate.chunks(48) {
            for three in line.chunks(3) {
                let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
                let bits = at(0) << 16 | at(1) << 8 | at(2);
                for index in 0..4 {
                    let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize];
                    text.push(if index <= three.len() { letter } else { b'=' });
                }
            }
            text.push(b'\n');
        }
        text.extend_from_slice(b"-----END CERTIFICATE-----\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let written: Vec<CertificateDer<'static>> =
            (0..200u8).map(|length| CertificateDer::from((0..length).collect::<Vec<u8>>())).skip(1).collect();
        let text = pem(written.iter());
        let read: Vec<_> = CertificateDer::pem_slice_iter(&text).map(Result::unwrap).collect();
        assert_eq!(read, written);
        assert!(text.split(|byte| *byte == b'\n').all(|line| line.len() <= 64));
    }

    #[test]
    fn further_roots_must_hold_certificates() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("roots.pem");
        assert!(matches!(Roots::load(std::slice::from_ref(&path)), Err(TlsError::Read { .. })));
        std::fs::write(&path, "nothing").unwrap();
        assert!(matches!(Roots::load(std::slice::from_ref(&path)), Err(TlsError::ExtraRoots { .. })));
        std::fs::write(&path, pem([CertificateDer::from(vec![1, 2, 3])].iter())).unwrap();
        assert!(matches!(Roots::load(&[path]), Err(TlsError::ExtraRoots { .. })));
    }
}
