//! `--control-fd`: settings that arrive while the command runs.

use crate::voice::Voice;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use stockade::{
    Directories, FileKind, Files, Flags, Identity, Inlet, Inputs, Layer, Policy, Presence, RealFiles,
    SettingsFile, Shape,
};

/// Nobody writes settings this long; whoever does is stopped before the memory is gone.
const LONGEST_LINE: usize = 1 << 20;

/// Reads lines until the other side closes.
pub(super) async fn follow(number: i32, descriptor: OwnedFd, voice: Voice) {
    let mut inlet = match Inlet::new(descriptor) {
        Ok(inlet) => inlet,
        Err(error) => return voice.error(format!("control fd {number} is not usable: {error}")),
    };
    let mut line = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = inlet.read(&mut buffer).await {
        for byte in &buffer[..count] {
            match byte {
                b'\n' => judge(number, &std::mem::take(&mut line), voice),
                byte => line.push(*byte),
            }
        }
        if line.len() > LONGEST_LINE {
            return invalid(number, "a line is longer than 1 MiB; no more are read", voice);
        }
    }
    judge(number, &line, voice);
}

fn judge(number: i32, line: &[u8], voice: Voice) {
    if line.trim_ascii().is_empty() {
        return;
    }
    match check(number, line) {
        Ok(()) => voice.detail(format!(
            "control fd {number}: the settings are valid; without the gateway layer all network stays refused"
        )),
        Err(error) => invalid(number, &error, voice),
    }
}

fn invalid(number: i32, why: &str, voice: Voice) {
    voice.error(format!("Invalid config on control fd {number}: {why}"));
}

/// Whether the line is a valid settings file of srt's.
fn check(number: i32, line: &[u8]) -> Result<(), String> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let home = stockade::home(&environment);
    let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
    let own = Directories::new(&environment, home.as_deref()).own_paths(&cwd);
    let path = PathBuf::from(format!("/dev/fd/{number}"));
    let lines = Line { path: path.clone(), text: line.to_vec() };
    let file = SettingsFile { path, layer: Layer::Flag, shape: Shape::Srt, presence: Presence::Named };
    let inputs =
        Inputs { cwd, home, environment, own, preset: None, settings: vec![file], flags: Flags::default() };
    Policy::load(inputs, &lines).map(drop).map_err(|errors| errors.to_string())
}

/// The machine's files, with one line in the place of a settings file.
struct Line {
    path: PathBuf,
    text: Vec<u8>,
}

impl Files for Line {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == self.path { Ok(self.text.clone()) } else { RealFiles.read(path) }
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        RealFiles.look(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        RealFiles.resolve(path)
    }

    fn follow(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        RealFiles.list(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_held_to_the_settings_shape() {
        let good = br#"{"network":{"allowedDomains":["a.test"],"deniedDomains":[]},
            "filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]}}"#;
        assert_eq!(check(3, good), Ok(()));
        assert!(check(3, b"{").is_err());
        let error = check(3, br#"{"network":{"allowedDomains":"a"}}"#).unwrap_err();
        assert!(error.contains("network.allowedDomains"), "{error}");
    }
}
