//! The files around a manager, and who calls.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use stockade::{Builder, Manager, PermissionRequest, Runtime, ToolInput, ToolResult};
use tempfile::TempDir;

/// Nobody's number: no account is needed to be an ordinary user.
const USER: u32 = 61_234;
/// Tells a copy of this program that it is the ordinary user.
const ALREADY: &str = "STOCKADE_TEST_ORDINARY";

const A_MOMENT: Duration = Duration::from_millis(5);

/// Runs a test's body, and where this is root also in a copy of this program that is an ordinary user.
pub(crate) fn each_caller<F: AsyncFn(World)>(body: F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(body(World::new()));
    drop(runtime);
    let name = std::any::type_name_of_val(&body).trim_end_matches("::{{closure}}").to_owned();
    let name = name.split_once("::").unwrap().1.to_owned();
    if !is_root() || std::env::var_os(ALREADY).is_some() {
        return;
    }
    let place = tempfile::Builder::new().prefix("stockade-manager-bin-").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = place.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let mut command = Command::new(&copy);
    command.args(["--exact", &name, "--nocapture"]).env(ALREADY, "1").current_dir("/").gid(USER).uid(USER);
    let done = loop {
        match command.output() {
            // Another test's child may hold the descriptor the copy was written through, until it is executed.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::sleep(A_MOMENT),
            done => break done.unwrap(),
        }
    };
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.contains("1 passed"),
        "as an ordinary user: {said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

pub(crate) fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line == "Uid:\t0\t0\t0\t0")
}

/// A home, a workspace and a place outside. Not in /tmp, of which a sandbox has its own.
pub(crate) struct World {
    base: TempDir,
}

impl World {
    fn new() -> Self {
        let base = tempfile::Builder::new().prefix("stockade-manager-").tempdir_in("/var/tmp").unwrap();
        for dir in ["home/work", "outside"] {
            fs::create_dir_all(base.path().join(dir)).unwrap();
        }
        Self { base }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.at("outside").join(name)
    }

    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.outside(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The user's settings.
    pub(crate) fn user_settings(&self) -> PathBuf {
        self.at("home/.config/stockade/settings.json")
    }

    pub(crate) fn write_settings(&self, text: &str) {
        let path = self.user_settings();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn builder(&self) -> Builder {
        let pair = |name: &str, value: &Path| (OsString::from(name), value.as_os_str().to_owned());
        let environment =
            [pair("HOME", &self.at("home")), pair("PATH", Path::new("/usr/local/bin:/usr/bin:/bin"))];
        Runtime::builder().cwd(self.at("home/work")).environment(environment)
    }

    pub(crate) fn manager(&self) -> Manager {
        Manager::new(self.builder())
    }
}

/// Runs text and gives its result.
pub(crate) async fn run(manager: &Manager, text: impl Into<String>) -> ToolResult {
    manager.execute(ToolInput::new(text)).await.unwrap()
}

/// Runs text that works.
#[track_caller]
pub(crate) fn works(result: &ToolResult) -> &str {
    assert_eq!(result.exit_code, 0, "{result:?}");
    &result.stdout
}

/// The request of a result that was blocked.
#[track_caller]
pub(crate) fn asked(result: &ToolResult) -> PermissionRequest {
    assert!(result.blocked && result.exit_code != 0, "{result:?}");
    result.permission_request.clone().unwrap_or_else(|| panic!("{result:?}"))
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The processes of this machine with these words as their arguments.
pub(crate) fn processes(words: &str) -> Vec<u32> {
    let wanted = words.replace(' ', "\0");
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |number: &u32| {
        fs::read(format!("/proc/{number}/cmdline"))
            .is_ok_and(|line| line.strip_suffix(b"\0") == Some(wanted.as_bytes()))
    };
    numbers.filter(has).collect()
}
