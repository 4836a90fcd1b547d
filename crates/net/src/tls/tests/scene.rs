//! A server with a private authority, a gateway that looks into TLS, and clients inside.

use crate::gateway::testing::{Recorder, plan};
use crate::socks::tests::{ask, open};
use crate::{Gateway, Termination};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use stockade_policy::{GatewayPlan, MitmProxy, TlsPlan, Upstreams};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, server};

/// Names below this lead to the server.
pub(super) const DOMAIN: &str = "*.example.org";

pub(super) struct Scene {
    pub(super) witness: Arc<Recorder>,
    pub(super) termination: Arc<Termination>,
    pub(super) door: SocketAddr,
    _gateway: Gateway,
    _directory: tempfile::TempDir,
}

/// What a server says, once its handshake is done.
pub(super) type Serve = fn(server::TlsStream<TcpStream>) -> crate::BoxFuture<'static, io::Result<()>>;

/// A scene whose server speaks `alpn` and then does as told; both plans may be changed first.
pub(super) async fn scene(alpn: &[&[u8]], serve: Serve, change: fn(&mut GatewayPlan, &mut TlsPlan)) -> Scene {
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("roots.pem");
    let socket = directory.path().join("proxy");
    let (config, root) = private_server(alpn);
    std::fs::write(&roots, root).unwrap();
    lead(UnixListener::bind(&socket).unwrap(), server(config, serve).await);
    let mitm = MitmProxy { socket_path: socket.to_str().unwrap().into(), domains: vec![DOMAIN.into()] };
    let mut plan = plan(&[DOMAIN]);
    plan.upstreams = Upstreams { mitm_proxy: Some(mitm), ..Upstreams::default() };
    let mut tls = TlsPlan { extra_roots: vec![roots], ..TlsPlan::default() };
    change(&mut plan, &mut tls);
    let termination = Arc::new(Termination::new(&tls).unwrap());
    let witness = Recorder::new();
    let (gateway, door) = open(plan, &witness, Some(Arc::clone(&termination)));
    Scene { witness, termination, door, _gateway: gateway, _directory: directory }
}

/// A server's own certificate, by an authority of its own.
pub(super) fn private_server(alpn: &[&[u8]]) -> (ServerConfig, String) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec![DOMAIN.to_owned()];
    let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    (config, authority.pem())
}

pub(super) async fn server(config: ServerConfig, serve: Serve) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let _ = serve(stream).await;
                }
            });
        }
    });
    address
}

/// A proxy that leads every CONNECT to one place: names need nobody who knows them.
fn lead(listener: UnixListener, to: SocketAddr) {
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    stream.read_line(&mut line).await.unwrap();
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let mut server = TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
}

impl Scene {
    /// A connection to this name, on which nothing was said yet.
    pub(super) async fn connect(&self, name: &str) -> TcpStream {
        let (client, reply) = ask(self.door, name.as_bytes(), 443).await;
        assert_eq!(reply, 0);
        client
    }

    /// A client that trusts the bundle and asks `to` for the host `sni`.
    pub(super) async fn shake(
        &self,
        to: &str,
        sni: &str,
        alpn: &[&[u8]],
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(self.termination.bundle()) {
            let _ = roots.add(root.unwrap());
        }
        self.shake_trusting(roots, to, sni, alpn).await
    }

    /// The same, trusting only these.
    pub(super) async fn shake_trusting(
        &self,
        roots: RootCertStore,
        to: &str,
        sni: &str,
        alpn: &[&[u8]],
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        let name = ServerName::try_from(sni.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.connect(to).await).await
    }
}
