//! Tunnels through a proxy that leads out of this network.

use std::fmt;
use std::io;
use std::time::Duration;
use stockade_policy::{Host, Target};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

const LONGEST_ANSWER: usize = 16 * 1024;
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// Where another proxy is, and how to introduce oneself. Its Debug form holds no password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ParentProxyAddress {
    /// The proxy.
    pub(crate) at: Target,
    /// How it is spoken with.
    pub(crate) reached: Reached,
    /// The value of a `Proxy-Authorization` header.
    authorization: Option<String>,
}

/// How a proxy is spoken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// As it is.
    Plainly,
    /// Over TLS, in which it proves who it is.
    OverTls,
}

/// A proxy's address that cannot be used. The text holds no password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProxyAddressError {
    #[error("not the address of a proxy; write it as http://host:port or https://user:password@host:port")]
    Form,
}

impl ParentProxyAddress {
    /// Reads `http://user:password@host:port/`, or the same with `https`; the scheme may be missing. The port
    /// is that of the scheme by default.
    pub(crate) fn parse(url: &str) -> Result<Self, ProxyAddressError> {
        let (reached, rest) = match url.trim().split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Reached::Plainly, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Reached::OverTls, rest),
            Some(_) => return Err(ProxyAddressError::Form),
            None => (Reached::Plainly, url.trim()),
        };
        let port = match reached {
            Reached::Plainly => 80,
            Reached::OverTls => 443,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        let at = Target::parse(host.as_bytes(), Some(port)).map_err(|_| ProxyAddressError::Form)?;
        let authorization = match user {
            Some(user) => Some(basic(user).ok_or(ProxyAddressError::Form)?),
            None => None,
        };
        Ok(Self { at, reached, authorization })
    }

    /// A stream to the proxy itself.
    pub(crate) async fn connect(&self) -> io::Result<TcpStream> {
        let stream = match &self.at.host {
            Host::Name(name) => TcpStream::connect((name.as_str(), self.at.port)).await?,
            Host::Address(address) => TcpStream::connect((*address, self.at.port)).await?,
        };
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// The value of a `Proxy-Authorization` header, where one is needed.
    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}

impl fmt::Debug for ParentProxyAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ParentProxyAddress({})", self.at)
    }
}

/// Asks the proxy at the other end of a stream for a tunnel to `target`.
pub(crate) async fn tunnel_over<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    target: &Target,
    authorization: Option<&str>,
) -> io::Result<()> {
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some(authorization) = authorization {
        request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let answer = tokio::time::timeout(ANSWER_TIME, answer(stream));
    answer.await.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the proxy did not answer")))
}

async fn answer<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<()> {
    let mut left = LONGEST_ANSWER;
    // Words on the way are no answer.
    while let Heard::Meanwhile = head(stream, &mut left).await? {}
    Ok(())
}

/// What a proxy says to a request for a tunnel, where it does not say no.
enum Heard {
    /// That it goes on with it.
    Meanwhile,
    Tunnel,
}

async fn head<S: AsyncRead + Unpin>(stream: &mut S, left: &mut usize) -> io::Result<Heard> {
    let mut head = Vec::with_capacity(256);
    // One by one: what follows the head belongs to whoever gets the stream.
    while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
        *left = left.checked_sub(1).ok_or_else(|| refused("the proxy's answer is too long".into()))?;
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(refused("the proxy closed the connection".into()));
            }
            Err(error) => return Err(error),
        }
    }
    let mut lines = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut lines);
    let parsed = response.parse(&head).map_err(|_| refused("the proxy's answer is not HTTP".into()))?;
    match response.code {
        Some(200..=299) if parsed.is_complete() => Ok(Heard::Tunnel),
        Some(100 | 102..=199) if parsed.is_complete() => Ok(Heard::Meanwhile),
        Some(code) => {
            Err(refused(format!("the proxy answered {code} {}", response.reason.unwrap_or_default())))
        }
        None => Err(refused("the proxy's answer is not HTTP".into())),
    }
}

fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionRefused, text)
}

