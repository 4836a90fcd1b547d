//! The programs under test, where every user can reach them.

use super::sys;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Copies of the programs in a directory that everybody may enter; the build's own directory often lies
/// below one that only its owner may.
pub(crate) struct Binaries {
    pub(crate) stockade: PathBuf,
    /// The same program under its other name.
    pub(crate) srt: PathBuf,
    pub(crate) probe: PathBuf,
}

const BASE: &str = "/var/tmp";
const PREFIX: &str = "stockade-it-bin-";

static BINARIES: OnceLock<Binaries> = OnceLock::new();

/// The programs, copied once for this process and removed when it ends.
pub(crate) fn binaries() -> &'static Binaries {
    BINARIES.get_or_init(|| {
        sweep();
        let dir = own_directory();
        fs::create_dir(&dir).expect("a directory for the programs");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("chmod");
        sys::at_exit(remove);
        let install = |from: &Path, name: &str| {
            let to = dir.join(name);
            fs::copy(from, &to).unwrap_or_else(|error| panic!("copy {}: {error}", from.display()));
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).expect("chmod");
            to
        };
        let stockade = install(Path::new(env!("CARGO_BIN_EXE_stockade")), "stockade");
        let probe = install(&built_probe(), "probe");
        let srt = dir.join("srt");
        symlink("stockade", &srt).expect("symlink");
        Binaries { stockade, srt, probe }
    })
}

fn own_directory() -> PathBuf {
    Path::new(BASE).join(format!("{PREFIX}{}", std::process::id()))
}

/// The example lies beside the directory of this test's own program.
fn built_probe() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    let profile = own.parent().and_then(Path::parent).expect("target/debug");
    let probe = profile.join("examples/probe");
    assert!(probe.exists(), "{} is missing: build it with `cargo test -p stockade-cli`", probe.display());
    probe
}

extern "C" fn remove() {
    let _ = fs::remove_dir_all(own_directory());
}

/// Removes what runs that were killed could not remove themselves.
fn sweep() {
    for entry in fs::read_dir(BASE).expect("list").flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).map(ToString::to_string);
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
