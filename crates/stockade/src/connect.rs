//! Turns the caller's wiring into what an engine gets: each descriptor as it is, or through a pipe.

use crate::crossing::{CrossError, Crossing, judge};
use crate::relay::{Feed, Inlet, Outlet, Rest};
use crate::wiring::Wiring;
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::OwnedFd;
use stockade_isolate::Stdio;
use stockade_policy::{Files, Plan};

/// Descriptors ready for an engine, and the copying that has to go on beside the command.
#[derive(Debug)]
pub(crate) struct Connected {
    /// For the engine.
    pub(crate) stdio: [Stdio; 3],
    /// For the engine.
    pub(crate) descriptors: Vec<(OwnedFd, i32)>,
    /// Where bytes of captured output and error go, where the caller gave a descriptor for them.
    pub(crate) outlets: [Option<Outlet>; 2],
    /// Copy the caller's input into the command's.
    pub(crate) inputs: Vec<(Inlet, Outlet)>,
    /// The same for files, whose unread rest is given back.
    pub(crate) feeds: Vec<(Feed, Rest)>,
    /// Copy the command's output to the caller's.
    pub(crate) outputs: Vec<(Inlet, Outlet)>,
}

/// Judges every descriptor and replaces those that must not cross.
pub(crate) fn connect(wiring: Wiring, plan: &Plan, files: &dyn Files) -> Result<Connected, CrossError> {
    let mut connected = Connected::empty();
    for (descriptor, number) in wiring.descriptors {
        let crossed = match judge(&descriptor, number, plan, files)? {
            Crossing::Relay => connected.relay_named(descriptor, number)?,
            Crossing::Inherit | Crossing::Null => descriptor,
        };
        connected.descriptors.push((crossed, number));
    }
    let mut shared = None;
    for (number, stdio) in (0_u8..).zip(wiring.stdio) {
        let at = usize::from(number);
        connected.stdio[at] = match stdio {
            Stdio::Descriptor(descriptor) => {
                let number = i32::from(number);
                match judge(&descriptor, number, plan, files)? {
                    Crossing::Null => Ok(Stdio::Null),
                    Crossing::Relay if at == 0 => connected.feed(descriptor).map(Stdio::Descriptor),
                    // Counting bytes needs the engine's own pipe.
                    _ if at > 0 && plan.limits.max_output.is_some() => connected.count(descriptor, at - 1),
                    Crossing::Relay => connected.drain(descriptor, &mut shared).map(Stdio::Descriptor),
                    Crossing::Inherit => Ok(Stdio::Descriptor(descriptor)),
                }
                .map_err(|source| CrossError::Unusable { number, source })?
            }
            other => other,
        };
    }
    Ok(connected)
}

/// The same for a run without walls: there is nothing to protect a descriptor from, only bytes to count.
pub(crate) fn connect_bare(wiring: Wiring, plan: &Plan) -> Result<Connected, CrossError> {
    if let Some((_, number)) = wiring.descriptors.first() {
        let source = io::Error::new(io::ErrorKind::Unsupported, "a run without walls takes only 0, 1 and 2");
        return Err(CrossError::Unusable { number: *number, source });
    }
    let mut connected = Connected::empty();
    for (number, stdio) in (0_u8..).zip(wiring.stdio) {
        let at = usize::from(number);
        connected.stdio[at] = match stdio {
            Stdio::Descriptor(descriptor) if at > 0 && plan.limits.max_output.is_some() => connected
                .count(descriptor, at - 1)
                .map_err(|source| CrossError::Unusable { number: i32::from(number), source })?,
            other => other,
        };
    }
    Ok(connected)
}

/// An output pipe that both streams write to, and the file behind it.
type Shared = Option<((u64, u64), OwnedFd)>;

impl Connected {
    fn empty() -> Self {
        Self {
            stdio: [Stdio::Null, Stdio::Null, Stdio::Null],
            descriptors: Vec::new(),
            outlets: [None, None],
            inputs: Vec::new(),
            feeds: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// What the engine gets; our copies of it are gone after that, so that ends are seen.
    pub(crate) fn take_stdio(&mut self) -> [Stdio; 3] {
        std::mem::replace(&mut self.stdio, [Stdio::Null, Stdio::Null, Stdio::Null])
    }

    /// A named file goes through a pipe in the one direction it is open for.
    fn relay_named(&mut self, descriptor: OwnedFd, number: i32) -> Result<OwnedFd, CrossError> {
        let unusable = |source: io::Error| CrossError::Unusable { number, source };
        let flags = rustix::fs::fcntl_getfl(&descriptor).map_err(|error| unusable(error.into()))?;
        match flags & OFlags::RWMODE {
            OFlags::RDONLY => self.feed(descriptor).map_err(unusable),
            OFlags::WRONLY => self.drain(descriptor, &mut None).map_err(unusable),
            _ => Err(CrossError::BothWays { number }),
        }
    }

    fn feed(&mut self, descriptor: OwnedFd) -> io::Result<OwnedFd> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        // The command owns the pipe's inode: without the write bit, opening descriptor 0 for writing is
        // refused as it would be for the file itself. The same below, the other way round.
        rustix::fs::fchmod(&reading, Mode::RUSR)?;
        match Feed::new(descriptor, writing, &reading) {
            Ok(feed) => self.feeds.push(feed),
            Err((descriptor, writing)) => {
                self.inputs.push((Inlet::new(descriptor)?, Outlet::unshared(writing)?));
            }
        }
        Ok(reading)
    }

    fn drain(&mut self, descriptor: OwnedFd, shared: &mut Shared) -> io::Result<OwnedFd> {
        let seen = rustix::fs::fstat(&descriptor)?;
        let identity = (seen.st_dev, seen.st_ino);
        // `>file 2>&1`: two pipes would shuffle the lines.
        if let Some((same, writing)) = shared
            && *same == identity
        {
            return writing.try_clone();
        }
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::fs::fchmod(&writing, Mode::WUSR)?;
        self.outputs.push((Inlet::new(reading)?, Outlet::new(descriptor)?));
        *shared = Some((identity, writing.try_clone()?));
        Ok(writing)
    }

    fn count(&mut self, descriptor: OwnedFd, stream: usize) -> io::Result<Stdio> {
        self.outlets[stream] = Some(Outlet::new(descriptor)?);
        Ok(Stdio::Piped)
    }
}
