//! Lines that wait for whoever reads events.

use stockade::Event;

/// Where this much waits, a command that makes events as fast as it can loses some of them.
const MOST: usize = 1 << 20;

/// What a command cannot make as many of as it likes may wait beyond that, so that a flood pushes out no refusal.
const MOST_OF_ALL: usize = 8 << 20;

/// Lines in a row, of which a reader that does not keep up misses some and is told so.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: Vec<u8>,
    /// Events that are missing behind these lines.
    missing: u64,
    /// And all that ever were.
    missed: u64,
}

impl Backlog {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many events the reader does not get: those that were left out, and those that still wait.
    pub(super) fn unread(&self) -> u64 {
        self.missed + self.bytes.iter().filter(|byte| **byte == b'\n').count() as u64
    }

    /// Adds a line, where there is room for it.
    pub(super) fn push(&mut self, event: &Event) {
        let Some(line) = line(event) else { return };
        let most = match event {
            // Single lines in between would each have a word about what is missing beside them.
            Event::Connection(_) | Event::Stdout { .. } | Event::Stderr { .. } if self.missing > 0 => {
                MOST / 2
            }
            Event::Connection(_) | Event::Stdout { .. } | Event::Stderr { .. } => MOST,
            // There is only one, and it says how everything came out.
            Event::Exited(_) => usize::MAX,
            _ => MOST_OF_ALL,
        };
        if self.bytes.len() + line.len() > most {
            self.missing += 1;
            self.missed += 1;
            return;
        }
        self.tell_missing();
        self.bytes.extend(line);
    }

    /// So many bytes are with the reader.
    pub(super) fn taken(&mut self, count: usize) {
        self.bytes.drain(..count.min(self.bytes.len()));
        if self.bytes.len() <= MOST / 2 {
            self.tell_missing();
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self { missed: self.unread(), ..Self::default() };
    }

    fn tell_missing(&mut self) {
        let events = std::mem::take(&mut self.missing);
        if events > 0 {
            self.bytes.extend(line(&Event::Missed { events }).unwrap_or_default());
        }
    }
}

fn line(event: &Event) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(event).ok()?;
    line.push(b'\n');
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of what a command can make as much as it likes.
    fn flood(backlog: &mut Backlog, count: usize) {
        (0..count).for_each(|_| backlog.push(&Event::Stdout { data: vec![b'x'; 1000] }));
    }

    fn kinds(backlog: &Backlog) -> Vec<String> {
        let lines = std::str::from_utf8(backlog.bytes()).unwrap().lines();
        let mut kinds: Vec<String> = lines
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|event| event["type"].as_str().unwrap().to_owned())
            .collect();
        kinds.dedup();
        kinds
    }

    #[test]
    fn a_flood_has_an_end_and_a_reserve_is_left() {
        let mut backlog = Backlog::default();
        flood(&mut backlog, 5000);
        assert!(backlog.bytes().len() <= MOST);
        assert_eq!(kinds(&backlog), ["stdout"]);
        backlog.push(&Event::Truncated { limit: 10 });
        flood(&mut backlog, 5000);
        backlog.push(&Event::Truncated { limit: 10 });
        assert_eq!(kinds(&backlog), ["stdout", "missed", "truncated", "missed", "truncated"]);
        // The reserve has an end, too.
        for _ in 0..1_000_000 {
            backlog.push(&Event::Truncated { limit: 10 });
        }
        assert!(backlog.bytes().len() <= MOST_OF_ALL);
    }

    #[test]
    fn what_is_missing_is_told_as_soon_as_there_is_room() {
        let mut backlog = Backlog::default();
        flood(&mut backlog, 2000);
        let waiting = backlog.bytes().iter().filter(|byte| **byte == b'\n').count();
        let missing = 2000 - waiting;
        backlog.taken(MOST / 4);
        flood(&mut backlog, 10);
        assert_eq!(kinds_of_whole_lines(&backlog), ["stdout"]);
        backlog.taken(MOST / 2);
        let last = backlog.bytes().split(|byte| *byte == b'\n').rev().nth(1).unwrap();
        assert_eq!(last, format!("{{\"type\":\"missed\",\"events\":{}}}", missing + 10).as_bytes());
        flood(&mut backlog, 1);
        assert_eq!(kinds_of_whole_lines(&backlog), ["stdout", "missed", "stdout"]);
        backlog.taken(usize::MAX);
        assert_eq!(backlog.unread(), missing as u64 + 10);
    }

    /// Without the first line, part of which is gone.
    fn kinds_of_whole_lines(backlog: &Backlog) -> Vec<String> {
        let first = backlog.bytes().iter().position(|byte| *byte == b'\n').unwrap() + 1;
        kinds(&Backlog { bytes: backlog.bytes()[first..].to_vec(), ..Backlog::default() })
    }
}
