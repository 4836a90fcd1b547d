//! Refusals nobody wants to see again. They are kept and counted, and left out where refusals are shown.

use super::SubjectPattern;
use stockade_policy::{IgnoreRule, Violation, ViolationKind, ViolationRules};

/// What is hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoreList {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Rule {
        kind: Option<ViolationKind>,
        subject: SubjectPattern,
        program: Option<SubjectPattern>,
    },
    /// srt's way: both are looked for as they stand, anywhere in the text.
    Srt {
        command: Option<String>,
        subject: String,
    },
}

impl IgnoreList {
    /// From the entries of `violations.ignore`.
    pub fn new(rules: impl IntoIterator<Item = IgnoreRule>) -> Self {
        let entry = |rule: IgnoreRule| Entry::Rule {
            kind: rule.kind,
            subject: SubjectPattern::new(&rule.subject),
            program: rule.program.as_deref().map(SubjectPattern::new),
        };
        Self { entries: rules.into_iter().map(entry).collect() }
    }

    /// What the settings hide.
    pub fn of(rules: &ViolationRules) -> Self {
        let list = Self::new(rules.ignore.iter().cloned());
        rules.ignore_srt.iter().fold(list, |list, rule| list.srt(&rule.command, rule.subjects.clone()))
    }

    /// Adds an entry of srt's `ignoreViolations`: part of a command (`*` for every one), and parts of
    /// subjects.
    pub fn srt(mut self, command: &str, subjects: impl IntoIterator<Item = String>) -> Self {
        let command = (command != "*").then(|| command.to_owned());
        // Text that is part of everything would hide everything, which nobody writes on purpose.
        let subjects = subjects.into_iter().filter(|subject| !subject.is_empty());
        self.entries.extend(subjects.map(|subject| Entry::Srt { command: command.clone(), subject }));
        self
    }

    /// Whether a refusal is hidden.
    pub fn hides(&self, violation: &Violation) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Rule { kind, subject, program } => {
                kind.is_none_or(|kind| kind == violation.kind)
                    && subject.matches(&violation.subject)
                    && program.as_ref().is_none_or(|wanted| {
                        violation.program.as_deref().is_some_and(|program| wanted.matches(program))
                    })
            }
            Entry::Srt { command, subject } => {
                command.as_ref().is_none_or(|part| violation.command.contains(part))
                    && violation.subject.contains(subject)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::violation;
    use super::*;

    fn rules(text: &str) -> IgnoreList {
        IgnoreList::new(serde_json::from_str::<Vec<IgnoreRule>>(text).unwrap())
    }

    #[test]
    fn every_part_of_a_rule_must_fit() {
        let mut seen = violation("/home/a/.cache/x");
        seen.program = Some("/usr/bin/node".into());
        for (text, expected) in [
            (r#"[]"#, false),
            (r#"[{"subject":"/home/*/.cache"}]"#, true),
            (r#"[{"kind":"write","subject":".cache"}]"#, true),
            (r#"[{"kind":"read","subject":".cache"}]"#, false),
            (r#"[{"subject":".cache","program":"node"}]"#, true),
            (r#"[{"subject":".cache","program":"/usr/bin/node"}]"#, true),
            (r#"[{"subject":".cache","program":"python*"}]"#, false),
            (r#"[{"subject":"/other"},{"subject":"x"}]"#, true),
        ] {
            assert_eq!(rules(text).hides(&seen), expected, "{text}");
        }
        seen.program = None;
        assert!(!rules(r#"[{"subject":".cache","program":"node"}]"#).hides(&seen));
    }

    #[test]
    fn unknown_keys_are_errors() {
        assert!(serde_json::from_str::<IgnoreRule>(r#"{"subject":"x","programme":"y"}"#).is_err());
    }

    #[test]
    fn srt_looks_for_text() {
        let mut seen = violation("/private/tmp/x");
        seen.command = "git push origin".into();
        let list = |command: &str, subject: &str| IgnoreList::default().srt(command, [subject.to_owned()]);
        assert!(list("*", "/tmp").hides(&seen));
        assert!(list("git push", "/private").hides(&seen));
        assert!(!list("npm", "/private").hides(&seen));
        assert!(!list("*", "/usr").hides(&seen));
        assert!(!list("*", "").hides(&seen));
    }
}
