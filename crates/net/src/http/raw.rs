//! Requests read and judged one by one, answers passed on unseen: as quick as no looking at all.
//!
//! Only requests without a body go this way. A server that leaves a body unread takes it for the next request, so
//! that one with a body needs a connection of its own, and somebody who reads its answer.

use super::agree::{Form, asked, bad, judged};
use super::answer::Answer;
use super::answers::{Answers, Lost};
use super::farewell::farewell;
use super::guard::HEAD_TIME;
use super::head::{BadRequest, Framing, Head, LONGEST_HEAD, Upgrade, without_upgrade};
use super::lines::not_dialled;
use super::plain::serve_both_ways;
use super::protocols::Protocols;
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
/// What is read of an answer at once.
const PIECE: usize = 1024;
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
    /// It wants to speak what nobody has asked for.
    Other,
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
            match self.agreed(&upstream, &head.protocols).await {
                Ok(Agreement::Yes) => return End::Opaque(upstream, requests.held.freeze()),
                Ok(Agreement::No) => {}
                Ok(Agreement::Other) => {
                    upstream.abort();
                    let answer = Answer::other_protocol(&self.admitted.target);
                    self.seen.refused(&answer);
                    return End::Answer(answer);
                }
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

    /// Waits for the beginning of the answer to a request for something else than HTTP, and passes it on, unless it
    /// agrees to what was not `asked` for.
    async fn agreed(&self, upstream: &Upstream, asked: &Protocols) -> io::Result<Agreement> {
        upstream.readable().await?;
        let reading = async {
            let mut answer = status_line(upstream).await?;
            if answer != AGREED {
                return Ok((answer, Agreement::No));
            }
            let named = rest_of_head(upstream, &mut answer).await?;
            let agrees = named.is_some_and(|named| asked.agree(&named));
            Ok::<_, io::Error>((answer, if agrees { Agreement::Yes } else { Agreement::Other }))
        };
        let (answer, agreement) = timeout(HEAD_TIME, reading).await??;
        if agreement == Agreement::Other {
            return Ok(agreement);
        }
        self.admitted.meter().take(answer.len(), Direction::Received).await?;
        self.look(&answer);
        if agreement == Agreement::Yes {
            self.seen.answered(101);
        }
        write(self.client, &answer).await?;
        Ok(agreement)
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
async fn status_line(upstream: &Upstream) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    while answer.len() < AGREED.len() && answer.iter().zip(VERSION).all(|(read, known)| read == known) {
        let most = AGREED.len() - answer.len();
        if read(upstream, &mut answer, most).await? == 0 {
            break;
        }
    }
    Ok(answer)
}

/// Reads on to the end of a head. The protocols that it names; nothing where it cannot be read.
async fn rest_of_head(upstream: &Upstream, answer: &mut Vec<u8>) -> io::Result<Option<Protocols>> {
    while answer.len() < LONGEST_HEAD {
        let before = answer.len();
        if read(upstream, answer, PIECE).await? == 0 {
            break;
        }
        // Whoever sends byte by byte must not have all of them read each time.
        if answer[before..].contains(&b'\n')
            && let Some(named) = Protocols::of_answer(answer)
        {
            return Ok(Some(named));
        }
    }
    Ok(None)
}

/// Reads what is there, once something is.
async fn read(upstream: &Upstream, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let mut piece = [0; PIECE];
    let most = most.min(PIECE);
    loop {
        upstream.readable().await?;
        match upstream.try_read(&mut piece[..most]) {
            Ok(read) => {
                into.extend_from_slice(&piece[..read]);
                return Ok(read);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
