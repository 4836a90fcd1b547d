//! TLS toward a proxy that leads out of this network.

use super::roots::Roots;
use super::upstream::{named, shake};
use super::words::{Remedy, distrust, failure};
use crate::gateway::Ward;
use rustls::ClientConfig;
use rustls::crypto::ring;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stockade_policy::Target;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

const HANDSHAKE: Duration = Duration::from_secs(10);
/// Proxies are asked in the first version of HTTP.
const ALPN: &[u8] = b"http/1.1";

/// How a machine's own certificates are used, or why they cannot be.
type Known = Result<Arc<ClientConfig>, String>;

/// Speaks TLS with the proxy at the other end of a stream, which must prove that it is `proxy`: to whoever
/// this machine trusts, and whoever the settings name where TLS is looked into.
pub(crate) async fn connect_proxy(
    ward: &Ward,
    stream: TcpStream,
    proxy: &Target,
) -> io::Result<TlsStream<TcpStream>> {
    let config = match ward.termination() {
        Some(termination) => termination.client(&[ALPN]).map_err(io::Error::other)?,
        None => of_machine().await.map_err(io::Error::other)?,
    };
    let name = named(proxy)?;
    match shake(config, name, stream, HANDSHAKE).await {
        Some(Ok(stream)) => Ok(stream),
        Some(Err(error)) => Err(explained(proxy, &error)),
        None => {
            let text = format!("the proxy {proxy} did not finish the TLS handshake in {HANDSHAKE:?}");
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        }
    }
}

/// Read once: a machine has many certificates.
async fn of_machine() -> Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let reading = tokio::task::spawn_blocking(|| KNOWN.get_or_init(read).clone());
    reading.await.unwrap_or_else(|error| Err(error.to_string()))
}

fn read() -> Known {
    let roots = Roots::load(&[]).map_err(|error| error.to_string())?;
    if let Some(why) = roots.absent {
        return Err(why);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots.store).with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

fn explained(proxy: &Target, error: &io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let text = match cause {
        Some(rustls::Error::InvalidCertificate(why)) => {
            let (why, remedy) = distrust(why);
            let hint = match remedy {
                Remedy::Authority => {
                    "; let this machine trust its authority, or name the authority's file in SSL_CERT_FILE or \
                     tlsTerminate.extraCaCertPaths"
                }
                Remedy::Nothing => "",
            };
            format!("the certificate of the proxy {proxy} is not trusted: {why}{hint}")
        }
        _ => {
            let why = failure(error);
            format!("no TLS with the proxy {proxy}: {why}; is it one that is reached as http://{proxy}?")
        }
    };
    io::Error::new(error.kind(), text)
}
