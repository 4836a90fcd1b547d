//! What a run's network needs before the sandbox is built: certificates and stand-ins, as part of its plan.

use super::NetworkError;
use crate::credentials::{self, Masked};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use stockade_net::{Reserved, Termination, Vault};
use stockade_policy::{CredentialSource, Mount, MountKind, Plan, Variable};

/// Who may read a file that is laid into a sandbox: everybody there.
const READABLE: u32 = 0o644;
/// Nobody there has the power to read it all the same.
const UNREADABLE: u32 = 0;

/// What the engine builds, and what the gateway has to know besides.
#[derive(Debug)]
pub(crate) struct Equipment {
    /// The plan with certificates and stand-ins in it.
    pub(crate) plan: Arc<Plan>,
    pub(crate) termination: Option<Arc<Termination>>,
    pub(crate) vault: Option<Arc<Vault>>,
    /// The ports of the host that the sandbox's are published on.
    pub(crate) reserved: Reserved,
    /// What the person should know.
    pub(crate) warnings: Vec<String>,
}

/// Makes ready what the plan's network needs.
pub(crate) fn equip(
    plan: Arc<Plan>,
    environment: &[(OsString, OsString)],
) -> Result<Equipment, NetworkError> {
    let Some(gateway) = plan.network.gateway() else {
        let (reserved, warnings) = (Reserved::default(), Vec::new());
        return Ok(Equipment { plan, termination: None, vault: None, reserved, warnings });
    };
    let reserved = Reserved::take(&gateway.publish)?;
    let termination = gateway.tls.as_ref().map(|tls| Termination::new(tls).map(Arc::new)).transpose()?;
    let Masked { vault, variables, contents, withheld, warnings } = credentials::prepare(&plan, environment)?;
    let bundle = gateway.tls.as_ref().map(|tls| tls.bundle.clone());
    let mut equipped = Arc::clone(&plan);
    let bundle = bundle.zip(termination.as_ref()).map(|(path, made)| (path, made.bundle().to_vec()));
    let readable = bundle.into_iter().chain(contents).map(|(path, data)| (path, data, READABLE));
    let mut laid: Vec<(PathBuf, Vec<u8>, u32)> = readable.collect();
    let mut unset = Vec::new();
    for source in withheld {
        match source {
            CredentialSource::Variable(name) => unset.push(OsString::from(name)),
            CredentialSource::File(path) => laid.push((path, Vec::new(), UNREADABLE)),
        }
    }
    if !laid.is_empty() || !variables.is_empty() || !unset.is_empty() {
        let plan = Arc::make_mut(&mut equipped);
        plan.environment.retain(|variable| !unset.contains(&variable.name));
        for (name, value) in variables {
            plan.environment.retain(|variable| variable.name != name);
            plan.environment.push(Variable { name, value });
        }
        for (path, data, mode) in laid {
            let kind = MountKind::Content { data, mode };
            let is_it =
                |mount: &&mut Mount| mount.path == path && matches!(mount.kind, MountKind::Content { .. });
            match plan.mounts.iter_mut().find(is_it) {
                Some(mount) => mount.kind = kind,
                None => plan.mounts.push(Mount { path, kind, rule: None }),
            }
        }
    }
    Ok(Equipment { plan: equipped, termination, vault, reserved, warnings })
}
