//! The files and directories that a shell without walls was judged by.
//!
//! Processes behind walls may still run in the same directories, and put a link where a file was when it was
//! judged. So the files are opened here, through no link at all, and the shell opens what was opened: our
//! descriptors, by number. What it does with a file (cut it off, add to it) and when stays its own affair; only
//! a file that was not there is made now, whether or not the shell comes to it. Directories are the same: a
//! program obeys what lies where it runs, so it runs in the one that was judged.

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use stockade_policy::{CommandLine, Opening, Opens};

/// What a command without walls names cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// It is not what it was when the command was judged.
    #[error("{} became a link or something else while the command was judged; nothing was run\nhint: run it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be opened.
    #[error("cannot open {} for a command without walls: {source}; nothing was run", path.display())]
    Open {
        /// The file or directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Opens the files, and makes the text name what was opened. The descriptors must live as long as the shell.
pub(crate) fn open(
    command: CommandLine,
    openings: &[Opening],
) -> Result<(CommandLine, Vec<OwnedFd>), OpeningError> {
    let CommandLine::Shell(text) = command else { return Ok((command, Vec::new())) };
    let mut ordered: Vec<&Opening> = openings.iter().collect();
    ordered.sort_by_key(|opening| opening.name.start);
    let (mut named, mut opened, mut at) = (Vec::new(), Vec::new(), 0);
    for opening in ordered {
        let file = open_as(&opening.path, opening.opens)?;
        named.extend_from_slice(&text.as_bytes()[at..opening.name.start]);
        // With -P the shell tells the directory's own name where it tells where it is.
        let option = if opening.opens == Opens::ToEnter { "-P " } else { "" };
        let ours = format!("{option}/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        named.extend_from_slice(ours.as_bytes());
        at = opening.name.end;
        opened.push(file);
    }
    named.extend_from_slice(&text.as_bytes()[at..]);
    Ok((CommandLine::Shell(OsString::from_vec(named)), opened))
}

/// Opens a directory to start in.
pub(crate) fn directory(path: &Path) -> Result<OwnedFd, OpeningError> {
    open_as(path, Opens::ToEnter)
}

fn open_as(path: &Path, opens: Opens) -> Result<OwnedFd, OpeningError> {
    // A pipe or a terminal that was put there is not waited for.
    let usual = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let (flags, mode) = match opens {
        Opens::ForReading => (OFlags::RDONLY, Mode::empty()),
        Opens::ForWriting => (OFlags::WRONLY | OFlags::CREATE, Mode::from_raw_mode(0o666)),
        Opens::ToEnter => (OFlags::PATH | OFlags::DIRECTORY, Mode::empty()),
    };
    // The kernel takes no other flags together with PATH.
    let usual = if opens == Opens::ToEnter { OFlags::CLOEXEC } else { usual };
    let named = || path.to_owned();
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(CWD, path, flags | usual, mode, resolve).map_err(|errno| match errno {
        rustix::io::Errno::LOOP | rustix::io::Errno::NXIO | rustix::io::Errno::NOTDIR => {
            OpeningError::Changed { path: named() }
        }
        errno => OpeningError::Open { path: named(), source: errno.into() },
    })?;
    let seen = fstat(&file).map_err(|errno| OpeningError::Open { path: named(), source: errno.into() })?;
    match FileType::from_raw_mode(seen.st_mode) {
        FileType::RegularFile if opens != Opens::ToEnter => Ok(file),
        FileType::Directory if opens == Opens::ToEnter => Ok(file),
        _ => Err(OpeningError::Changed { path: named() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    fn opening(text: &str, word: &str, path: PathBuf, opens: Opens) -> Opening {
        let start = text.find(word).unwrap();
        Opening { name: start..start + word.len(), path, opens }
    }

    #[test]
    fn the_shell_uses_what_was_opened() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("in"), "words\n").unwrap();
        fs::write(at("log"), "before\n").unwrap();
        let text = "cat < in >> log; echo new > 'a file'";
        let openings = [
            opening(text, "'a file'", at("a file"), Opens::ForWriting),
            opening(text, "in", at("in"), Opens::ForReading),
            opening(text, "log", at("log"), Opens::ForWriting),
        ];
        let (command, opened) = open(CommandLine::Shell(text.into()), &openings).unwrap();
        // Somebody puts links in their places.
        fs::write(at("victim"), "untouched").unwrap();
        for name in ["in", "log", "a file"] {
            fs::rename(at(name), at(&format!("{name}.moved"))).unwrap();
            std::os::unix::fs::symlink(at("victim"), at(name)).unwrap();
        }
        let CommandLine::Shell(text) = command else { panic!() };
        let done = Command::new("bash").arg("-c").arg(text).current_dir(place.path()).status().unwrap();
        assert!(done.success());
        drop(opened);
        assert_eq!(fs::read_to_string(at("log.moved")).unwrap(), "before\nwords\n");
        assert_eq!(fs::read_to_string(at("a file.moved")).unwrap(), "new\n");
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), "untouched");
    }

    #[test]
    fn the_shell_enters_what_was_opened_and_tells_its_name() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let at = |name: &str| place.join(name);
        for name in ["a dir", "planted"] {
            fs::create_dir(at(name)).unwrap();
        }
        let text = "cd 'a dir' && echo $PWD";
        let openings = [opening(text, "'a dir'", at("a dir"), Opens::ToEnter)];
        let (command, opened) = open(CommandLine::Shell(text.into()), &openings).unwrap();
        fs::rename(at("a dir"), at("moved")).unwrap();
        std::os::unix::fs::symlink("planted", at("a dir")).unwrap();
        let CommandLine::Shell(text) = command else { panic!() };
        for shell in ["bash", "sh"] {
            let told = Command::new(shell).arg("-c").arg(&text).current_dir(&place).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), at("moved").to_str().unwrap());
        }
        drop(opened);
        assert!(matches!(directory(&at("a dir")), Err(OpeningError::Changed { .. })));
        fs::write(at("file"), "").unwrap();
        assert!(matches!(directory(&at("file")), Err(OpeningError::Changed { .. })));
    }

    #[test]
    fn links_and_pipes_are_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink(".", at("around")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["link", "around/file", "around/new", "pipe"] {
            let text = format!("echo > {name}");
            let openings = [opening(&text, name, at(name), Opens::ForWriting)];
            let error = open(CommandLine::Shell(text.clone().into()), &openings).unwrap_err();
            assert!(matches!(error, OpeningError::Changed { .. }), "{name}: {error}");
        }
        assert!(!at("new").exists());
    }
}
