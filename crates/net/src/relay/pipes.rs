//! Pipes, through which bytes of a busy connection go from socket to socket without being copied.

use super::duplex::Duplex;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a pipe holds, where the system lets it.
const SIZE: usize = 256 * 1024;
/// Pipes of one sandbox in use at once. The others of a crowd copy.
const MOST: usize = 64;
/// Pipes kept for the next that needs one.
const KEPT: usize = 4;

/// The pipes of one sandbox.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: Vec<Ends>,
    taken: usize,
}

#[derive(Debug)]
struct Ends {
    read: OwnedFd,
    write: OwnedFd,
}

/// One pipe, given back when dropped.
#[derive(Debug)]
pub(super) struct Pipe<'a> {
    /// Whoever has it holds it; taken out only to be given back.
    ends: Option<Ends>,
    /// What lies in it.
    filled: usize,
    home: &'a Pipes,
}

impl Pipes {
    /// An empty pipe, if there is one to have: nobody depends on it.
    pub(super) fn take(&self) -> Option<Pipe<'_>> {
        let mut state = self.state();
        if state.taken == MOST {
            return None;
        }
        state.taken += 1;
        let kept = state.kept.pop();
        drop(state);
        // From here on the count is the pipe's to give back.
        let mut pipe = Pipe { ends: kept, filled: 0, home: self };
        if pipe.ends.is_none() {
            pipe.ends = Some(Ends::new().ok()?);
        }
        Some(pipe)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ends {
    fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // A smaller one does the same more slowly.
        let _ = fcntl_setpipe_size(&write, SIZE);
        Ok(Self { read, write })
    }
}

impl Pipe<'_> {
    /// Takes what a socket has. The pipe must be empty: otherwise nobody could tell a full pipe from a socket
    /// that has nothing.
    pub(super) fn fill(&mut self, from: &impl Duplex) -> io::Result<usize> {
        debug_assert_eq!(self.filled, 0);
        let Some(ends) = &self.ends else { return Ok(0) };
        self.filled = from.try_give(|socket| pass(socket, &ends.write, SIZE))?;
        Ok(self.filled)
    }

    /// Gives everything to a socket.
    pub(super) async fn empty(&mut self, to: &impl Duplex) -> io::Result<()> {
        while let Some(ends) = self.ends.as_ref().filter(|_| self.filled > 0) {
            match to.try_take(|socket| pass(&ends.read, socket, self.filled)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(gone) => self.filled -= gone,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn pass(from: impl AsFd, to: impl AsFd, most: usize) -> io::Result<usize> {
    Ok(splice(from, None, to, None, most, SpliceFlags::MOVE | SpliceFlags::NONBLOCK)?)
}

impl Drop for Pipe<'_> {
    fn drop(&mut self) {
        let mut state = self.home.state();
        state.taken -= 1;
        // What lies in a pipe is of one connection and no other's.
        if let Some(ends) = self.ends.take_if(|_| self.filled == 0)
            && state.kept.len() < KEPT
        {
            state.kept.push(ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (near, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn what_goes_in_comes_out() {
        let pipes = Pipes::default();
        let ((mut client, from), (to, mut server)) = (pair().await, pair().await);
        let said: Vec<u8> = (0..3 * SIZE).map(|at| (at % 251) as u8).collect();
        let all = said.clone();
        let saying = tokio::spawn(async move { client.write_all(&all).await });
        let hearing = tokio::spawn(async move {
            let mut heard = Vec::new();
            server.read_to_end(&mut heard).await.map(|_| heard)
        });
        let mut pipe = pipes.take().unwrap();
        loop {
            from.readable().await.unwrap();
            match pipe.fill(&from) {
                Ok(0) => break,
                Ok(_) => pipe.empty(&to).await.unwrap(),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        drop(to);
        assert!(hearing.await.unwrap().unwrap() == said);
        saying.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn nobody_gets_what_another_left() {
        let pipes = Pipes::default();
        let (mut client, from) = pair().await;
        client.write_all(b"secret").await.unwrap();
        from.readable().await.unwrap();
        let mut pipe = pipes.take().unwrap();
        assert_eq!(pipe.fill(&from).unwrap(), 6);
        drop(pipe);
        assert_eq!(pipes.state().kept.len(), 0);
        drop(pipes.take().unwrap());
        assert_eq!(pipes.state().kept.len(), 1);
    }

    #[test]
    fn a_crowd_does_without() {
        let pipes = Pipes::default();
        let taken: Vec<_> = (0..MOST).map(|_| pipes.take().unwrap()).collect();
        assert!(pipes.take().is_none());
        drop(taken);
        assert_eq!(pipes.state().kept.len(), KEPT);
        assert_eq!(pipes.state().taken, 0);
    }
}
