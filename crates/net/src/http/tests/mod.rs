//! The HTTP roads with real sockets on loopback.

mod broken;
mod changes;
mod counted;
mod crowds;
mod echoes;
mod forwarded;
mod head;
mod lines;
mod parent;
mod plain;
mod proxy;
mod second;
mod secrets;
mod smuggling;
mod strays;
mod terminated;
mod unread;
mod upgrade;

use super::{serve_plain, serve_proxy};
use crate::gateway::testing::{Recorder, reading, ward};
use crate::gateway::{Wanted, Ward};
use crate::{Door, DoorKind, Gateway, GatewayOptions, Termination, Vault, Via};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{GatewayPlan, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that answers every request with what it has understood of it. Gives its port.
async fn origin() -> u16 {
    serving(echo).await
}

/// A server with these answers. Gives its port.
async fn serving<A>(answer: fn(Request<Incoming>) -> A) -> u16
where
    A: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let server = hyper::server::conn::http1::Builder::new();
            tokio::spawn(server.serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    });
    port
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut names: Vec<String> = head.headers.keys().map(ToString::to_string).collect();
    names.sort_unstable();
    let host = head.headers.get("host").map_or("", |host| host.to_str().unwrap());
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let text = format!(
        "<{} {} host={host} headers={} body={}>",
        head.method,
        head.uri,
        names.join(","),
        String::from_utf8_lossy(&body)
    );
    // As it is, it would be covered on its way back.
    let text = text.replace(secrets::REAL, &secrets::shown());
    let response = Response::builder().header("x-secret", "1").header("x-other", "2");
    Ok(response.body(Full::new(text.into())).unwrap())
}

/// A server that says these bytes to every client and remembers what it hears. Gives its port.
async fn parrot(says: &'static [u8]) -> (u16, Arc<std::sync::Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let heard: Arc<std::sync::Mutex<Vec<u8>>> = Arc::default();
    let (port, hears) = (listener.local_addr().unwrap().port(), Arc::clone(&heard));
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let hears = Arc::clone(&hears);
            tokio::spawn(async move {
                let mut piece = [0; 4096];
                let mut said = false;
                while let Ok(read @ 1..) = stream.read(&mut piece).await {
                    hears.lock().unwrap().extend_from_slice(&piece[..read]);
                    if !said && stream.write_all(says).await.is_err() {
                        return;
                    }
                    said = true;
                }
            });
        }
    });
    (port, heard)
}

/// A client and the other end of its connection.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

/// A client of the proxy of this plan.
async fn proxied(plan: GatewayPlan) -> (TcpStream, Arc<Recorder>, Arc<Ward>) {
    let witness = Recorder::new();
    let ward = ward(plan, &witness);
    for name in ["a.test", "b.test"] {
        ward.dialler().lookups().know(name, &[Ipv4Addr::LOCALHOST.into()]);
    }
    let (client, end) = pair().await;
    ward.spawn(serve_proxy(Arc::clone(&ward), end));
    (client, witness, ward)
}

/// A client of a stream to this target that was let in.
async fn admitted(plan: GatewayPlan, target: &str) -> (TcpStream, Arc<Recorder>, Arc<Ward>) {
    let witness = Recorder::new();
    let ward = ward(plan, &witness);
    ward.dialler().lookups().know("a.test", &[Ipv4Addr::LOCALHOST.into()]);
    let target = Target::parse(target.as_bytes(), None).unwrap();
    let wanted = Wanted { target, via: Via::Transparent, spoken: None };
    let admitted = ward.admit(wanted).await.unwrap();
    let (client, end) = pair().await;
    ward.spawn(serve_plain(Arc::clone(&ward), end.into(), admitted, Bytes::new()));
    (client, witness, ward)
}

/// A client of the proxy of a whole gateway.
async fn gateway(
    plan: GatewayPlan,
    termination: Option<Arc<Termination>>,
    vault: Option<Arc<Vault>>,
) -> (Gateway, TcpStream) {
    witnessed(plan, &Recorder::new(), termination, vault).await
}

/// The same, in front of a witness.
async fn witnessed(
    plan: GatewayPlan,
    witness: &Arc<Recorder>,
    termination: Option<Arc<Termination>>,
    vault: Option<Arc<Vault>>,
) -> (Gateway, TcpStream) {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Gateway::open(GatewayOptions {
        reserved: crate::Reserved::default(),
        plan: Arc::new(plan),
        doors: vec![Door { kind: DoorKind::Http, socket: listener.into() }],
        inward: None,
        witness: Arc::clone(witness) as _,
        termination,
        vault,
    });
    (gateway.unwrap(), TcpStream::connect(address).await.unwrap())
}

/// Sends, and reads until the other side closes.
async fn all(client: &mut TcpStream, says: impl AsRef<[u8]>) -> String {
    client.write_all(says.as_ref()).await.unwrap();
    let mut heard = Vec::new();
    tokio::time::timeout(PATIENCE, client.read_to_end(&mut heard))
        .await
        .expect("the end did not come")
        .unwrap();
    String::from_utf8(heard).unwrap()
}

/// Sends, and reads until what was read ends like this.
async fn until(client: &mut TcpStream, says: impl AsRef<[u8]>, end: &str) -> String {
    client.write_all(says.as_ref()).await.unwrap();
    let mut heard = Vec::new();
    let reading = async {
        while !heard.ends_with(end.as_bytes()) {
            if client.read_buf(&mut heard).await.unwrap() == 0 {
                break;
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, reading).await;
    let heard = String::from_utf8(heard).unwrap();
    assert!(in_time.is_ok(), "{end:?} did not come: {heard:?}");
    assert!(heard.ends_with(end), "{end:?} did not come: {heard:?}");
    heard
}
