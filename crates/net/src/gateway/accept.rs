//! Taking connections in at a door.

use super::admitted::Wanted;
use super::places::Places;
use super::ward::Ward;
use crate::relay::Duplex;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, NetRefusal, Switch, ViolationKind};
use tokio::net::{TcpListener, TcpStream};

/// How long to wait when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts for as long as the gateway lives. `door` says what a client wants that cannot be served.
pub(super) async fn accept<F>(
    ward: Arc<Ward>,
    listener: TcpListener,
    places: Arc<Places>,
    door: impl Fn(&Ward, &TcpStream) -> Wanted,
    serve: impl Fn(Arc<Ward>, TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let (client, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_about_the_client(&error) {
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        let Some(place) = places.take() else {
            let crowded = crowded(places.most());
            let wanted = door(&ward, &client);
            crate::peer::serving_at_once(peer, || {
                ward.record_refused(&wanted, &crowded);
                if places.is_news() {
                    ward.refuse(crowded);
                }
            });
            reset(client);
            continue;
        };
        // Small messages must not wait for more; a socket that cannot be told so still works.
        let _ = client.set_nodelay(true);
        // On the heap: every future around it would have room for it twice, before it begins and afterwards.
        let serving = crate::peer::serving(peer, Box::pin(serve(Arc::clone(&ward), client)));
        ward.spawn(async move {
            serving.await;
            drop(place);
        });
    }
}

/// Ends a connection so that the other side sees an error at once, not an end of data.
pub(crate) fn reset(client: impl Duplex) {
    client.abort();
}

fn is_about_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn crowded(most: usize) -> NetRefusal {
    NetRefusal {
        kind: ViolationKind::Limit,
        subject: format!("{most} connections"),
        cause: Cause::Limit,
        reason: format!("a sandbox may have {most} connections at once"),
        told: None,
        rule: None,
        suggestion: None,
        askable: Switch::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::testing::{Recorder, plan, ward};
    use crate::{Verdict, Via};
    use stockade_policy::{Host, Target};
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn one_too_many_is_reset_and_told_once() {
        let witness = Recorder::new();
        let ward = ward(plan(&[]), &witness);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hold = |_, mut client: TcpStream| async move {
            let _ = client.read_u8().await;
        };
        let target = Target { host: Host::Name("api.test".into()), port: 443 };
        let door =
            move |_: &Ward, _: &TcpStream| Wanted { target: target.clone(), via: Via::Socks, spoken: None };
        ward.spawn(accept(Arc::clone(&ward), listener, Places::alone(|| 2), door, hold));
        let first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        for _ in 0..3 {
            let mut more = TcpStream::connect(address).await.unwrap();
            let read =
                tokio::time::timeout(Duration::from_secs(5), more.read_u8()).await.expect("it is not held");
            assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        }
        assert_eq!(witness.causes(), [Cause::Limit]);
        // Each of them is counted and has a record that says why.
        let records = witness.records(3).await;
        for record in &records {
            assert_eq!(
                (record.via, record.target.as_str(), record.verdict),
                (Via::Socks, "api.test:443", Verdict::Refused)
            );
            assert_eq!(record.reason.as_deref(), Some("a sandbox may have 2 connections at once"));
            assert!(record.peer.is_some());
        }
        assert_eq!(records.len(), 3);
        let statistics = ward.statistics();
        assert_eq!((statistics.total.refused, statistics.hosts[0].0.as_str()), (3, "api.test"));
        drop(first);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut again = TcpStream::connect(address).await.unwrap();
        let read = tokio::time::timeout(Duration::from_millis(50), again.read_u8()).await;
        assert!(read.is_err(), "it is held, not reset");
    }
}
