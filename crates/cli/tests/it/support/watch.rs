//! Looking at the machine from outside.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Waits until something holds; fails with its last word otherwise.
#[track_caller]
pub(crate) fn eventually(patience: Duration, mut holds: impl FnMut() -> Result<(), String>) {
    let end = Instant::now() + patience;
    loop {
        match holds() {
            Ok(()) => return,
            Err(why) => assert!(Instant::now() < end, "not within {patience:?}: {why}"),
        }
        sleep(Duration::from_millis(5));
    }
}

/// Living processes that have anything to do with a directory: program, arguments, working directory.
pub(crate) fn processes_of(place: &Path) -> Vec<(u32, String)> {
    let needle = place.as_os_str().as_bytes();
    let own = std::process::id();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if pid == own {
            continue;
        }
        let dir = entry.path();
        let link = |name: &str| {
            fs::read_link(dir.join(name))
                .map(|to| to.into_os_string().into_encoded_bytes())
                .unwrap_or_default()
        };
        let line = fs::read(dir.join("cmdline")).unwrap_or_default();
        let all = [line.clone(), link("exe"), link("cwd")];
        if !has_ended(pid) && all.iter().any(|text| contains(text, needle)) {
            found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}

/// Whether a process is gone, or waits only for somebody to take note: not every first process of a container
/// does.
pub(crate) fn has_ended(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(state) => state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(_) => true,
    }
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|part| part == needle)
}

/// Mounts of the host that mention a text.
pub(crate) fn mounts_of(text: &str) -> Vec<String> {
    let all = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    all.lines().filter(|line| line.contains(text)).map(ToString::to_string).collect()
}
