//! What the doctor found, for people and for programs.

use crate::witness::{Act, Testimony};
use serde::Serialize;
use std::fmt;
use stockade::{LayerState, ProbeResult, WallLayer};

#[derive(Debug, Serialize)]
pub(super) struct Findings {
    /// Every wall that was tried held.
    pub(super) holds: bool,
    /// What the kernel offers.
    pub(super) layers: Vec<LayerFinding>,
    /// What was tried.
    pub(super) acts: Vec<Finding>,
    /// Why nothing could be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct LayerFinding {
    pub(super) layer: WallLayer,
    #[serde(flatten)]
    pub(super) state: LayerState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl From<ProbeResult> for LayerFinding {
    fn from(probed: ProbeResult) -> Self {
        Self { layer: probed.layer, state: probed.state, hint: probed.hint }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) act: &'static str,
    pub(super) what: &'static str,
    pub(super) layer: WallLayer,
    pub(super) held: bool,
    /// How it was refused, or what went wrong.
    pub(super) detail: String,
}

impl Finding {
    pub(super) fn new(act: Act, testimony: Testimony) -> Self {
        let held = testimony.holds();
        let detail = match (held, testimony.control.is_empty()) {
            (true, _) => testimony.forbidden,
            (false, true) => "the act succeeded".into(),
            (false, false) => format!("its harmless counterpart failed: {}", testimony.control),
        };
        Self { act: act.name(), what: act.what(), layer: act.layer(), held, detail }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "What the kernel offers")?;
        for finding in &self.layers {
            let layer = finding.layer.to_string();
            match &finding.state {
                LayerState::Enforced { detail } => {
                    writeln!(out, "{}", format!("  {layer:18} yes      {detail}").trim_end())?
                }
                LayerState::NotNeeded => writeln!(out, "  {layer:18} not needed")?,
                LayerState::Missing { reason } => writeln!(out, "  {layer:18} MISSING  {reason}")?,
            }
            if let Some(hint) = &finding.hint {
                writeln!(out, "    hint: {hint}")?;
            }
        }
        if self.acts.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nWhat was tried in a sandbox")?;
        for finding in &self.acts {
            let held = if finding.held { "held" } else { "NOT HELD" };
            let (layer, what) = (finding.layer.to_string(), finding.what);
            writeln!(out, "  {layer:18} {what:42} {held:9} {}", finding.detail)?;
        }
        let held = self.acts.iter().filter(|finding| finding.held).count();
        match self.acts.len() - held {
            0 => writeln!(out, "\nAll {held} hold."),
            failed => writeln!(out, "\n{failed} of {} DO NOT HOLD.", self.acts.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testimony(control: &str, forbidden: &str) -> Testimony {
        Testimony { control: control.into(), forbidden: forbidden.into() }
    }

    #[test]
    fn findings_say_what_did_not_hold() {
        let acts = vec![
            Finding::new(Act::Bpf, testimony("", "Operation not permitted")),
            Finding::new(Act::Vsock, testimony("", "")),
            Finding::new(Act::Packet, testimony("no sockets", "Operation not permitted")),
        ];
        assert_eq!(acts.iter().map(|act| act.held).collect::<Vec<_>>(), [true, false, false]);
        let text = Findings { holds: false, layers: Vec::new(), acts, error: None }.to_string();
        assert!(text.contains("load bpf"), "{text}");
        assert!(text.contains("NOT HELD  the act succeeded"), "{text}");
        assert!(text.contains("its harmless counterpart failed: no sockets"), "{text}");
        assert!(text.ends_with("2 of 3 DO NOT HOLD.\n"), "{text}");
    }
}
