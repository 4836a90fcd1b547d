//! Settings that change while a command runs: the lists of hosts follow them.

use super::NetworkHandle;
use crate::RealFiles;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{GatewayPlan, Inputs, Policy};
use tokio::task::JoinHandle;

/// How often the files are looked at. A look is one call for each of three or four files, and needs no
/// descriptor that would have to follow every rename and link on the way to them.
const EVERY: Duration = Duration::from_secs(1);

/// What the policy was made of.
#[derive(Clone, Debug)]
pub(crate) struct Reload(pub(crate) Arc<Inputs>);

/// Follows settings files until it is dropped.
#[derive(Debug)]
pub(super) struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to follow them.
pub(super) fn begin(reload: Reload, started: GatewayPlan, handle: NetworkHandle) -> Watching {
    Watching(tokio::spawn(async move {
        let files: Vec<PathBuf> = reload.0.settings.iter().map(|file| file.path.clone()).collect();
        let mut seen = look(&files);
        loop {
            tokio::time::sleep(EVERY).await;
            let now = look(&files);
            if now == seen {
                continue;
            }
            // A file that is broken, half written or wants what cannot be had changes nothing; its next version may.
            if let Some(plan) = plan(&reload, &started) {
                let _ = handle.change(plan);
            }
            seen = now;
        }
    }))
}

/// What a file was: whatever saves it changes one of these.
type Stamp = Option<(u64, u64, i64, i64, u64)>;

fn look(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino(), found.mtime(), found.mtime_nsec(), found.size()))
    };
    files.iter().map(stamp).collect()
}

/// The plan the run was started with, with the lists of hosts that hold now. Routes, ports, limits and
/// everything else stay as they were: they are more than who may be reached.
fn plan(reload: &Reload, started: &GatewayPlan) -> Option<Arc<GatewayPlan>> {
    let now = Policy::load(Inputs::clone(&reload.0), &RealFiles).ok()?.network_plan();
    let GatewayPlan { allowed, denied, requests, .. } = now;
    Some(Arc::new(GatewayPlan { allowed, denied, requests, ..started.clone() }))
}
