//! Real servers over there.

use super::authority::authority;
use super::land::SERVANT;
use super::sys;
use crate::support::kill;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to begin on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const SECURE: &str = include_str!("secure.js");

/// A server that ends, and has ended, when this is dropped.
pub(super) struct Server {
    child: Child,
    signal: i32,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill(self.child.id(), self.signal);
        let _ = self.child.wait();
    }
}

/// A program that ends with the thread that called this. Every function here is to be called over there.
fn start(command: &mut Command, signal: i32) -> Child {
    sys::ends_with_us(command, signal);
    let shown = format!("{command:?}");
    command.stdin(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{shown}: {error}"))
}

/// Starts a server and waits until it listens.
fn serve(command: &mut Command, signal: i32, port: u16, log: &Path) -> Server {
    let file = fs::File::create(log).expect("a log");
    command.stdout(file.try_clone().expect("dup")).stderr(file);
    let mut child = start(command, signal);
    let address = SocketAddr::from(([203, 0, 113, 10], port));
    let end = Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_err() {
        let over = child.try_wait().expect("wait");
        let said = || fs::read_to_string(log).unwrap_or_default();
        assert!(over.is_none(), "the server on port {port} ended: {}", said());
        assert!(Instant::now() < end, "nobody listens on port {port}: {}", said());
        thread::sleep(Duration::from_millis(20));
    }
    Server { child, signal }
}

/// HTTP/1 and HTTP/2 over TLS on port 443, with git repositories below `/git/`.
pub(super) fn secure(files: &Path) -> Server {
    let authority = authority();
    fs::write(files.join("certificate.pem"), &authority.certificate).expect("write");
    fs::write(files.join("key.pem"), &authority.key).expect("write");
    fs::write(files.join("secure.js"), SECURE).expect("write");
    let mut command = Command::new("node");
    command.arg(files.join("secure.js")).arg(files).arg(files.join("repositories")).stdout(Stdio::piped());
    let mut child = start(&mut command, libc::SIGKILL);
    let mut first = String::new();
    let mut said = BufReader::new(child.stdout.take().expect("piped"));
    said.read_line(&mut first).expect("a line");
    assert_eq!(first, "ready\n", "node ended: {:?}", child.wait());
    Server { child, signal: libc::SIGKILL }
}

/// Requests that the TLS server saw, after the first `skip` bytes of its log. Each is there before its answer.
pub(super) fn secured(files: &Path, skip: usize) -> Vec<Value> {
    let text = fs::read_to_string(files.join("secure.log")).unwrap_or_default();
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text[skip..].lines().map(line).collect()
}

/// How long that log is now.
pub(super) fn secured_so_far(files: &Path) -> usize {
    fs::metadata(files.join("secure.log")).map_or(0, |data| data.len() as usize)
}

/// A repository with one commit, below the directory both git servers serve.
pub(super) fn repository(files: &Path) {
    let bare = files.join("repositories/project.git");
    let work = files.join("origin");
    let git = |dir: &Path, words: &[&str]| {
        let output = Command::new("git")
            .current_dir(dir)
            .args(["-c", "user.name=A", "-c", "user.email=a@allow.test", "-c", "init.defaultBranch=main"])
            .args(words)
            .env("HOME", files)
            .output()
            .expect("git");
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    fs::create_dir_all(&work).expect("mkdir");
    git(&work, &["init", "-q"]);
    fs::write(work.join("README"), "content of the repository\n").expect("write");
    git(&work, &["add", "README"]);
    git(&work, &["commit", "-q", "-m", "first"]);
    git(files, &["clone", "-q", "--bare", work.to_str().expect("text"), bare.to_str().expect("text")]);
    git(&bare, &["config", "http.receivepack", "true"]);
    give(&files.join("repositories"));
}

fn give(path: &Path) {
    chown(path, Some(SERVANT), Some(SERVANT)).expect("chown");
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("list").flatten() {
            give(&entry.path());
        }
    }
}

/// What a client of the ssh server needs.
pub(crate) struct SshKeys {
    /// The client's private key.
    pub(crate) key: String,
    /// A line for known_hosts.
    pub(crate) known: String,
}

/// An ssh server on port 22 for the account `servant`.
pub(super) fn ssh(files: &Path) -> (SshKeys, Server) {
    let (host, client) = (files.join("host_key"), files.join("client_key"));
    for key in [&host, &client] {
        let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).status();
        assert!(made.expect("ssh-keygen").success());
    }
    let public = |key: &Path| fs::read_to_string(key.with_extension("pub")).expect("a public key");
    let allowed = files.join("authorized");
    fs::write(&allowed, public(&client)).expect("write");
    let settings = files.join("sshd_config");
    let text = format!(
        "Port 22\nHostKey {}\nAuthorizedKeysFile {}\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n\
         PidFile none\nPrintMotd no\n",
        host.display(),
        allowed.display()
    );
    fs::write(&settings, text).expect("write");
    let log = files.join("sshd.log");
    let mut command = Command::new("/usr/sbin/sshd");
    command.args(["-D", "-e", "-f"]).arg(&settings);
    let server = serve(&mut command, libc::SIGKILL, 22, &log);
    let key = fs::read_to_string(&client).expect("a key");
    (SshKeys { key, known: format!("git.test {}", public(&host)) }, server)
}

/// Redis on port 6379.
pub(super) fn redis(files: &Path) -> Server {
    let log = files.join("redis.log");
    let mut command = Command::new("redis-server");
    command.args(["--port", "6379", "--bind", "*", "-::*", "--save", "", "--protected-mode", "no"]);
    serve(command.current_dir(files), libc::SIGKILL, 6379, &log)
}

/// PostgreSQL on port 5432: user `postgres`, no password.
pub(super) fn postgres(files: &Path) -> Server {
    let (place, log) = (files.join("postgres"), files.join("postgres.log"));
    fs::create_dir(&place).expect("mkdir");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).expect("chmod");
    give(&place);
    let programs = postgres_programs();
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args(["--no-sync", "-A", "trust", "-U", "postgres", "-D"]).arg(&place).current_dir("/");
    let made = initdb.uid(SERVANT).gid(SERVANT).env("LC_ALL", "C").output().expect("initdb");
    assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
    let everyone = "host all all 0.0.0.0/0 trust\nhost all all ::/0 trust\n";
    fs::write(place.join("pg_hba.conf"), everyone).expect("write");
    let mut command = Command::new(programs.join("postgres"));
    command.arg("-D").arg(&place).args(["-h", "*", "-p", "5432", "-F", "-c", "unix_socket_directories="]);
    // This signal makes it end at once and clean up behind itself.
    serve(command.uid(SERVANT).gid(SERVANT).current_dir("/"), libc::SIGQUIT, 5432, &log)
}

/// Debian keeps the server's programs below its version.
fn postgres_programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.sort();
    found.pop().expect("postgresql is installed")
}
