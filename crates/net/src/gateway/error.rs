//! Why a gateway could not be opened.

use crate::DoorKind;
use std::io;

/// Why a gateway could not be opened or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// Called outside an async runtime.
    #[error("the gateway needs a running async runtime with time and input/output; call it from inside one")]
    NoRuntime,
    /// A door's socket is not what it should be.
    #[error("cannot serve the {kind:?} door: {source}")]
    Door {
        /// Which door.
        kind: DoorKind,
        /// What went wrong.
        source: io::Error,
    },
    /// A port of the host is not to be had.
    #[error(
        "cannot publish port {inside} of the sandbox on port {host} of the host's loopback: {source}; choose another port, or 0 for any that is free"
    )]
    Publish {
        /// The port on the host.
        host: u16,
        /// The port inside.
        inside: u16,
        /// What went wrong.
        source: io::Error,
    },
    /// Ports are published, but no socket can be made inside.
    #[error("ports of the sandbox are to be published, but its network cannot be entered")]
    NoWayIn,
    /// A proxy address that cannot be used.
    #[error("cannot use {what} {text:?} as a route out; write it as http://host:port or https://host:port")]
    Route {
        /// Which setting.
        what: &'static str,
        /// Its value, without what may be secret.
        text: String,
    },
}
