//! New lists of hosts for a policy that is in use.

use super::layer::Voice;
use super::protection::Switches;
use super::{Draft, Parsed};
use crate::inputs::Shape;
use crate::policy::{Manner, Policy};
use crate::settings::SettingsErrors;
use crate::{Layer, SettingsFile};

/// The policy with the hosts of this text in the place of those that settings and options named.
///
/// What presets, projects, the organisation and grants say stays. Everything about files, and how the gateway
/// does its work, was settled at the start and is not heard here.
pub(crate) fn revise(policy: &Policy, text: &str) -> Result<Policy, SettingsErrors> {
    const SOURCE: &str = "control descriptor";
    let shape = match policy.manner {
        Manner::Native => Shape::Native,
        Manner::Srt => Shape::Srt,
    };
    let file = SettingsFile::named(SOURCE, Layer::Flag).in_shape(shape);
    let parsed = super::parse(&file, text.as_bytes()).map_err(SettingsErrors)?;
    let mut draft = Draft::resume(policy.clone());
    let source = draft.policy.book.source(Layer::Flag, SOURCE);
    let voice = Voice::new(source, Layer::Flag);
    let stays = |layer: Layer| !matches!(layer, Layer::User | Layer::Flag);
    draft.policy.network.allowed.retain(|rule| stays(rule.rule.origin.layer));
    draft.policy.network.denied.retain(|rule| stays(rule.rule.origin.layer));
    if draft.policy.manner == Manner::Srt {
        // Every one of these came from the text that is replaced.
        draft.policy.network.denied_addresses.clear();
    }
    let network = match parsed {
        Parsed::Native(settings) => settings.network,
        Parsed::Srt(settings, _) => {
            draft.require_srt_parts(&settings, voice);
            settings.network.unwrap_or_default()
        }
        // Texts of other shapes are not asked for above.
        Parsed::Claude(..) | Parsed::Simple(_) => Default::default(),
    };
    draft.add_domains(&network, voice);
    draft.add_denied_addresses(&network, voice);
    if let Some(strict) = network.strict_allowlist {
        draft.set_strict(strict, voice);
    }
    if draft.errors.is_empty() { Ok(draft.policy) } else { Err(SettingsErrors(draft.errors)) }
}

impl Draft {
    /// A draft that starts from a finished policy.
    fn resume(policy: Policy) -> Self {
        Self {
            home_as_given: policy.home.clone(),
            policy,
            errors: Vec::new(),
            protection: Switches::default(),
            variables: Vec::new(),
            warned_about_workspace: false,
            bare_by_preset: None,
            bare_by_setting: None,
            tight_requests: 0,
            managed_domains_only: None,
            credentials: Vec::new(),
        }
    }
}
