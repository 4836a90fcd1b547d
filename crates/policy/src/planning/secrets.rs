//! Stand-ins for files with secrets.

use super::mounts::Layout;
use crate::policy::Policy;
use crate::{CredentialSource, Mount, MountKind};

/// Lays a stand-in over every masked file that can be seen.
///
/// Whoever knows the secret writes a better one into the mount before the start, with the file's own shape.
/// Until then, and should nobody do so, the secret is hidden all the same.
pub(super) fn lay(policy: &Policy, layout: &mut Layout) {
    for secret in &policy.network.credentials {
        let CredentialSource::File(path) = &secret.source else { continue };
        if !layout.shows(path) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = MountKind::Content { data: format!("fake_value_{name}\n").into_bytes(), mode: 0o400 };
        layout.cover(Mount { path: path.clone(), kind, rule: Some(secret.rule.clone()) });
    }
}
