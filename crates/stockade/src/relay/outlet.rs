//! Writing to a descriptor that was given to us.

use super::{ready, watch};
use rustix::event::PollFlags;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::SendFlags;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use tokio::io::unix::AsyncFd;

/// A pipe that says it is writable takes this much without blocking.
const ATOMIC: usize = 4096;

/// The writing side of any descriptor: file, pipe, socket or terminal.
///
/// A reader that stops reading must not stop the event loop, and the descriptor is shared with whoever
/// gave it to us, so its own flags are never changed.
#[derive(Debug)]
pub struct Outlet {
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// Never waits: regular files and devices such as /dev/null.
    Direct(OwnedFd),
    /// Non-blocking, and shared with nobody.
    Own(AsyncFd<OwnedFd>),
    /// Could not be opened again: small steps, each after asking.
    Careful(AsyncFd<OwnedFd>),
    /// Sockets can be asked not to block call by call.
    Socket(AsyncFd<OwnedFd>),
}

impl Outlet {
    /// Writes to this descriptor. Needs a tokio runtime.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&descriptor)?.st_mode);
        let target = match kind {
            FileType::Socket => Target::Socket(watch(descriptor).map_err(|(_, error)| error)?),
            FileType::Fifo | FileType::CharacterDevice => waited(descriptor)?,
            _ => Target::Direct(descriptor),
        };
        Ok(Self { target })
    }

    /// Writes to a pipe or terminal that nobody else holds. Needs a tokio runtime.
    pub fn unshared(descriptor: OwnedFd) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&descriptor)?;
        rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
        let watched = watch(descriptor).map_err(|(_, error)| error)?;
        Ok(Self { target: Target::Own(watched) })
    }

    /// Writes some of the bytes and says how many.
    pub async fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &self.target {
            Target::Direct(descriptor) => Ok(rustix::io::write(descriptor, data)?),
            Target::Own(descriptor) => {
                when_writable(descriptor, |descriptor| Ok(rustix::io::write(descriptor, data)?)).await
            }
            Target::Careful(descriptor) => {
                let step = &data[..data.len().min(ATOMIC)];
                when_writable(descriptor, |descriptor| {
                    ready(descriptor.as_fd(), PollFlags::OUT)?;
                    Ok(rustix::io::write(descriptor, step)?)
                })
                .await
            }
            Target::Socket(descriptor) => {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                when_writable(descriptor, |descriptor| Ok(rustix::net::send(descriptor, data, flags)?)).await
            }
        }
    }

    /// Writes all of the bytes.
    pub async fn write_all(&mut self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let count = self.write(data).await?;
            data = &data[count..];
        }
        Ok(())
    }
}

async fn when_writable(
    descriptor: &AsyncFd<OwnedFd>,
    mut act: impl FnMut(&OwnedFd) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        let mut guard = descriptor.writable().await?;
        if let Ok(result) = guard.try_io(|descriptor| act(descriptor.get_ref())) {
            return result;
        }
    }
}

fn waited(descriptor: OwnedFd) -> io::Result<Target> {
    let again = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Refused where the terminal or pipe belongs to another user, or /proc is not mounted.
    if let Ok(reopened) = rustix::fs::open(again, flags, Mode::empty())
        && let Ok(watched) = watch(reopened)
    {
        return Ok(Target::Own(watched));
    }
    match watch(descriptor) {
        Ok(watched) => Ok(Target::Careful(watched)),
        Err((descriptor, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(Target::Direct(descriptor))
        }
        Err((_, error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[tokio::test]
    async fn a_full_pipe_waits_without_stopping_the_loop() {
        let (reading, writing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let flags = rustix::fs::fcntl_getfl(&writing).unwrap();
        let shared = writing.try_clone().unwrap();
        let mut outlet = Outlet::new(writing).unwrap();
        let data = vec![7; 1 << 20];
        let blocked = tokio::time::timeout(Duration::from_millis(50), outlet.write_all(&data)).await;
        assert!(blocked.is_err());
        assert_eq!(rustix::fs::fcntl_getfl(&shared).unwrap(), flags);
        drop((shared, reading));
        assert_eq!(outlet.write(&data).await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn sockets_and_files_take_everything() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut outlet = Outlet::new(ours.into()).unwrap();
        outlet.write_all(b"hello").await.unwrap();
        let mut seen = [0; 5];
        theirs.read_exact(&mut seen).unwrap();
        assert_eq!(&seen, b"hello");

        let file = tempfile::NamedTempFile::new().unwrap();
        Outlet::new(file.reopen().unwrap().into()).unwrap().write_all(b"hello").await.unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"hello");
    }
}