/// `user:password`, as it stands in a URL, as a header value.
fn basic(user: &str) -> Option<String> {
    let plain = percent_decoded(user)?;
    let plain = if plain.contains(&b':') { plain } else { [plain.as_slice(), b":"].concat() };
    Some(format!("Basic {}", base64(&plain)))
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'%' => {
                let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    Some(plain)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0usize, |bits, at| bits << 8 | usize::from(*three.get(at).unwrap_or(&0)));
        for at in 0..4 {
            text.push(match at <= three.len() {
                true => char::from(LETTERS[bits >> (18 - 6 * at) & 63]),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{ParentProxyAddress, ProxyAddressError, base64, tunnel_over};
    use stockade_policy::Target;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn addresses_are_read() {
        let read = |url| ParentProxyAddress::parse(url).map(|proxy| proxy.at.to_string());
        assert_eq!(read("http://proxy.test:3128/"), Ok("proxy.test:3128".into()));
        assert_eq!(read("http://[2001:db8::1]:8080"), Ok("[2001:db8::1]:8080".into()));
        assert_eq!(read("proxy.test"), Ok("proxy.test:80".into()));
        assert_eq!(read("https://proxy.test"), Ok("proxy.test:443".into()));
        assert_eq!(read("HTTPS://u:p@proxy.test:8443/"), Ok("proxy.test:8443".into()));
        assert_eq!(read("socks5://proxy.test"), Err(ProxyAddressError::Form));
        assert_eq!(read("http://"), Err(ProxyAddressError::Form));
        assert_eq!(read("http://a:%zz@proxy.test"), Err(ProxyAddressError::Form));
    }

    #[test]
    fn passwords_go_into_the_header_only() {
        let proxy = ParentProxyAddress::parse("http://us%40er:p%3ass@proxy.test:1").unwrap();
        assert_eq!(proxy.authorization(), Some(format!("Basic {}", base64(b"us@er:p:ss")).as_str()));
        assert_eq!(format!("{proxy:?}"), "ParentProxyAddress(proxy.test:1)");
        assert_eq!(base64(b"us@er:p:ss"), "dXNAZXI6cDpzcw==");
        assert_eq!((base64(b"f"), base64(b"foo")), ("Zg==".into(), "Zm9v".into()));
    }

    async fn tunnel(answer: &'static [u8]) -> (Result<Vec<u8>, String>, Vec<u8>) {
        let (mut near, mut far) = tokio::io::duplex(64 * 1024);
        let proxy = tokio::spawn(async move {
            let mut request = vec![0; 1024];
            let read = far.read(&mut request).await.unwrap();
            request.truncate(read);
            far.write_all(answer).await.unwrap();
            request
        });
        let target = Target::parse(b"a.test:443", None).unwrap();
        let result =
            tunnel_over(&mut near, &target, Some("Basic x")).await.map_err(|error| error.to_string());
        let request = proxy.await.unwrap();
        let mut rest = Vec::new();
        near.read_to_end(&mut rest).await.unwrap();
        (result.map(|()| rest), request)
    }

    #[tokio::test]
    async fn the_stream_begins_after_the_answer() {
        let (rest, request) = tunnel(b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\nSSH-2.0").await;
        assert_eq!(rest, Ok(b"SSH-2.0".to_vec()));
        let asked = "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Authorization: Basic x\r\n\r\n";
        assert_eq!(String::from_utf8(request).unwrap(), asked);
    }

    #[tokio::test]
    async fn words_on_the_way_are_no_answer() {
        let (rest, _) = tunnel(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello",
        )
        .await;
        assert_eq!(rest, Ok(b"hello".to_vec()));
        let (error, _) = tunnel(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 No\r\n\r\n").await;
        assert_eq!(error, Err("the proxy answered 403 No".into()));
        let (error, _) = tunnel(b"HTTP/1.1 101 Switching\r\n\r\n").await;
        assert_eq!(error, Err("the proxy answered 101 Switching".into()));
    }

    #[tokio::test]
    async fn refusals_are_told() {
        let (error, _) = tunnel(b"HTTP/1.1 407 Login\r\n\r\n").await;
        assert_eq!(error, Err("the proxy answered 407 Login".into()));
        let (error, _) = tunnel(b"SSH-2.0-x\r\n\r\n").await;
        assert_eq!(error, Err("the proxy's answer is not HTTP".into()));
        let (error, _) = tunnel(b"HTTP/1.1 200").await;
        assert_eq!(error, Err("the proxy closed the connection".into()));
    }
}
