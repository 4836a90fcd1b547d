//! Where answers end that are passed on as they come.
//!
//! No rule hangs on it. It tells when another connection may go on serving a client, and a server that is not
//! understood costs that client its connection and nothing else.

use super::body::BodyScan;
use super::head::{Framing, LONGEST_HEAD, MOST_HEADERS};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Requests sent ahead of their answers that are counted.
const MOST_DUE: usize = 1024;

/// The answers of one server.
#[derive(Debug, Default)]
pub(super) struct Answers {
    state: Mutex<State>,
    changed: Notify,
}

/// Nobody can tell where the answers end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost;

#[derive(Debug, Default)]
struct State {
    /// What is still to be answered.
    due: VecDeque<Due>,
    at: At,
}

/// What kind of an answer a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Whole,
    /// Only the head, whatever that says.
    Head,
}

/// Where in an answer the server is.
#[derive(Debug)]
enum At {
    /// This much of a head is there.
    Head(Vec<u8>),
    Body(BodyScan),
    /// In an answer that lasts until the connection ends.
    Last,
    Lost,
}

impl Default for At {
    fn default() -> Self {
        Self::Head(Vec::new())
    }
}

impl Answers {
    /// A request with this method, which has no body, goes to the server.
    pub(super) fn expect(&self, method: &str) {
        let mut state = self.state();
        if state.due.len() >= MOST_DUE {
            state.at = At::Lost;
            return;
        }
        state.due.push_back(if method == "HEAD" { Due::Head } else { Due::Whole });
    }

    /// The server has said this, and it was passed on.
    pub(super) fn look(&self, said: &[u8]) {
        self.state().follow(said);
        self.changed.notify_waiters();
    }

    /// Waits until every request has its whole answer.
    pub(super) async fn settled(&self) -> Result<(), Lost> {
        loop {
            let changed = self.changed.notified();
            let settled = {
                let state = self.state();
                match &state.at {
                    At::Lost => return Err(Lost),
                    At::Head(held) => held.is_empty() && state.due.is_empty(),
                    At::Body(_) | At::Last => false,
                }
            };
            if settled {
                return Ok(());
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn follow(&mut self, mut said: &[u8]) {
        while !said.is_empty() {
            let followed = match &mut self.at {
                At::Last | At::Lost => return,
                At::Head(held) => {
                    let before = held.len();
                    held.extend_from_slice(&said[..said.len().min(LONGEST_HEAD - before)]);
                    match after_head(held, self.due.front()) {
                        Ok(None) if held.len() < LONGEST_HEAD => return,
                        Ok(Some((length, status, at))) => {
                            self.at = at;
                            if !(100..200).contains(&status) {
                                self.due.pop_front();
                            }
                            Ok(length.saturating_sub(before))
                        }
                        Ok(None) | Err(Lost) => Err(Lost),
                    }
                }
                At::Body(scan) => scan.follow(said).map_err(|_| Lost),
            };
            match followed {
                Ok(part) => said = &said[part..],
                Err(Lost) => self.at = At::Lost,
            }
            if matches!(&self.at, At::Body(scan) if scan.is_done()) {
                self.at = At::default();
            }
        }
    }
}

/// The length and the status of the head that is held, and what comes after it; nothing when it is not there in
/// full.
fn after_head(held: &[u8], due: Option<&Due>) -> Result<Option<(usize, u16, At)>, Lost> {
    let due = due.ok_or(Lost)?;
    let mut lines = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut answer = httparse::Response::new(&mut lines);
    let length = match answer.parse(held).map_err(|_| Lost)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let status = answer.code.ok_or(Lost)?;
    let at = match (status, due) {
        (101, _) => At::Lost,
        (100..200 | 204 | 304, _) | (_, Due::Head) => At::default(),
        _ => body(answer.headers)?,
    };
    Ok(Some((length, status, at)))
}

/// How the body behind these headers ends.
fn body(headers: &[httparse::Header<'_>]) -> Result<At, Lost> {
    let named = |name| {
        let lines = headers.iter().filter(move |line| line.name.eq_ignore_ascii_case(name));
        lines.map(|line| line.value.trim_ascii())
    };
    if let Some(coding) = named("transfer-encoding").next_back() {
        let last = coding.rsplit(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
        return Ok(match last.eq_ignore_ascii_case(b"chunked") {
            true => At::Body(BodyScan::new(Framing::Chunked)),
            false => At::Last,
        });
    }
    let Some(length) = named("content-length").next() else { return Ok(At::Last) };
    if named("content-length").any(|other| other != length) {
        return Err(Lost);
    }
    let length = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok()).ok_or(Lost)?;
    Ok(At::Body(BodyScan::new(Framing::Length(length))))
}

#[cfg(test)]
mod tests {
    use super::{Answers, Lost, MOST_DUE};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// What is known once a server has said this in answer to these methods; nothing while it must say more.
    fn known(methods: &[&str], said: &str) -> Option<Result<(), Lost>> {
        let (whole, pieces) = (Answers::default(), Answers::default());
        for method in methods {
            whole.expect(method);
            pieces.expect(method);
        }
        whole.look(said.as_bytes());
        said.bytes().for_each(|byte| pieces.look(&[byte]));
        let now =
            |answers: &Answers| match pin!(answers.settled()).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(known) => Some(known),
                Poll::Pending => None,
            };
        assert_eq!(now(&whole), now(&pieces), "{said:?} in pieces");
        now(&whole)
    }

    #[test]
    fn answers_end_where_they_say() {
        const CHUNKED: &str =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for (methods, said) in [
            (&[][..], ""),
            (&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
            (&["GET"], "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
            (&["GET"], CHUNKED),
            (&["GET"], "HTTP/1.1 204 No\r\n\r\n"),
            (&["GET"], "HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\n"),
            (&["GET"], "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"),
            (&["HEAD"], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"),
            (&["HEAD", "GET"], "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"),
        ] {
            assert_eq!(known(methods, said), Some(Ok(())), "{said:?}");
        }
    }

    #[test]
    fn others_go_on() {
        for (methods, said) in [
            (&["GET"][..], ""),
            (&["GET"], "HTTP/1.1 200 O"),
            (&["GET"], "HTTP/1.1 100 Go on\r\n\r\n"),
            (&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"),
            (&["GET"], "HTTP/1.1 200 OK\r\n\r\nall of this"),
            (&["GET"], "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nall of this"),
            (&["GET", "GET"], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
        ] {
            assert_eq!(known(methods, said), None, "{said:?}");
        }
    }

    #[test]
    fn some_are_not_understood() {
        for (methods, said) in [
            (&[][..], "HTTP/1.1 200 OK\r\n"),
            (&["GET"], "220 mail\r\n"),
            (&["GET"], "HTTP/1.1 101 Other\r\n\r\n"),
            (&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
            (&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
            (&["GET"], "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n0\r\n\r\n"),
            (&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"),
        ] {
            assert_eq!(known(methods, said), Some(Err(Lost)), "{said:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(70_000));
        assert_eq!(known(&["GET"], &endless), Some(Err(Lost)));
        assert_eq!(known(&vec!["GET"; MOST_DUE + 1], ""), Some(Err(Lost)));
    }
}
