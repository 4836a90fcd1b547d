//! The files and directories that a shell without walls was judged by.
//!
//! Processes behind walls may still run in the same directories, and put a link where a file was when it was
//! judged. So the files are opened here, through no link at all, and the shell opens what was opened: descriptors
//! that it inherits, by number, for as long as anything of it lives. What it does with a file (cut it off, add to
//! it) and when stays its own affair; only a file that was not there is made now, whether or not the shell comes
//! to it. Directories are the same: a program obeys what lies where it runs, so it runs in the one that was judged.

use super::is_terminal;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::fcntl_dupfd_cloexec;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use stockade_isolate::Stdio;
use stockade_policy::{CommandLine, Opening, Opens};

/// Texts use lower numbers for their own descriptors.
const LOWEST: i32 = 100;

/// What a command without walls names cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// It is not what it was when the command was judged.
    #[error("{} became a link or something else while the command was judged; nothing was run\nhint: run it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// nohup would write where a link leads, or into something that is no file.
    #[error("{} is there and is a link or no plain file, and nohup does not write through that without walls; nothing was run\nhint: remove it, or say where the output goes: nohup ... > FILE", path.display())]
    Detached {
        /// `nohup.out`.
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

/// Opens the files, and makes the command name what was opened. It has to inherit the descriptors.
pub(crate) fn open(
    command: CommandLine,
    openings: &[Opening],
    stdio: &[Stdio; 3],
) -> Result<(CommandLine, Vec<OwnedFd>), OpeningError> {
    // Without a terminal nohup opens nothing.
    let terminal = stdio.iter().any(is_terminal);
    let mut ordered: Vec<&Opening> =
        openings.iter().filter(|opening| terminal || opening.opens != Opens::ForNohup).collect();
    ordered.sort_by_key(|opening| opening.name.start);
    // What makes no file comes first: where it fails, nothing has happened.
    let makes = |opening: &Opening| matches!(opening.opens, Opens::ForWriting | Opens::ForNohup);
    let waits =
        |one: &Opening| makes(one) || ordered.iter().any(|other| makes(other) && other.path == one.path);
    let mut opened: Vec<(usize, OwnedFd)> = Vec::new();
    for last in [false, true] {
        for (at, opening) in ordered.iter().enumerate().filter(|(_, opening)| waits(opening) == last) {
            opened.push((at, open_as(&opening.path, opening.opens)?));
        }
    }
    opened.sort_by_key(|(at, _)| *at);
    let opened: Vec<OwnedFd> = opened.into_iter().map(|(_, file)| file).collect();
    let places = ordered.iter().zip(&opened);
    let named = match command {
        CommandLine::Shell(text) => {
            let (text, mut named, mut at) = (text.as_bytes(), Vec::new(), 0);
            for (Opening { name, opens, .. }, file) in places {
                let number = file.as_raw_fd();
                named.extend_from_slice(&text[at..name.start]);
                let ours = match opens {
                    Opens::ForReading | Opens::ForWriting => format!("/proc/self/fd/{number}"),
                    // With -P the shell tells the directory's own name where it tells where it is.
                    Opens::ToEnter => format!("-P /proc/self/fd/{number}"),
                    Opens::ForNohup => format!("/bin/sh -c '{}' ", instead_of_terminal(number)),
                };
                named.extend_from_slice(ours.as_bytes());
                at = if *opens == Opens::ForNohup { name.start } else { name.end };
            }
            named.extend_from_slice(&text[at..]);
            CommandLine::Shell(OsString::from_vec(named))
        }
        CommandLine::Argv(mut words) => {
            for (opening, file) in places.rev() {
                let script = instead_of_terminal(file.as_raw_fd()).into();
                words.splice(opening.name.start..opening.name.start, ["/bin/sh".into(), "-c".into(), script]);
            }
            CommandLine::Argv(words)
        }
    };
    Ok((named, opened))
}

/// A shell's text that runs its words, `nohup` among them, after it has done what nohup would do with its own
/// `nohup.out`. Only there is it known whether a terminal, a pipe or a file stands behind its output.
fn instead_of_terminal(number: i32) -> String {
    format!(
        "if [ -t 1 ] || {{ [ -t 2 ] && ! {{ true >&1; }} 2>/dev/null; }}; then \
         exec >>/proc/self/fd/{number}; echo nohup: appending output to nohup.out >&2; fi; exec \"$0\" \"$@\""
    )
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
        Opens::ForNohup => (OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND, Mode::from_raw_mode(0o600)),
        Opens::ToEnter => (OFlags::PATH | OFlags::DIRECTORY, Mode::empty()),
    };
    // The kernel takes no other flags together with PATH.
    let usual = if opens == Opens::ToEnter { OFlags::CLOEXEC } else { usual };
    let named = || path.to_owned();
    // Nobody has looked at nohup's file before: it need not have changed.
    let unfit = || match opens {
        Opens::ForNohup => OpeningError::Detached { path: named() },
        _ => OpeningError::Changed { path: named() },
    };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(CWD, path, flags | usual, mode, resolve).map_err(|errno| match errno {
        rustix::io::Errno::LOOP | rustix::io::Errno::NXIO | rustix::io::Errno::NOTDIR => unfit(),
        errno => OpeningError::Open { path: named(), source: errno.into() },
    })?;
    let seen = fstat(&file).map_err(|errno| OpeningError::Open { path: named(), source: errno.into() })?;
    match FileType::from_raw_mode(seen.st_mode) {
        FileType::RegularFile if opens != Opens::ToEnter => {}
        FileType::Directory if opens == Opens::ToEnter => {}
        _ => return Err(unfit()),
    }
    fcntl_dupfd_cloexec(&file, LOWEST)
        .map_err(|errno| OpeningError::Open { path: named(), source: errno.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::{self, Command};
    use stockade_isolate::inherit;

    const QUIET: [Stdio; 3] = [Stdio::Null, Stdio::Piped, Stdio::Piped];

    /// A shell with a text and what was opened for it.
    fn shell(name: &str, (command, opened): (CommandLine, Vec<OwnedFd>)) -> Command {
        let CommandLine::Shell(text) = command else { panic!() };
        let mut shell = Command::new(name);
        shell.arg("-c").arg(text);
        inherit(&mut shell, opened);
        shell
    }

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
        let opened = open(CommandLine::Shell(text.into()), &openings, &QUIET).unwrap();
        // Somebody puts links in their places.
        fs::write(at("victim"), "untouched").unwrap();
        for name in ["in", "log", "a file"] {
            fs::rename(at(name), at(&format!("{name}.moved"))).unwrap();
            std::os::unix::fs::symlink(at("victim"), at(name)).unwrap();
        }
        assert!(shell("bash", opened).current_dir(place.path()).status().unwrap().success());
        assert_eq!(fs::read_to_string(at("log.moved")).unwrap(), "before\nwords\n");
        assert_eq!(fs::read_to_string(at("a file.moved")).unwrap(), "new\n");
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), "untouched");
    }

    #[test]
    fn what_fails_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let text = "echo a > new && cat < missing";
        let writes = opening(text, "new", at("new"), Opens::ForWriting);
        let reads = opening(text, "missing", at("missing"), Opens::ForReading);
        let failed = open(CommandLine::Shell(text.into()), &[writes.clone(), reads], &QUIET);
        assert!(matches!(failed, Err(OpeningError::Open { path, .. }) if path == at("missing")));
        assert!(!at("new").exists());
        // What the text itself makes before it reads it is there.
        let text = "echo a > new && cat < new";
        let again = Opening { name: 22..25, path: at("new"), opens: Opens::ForReading };
        assert!(open(CommandLine::Shell(text.into()), &[writes, again], &QUIET).is_ok());
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
        let two = ["bash", "sh"]
            .map(|name| (name, open(CommandLine::Shell(text.into()), &openings, &QUIET).unwrap()));
        fs::rename(at("a dir"), at("moved")).unwrap();
        std::os::unix::fs::symlink("planted", at("a dir")).unwrap();
        for (name, opened) in two {
            let told = shell(name, opened).current_dir(&place).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), at("moved").to_str().unwrap());
        }
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
            let error = open(CommandLine::Shell(text.clone().into()), &openings, &QUIET).unwrap_err();
            assert!(matches!(error, OpeningError::Changed { .. }), "{name}: {error}");
        }
        assert!(!at("new").exists());
    }

    #[test]
    fn what_was_opened_lives_as_long_as_what_uses_it() {
        for name in ["bash", "sh"] {
            let place = tempfile::tempdir().unwrap();
            let at = |name: &str| place.path().join(name);
            fs::write(at("cut"), "before\n").unwrap();
            fs::write(at("more"), "before\n").unwrap();
            assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
            let text = "{ cat pipe; (echo late > cut); echo late >> more; } &";
            let openings = [
                opening(text, "cut", at("cut"), Opens::ForWriting),
                opening(text, "more", at("more"), Opens::ForWriting),
            ];
            let opened = open(CommandLine::Shell(text.into()), &openings, &QUIET).unwrap();
            assert!(opened.1.iter().all(|file| file.as_raw_fd() >= LOWEST));
            // The command and all that was opened here are gone at the end of this line.
            assert!(shell(name, opened).current_dir(place.path()).status().unwrap().success());
            assert_eq!(fs::read_to_string(at("cut")).unwrap(), "before\n");
            fs::write(at("pipe"), "").unwrap();
            let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while fs::read_to_string(at("more")).unwrap() != "before\nlate\n" {
                assert!(std::time::Instant::now() < until, "{name}");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            assert_eq!(fs::read_to_string(at("cut")).unwrap(), "late\n");
        }
    }

    #[test]
    fn nohup_adds_to_its_file_through_no_link() {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&main).unwrap();
        unlockpt(&main).unwrap();
        let name = PathBuf::from(ptsname(&main, Vec::new()).unwrap().to_str().unwrap());
        let terminal = || {
            let side =
                rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
            Stdio::Descriptor(side.unwrap())
        };
        let own = || [Stdio::Null, terminal(), terminal()];
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let run = |command: CommandLine, openings: &[Opening], between: &dyn Fn()| {
            let stdio = own();
            let (command, opened) = open(command, openings, &stdio).unwrap();
            between();
            let words = crate::shell::argv(&command);
            let mut child = Command::new(&words[0]);
            child.args(&words[1..]).current_dir(place.path()).stdin(process::Stdio::null());
            let [_, output, error] = stdio.map(|stdio| super::super::convert(stdio).unwrap());
            inherit(&mut child, opened);
            assert!(child.stdout(output).stderr(error).status().unwrap().success());
        };
        let kept = || fs::read_to_string(at("nohup.out")).unwrap();
        let plant = || {
            fs::rename(at("nohup.out"), at("moved")).unwrap();
            std::os::unix::fs::symlink("victim", at("nohup.out")).unwrap();
        };
        let file = at("nohup.out");
        let words = CommandLine::Argv(["nice", "nohup", "echo", "a  word"].map(Into::into).to_vec());
        let second = Opening { name: 1..2, path: file.clone(), opens: Opens::ForNohup };
        run(words, &[second], &|| ());
        assert_eq!(kept(), "a  word\n");
        let text = "'nohup' echo out; nohup echo through | cat > piped";
        let of = |start, end| Opening { name: start..end, path: file.clone(), opens: Opens::ForNohup };
        let first = opening(text, "'nohup'", file.clone(), Opens::ForNohup);
        run(CommandLine::Shell(text.into()), &[first, of(18, 23)], &plant);
        assert_eq!(fs::read_to_string(at("moved")).unwrap(), "a  word\nout\n");
        assert_eq!(fs::read_to_string(at("piped")).unwrap(), "through\n");
        assert!(!at("victim").exists());
        let error = open(CommandLine::Shell("nohup ls".into()), &[of(0, 5)], &own()).unwrap_err();
        assert!(matches!(error, OpeningError::Detached { .. }), "{error}");
        // Nohup opens nothing where there is no terminal.
        let (CommandLine::Shell(text), opened) =
            open(CommandLine::Shell("nohup ls".into()), &[of(0, 5)], &QUIET).unwrap()
        else {
            panic!()
        };
        assert_eq!((text.to_str(), opened.len()), (Some("nohup ls"), 0));
    }
}
