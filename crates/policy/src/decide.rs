//! Whether a request may run, and behind which walls.

use crate::command::{self, Bench, DenyRule, Ground, Inspector, Opinions, Reading, Seen};
use crate::policy::Policy;
use crate::{
    Approval, BareWish, CommandLine, Decision, Files, PartDecision, Request, RuleRef, Verdict, Walls,
};

/// How far a text is taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// As far as the rules need.
    Needed,
    /// To the end.
    Parts,
}

impl Policy {
    /// What the policy says to a request. Programs are looked up where the answer depends on where they lie.
    pub fn decide(&self, request: &Request, files: &dyn Files) -> Decision {
        self.judge(request, files, Detail::Needed)
    }

    /// The same, and the text is always taken apart, also where no rule needs that.
    pub fn decide_in_parts(&self, request: &Request, files: &dyn Files) -> Decision {
        self.judge(request, files, Detail::Parts)
    }

    fn judge(&self, request: &Request, files: &dyn Files, detail: Detail) -> Decision {
        if is_empty(&request.command) {
            return answer(Verdict::Refuse, "there is no command to run", None);
        }
        let looked = detail == Detail::Parts || self.commands.look_at_text();
        let opinions = if detail == Detail::Parts { Opinions::Two } else { Opinions::One };
        let reading = looked.then(|| command::read(&request.command, opinions));
        let seen = reading.as_ref().map(|reading| self.inspect(reading)).unwrap_or_default();
        if let Some(reading) = &reading
            && let Some(refusal) = denied(reading, &seen)
        {
            return refusal;
        }
        if let Some(decision) = reading.as_ref().and_then(|reading| self.asks_first(request, reading)) {
            return decision;
        }
        let decision = self.judge_walls(request, files, reading.as_ref(), &seen);
        if decision.verdict != Verdict::Unsandboxed {
            return decision;
        }
        let Some(doubt) = self.may_ask(request, reading.as_ref()) else { return decision };
        let reason = format!("{}, but {doubt}", decision.reason);
        let listed = self.without_walls(request).is_none();
        if listed && self.commands.ask_about_all.is_none() {
            let walled = self.behind_walls(&format!("commands run behind walls; {reason}"), decision.rule);
            let parts = decision.parts.into_iter().map(|part| PartDecision {
                verdict: Verdict::Sandbox,
                reason: format!("{}, but {doubt}", part.reason),
                ..part
            });
            return Decision { parts: parts.collect(), ..walled };
        }
        Decision { verdict: Verdict::Ask, reason, openings: Vec::new(), directory: None, ..decision }
    }

