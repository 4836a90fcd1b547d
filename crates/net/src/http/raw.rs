//! Requests read and judged one by one, answers passed on unseen: as quick as no looking at all.
//!
//! Only requests without a body go this way. A server that leaves a body unread takes it for the next request, so
//! that one with a body needs a connection of its own, and somebody who reads its answer.

use super::agree::{Form, asked, bad, judged};
use super::answer::Answer;
use super::answers::{Answers, Lost};
use super::farewell::farewell;
use super::guard::HEAD_TIME;
use super::head::{BadRequest, Framing, Head, Upgrade, without_upgrade};
use super::lines::not_dialled;
use super::plain::serve_both_ways;
use super::requests::{NoHead, Requests};
use super::seen::Seen;
use crate::gateway::{Admitted, Direction, Upstream, Ward};
use crate::relay::{Duplex, Socket, pass_on, relay, write};
use bytes::{Bytes, BytesMut};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a server that was told that nothing more comes may say nothing.
const QUIET: Duration = Duration::from_millis(500);
/// How an answer begins, and one that agrees to speak something else.
const VERSION: &[u8] = b"HTTP/1.";
const AGREED: &[u8] = b"HTTP/1.1 101";

/// One client, one target, and what is between them.
struct Talk<'a> {
    ward: &'a Arc<Ward>,
    client: &'a Socket,
    admitted: &'a Admitted,
    seen: &'a Seen<'a>,
    answers: Answers,
}

/// Why no further request is taken.
enum Stop {
    /// The next one is answered here.
    Refused(Answer),
    /// The next one has a body. It is the first of what was read.
    Body(BytesMut),
    /// One side has failed.
    Failed,
}

/// Whether a server speaks something else from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agreement {
    Yes,
    No,
}

/// How it ended.
enum End {
    /// With a last answer to the client.
    Answer(Answer),
    /// Both sides speak something else now; the client has said this already.
    Opaque(Upstream, Bytes),
    /// With a request that has a body, once everything before it was answered. It is the first of what was read.
    Body(BytesMut),
    /// Both sides have ended.
    Done,
    /// One side has failed.
    Failed,
}

/// Serves a stream whose requests are judged and whose answers nobody has to see.
pub(super) async fn serve_raw(ward: Arc<Ward>, client: Socket, admitted: Admitted, first: Bytes) {
    let seen = Seen::new(&admitted);
    let end = {
        let answers = Answers::default();
        let talk = Talk { ward: &ward, client: &client, admitted: &admitted, seen: &seen, answers };
        tokio::select! {
            biased;
            end = talk.run(&first) => end,
            () = admitted.closed() => End::Failed,
        }
    };
    let last = match end {
        End::Done => Vec::new(),
        End::Answer(answer) => answer.bytes(),
        End::Failed => return client.abort(),
        End::Body(held) => {
            drop(seen);
            return serve_both_ways(&ward, client, admitted, &held).await;
        }
        // How it ended is in the record. The request that led there lasts as long as that does.
        End::Opaque(upstream, first) => return drop(relay(client, upstream, &admitted, first).await),
    };
    drop(seen);
    farewell(&client, &last).await;
}

