//! The place where walls are tried: things a sandbox must not reach, and things it must.

use crate::witness::{Act, INPUT, SECRET, plant};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use stockade::{BuildError, Flags, Runtime, StandardSettings};

/// A descriptor number no harness uses for itself.
const DESCRIPTOR: i32 = 9;
/// The number of the descriptor that is handed in on purpose.
pub(super) const NAMED: i32 = 3;

pub(super) struct Stage {
    top: PathBuf,
    port: u16,
    descriptor: i32,
    /// Somebody has to be at home, or a refusal proves nothing.
    _listeners: (TcpListener, UnixListener),
}

/// The stage could not be set.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare {}: {source}\nhint: doctor needs a writable temporary directory (TMPDIR)", path.display())]
pub(super) struct StageError {
    path: PathBuf,
    source: io::Error,
}

impl Stage {
    pub(super) fn build() -> Result<Self, StageError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let top = std::env::temp_dir().join(format!("stockade-doctor-{}-{now:x}", std::process::id()));
        set(&top).map_err(|source| {
            let _ = fs::remove_dir_all(&top);
            StageError { path: top, source }
        })
    }

    /// A policy with the default preset, one masked file and nothing of the user's own settings.
    pub(super) fn runtime(&self) -> Result<Runtime, BuildError> {
        let outside = self.outside();
        let name = |path: PathBuf| path.to_string_lossy().into_owned();
        Runtime::builder()
            .cwd(self.top.join("workspace"))
            .environment(std::env::vars_os().chain([(SECRET.into(), "secret".into())]))
            .standard_settings(StandardSettings::ManagedOnly)
            .preset("default")
            .flags(Flags {
                deny_read: vec![name(outside.join("masked"))],
                allow_read: vec![name(outside)],
                ..Flags::default()
            })
            .build()
    }

    /// The witness's command line. It is this very program, whatever its path is inside.
    pub(super) fn words(&self, act: Act) -> Vec<OsString> {
        vec![
            "/proc/self/exe".into(),
            "__witness".into(),
            act.name().into(),
            self.outside().into(),
            self.port.to_string().into(),
            self.descriptor.to_string().into(),
            NAMED.to_string().into(),
        ]
    }

    /// One of the files outside, opened for reading.
    pub(super) fn open(&self, name: &str) -> Result<OwnedFd, StageError> {
        let path = self.outside().join(name);
        match File::open(&path) {
            Ok(file) => Ok(file.into()),
            Err(source) => Err(StageError { path, source }),
        }
    }

    fn outside(&self) -> PathBuf {
        self.top.join("outside")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

fn set(top: &Path) -> io::Result<Stage> {
    DirBuilder::new().mode(0o700).create(top)?;
    let top = fs::canonicalize(top)?;
    let outside = top.join("outside");
    fs::create_dir(top.join("workspace"))?;
    fs::create_dir(&outside)?;
    fs::write(outside.join("open"), "open\n")?;
    fs::write(outside.join("masked"), "secret\n")?;
    fs::write(outside.join("input"), INPUT)?;
    let network = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let socket = UnixListener::bind(outside.join("socket"))?;
    let held = File::open(outside.join("masked"))?;
    Ok(Stage {
        port: network.local_addr()?.port(),
        descriptor: plant(held.as_fd(), DESCRIPTOR)?,
        top,
        _listeners: (network, socket),
    })
}
