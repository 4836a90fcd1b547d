//! One run of the command line, as one of the callers.

use super::sys::{self, Descriptors};
use super::{Answer, Ran, World, binaries, escape};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// No run of this suite needs longer; a hang is a failure with a name.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the pipes of a finished run may stay open.
const LEFTOVER: Duration = Duration::from_secs(5);

enum Input {
    Nothing,
    Bytes(Vec<u8>),
    Given(Stdio),
}

/// A run being put together.
pub(crate) struct Run<'a> {
    world: &'a World,
    program: PathBuf,
    words: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    input: Input,
    output: Option<[Stdio; 2]>,
    descriptors: Descriptors,
    patience: Duration,
}

impl<'a> Run<'a> {
    pub(crate) fn new(world: &'a World, program: &Path, first: &[&str]) -> Self {
        Self {
            world,
            program: program.to_path_buf(),
            words: first.iter().map(OsString::from).collect(),
            variables: world.variables(),
            cwd: world.ws.clone(),
            input: Input::Nothing,
            output: None,
            descriptors: Descriptors::default(),
            patience: PATIENCE,
        }
    }

    pub(crate) fn opt(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_os_string());
        self
    }

    /// An option with its value.
    pub(crate) fn with(self, option: &str, value: impl AsRef<OsStr>) -> Self {
        self.opt(option).opt(value)
    }

    pub(crate) fn opts(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_os_string()));
        self
    }

    /// A variable of the caller's environment.
    pub(crate) fn var(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.as_ref().to_os_string(), value.as_ref().to_os_string()));
        self
    }

    pub(crate) fn without_var(mut self, name: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self
    }

    /// Where the caller stands.
    pub(crate) fn at(mut self, cwd: impl AsRef<Path>) -> Self {
        self.cwd = cwd.as_ref().to_path_buf();
        self
    }

    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    pub(crate) fn input_from(mut self, from: impl Into<Stdio>) -> Self {
        self.input = Input::Given(from.into());
        self
    }

    /// Descriptors 1 and 2; they are not collected then.
    pub(crate) fn output_to(mut self, out: impl Into<Stdio>, err: impl Into<Stdio>) -> Self {
        self.output = Some([out.into(), err.into()]);
        self
    }

    /// A descriptor the caller happens to hold under this number.
    pub(crate) fn holding(mut self, file: impl Into<OwnedFd>, number: RawFd) -> Self {
        self.descriptors.given.push((file.into(), number));
        self
    }

    pub(crate) fn closing(mut self, number: RawFd) -> Self {
        self.descriptors.closed.push(number);
        self
    }

    /// In a session of its own with this terminal.
    pub(crate) fn on_terminal(mut self, terminal: &File) -> Self {
        self.descriptors.terminal = Some(terminal.try_clone().expect("dup").into());
        self
    }

    pub(crate) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs a program with its arguments.
    pub(crate) fn program(self, argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
        self.opt("--").opts(argv).go()
    }

    /// Runs text in a shell.
    pub(crate) fn shell(self, text: &str) -> Ran {
        self.opt("-c").opt(text).go()
    }

    /// Tries one act of the probe.
    #[track_caller]
    pub(crate) fn probe(self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Answer {
        let words: Vec<OsString> = words.into_iter().map(|word| word.as_ref().to_os_string()).collect();
        let asked = words.iter().map(|word| escape(word)).collect::<Vec<_>>().join(" ");
        let probe = binaries().probe.clone().into_os_string();
        let ran = self.program(std::iter::once(probe).chain(words));
        Answer::all(ran, &[asked]).remove(0)
    }

    /// Tries many acts of the probe in one sandbox.
    #[track_caller]
    pub(crate) fn batch<W: AsRef<OsStr>>(self, acts: impl IntoIterator<Item = Vec<W>>) -> Vec<Answer> {
        let asked: Vec<String> = acts
            .into_iter()
            .map(|words| words.iter().map(|word| escape(word.as_ref())).collect::<Vec<_>>().join(" "))
            .collect();
        let mut lines = asked.join("\n");
        lines.push('\n');
        let probe = binaries().probe.clone();
        let ran = self.input(lines).program([probe.as_os_str(), OsStr::new("batch")]);
        Answer::all(ran, &asked)
    }

    /// Runs to the end.
    #[track_caller]
    pub(crate) fn go(self) -> Ran {
        let patience = self.patience;
        self.start_words().finish(patience)
    }

    /// Starts the probe and leaves it running.
    pub(crate) fn start(self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Live {
        let probe = binaries().probe.clone();
        self.opt("--").opt(probe).opts(words).start_words()
    }

    /// Starts what was put together so far.
    pub(crate) fn start_words(self) -> Live {
        let mut command = Command::new(&self.program);
        command.args(&self.words).env_clear().envs(self.variables).current_dir(&self.cwd);
        let (bytes, stdin) = match self.input {
            Input::Nothing => (None, Stdio::null()),
            Input::Bytes(bytes) => {
                let (reader, writer) = pipe(self.world);
                (Some((bytes, writer)), reader.into())
            }
            Input::Given(given) => (None, given),
        };
        command.stdin(stdin);
        let (stdout, stderr) = match self.output {
            None => {
                let ((from_out, out), (from_err, err)) = (pipe(self.world), pipe(self.world));
                command.stdout(out).stderr(err);
                (Some(collect(from_out)), Some(collect(from_err)))
            }
            Some([out, err]) => {
                command.stdout(out).stderr(err);
                (None, None)
            }
        };
        if let Some((user, group)) = self.world.caller.become_ids() {
            command.uid(user).gid(group);
        }
        sys::arrange(&mut command, self.descriptors);
        let line = format!("[{:?} in {}] {command:?}", self.world.caller, self.cwd.display());
        let begun = Instant::now();
        let child = command.spawn().unwrap_or_else(|error| panic!("{line}: {error}"));
        // It holds our copies of the inner ends of the pipes.
        drop(command);
        if let Some((bytes, mut writer)) = bytes {
            // A program that does not read is not a failure of the test.
            thread::spawn(move || writer.write_all(&bytes));
        }
        Live { line, child, stdout, stderr, begun }
    }
}

/// A pipe that belongs to the caller, who could otherwise not reopen it through /dev/stdin.
fn pipe(world: &World) -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (user, group) = world.caller.ids();
    fchown(&reader, Some(user), Some(group)).expect("chown");
    (reader, writer)
}

