//! Places for what a client can have very many of for the price of one connection: tunnels, streams, requests
//! and their heads.

use super::admit::refusal;
use super::admitted::{Denied, Wanted};
use super::places::{Place, Places};
use super::ward::Ward;
use stockade_policy::{Cause, NetRefusal, ViolationKind};

const KILOBYTE: usize = 1024;

impl Ward {
    /// A place for a tunnel within a connection of a client. Where there is none before long it is refused, and
    /// a crowd is told of once.
    pub(crate) async fn place_for_tunnel(&self, wanted: &Wanted) -> Result<Place, Denied> {
        match self.tunnels.wait().await {
            Some(place) => Ok(place),
            None => Err(self.crowded(&self.tunnels, wanted, "tunnels over HTTP/2")),
        }
    }

    /// A place for a client that speaks HTTP/2 here.
    pub(crate) fn place_for_second(&self, wanted: &Wanted) -> Result<Place, Denied> {
        self.second.take().ok_or_else(|| self.crowded(&self.second, wanted, "clients of HTTP/2"))
    }

    /// Whether there is a place for another client that speaks HTTP/2, as of now.
    pub(crate) fn has_place_for_second(&self) -> bool {
        self.second.take().is_some()
    }

    /// A place for a request.
    ///
    /// Nobody waits for one: whoever waits holds its head meanwhile, and a hundred may wait in one connection.
    pub(crate) fn place_for_request(&self, wanted: &Wanted) -> Result<Place, Denied> {
        self.requests.take().ok_or_else(|| self.crowded(&self.requests, wanted, "requests under way"))
    }

    /// Room for the head of a request, as long as it is held.
    pub(crate) fn room_for_head(&self, wanted: &Wanted, bytes: usize) -> Result<Place, Denied> {
        let room = self.heads.take_many(bytes.div_ceil(KILOBYTE));
        room.ok_or_else(|| self.crowded(&self.heads, wanted, "kilobytes in the heads of requests under way"))
    }

    /// Refuses one of a crowd. It is recorded, and the crowd is told of once.
    fn crowded(&self, places: &Places, wanted: &Wanted, what: &str) -> Denied {
        let reason = format!("a sandbox may have {} {what} at once", places.most());
        let crowded =
            NetRefusal { kind: ViolationKind::Limit, ..refusal(&wanted.target, Cause::Limit, reason, None) };
        if places.is_news() {
            return self.denied(wanted, crowded);
        }
        self.record_refused(wanted, &crowded);
        Denied { refusal: Box::new(crowded) }
    }
}
