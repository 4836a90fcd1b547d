//! Commands that somebody wants to be asked about. As with rules that deny, matching text is a convenience: what
//! no rule knows runs behind walls, never without.

use crate::command::{DenyRule, Inspector, Reading, Seen};
use crate::policy::Policy;
use crate::{Approval, Consent, Decision, PartDecision, Request, Verdict};

impl Policy {
    /// The answer where a rule wants to be asked about a command and nobody was.
    pub(crate) fn asks_first(&self, request: &Request, reading: &Reading<'_>) -> Option<Decision> {
        let seen = self.asked_about(request, reading);
        let first = seen.iter().find_map(|seen| seen.refused)?;
        const WANTED: &str = "a rule wants a person to be asked first";
        let part = |text: &str, rule: Option<&DenyRule>| PartDecision {
            text: crate::decide::shown(text),
            verdict: if rule.is_some() { Verdict::Ask } else { Verdict::Sandbox },
            reason: if rule.is_some() { WANTED } else { "no rule wants to be asked about it" }.to_owned(),
            rule: rule.map(|rule| rule.rule.clone()),
        };
        Some(Decision {
            verdict: Verdict::Ask,
            approval: Approval::Needed,
            reason: WANTED.to_owned(),
            rule: Some(first.rule.clone()),
            parts: reading.parts.iter().zip(&seen).map(|(one, seen)| part(&one.text, seen.refused)).collect(),
            openings: Vec::new(),
            directory: None,
        })
    }

    /// Why somebody may have to be asked before a command runs without walls.
    pub(crate) fn may_ask(&self, request: &Request, reading: Option<&Reading<'_>>) -> Option<String> {
        if request.consent == Consent::Given {
            return None;
        }
        if let Some(rule) = &self.commands.ask_about_all {
            return Some(format!("{rule} wants to be asked about every command without walls"));
        }
        let reading = reading.filter(|_| !self.commands.ask.is_empty())?;
        let hidden = self.asked_about(request, reading).iter().any(|seen| seen.hidden);
        (hidden || reading.doubt.is_some())
            .then(|| "whether a rule wants to be asked about it cannot be told".to_owned())
    }

    fn asked_about(&self, request: &Request, reading: &Reading<'_>) -> Vec<Seen<'_>> {
        if self.commands.ask.is_empty() || request.consent == Consent::Given {
            return Vec::new();
        }
        let mut inspector = Inspector::new(&self.commands.ask);
        reading.parts.iter().map(|part| inspector.part(part)).collect()
    }
}