fn collect(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut block = vec![0; 65536];
        while let Ok(count) = from.read(&mut block) {
            if count == 0 || send.send(block[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receive
}

/// A run under way.
pub(crate) struct Live {
    line: String,
    child: Child,
    stdout: Option<Receiver<Vec<u8>>>,
    stderr: Option<Receiver<Vec<u8>>>,
    begun: Instant,
}

impl Live {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the first bytes of standard output.
    #[track_caller]
    pub(crate) fn first_output(&self, patience: Duration) -> Vec<u8> {
        let stdout = self.stdout.as_ref().expect("collected output");
        match stdout.recv_timeout(patience) {
            Ok(bytes) => bytes,
            Err(_) => {
                let said: Vec<u8> = self.stderr.iter().flat_map(|from| from.try_iter()).flatten().collect();
                panic!("no output within {patience:?}: {}\n{}", self.line, String::from_utf8_lossy(&said))
            }
        }
    }

    /// The next bytes of standard output, if any come in that time.
    pub(crate) fn next_output(&self, patience: Duration) -> Option<Vec<u8>> {
        self.stdout.as_ref().expect("collected output").recv_timeout(patience).ok()
    }

    /// The next bytes of standard error, if any come in that time.
    pub(crate) fn next_error(&self, patience: Duration) -> Option<Vec<u8>> {
        self.stderr.as_ref().expect("collected output").recv_timeout(patience).ok()
    }

    /// Waits for the end without looking at output.
    pub(crate) fn reap(mut self) -> ExitStatus {
        self.wait(PATIENCE)
    }

    fn wait(&mut self, patience: Duration) -> ExitStatus {
        let end = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                return status;
            }
            if Instant::now() > end {
                let _ = self.child.kill();
                let _ = self.child.wait();
                let drain = |from: &Option<Receiver<Vec<u8>>>| {
                    let bytes: Vec<u8> = from.iter().flat_map(|from| from.try_iter()).flatten().collect();
                    String::from_utf8_lossy(&bytes).into_owned()
                };
                panic!(
                    "still running after {patience:?}: {}\nstdout: {}\nstderr: {}",
                    self.line,
                    drain(&self.stdout),
                    drain(&self.stderr)
                );
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the end and gathers what was said.
    #[track_caller]
    pub(crate) fn finish(mut self, patience: Duration) -> Ran {
        let status = self.wait(patience);
        let took = self.begun.elapsed();
        let end = Instant::now() + LEFTOVER;
        let gather = |from: Option<Receiver<Vec<u8>>>, name: &str| {
            let mut all = Vec::new();
            let Some(from) = from else { return all };
            loop {
                match from.recv_timeout(end.saturating_duration_since(Instant::now())) {
                    Ok(bytes) => all.extend(bytes),
                    Err(mpsc::RecvTimeoutError::Disconnected) => return all,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        panic!("{name} is still held open by somebody after the end of {}", self.line)
                    }
                }
            }
        };
        let stdout = gather(self.stdout.take(), "stdout");
        let stderr = gather(self.stderr.take(), "stderr");
        Ran { line: std::mem::take(&mut self.line), status, stdout, stderr, took }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
