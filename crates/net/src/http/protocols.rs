//! What connections turn into: what was asked for, and what a server agrees to.

use http::{HeaderMap, header};

/// The protocols that Upgrade headers name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Protocols(Vec<Vec<u8>>);

impl Protocols {
    /// Those of all these headers.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut protocols = Self::default();
        headers.get_all(header::UPGRADE).iter().for_each(|value| protocols.add(value.as_bytes()));
        protocols
    }

    /// Those of one header more.
    pub(super) fn add(&mut self, value: &[u8]) {
        let named = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        self.0.extend(named.filter(|name| !name.is_empty()).map(<[u8]>::to_ascii_lowercase));
    }

    /// Whether a server that names `answered` does what was asked for. One that names another protocol speaks
    /// something that nobody has judged, as does one that names none.
    pub(super) fn agree(&self, answered: &Self) -> bool {
        !answered.0.is_empty() && answered.0.iter().all(|name| self.0.contains(name))
    }

    /// The protocols that an answer of HTTP/1 names; nothing where it is not there in full, or cannot be read.
    pub(super) fn of_answer(answer: &[u8]) -> Option<Self> {
        let mut lines = [httparse::EMPTY_HEADER; super::head::MOST_HEADERS];
        let mut head = httparse::Response::new(&mut lines);
        if !head.parse(answer).ok()?.is_complete() {
            return None;
        }
        let mut protocols = Self::default();
        let named =
            head.headers.iter().filter(|line| line.name.eq_ignore_ascii_case(header::UPGRADE.as_str()));
        named.for_each(|line| protocols.add(line.value));
        Some(protocols)
    }
}

#[cfg(test)]
mod tests {
    use super::Protocols;

    fn of(value: &str) -> Protocols {
        let mut protocols = Protocols::default();
        protocols.add(value.as_bytes());
        protocols
    }

    #[test]
    fn only_what_was_asked_for_is_agreed_to() {
        for (asked, answered, agrees) in [
            ("websocket", "WebSocket", true),
            ("shell, websocket", " websocket ", true),
            ("websocket", "h2c", false),
            ("websocket", "websocket, h2c", false),
            ("websocket", "", false),
            ("websocket", "websocket/13", false),
        ] {
            assert_eq!(of(asked).agree(&of(answered)), agrees, "{asked} {answered}");
        }
    }

    #[test]
    fn answers_are_read_when_they_are_there() {
        let answer = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: a\r\nUpgrade: B\r\n\r\nmore";
        assert_eq!(Protocols::of_answer(answer), Some(of("a,b")));
        assert_eq!(Protocols::of_answer(&answer[..50]), None);
    }
}
