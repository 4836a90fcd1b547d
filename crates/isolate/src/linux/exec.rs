//! Turning a [`Command`] into an order for the first process.

use super::sys::ImageBuilder;
use super::wire::{MAX_DESCRIPTORS, Order};
use crate::{Afterwards, Command, ExecError, Stdio};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use stockade_policy::Plan;
use tokio::net::unix::pipe;

/// An order with everything that goes with it, and our ends of what stays here.
pub(crate) struct Prepared {
    pub(crate) order: Order,
    /// Travel with the order; closed here once it is sent.
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) stdin: Option<pipe::Sender>,
    pub(crate) stdout: Option<pipe::Receiver>,
    pub(crate) stderr: Option<pipe::Receiver>,
}

/// Where programs are looked for when the environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Lays out a command as job `id`.
pub(crate) fn prepare(plan: &Plan, id: u32, command: &mut Command) -> Result<Prepared, ExecError> {
    let environment = environment(plan, command);
    let mut image = ImageBuilder::default();
    let Some(program) = command.argv.first() else {
        return Err(ExecError::Program { program: PathBuf::new(), source: Errno::NOENT.into() });
    };
    for candidate in candidates(program, &environment) {
        image.candidate(&text(&candidate, "the program's path")?);
    }
    for argument in &command.argv {
        image.argument(&text(argument, "an argument")?);
    }
    for (name, value) in &environment {
        let mut variable = name.clone();
        variable.push("=");
        variable.push(value);
        image.variable(&text(&variable, &name.to_string_lossy())?);
    }
    image.working_directory(&text(command.cwd.as_os_str(), "the working directory")?);
    for (descriptor, number) in &command.descriptors {
        may_cross(descriptor, *number)?;
        let number = u32::try_from(*number).ok().filter(|number| *number > 2);
        image.descriptor(number.ok_or(ExecError::Descriptor {
            number: -1,
            reason: "cannot be handed over under that number",
            hint: "name numbers from 3 upwards",
        })?);
    }
    if command.descriptors.len() > MAX_DESCRIPTORS - 4 {
        return Err(ExecError::Step {
            act: "hand over so many descriptors",
            source: Errno::TOOMANYREFS.into(),
        });
    }
    let (file, image_length) = image.finish().map_err(step("lay out the command"))?;
    let mut prepared =
        Prepared { order: Order::Go, descriptors: vec![file], stdin: None, stdout: None, stderr: None };
    let (mut terminal, mut null) = (0, 0);
    let mut window = (0, 0);
    for number in 0..3 {
        let theirs = match std::mem::replace(&mut command.stdio[number], Stdio::Null) {
            Stdio::Terminal(size) => {
                terminal |= 1 << number;
                window = (size.rows, size.columns);
                continue;
            }
            Stdio::Null => {
                null |= 1 << number;
                continue;
            }
            Stdio::Descriptor(descriptor) => {
                may_cross(&descriptor, number as i32)?;
                descriptor
            }
            Stdio::Piped => prepared.pipe(number)?,
        };
        prepared.descriptors.push(theirs);
    }
    prepared.descriptors.extend(command.descriptors.drain(..).map(|(descriptor, _)| descriptor));
    let last = command.afterwards == Afterwards::End;
    prepared.order =
        Order::Exec { id, image_length, terminal, null, rows: window.0, columns: window.1, last };
    Ok(prepared)
}

impl Prepared {
    /// Makes a pipe for one of 0, 1, 2; keeps our end, returns theirs.
    fn pipe(&mut self, number: usize) -> Result<OwnedFd, ExecError> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(step("make a pipe"))?;
        let watch = |source| ExecError::Step { act: "watch a pipe", source };
        if number == 0 {
            self.stdin = Some(pipe::Sender::from_owned_fd(write).map_err(watch)?);
            return Ok(read);
        }
        let ours = Some(pipe::Receiver::from_owned_fd(read).map_err(watch)?);
        if number == 1 {
            self.stdout = ours;
        } else {
            self.stderr = ours;
        }
        Ok(write)
    }
}

/// A directory (or a descriptor that only names a place) would be a door into the host's tree.
fn may_cross(descriptor: &OwnedFd, number: i32) -> Result<(), ExecError> {
    let refused = |reason| ExecError::Descriptor {
        number,
        reason,
        hint: "redirect it from or to a file, a pipe or /dev/null",
    };
    let stat = fstat(descriptor.as_fd()).map_err(step("look at a descriptor"))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return Err(refused("is a directory, through which the command could leave the sandbox"));
    }
    if fcntl_getfl(descriptor).map_err(step("look at a descriptor"))?.contains(OFlags::PATH) {
        return Err(refused(
            "only names a place (O_PATH), through which the command could leave the sandbox",
        ));
    }
    Ok(())
}

fn environment(plan: &Plan, command: &Command) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> =
        plan.environment.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect();
    for (name, value) in &command.environment {
        match environment.iter_mut().find(|(known, _)| known == name) {
            Some(slot) => slot.1.clone_from(value),
            None => environment.push((name.clone(), value.clone())),
        }
    }
    environment
}

/// The paths a program may be at, as a shell would look for it.
fn candidates(program: &OsStr, environment: &[(OsString, OsString)]) -> Vec<OsString> {
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let directories = path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes().split(|byte| *byte == b':');
    directories
        .map(|directory| {
            let mut candidate = if directory.is_empty() { b".".to_vec() } else { directory.to_vec() };
            candidate.push(b'/');
            candidate.extend_from_slice(program.as_bytes());
            OsString::from_vec(candidate)
        })
        .collect()
}

fn text(text: &OsStr, what: &str) -> Result<CString, ExecError> {
    CString::new(text.as_bytes()).map_err(|_| ExecError::Nul { what: what.to_owned() })
}

fn step(act: &'static str) -> impl Fn(Errno) -> ExecError {
    move |errno| ExecError::Step { act, source: errno.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_as_a_shell_does() {
        let path = |value: &str| vec![("PATH".into(), value.into())];
        assert_eq!(candidates(OsStr::new("a"), &path("/x::/y")), ["/x/a", "./a", "/y/a"]);
        assert_eq!(candidates(OsStr::new("./a"), &path("/x")), ["./a"]);
        assert_eq!(candidates(OsStr::new("a"), &[]), ["/usr/local/bin/a", "/usr/bin/a", "/bin/a"]);
    }
}
