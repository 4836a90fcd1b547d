//! What can be wrong with the certificates a sandbox's TLS is looked into with.

use std::path::PathBuf;

/// Why TLS cannot be looked into.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The certificate to sign with cannot be used.
    #[error("cannot sign with the certificate in {}: {reason}", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The key to sign with cannot be used.
    #[error("cannot use {} as a private key: {reason}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, without a byte of it.
        reason: &'static str,
    },
    /// A file of further certificates holds none, or something else.
    #[error("cannot trust the certificates in {}: {reason}", path.display())]
    ExtraRoots {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Make(String),
}

impl TlsError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check the path and its permissions",
            Self::Authority { .. } => {
                "make one with CA:TRUE and a plain subject, or leave it out: one is made in memory then"
            }
            Self::Key { .. } => "write it as PEM, unencrypted: RSA, ECDSA P-256 or P-384, or Ed25519",
            Self::ExtraRoots { .. } => "the file must hold PEM certificates",
            Self::Make(_) => "this is a fault of Stockade or of the random numbers of this machine",
        }
    }
}
