//! Requests out of TLS that was looked into.

use super::{PATIENCE, echo, gateway, until};
use crate::credentials::{Secret, StandIn, VaultEntry};
use crate::gateway::testing::plan;
use crate::{Gateway, Termination, Vault};
use http::Request;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair, SanType};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::net::Ipv4Addr;
use std::sync::Arc;
use stockade_policy::{DomainPattern, GatewayPlan, NetLimits, Switch, TlsPlan};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A server, a gateway that looks into its TLS, and a client of both.
struct Scene {
    client: TlsStream<TcpStream>,
    gateway: Gateway,
    _directory: tempfile::TempDir,
}

/// Which certificates the gateway trusts.
#[derive(PartialEq)]
enum Trust {
    Server,
    Nobody,
}

async fn scene(server: &[u8], client: &[u8], trust: Trust, vault: Option<Vault>) -> Scene {
    let (port, root) = tls_origin(server).await;
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("roots.pem");
    std::fs::write(&roots, root).unwrap();
    let extra_roots = if trust == Trust::Server { vec![roots] } else { vec![] };
    let termination = Arc::new(Termination::new(&TlsPlan { extra_roots, ..TlsPlan::default() }).unwrap());
    let plan = GatewayPlan { strip_response_headers: vec!["x-secret".into()], ..plan(&["127.0.0.1"]) };
    let (gateway, mut tcp) = gateway(plan, Some(Arc::clone(&termination)), vault.map(Arc::new)).await;
    until(&mut tcp, format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
    let client = trusting(&termination, client).connect(localhost(), tcp).await.unwrap();
    Scene { client, gateway, _directory: directory }
}

/// What every certificate here is for.
pub(super) fn localhost() -> ServerName<'static> {
    ServerName::IpAddress(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST).into())
}

/// A client inside, which speaks what `alpn` says.
pub(super) fn trusting(termination: &Termination, alpn: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(termination.bundle()) {
        roots.add(root.unwrap()).unwrap();
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// How a server on this machine proves who it is, and its root.
pub(super) fn tls_config(alpn: &[u8]) -> (ServerConfig, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::IpAddress(Ipv4Addr::LOCALHOST.into())];
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    (config, certificate.pem())
}

/// An echoing server in TLS that speaks what `alpn` says; gives its port and its root.
pub(super) async fn tls_origin(alpn: &[u8]) -> (u16, String) {
    let (config, root) = tls_config(alpn);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let second = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let stream = TokioIo::new(stream);
                if second {
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(stream, service_fn(echo)).await;
                } else {
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(stream, service_fn(echo)).await;
                }
            });
        }
    });
    (port, root)
}

async fn ask(client: &mut TlsStream<TcpStream>, says: &str, end: &str) -> String {
    client.write_all(says.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(end.as_bytes()) && client.read_buf(&mut heard).await.unwrap() > 0 {}
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn the_first_version() {
    let mut scene = scene(b"http/1.1", b"http/1.1", Trust::Server, None).await;
    for path in ["/1", "/2"] {
        let heard =
            ask(&mut scene.client, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), ">").await;
        assert!(heard.contains(&format!("<GET {path} host=127.0.0.1 headers=host body=>")), "{heard}");
        assert!(heard.contains("x-other") && !heard.contains("x-secret"), "{heard}");
    }
    let smuggled =
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let heard = ask(&mut scene.client, smuggled, "one way\n").await;
    assert!(heard.starts_with("HTTP/1.1 400 "), "{heard}");
}

#[tokio::test]
async fn the_second_version_on_one_side_or_both() {
    for server in [b"h2".as_slice(), b"http/1.1"] {
        let scene = scene(server, b"h2", Trust::Server, None).await;
        let (send, connection) = h2::client::handshake(scene.client).await.unwrap();
        tokio::spawn(connection);
        let send = send.ready().await.unwrap();
        let mut answers = Vec::new();
        for path in ["/1", "/2", "/3"] {
            let request = Request::post(format!("https://127.0.0.1{path}")).body(()).unwrap();
            let (answer, mut body) = send.clone().send_request(request, false).unwrap();
            body.send_data("hi".into(), true).unwrap();
            answers.push((path, answer));
        }
        for (path, answer) in answers {
            let answer = answer.await.unwrap();
            assert!(answer.status() == 200 && !answer.headers().contains_key("x-secret"), "{answer:?}");
            let text = answer.into_body().data().await.unwrap().unwrap();
            let text = String::from_utf8(text.to_vec()).unwrap();
            assert!(text.contains(path) && text.contains("body=hi"), "{text}");
        }
    }
}

/// Sets a limit of 5000 bytes.
fn limit(gateway: &Gateway) {
    let limits = NetLimits { total_bytes: Some(5000), ..NetLimits::default() };
    gateway.change(Arc::new(GatewayPlan { limits, ..plan(&["127.0.0.1"]) })).unwrap();
}

#[tokio::test]
async fn heads_are_counted() {
    let more = "x".repeat(6000);
    let mut first = scene(b"http/1.1", b"http/1.1", Trust::Server, None).await;
    limit(&first.gateway);
    let request = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-More: {more}\r\n\r\n");
    let heard = ask(&mut first.client, &request, "altogether\n");
    let heard = tokio::time::timeout(PATIENCE, heard).await.expect("it was not refused");
    assert!(heard.starts_with("HTTP/1.1 429 "), "{heard}");

    for server in [b"h2".as_slice(), b"http/1.1"] {
        let second = scene(server, b"h2", Trust::Server, None).await;
        limit(&second.gateway);
        let (send, connection) = h2::client::handshake(second.client).await.unwrap();
        tokio::spawn(connection);
        let mut statuses = Vec::new();
        for length in [100, 6000] {
            let request = Request::get("https://127.0.0.1/").header("x-more", &more[..length]);
            let sent = send.clone().send_request(request.body(()).unwrap(), true);
            statuses.push(sent.unwrap().0.await.unwrap().status().as_u16());
        }
        assert_eq!(statuses, [200, 429]);
    }
}

#[tokio::test]
async fn real_values_take_the_place_of_stand_ins() {
    let stand_in = StandIn::mint().unwrap();
    let entry = VaultEntry {
        name: "TOKEN".into(),
        stand_in: stand_in.clone(),
        real: Secret::new(b"real".to_vec()),
        hosts: vec![DomainPattern::parse_allowed("127.0.0.1").unwrap()],
    };
    let vault = Vault::new(vec![entry], vec![], Switch::Refused);
    let mut scene = scene(b"http/1.1", b"http/1.1", Trust::Server, Some(vault)).await;
    let fake = stand_in.as_str();
    let request = format!(
        "POST /{fake} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n<{fake}>",
        fake.len() + 2
    );
    let heard = ask(&mut scene.client, &request, ">>").await;
    assert!(heard.contains("<POST /real ") && heard.contains("body=<real>>"), "{heard}");
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_told_of() {
    let mut scene = scene(b"http/1.1", b"http/1.1", Trust::Nobody, None).await;
    let heard = ask(&mut scene.client, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "CertPaths\n").await;
    assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("not trusted"), "{heard}");
}
