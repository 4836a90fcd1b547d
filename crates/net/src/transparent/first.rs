//! What the two sides say first.

use crate::gateway::Upstream;
use crate::http::{Likeness, greets_like_http, looks_like_http};
use crate::relay::{Duplex, Socket};
use crate::tls::{Hello, sniff};
use bytes::{Bytes, BytesMut};
use std::io;
use std::time::Duration;
use stockade_policy::Host;
use tokio::time::{Instant, sleep_until};

/// The most that is read before it is known what it is.
pub(super) const LONGEST: usize = 32 * 1024;
/// What is read at once.
pub(super) const PIECE: usize = 8 * 1024;
/// How long the beginning of a ClientHello or a request may stay one.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// How long to wait for more of what is neither, as long as it could be a request of an unheard-of kind:
/// some programs send one bare word and wait for an answer.
const MOMENT: Duration = Duration::from_millis(250);
/// What every frame of HTTP/2 begins with.
const FRAME: usize = 9;
/// Requests that servers know.
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PRI"];

/// What a connection turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    /// The client began TLS.
    Tls(Option<Host>),
    /// The client began TLS with more names than one, or with one that is none.
    Misnamed(String),
    /// The client began an HTTP/1 request.
    Http,
    /// The client began git's own protocol.
    Git,
    /// The client said something else.
    Other,
    /// The server spoke first. What it said is still to be read.
    ServerFirst(Banner),
    /// The client began like TLS or HTTP and did not come to an end of it.
    Unfinished,
    /// The client ended without a word.
    Nothing,
}

/// What a server that speaks first began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Banner {
    Ssh,
    /// What a server of HTTP may begin with.
    Http,
    Other,
}

/// Listens to both sides until it is known what they speak. Gives back what was read from the client. The
/// beginning of a ClientHello may stay one for as long as `hello` says.
pub(super) async fn listen(
    client: &Socket,
    upstream: &Upstream,
    first: Bytes,
    hello: Duration,
) -> io::Result<(Spoken, Bytes)> {
    let mut first = BytesMut::from(first);
    let mut began = None;
    let mut server_ended = false;
    // Until when the client has to speak, where the server has said what only HTTP/2 begins with.
    let mut until = None;
    loop {
        let likely = recognise(&first);
        match likely {
            Likely::Surely(spoken) => return Ok((spoken, first.freeze())),
            // It does not wait: what comes behind it is watched.
            Likely::Else => return Ok((Spoken::Other, first.freeze())),
            Likely::Hello | Likely::Request | Likely::Unclear => {}
        }
        if first.len() >= LONGEST {
            return Ok((Spoken::Unfinished, first.freeze()));
        }
        if !first.is_empty() && began.is_none() {
            began = Some(Instant::now());
        }
        let mut banner = [0; FRAME];
        tokio::select! {
            biased;
            peeked = upstream.peek(&mut banner), if !server_ended && until.is_none() => match peeked? {
                0 => {
                    // A client that waits for the server's word hears that there is none, and may still speak.
                    let _ = client.finish();
                    server_ended = true;
                }
                // Its client does not wait for that, and what it says is looked at as ever.
                FRAME if is_settings(banner) => until = Some(Instant::now() + MOMENT),
                read => {
                    let ssh = &b"SSH-"[..read.min(4)];
                    let banner = match &banner[..read] {
                        banner if banner.starts_with(ssh) => Banner::Ssh,
                        banner if greets_like_http(banner) => Banner::Http,
                        _ => Banner::Other,
                    };
                    return Ok((Spoken::ServerFirst(banner), first.freeze()));
                }
            },
            ready = client.readable() => {
                ready?;
                if let Some(ended) = read(client, &mut first)? {
                    return Ok((ended, first.freeze()));
                }
            }
            otherwise = expire(began, &likely, hello) => return Ok((otherwise, first.freeze())),
            () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() && first.is_empty() => {
                return Ok((Spoken::ServerFirst(Banner::Http), first.freeze()));
            }
        }
    }
}

/// Whether a frame that begins like this is the one with which servers of HTTP/2 begin.
fn is_settings([one, two, three, kind, flags, stream @ ..]: [u8; FRAME]) -> bool {
    const SETTINGS: u8 = 4;
    let length = u32::from_be_bytes([0, one, two, three]);
    (kind, flags, stream) == (SETTINGS, 0, [0; 4]) && length.is_multiple_of(6) && length < LONGEST as u32
}

