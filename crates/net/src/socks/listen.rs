//! The talk with a SOCKS client up to its request.

use super::message::{self, Login, Request, Step};
use super::reply::Dialect;
use bytes::{Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// No message of either version is longer.
const LONGEST: usize = 1024;
const NO_LOGIN: [u8; 2] = [5, 0];
const ANY_PASSWORD: [u8; 2] = [5, 2];
const NO_WAY_IN: [u8; 2] = [5, 0xff];
const WELCOME: [u8; 2] = [1, 0];

/// A request, and what the client sent after it without waiting.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) dialect: Dialect,
    pub(super) request: Request,
    pub(super) rest: Bytes,
}

/// Talks until there is a request; an error means that there will be none.
pub(super) async fn listen<S: AsyncRead + AsyncWrite + Unpin>(client: &mut S) -> io::Result<Asked> {
    let mut heard = BytesMut::with_capacity(LONGEST);
    while heard.is_empty() {
        more(client, &mut heard).await?;
    }
    if heard[0] == 4 {
        let request = message(client, &mut heard, message::four).await?;
        return Ok(Asked { dialect: Dialect::Four, request, rest: heard.freeze() });
    }
    match message(client, &mut heard, message::greeting).await? {
        Login::Nobody => client.write_all(&NO_LOGIN).await?,
        Login::Password => {
            client.write_all(&ANY_PASSWORD).await?;
            message(client, &mut heard, message::password).await?;
            client.write_all(&WELCOME).await?;
        }
        Login::Unknown => {
            client.write_all(&NO_WAY_IN).await?;
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    let request = message(client, &mut heard, message::five).await?;
    Ok(Asked { dialect: Dialect::Five, request, rest: heard.freeze() })
}

async fn message<S: AsyncRead + Unpin, T>(
    client: &mut S,
    heard: &mut BytesMut,
    read: fn(&[u8]) -> Step<T>,
) -> io::Result<T> {
    loop {
        match read(heard) {
            Step::Done(message, length) => {
                let _ = heard.split_to(length);
                return Ok(message);
            }
            Step::NeedMore if heard.len() < LONGEST => more(client, heard).await?,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

async fn more<S: AsyncRead + Unpin>(client: &mut S, heard: &mut BytesMut) -> io::Result<()> {
    match client.read_buf(heard).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Address;
    use super::*;

    /// Sends `said` one byte at a time; gives what was asked and what was answered.
    async fn talk(said: &[u8]) -> (io::Result<Asked>, Vec<u8>) {
        let (mut inside, mut outside) = tokio::io::duplex(64);
        let said = said.to_vec();
        let client = tokio::spawn(async move {
            for byte in said {
                if inside.write_all(&[byte]).await.is_err() {
                    break;
                }
            }
            inside.shutdown().await.unwrap();
            let mut answered = Vec::new();
            inside.read_to_end(&mut answered).await.unwrap();
            answered
        });
        let asked = listen(&mut outside).await;
        drop(outside);
        (asked, client.await.unwrap())
    }

    #[tokio::test]
    async fn a_client_without_a_password() {
        let (asked, answered) = talk(b"\x05\x01\x00\x05\x01\x00\x03\x05a.org\x00\x50").await;
        let asked = asked.unwrap();
        assert_eq!(asked.request, Request { command: 1, address: Address::Name(b"a.org".into()), port: 80 });
        assert_eq!(asked.dialect, Dialect::Five);
        assert_eq!(answered, [5, 0]);
    }

    #[tokio::test]
    async fn a_client_with_a_password() {
        let (asked, answered) = talk(b"\x05\x01\x02\x01\x01u\x01p\x05\x01\x00\x03\x05a.org\x00\x50").await;
        assert_eq!(asked.unwrap().request.port, 80);
        assert_eq!(answered, [5, 2, 1, 0]);
    }

    #[tokio::test]
    async fn a_client_of_the_older_kind() {
        let (asked, answered) = talk(b"\x04\x01\x00\x50\x00\x00\x00\x07me\0a.org\0").await;
        let asked = asked.unwrap();
        assert_eq!(asked.request, Request { command: 1, address: Address::Name(b"a.org".into()), port: 80 });
        assert_eq!(asked.dialect, Dialect::Four);
        assert!(answered.is_empty());
    }

    #[tokio::test]
    async fn a_client_that_insists_on_something_else() {
        let (asked, answered) = talk(b"\x05\x01\x01").await;
        assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(answered, [5, 0xff]);
    }

    #[tokio::test]
    async fn something_else_than_socks() {
        for said in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x16\x03\x01\x00\x05", b"\x05\x01\x00\x04"] {
            let (asked, _) = talk(said).await;
            assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::InvalidData, "{said:?}");
        }
        let (asked, _) = talk(b"\x05\x01\x00\x05\x01").await;
        assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn what_follows_at_once_is_kept() {
        let (mut inside, mut outside) = tokio::io::duplex(256);
        inside.write_all(b"\x05\x01\x00\x05\x01\x00\x01\x01\x02\x03\x04\x00\x16SSH-2.0-x").await.unwrap();
        let asked = listen(&mut outside).await.unwrap();
        assert_eq!(&asked.rest[..], b"SSH-2.0-x");
    }
}
