//! Why a run has no network it could be given.

use crate::credentials::CredentialError;
use stockade_net::{GatewayError, TlsError};

/// The network of a run could not be made ready; nothing was run, or what ran was ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Looking into TLS is not possible as the settings want it.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A secret could not be replaced by a stand-in.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// The gateway could not be opened.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The engine made no way to the gateway.
    #[error(
        "the plan needs the gateway, and the {kind} provider has no network that leads to it\nhint: allow no hosts, or use the local provider"
    )]
    NoDoors {
        /// The provider.
        kind: &'static str,
    },
}