/// Reads what is there. Says so when there is nothing more to come.
fn read(client: &Socket, first: &mut BytesMut) -> io::Result<Option<Spoken>> {
    // Not in what is kept: a connection may wait here for long, and there may be thousands.
    let mut piece = [0; PIECE];
    let most = PIECE.min(LONGEST - first.len());
    match Duplex::try_read(client, &mut piece[..most]) {
        Ok(0) if first.is_empty() => Ok(Some(Spoken::Nothing)),
        // What has ended before it was TLS or a request will not become either.
        Ok(0) => Ok(Some(Spoken::Other)),
        Ok(read) => {
            first.extend_from_slice(&piece[..read]);
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the first bytes of a client are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Likely {
    /// This, whatever follows.
    Surely(Spoken),
    /// The beginning of a ClientHello.
    Hello,
    /// The beginning of a request.
    Request,
    /// Something else, as long as no request comes behind it.
    Else,
    /// Perhaps a request, of a kind that nobody knows.
    Unclear,
}

/// What a client has begun with, once that is sure.
pub(super) fn recognised(first: &[u8]) -> Option<Spoken> {
    match recognise(first) {
        Likely::Surely(spoken) => Some(spoken),
        Likely::Hello | Likely::Request | Likely::Else | Likely::Unclear => None,
    }
}

/// Whether these bytes could be the beginning of a ClientHello, and of nothing else.
pub(super) fn is_hello_begun(first: &[u8]) -> bool {
    !first.is_empty() && sniff(first) == Hello::NeedMore
}

fn recognise(first: &[u8]) -> Likely {
    let tls = sniff(first);
    match tls {
        Hello::Client { sni, .. } => return Likely::Surely(Spoken::Tls(sni)),
        Hello::BadName(name) => return Likely::Surely(Spoken::Misnamed(name)),
        Hello::Broken => return Likely::Surely(Spoken::Unfinished),
        Hello::NotTls | Hello::NeedMore => {}
    }
    match (tls, looks_like_http(first)) {
        // First, whatever its random bytes are like.
        (Hello::NeedMore, _) => Likely::Hello,
        (_, Likeness::Yes) => Likely::Surely(Spoken::Http),
        _ if is_git(first) => Likely::Surely(Spoken::Git),
        (_, Likeness::NeedMore) if is_method(first) => Likely::Request,
        (_, Likeness::NeedMore) => Likely::Unclear,
        (_, Likeness::Hardly) => Likely::Else,
        _ => Likely::Surely(Spoken::Other),
    }
}

/// Whether the first word is a method, or could become one.
fn is_method(first: &[u8]) -> bool {
    let word = first.trim_ascii_start();
    let word = word.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    METHODS.iter().any(|method| {
        method.as_bytes().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
    })
}

/// `0032git-upload-pack /path`: a length in four hexadecimal digits, and a service.
fn is_git(first: &[u8]) -> bool {
    let service = first.get(4..).unwrap_or_default();
    first.iter().take(4).all(u8::is_ascii_hexdigit) && service.starts_with(b"git-")
}

/// What it is when nothing more comes. Before the first byte there is no hurry.
async fn expire(began: Option<Instant>, likely: &Likely, hello: Duration) -> Spoken {
    let Some(began) = began else { return std::future::pending().await };
    let (patience, otherwise) = match likely {
        Likely::Unclear | Likely::Else => (MOMENT, Spoken::Other),
        Likely::Hello => (hello, Spoken::Unfinished),
        Likely::Request | Likely::Surely(_) => (TIME, Spoken::Unfinished),
    };
    sleep_until(began + patience).await;
    otherwise
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    /// Program and gateway, gateway and server.
    async fn ends() -> (TcpStream, Socket, Upstream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let program = TcpStream::connect(address).await.unwrap();
        let (client, _) = listener.accept().await.unwrap();
        let upstream = TcpStream::connect(address).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (program, client.into(), upstream.into(), server)
    }

    #[tokio::test]
    async fn what_a_client_says_first() {
        for (said, spoken) in [
            (b"GET / HTTP/1.1\r\n".as_slice(), Spoken::Http),
            (b"0032git-upload-pack /x\0host=a.test\0", Spoken::Git),
            (b"0032hello", Spoken::Other),
            (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", Spoken::Other),
            (b"*1\r\n$4\r\nPING\r\n", Spoken::Other),
            // A record of a handshake that is longer than any.
            (b"\x16\x03\x01\x40\x00\x01\xff\xff\xff", Spoken::Unfinished),
        ] {
            let (mut program, client, upstream, _server) = ends().await;
            program.write_all(said).await.unwrap();
            let heard = listen(&client, &upstream, Bytes::new(), TIME).await.unwrap();
            assert_eq!(heard, (spoken.clone(), Bytes::from(said)));
            // What a proxy has read already counts as said.
            let (_program, client, upstream, _server) = ends().await;
            assert_eq!(listen(&client, &upstream, Bytes::from(said), TIME).await.unwrap().0, spoken);
        }
    }

    #[tokio::test]
    async fn a_beginning_that_ends_is_something_else() {
        let (mut program, client, upstream, _server) = ends().await;
        program.write_all(b"GE").await.unwrap();
        program.shutdown().await.unwrap();
        let heard = listen(&client, &upstream, Bytes::new(), TIME).await.unwrap();
        assert_eq!(heard, (Spoken::Other, Bytes::from("GE")));
        let (mut program, client, upstream, _server) = ends().await;
        program.shutdown().await.unwrap();
        assert_eq!(listen(&client, &upstream, Bytes::new(), TIME).await.unwrap().0, Spoken::Nothing);
    }

    #[tokio::test]
    async fn a_beginning_does_not_stay_one() {
        let (mut program, client, upstream, _server) = ends().await;
        program.write_all(b"\x16\x03\x01").await.unwrap();
        client.readable().await.unwrap();
        tokio::time::pause();
        let start = Instant::now();
        let heard = listen(&client, &upstream, Bytes::new(), TIME).await.unwrap();
        assert_eq!(heard.0, Spoken::Unfinished);
        assert!(start.elapsed() >= TIME);
    }

    #[test]
    fn half_a_hello_is_one_whatever_is_in_it() {
        let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03GET / HTTP/1.1\r\n";
        assert_eq!(recognise(hello), Likely::Hello);
    }

    #[tokio::test]
    async fn a_bare_word_does_not_wait_long() {
        for (said, spoken) in [(b"ruok".as_slice(), Spoken::Other), (b"ge", Spoken::Unfinished)] {
            let (mut program, client, upstream, _server) = ends().await;
            program.write_all(said).await.unwrap();
            client.readable().await.unwrap();
            tokio::time::pause();
            let start = Instant::now();
            let heard = listen(&client, &upstream, Bytes::new(), TIME).await.unwrap();
            assert_eq!(heard, (spoken.clone(), Bytes::from(said)));
            assert_eq!(start.elapsed() < Duration::from_secs(1), spoken == Spoken::Other);
            tokio::time::resume();
        }
    }

    #[tokio::test]
    async fn a_server_that_ended_leaves_the_client_to_be_heard() {
        let (mut program, client, upstream, server) = ends().await;
        drop(server);
        tokio::time::sleep(Duration::from_millis(20)).await;
        program.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        assert_eq!(listen(&client, &upstream, Bytes::new(), TIME).await.unwrap().0, Spoken::Http);
    }

    #[tokio::test]
    async fn a_server_of_http2_is_quick_and_its_client_is_heard() {
        let settings = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64";
        let (mut program, client, upstream, mut server) = ends().await;
        server.write_all(settings).await.unwrap();
        upstream.readable().await.unwrap();
        let speaks = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            program.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        };
        let (heard, ()) = tokio::join!(listen(&client, &upstream, Bytes::new(), TIME), speaks);
        assert_eq!(heard.unwrap().0, Spoken::Http);
        // Whoever waits for the server gets its word, and so does whoever it says other things to.
        let (_program, client, upstream, mut server) = ends().await;
        server.write_all(settings).await.unwrap();
        let heard = listen(&client, &upstream, Bytes::new(), TIME).await.unwrap();
        assert_eq!(heard.0, Spoken::ServerFirst(Banner::Http));
        let (_program, client, upstream, mut server) = ends().await;
        server.write_all(b"\0\0\0\x04\0\0\0\x01\0\0\0").await.unwrap();
        let start = Instant::now();
        let heard = listen(&client, &upstream, Bytes::new(), TIME).await.unwrap();
        assert_eq!(heard.0, Spoken::ServerFirst(Banner::Http));
        assert!(start.elapsed() < MOMENT);
    }

    #[tokio::test]
    async fn what_a_server_says_first_is_left_to_be_read() {
        let (_program, client, upstream, mut server) = ends().await;
        server.write_all(b"SSH-2.0").await.unwrap();
        let heard = listen(&client, &upstream, Bytes::new(), TIME).await.unwrap();
        assert_eq!(heard, (Spoken::ServerFirst(Banner::Ssh), Bytes::new()));
        let mut bytes = [0; 16];
        upstream.readable().await.unwrap();
        assert_eq!(upstream.try_read(&mut bytes).unwrap(), 7);
    }
}
