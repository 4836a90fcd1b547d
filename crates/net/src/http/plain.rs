//! Requests on a stream that was let in without TLS.

use super::guard::Guard;
use super::lines::Speech;
use super::raw::serve_raw;
use super::road::{Kind, Road};
use super::server::{serve_first_and_more, serve_second};
use crate::dial::Route;
use crate::gateway::{Admitted, Ward};
use crate::relay::Socket;
use crate::replay::Replay;
use bytes::Bytes;
use std::sync::Arc;

/// How an HTTP/2 client begins, as far as it must have been read to be taken for HTTP at all.
const BEGINNING: &[u8] = b"PRI * HTTP/";

/// Serves a stream whose first bytes are an HTTP request.
///
/// Requests are read and judged, answers are passed on unseen, unless the plan wants something done to them
/// or to the requests, or a request has a body.
pub(crate) async fn serve_plain(ward: Arc<Ward>, client: Socket, admitted: Admitted, first: Bytes) {
    if first.starts_with(BEGINNING) {
        let wanted = admitted.wanted();
        let road = Road::new(&ward, Kind::Admitted(Arc::new(admitted)), Speech::PlainTwo, None);
        return serve_second(&road, Replay::new(first, client), wanted).await;
    }
    if !changes_anything(&ward, &admitted) {
        return serve_raw(ward, client, admitted, first).await;
    }
    serve_both_ways(&ward, client, admitted, &first).await;
}

/// Serves what follows on a stream, of which this was read and not judged. Answers are read like requests.
pub(super) async fn serve_both_ways(ward: &Arc<Ward>, client: Socket, admitted: Admitted, first: &[u8]) {
    let (guard, gate) = Guard::new(client, ward.room(), first);
    let road = Road::new(ward, Kind::Admitted(Arc::new(admitted)), Speech::Plain, Some(gate));
    serve_first_and_more(&road, guard).await;
}

/// Whether requests or answers cannot pass as they are.
fn changes_anything(ward: &Ward, admitted: &Admitted) -> bool {
    let judge = ward.judge();
    let plan = judge.plan();
    let limits = [&plan.limits, &admitted.allowance.limits];
    ward.routes().of_request(&admitted.target) != Route::Direct
        || !plan.strip_response_headers.is_empty()
        || limits.iter().any(|limits| limits.max_response_bytes.is_some())
        // Where a stand-in is sent must be known, and values that come back are covered.
        || ward.vault().is_some()
}