    /// Which walls a command gets that no rule is against.
    fn judge_walls(
        &self,
        request: &Request,
        files: &dyn Files,
        reading: Option<&Reading<'_>>,
        seen: &[Seen<'_>],
    ) -> Decision {
        let bare = self.without_walls(request).map(|decision| self.on_firm_ground(decision, request, files));
        let mut decision = match bare {
            Some(decision) => match reading.and_then(|reading| self.unreadable(reading, seen)) {
                Some(doubt) if decision.verdict == Verdict::Unsandboxed => Decision {
                    verdict: Verdict::Ask,
                    reason: format!(
                        "{}, but whether a rule denies it cannot be told: {doubt}",
                        decision.reason
                    ),
                    ..decision
                },
                _ => decision,
            },
            None => match reading {
                Some(reading) => {
                    let decision = self.excluded(request, reading, seen, files);
                    // The walls come down only when a second reader sees the same.
                    if decision.verdict != Verdict::Unsandboxed {
                        return decision;
                    }
                    let both = command::read(&request.command, Opinions::Two);
                    return self.excluded(request, &both, &self.inspect(&both), files);
                }
                None => self.behind_walls("commands run behind walls", None),
            },
        };
        let alike = |text: &str| PartDecision {
            text: shown(text),
            verdict: decision.verdict,
            reason: decision.reason.clone(),
            rule: decision.rule.clone(),
        };
        let parts = reading.iter().flat_map(|reading| &reading.parts).map(|part| alike(&part.text)).collect();
        decision.parts = parts;
        decision
    }

    /// The answer where no command of this kind is put behind walls.
    pub(crate) fn without_walls(&self, request: &Request) -> Option<Decision> {
        let bare = |reason: &str, rule: &RuleRef| answer(Verdict::Unsandboxed, reason, Some(rule.clone()));
        if let Some(rule) = &self.bare {
            return Some(bare("the settings switch the walls off", rule));
        }
        if let Some(rule) = &self.commands.elsewhere {
            return Some(bare("the settings want walls on other systems only", rule));
        }
        if let (Walls::Unavailable { reason }, Some(rule)) = (&request.walls, &self.commands.fallback) {
            let reason =
                format!("walls cannot be built here ({reason}) and the settings let commands run without");
            return Some(bare(&reason, rule));
        }
        if let Walls::Unavailable { reason } = &request.walls {
            return Some(answer(Verdict::Refuse, &format!("walls cannot be built here: {reason}"), None));
        }
        match (request.bare, &self.bare_wishes) {
            (BareWish::Sandboxed, _) => None,
            (BareWish::Bare, Some(rule)) => {
                Some(bare("the caller asked for no walls and the settings allow it", rule))
            }
            (BareWish::Bare, None) => Some(answer(
                Verdict::Refuse,
                "the caller asked for no walls, which needs \"allowUnsandboxedCommands\": true in the user's settings",
                None,
            )),
        }
    }

    /// The same answer, unless commands behind walls chose a directory that nothing may run in without. There are
    /// no walls to keep: it is refused.
    fn on_firm_ground(&self, decision: Decision, request: &Request, files: &dyn Files) -> Decision {
        if decision.verdict != Verdict::Unsandboxed {
            return decision;
        }
        match (Ground { policy: self, files }).chosen(request) {
            Ok(directory) => Decision { directory, ..decision },
            Err(objection) => {
                answer(Verdict::Refuse, &format!("{}, but {objection}", decision.reason), decision.rule)
            }
        }
    }

    /// What rules that deny say to each part; nothing where there are none.
    fn inspect(&self, reading: &Reading<'_>) -> Vec<Seen<'_>> {
        if self.commands.deny.is_empty() {
            return Vec::new();
        }
        let mut inspector = Inspector::new(&self.commands.deny);
        reading.parts.iter().map(|part| inspector.part(part)).collect()
    }

    /// Why rules that deny may have missed something, if there are any.
    fn unreadable(&self, reading: &Reading<'_>, seen: &[Seen<'_>]) -> Option<String> {
        if self.commands.deny.is_empty() {
            return None;
        }
        let hidden =
            || seen.iter().any(|seen| seen.hidden).then(|| "something in it is not known".to_owned());
        reading.doubt.map(|doubt| doubt.to_string()).or_else(hidden)
    }

    /// Without walls if every part is listed and all is certain; behind walls otherwise.
    fn excluded(
        &self,
        request: &Request,
        reading: &Reading<'_>,
        seen: &[Seen<'_>],
        files: &dyn Files,
    ) -> Decision {
        if self.commands.excluded.is_empty() {
            let mut decision = self.behind_walls("commands run behind walls", None);
            decision.parts =
                reading.parts.iter().map(|part| kept(&part.text, &decision.reason, None)).collect();
            return decision;
        }
        let bench = Bench::new(self, request, files, &reading.parts);
        let parts: Vec<PartDecision> = reading
            .parts
            .iter()
            .enumerate()
            .map(|(at, part)| match (bench.excluded(part), reading.doubt) {
                // What a rule would deny if it were known needs walls.
                (Ok(excluded), None) if seen.get(at).is_some_and(|seen| seen.hidden) => kept(
                    &part.text,
                    "excludedCommands lists it, but whether a rule denies it cannot be told",
                    Some(&excluded.rule),
                ),
                (Ok(excluded), None) => PartDecision {
                    text: shown(&part.text),
                    verdict: Verdict::Unsandboxed,
                    reason: "excludedCommands lists it".to_owned(),
                    rule: Some(excluded.rule.clone()),
                },
                (Ok(excluded), Some(doubt)) => {
                    kept(&part.text, &format!("excludedCommands lists it, but {doubt}"), Some(&excluded.rule))
                }
                (Err(why), _) => kept(&part.text, &why.reason, why.listed.map(|listed| &listed.rule)),
            })
            .collect();
        let mut decision =
            match (reading.doubt, parts.iter().find(|part| part.verdict != Verdict::Unsandboxed)) {
                (Some(doubt), _) => self.behind_walls(
                    &format!("commands run behind walls; excludedCommands is not asked, because {doubt}"),
                    None,
                ),
                (None, Some(part)) if parts.len() > 1 => {
                    let reason =
                        format!("commands run behind walls; of {:?}: {}", shortened(&part.text), part.reason);
                    self.behind_walls(&reason, part.rule.clone())
                }
                (None, Some(part)) => self
                    .behind_walls(&format!("commands run behind walls; {}", part.reason), part.rule.clone()),
                (None, None) => {
                    let rule = parts.first().and_then(|part| part.rule.clone());
                    let reason = match parts.len() {
                        // Only comments: there is nothing that could have been listed.
                        0 => return self.behind_walls("commands run behind walls", None),
                        1 => "excludedCommands lists it",
                        _ => "excludedCommands lists every part of it",
                    };
                    answer(Verdict::Unsandboxed, reason, rule)
                }
            };
        if decision.verdict == Verdict::Unsandboxed {
            (decision.directory, decision.openings) = bench.openings();
        }
        decision.parts = parts;
        decision
    }

    fn behind_walls(&self, reason: &str, rule: Option<RuleRef>) -> Decision {
        Decision { approval: self.commands.behind_walls, ..answer(Verdict::Sandbox, reason, rule) }
    }
}

fn is_empty(command: &CommandLine) -> bool {
    match command {
        CommandLine::Argv(words) => words.first().is_none_or(|program| program.is_empty()),
        CommandLine::Shell(text) => text.as_encoded_bytes().trim_ascii().is_empty(),
    }
}

fn answer(verdict: Verdict, reason: &str, rule: Option<RuleRef>) -> Decision {
    let approval = Approval::from(matches!(verdict, Verdict::Unsandboxed | Verdict::Ask));
    Decision {
        verdict,
        approval,
        reason: reason.to_owned(),
        rule,
        parts: Vec::new(),
        openings: Vec::new(),
        directory: None,
    }
}

fn kept(text: &str, reason: &str, rule: Option<&RuleRef>) -> PartDecision {
    PartDecision {
        text: shown(text),
        verdict: Verdict::Sandbox,
        reason: reason.to_owned(),
        rule: rule.cloned(),
    }
}

/// The refusal of the first part that a rule denies.
fn denied(reading: &Reading<'_>, seen: &[Seen<'_>]) -> Option<Decision> {
    let first = seen.iter().find_map(|seen| seen.refused)?;
    let said =
        |rule: &DenyRule| rule.reason.clone().unwrap_or_else(|| "a rule denies this command".to_owned());
    let parts = reading.parts.iter().zip(seen).map(|(part, seen)| match seen.refused {
        Some(rule) => PartDecision {
            text: shown(&part.text),
            verdict: Verdict::Refuse,
            reason: said(rule),
            rule: Some(rule.rule.clone()),
        },
        None => kept(&part.text, "no rule denies it", None),
    });
    let mut decision = answer(Verdict::Refuse, &said(first), Some(first.rule.clone()));
    decision.parts = parts.collect();
    Some(decision)
}

/// As much of a part as people want to see. Parts hold each other, so that all of them would be far longer
/// than the text.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST);
    format!("{}…", &text[..end])
}

fn shortened(text: &str) -> &str {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