impl Talk<'_> {
    async fn run(&self, first: &[u8]) -> End {
        let mut requests = Requests::new(self.client, self.ward.room(), first);
        let head = match self.next(&mut requests).await {
            Ok(Some(head)) => head,
            Ok(None) => return End::Done,
            Err(Stop::Refused(answer)) => return End::Answer(answer),
            Err(Stop::Body(held)) => return End::Body(held),
            Err(Stop::Failed) => return End::Failed,
        };
        let upstream = match self.ward.dial(self.admitted).await {
            Ok(upstream) => upstream,
            Err(error) => {
                let answer = not_dialled(&error);
                self.seen.refused(&answer);
                return End::Answer(answer);
            }
        };
        if self.pass_head(&mut requests, &head, &upstream).await.is_err() {
            return End::Failed;
        }
        if head.upgrade == Upgrade::Opaque {
            match self.agreed(&upstream).await {
                Ok(Agreement::Yes) => return End::Opaque(upstream, requests.held.freeze()),
                Ok(Agreement::No) => {}
                Err(_) => return End::Failed,
            }
        }
        self.converse(requests, &upstream).await
    }

    /// Both directions, until one of them says that it is over.
    async fn converse(&self, requests: Requests<'_>, upstream: &Upstream) -> End {
        let mut inward = pin!(self.inward(upstream));
        let outward = tokio::select! {
            biased;
            ended = &mut inward => return ended.map_or(End::Failed, |()| End::Done),
            stop = self.outward(requests, upstream) => stop,
        };
        match outward {
            Ok(()) => match upstream.finish() {
                Ok(()) => inward.await.map_or(End::Failed, |()| End::Done),
                Err(_) => End::Failed,
            },
            Err(Stop::Failed) => {
                upstream.abort();
                End::Failed
            }
            // Its answer comes from elsewhere, after those.
            Err(Stop::Body(held)) => tokio::select! {
                biased;
                ended = &mut inward => ended.map_or(End::Failed, |()| End::Done),
                settled = self.answers.settled() => match settled {
                    Ok(()) => End::Body(held),
                    Err(Lost) => End::Failed,
                },
            },
            // What the server still says to earlier requests comes first.
            Err(Stop::Refused(answer)) => {
                let _ = upstream.finish();
                let mut before = u64::MAX;
                while before != self.admitted.meter().totals().1 {
                    before = self.admitted.meter().totals().1;
                    match timeout(QUIET, &mut inward).await {
                        Ok(Ok(())) => break,
                        Ok(Err(_)) => return End::Failed,
                        Err(_) => {}
                    }
                }
                End::Answer(answer)
            }
        }
    }

    /// Request after request, from the second on.
    async fn outward(&self, mut requests: Requests<'_>, upstream: &Upstream) -> Result<(), Stop> {
        while let Some(head) = self.next(&mut requests).await? {
            if head.upgrade == Upgrade::Opaque {
                return Err(self.refuse(BadRequest::Upgrade));
            }
            self.pass_head(&mut requests, &head, upstream).await.map_err(|_| Stop::Failed)?;
        }
        Ok(())
    }

    /// Reads and judges the next request; nothing when the client has ended.
    async fn next(&self, requests: &mut Requests<'_>) -> Result<Option<Head>, Stop> {
        let head = match requests.head().await {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(None),
            Err(NoHead::Bad(wrong)) => return Err(Stop::Refused(bad(self.admitted, wrong))),
            Err(NoHead::Gone) => return Err(Stop::Failed),
        };
        if head.framing != Framing::Length(0) {
            return Err(Stop::Body(std::mem::take(&mut requests.held)));
        }
        let wrong = |wrong| Stop::Refused(bad(self.admitted, wrong));
        if head.method == "CONNECT" {
            return Err(wrong(BadRequest::Target));
        }
        let asked = asked(&head.target, head.host.as_deref()).map_err(wrong)?;
        if asked.form == Form::Https {
            return Err(wrong(BadRequest::Target));
        }
        self.seen.begin(&head, &asked);
        let judged = judged(self.ward, self.admitted, &asked, &head.method).await;
        let judged = judged.and_then(|()| head.wishes.judged(self.ward, self.admitted, &asked, &head.method));
        judged.map_err(|answer| {
            self.seen.refused(&answer);
            Stop::Refused(answer)
        })?;
        Ok(Some(head))
    }

    fn refuse(&self, wrong: BadRequest) -> Stop {
        let answer = bad(self.admitted, wrong);
        self.seen.refused(&answer);
        Stop::Refused(answer)
    }

    async fn pass_head(
        &self,
        requests: &mut Requests<'_>,
        head: &Head,
        upstream: &Upstream,
    ) -> io::Result<()> {
        let bytes = requests.held.split_to(head.length);
        self.seen.sent();
        self.answers.expect(&head.method);
        match head.upgrade {
            Upgrade::Http => self.send(upstream, &without_upgrade(&bytes)).await,
            Upgrade::None | Upgrade::Opaque => self.send(upstream, &bytes).await,
        }
    }

    /// Waits for the beginning of the answer to a request for something else than HTTP, and passes it on.
    async fn agreed(&self, upstream: &Upstream) -> io::Result<Agreement> {
        let mut answer = [0; AGREED.len()];
        upstream.readable().await?;
        let length = timeout(HEAD_TIME, status_line(upstream, &mut answer)).await??;
        let answer = &answer[..length];
        self.admitted.meter().take(length, Direction::Received).await?;
        self.look(answer);
        write(self.client, answer).await?;
        if answer != AGREED {
            return Ok(Agreement::No);
        }
        self.seen.answered(101);
        Ok(Agreement::Yes)
    }

    async fn send(&self, upstream: &Upstream, bytes: &[u8]) -> io::Result<()> {
        self.admitted.meter().take(bytes.len(), Direction::Sent).await?;
        write(upstream, bytes).await
    }

    /// Answers, as they come.
    async fn inward(&self, upstream: &Upstream) -> io::Result<()> {
        pass_on(upstream, self.client, self.admitted, Direction::Received, |piece| self.look(piece)).await
    }

    fn look(&self, answer: &[u8]) {
        self.seen.look(answer);
        self.answers.look(answer);
    }
}

/// Reads as much of an answer as tells its status, or less where it is no answer or ends before that.
async fn status_line(upstream: &Upstream, answer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < answer.len() && answer[..length].iter().zip(VERSION).all(|(read, known)| read == known) {
        upstream.readable().await?;
        match upstream.try_read(&mut answer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
