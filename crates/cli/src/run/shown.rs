//! Output that arrives here as events because questions and it take turns on the terminal.

use crate::ask::Stage;
use std::collections::VecDeque;
use stockade::{Event, Outlet};

/// Output on its way to the terminal. How much there can be is limited: who has no limit gets a private
/// terminal instead.
#[derive(Debug, Default)]
pub(super) struct Shown {
    outlets: [Option<Outlet>; 2],
    stage: Stage,
    queue: VecDeque<(usize, Vec<u8>)>,
    /// How many bytes of the first are gone.
    gone: usize,
}

impl Shown {
    pub(super) fn new(outlets: [Option<Outlet>; 2], stage: Stage) -> Self {
        Self { outlets, stage, ..Self::default() }
    }

    /// Takes an event that is output to be shown; gives any other one back.
    pub(super) fn take(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Stdout { data } if self.outlets[0].is_some() => self.queue.push_back((0, data)),
            Event::Stderr { data } if self.outlets[1].is_some() => self.queue.push_back((1, data)),
            other => return Some(other),
        }
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Shows what was taken. May be dropped and called again without losing anything.
    pub(super) async fn flush(&mut self) {
        while let Some((stream, data)) = self.queue.front() {
            let _turn = self.stage.output().await;
            let written = match &mut self.outlets[*stream] {
                Some(outlet) => outlet.write(&data[self.gone..]).await,
                None => Ok(data.len()),
            };
            match written {
                Ok(count) => self.gone += count,
                // Nobody looks any more.
                Err(_) => self.gone = data.len(),
            }
            if self.gone >= data.len() {
                self.gone = 0;
                self.queue.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[tokio::test]
    async fn output_waits_while_a_question_stands() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let stage = Stage::default();
        let mut shown = Shown::new([Some(Outlet::new(ours.into()).unwrap()), None], stage.clone());
        assert!(shown.take(Event::Stderr { data: b"not ours".to_vec() }).is_some());
        assert!(shown.take(Event::Stdout { data: b"hello ".to_vec() }).is_none());
        assert!(shown.take(Event::Stdout { data: b"world".to_vec() }).is_none());

        let question = stage.question().await;
        assert!(tokio::time::timeout(Duration::from_millis(20), shown.flush()).await.is_err());
        let mut seen = [0; 32];
        assert!(theirs.read(&mut seen).is_err());
        drop(question);
        shown.flush().await;
        assert!(shown.is_empty());
        let count = theirs.read(&mut seen).unwrap();
        assert_eq!(&seen[..count], b"hello world");
    }
}
