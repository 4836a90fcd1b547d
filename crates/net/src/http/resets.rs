//! What the HTTP/2 library refuses by itself on a client's connection. It tells nobody but the client, so that
//! is where it is heard.

use crate::gateway::{Wanted, Ward, refusal};
use crate::relay::BreakOff;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use stockade_policy::Cause;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const HEAD: usize = 9;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
/// How many bytes of such a frame's content it takes to know its code, which is the last four of them.
const CODE_OF_RESET: usize = 4;
const CODE_OF_FAREWELL: usize = 8;

/// Codes for what is wrong with the form. Others are for races that happen to honest clients, or our own.
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

/// A client's stream; tells of requests that the library refuses for their form.
pub(super) struct Resets<S> {
    stream: S,
    ward: Arc<Ward>,
    wanted: Wanted,
    scan: Scan,
}

/// Follows frames from byte to byte.
#[derive(Debug, Default)]
struct Scan {
    /// The head of a frame, and of some its code.
    held: Vec<u8>,
    /// Bytes of the present frame that say nothing more.
    skip: usize,
}

impl<S> Resets<S> {
    /// Watches what is sent to a client that wants this.
    pub(super) fn new(stream: S, ward: &Arc<Ward>, wanted: Wanted) -> Self {
        Self { stream, ward: Arc::clone(ward), wanted, scan: Scan::default() }
    }

    fn look(&mut self, bytes: &[u8]) {
        let Self { ward, wanted, .. } = self;
        self.scan.follow(bytes, |kind, code| {
            let Some(reason) = reason(kind, code) else { return };
            ward.denied(wanted, refusal(&wanted.target, Cause::Grammar, reason.to_owned(), None));
        });
    }

    /// What was written, or would have been: whoever leaves early has asked all the same.
    fn wrote(&mut self, written: &Poll<io::Result<usize>>, pieces: &[io::IoSlice<'_>]) {
        let mut left = match written {
            Poll::Pending => 0,
            Poll::Ready(Ok(count)) => *count,
            Poll::Ready(Err(_)) => usize::MAX,
        };
        for piece in pieces {
            let part = piece.len().min(left);
            self.look(&piece[..part]);
            left -= part;
        }
    }
}

impl Scan {
    fn follow(&mut self, mut bytes: &[u8], mut found: impl FnMut(u8, u32)) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let (part, rest) = bytes.split_at(bytes.len().min(self.wanted() - self.held.len()));
            self.held.extend_from_slice(part);
            bytes = rest;
            // The head alone tells whether more is to be read.
            if self.held.len() < HEAD || self.held.len() < self.wanted() {
                continue;
            }
            if let Some(code) = self.held[HEAD..].last_chunk() {
                found(self.held[3], u32::from_be_bytes(*code));
            }
            self.skip = self.length().saturating_sub(self.held.len() - HEAD);
            self.held.clear();
        }
    }

    /// How much of the present frame is to be held.
    fn wanted(&self) -> usize {
        let code = match self.held.get(3) {
            Some(&RST_STREAM) => CODE_OF_RESET,
            Some(&GOAWAY) => CODE_OF_FAREWELL,
            _ => 0,
        };
        HEAD + if self.held.len() < HEAD { 0 } else { code.min(self.length()) }
    }

    fn length(&self) -> usize {
        self.held.iter().take(3).fold(0, |length, byte| length << 8 | usize::from(*byte))
    }
}

fn reason(kind: u8, code: u32) -> Option<&'static str> {
    match (kind, code) {
        (RST_STREAM, PROTOCOL_ERROR | FRAME_SIZE_ERROR) => Some(
            "a request over HTTP/2 is not well formed: a letter or a header that may not be there, or not \
             one length",
        ),
        (GOAWAY, PROTOCOL_ERROR | FLOW_CONTROL_ERROR | FRAME_SIZE_ERROR | COMPRESSION_ERROR) => {
            Some("what the client says is not well-formed HTTP/2")
        }
        (GOAWAY, ENHANCE_YOUR_CALM) => Some("the client takes back too many requests over HTTP/2"),
        _ => None,
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Resets<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Resets<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(&written, &[io::IoSlice::new(bytes)]);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.wrote(&written, pieces);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: BreakOff> BreakOff for Resets<S> {
    fn break_off(&mut self) {
        self.stream.break_off();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_however_frames_are_cut() {
        let mut bytes = b"\0\0\x05\0\0\0\0\0\x01\0\0\x04\x03\0".to_vec();
        bytes.extend_from_slice(b"\0\0\x04\x03\0\0\0\0\x05\0\0\0\x01");
        bytes.extend_from_slice(b"\0\0\0\x04\x01\0\0\0\0");
        bytes.extend_from_slice(b"\0\0\x0b\x07\0\0\0\0\0\0\0\0\x07\0\0\0\x09abc");
        bytes.extend_from_slice(b"\0\0\x04\x03\0\0\0\0\x09\0\0\0\x08");
        for size in [1, 2, 7, 9, 13, bytes.len()] {
            let (mut scan, mut found) = (Scan::default(), Vec::new());
            bytes.chunks(size).for_each(|part| scan.follow(part, |kind, code| found.push((kind, code))));
            assert_eq!(found, [(RST_STREAM, 1), (GOAWAY, 9), (RST_STREAM, 8)], "{size}");
        }
    }
}
