//! Settings about what is kept of a run.

use super::Draft;
use super::layer::Voice;
use crate::settings::native::ViolationSettings;
use crate::{AuditMode, Layer, SrtIgnoreRule};
use std::collections::BTreeMap;

impl Draft {
    pub(super) fn apply_audit(&mut self, mode: Option<AuditMode>, voice: Voice) {
        match mode {
            Some(mode) if mode < self.policy.audit && !voice.may_loosen() => {
                self.ignore(voice, "audit", if mode == AuditMode::Off { "off" } else { "on" });
            }
            Some(mode) => self.policy.audit = mode,
            None => {}
        }
    }

    pub(super) fn apply_violations(&mut self, settings: ViolationSettings, voice: Voice) {
        for (index, rule) in settings.ignore.into_iter().enumerate() {
            let key = format!("violations.ignore[{index}]");
            // Whoever wrote the project could hide what its code tries.
            if !voice.may_loosen() {
                self.ignore(voice, &key, &rule.subject);
            } else if rule.subject.is_empty() {
                self.wrong(voice, &key, "subject cannot be empty", "write a path or a glob, such as /etc/**");
            } else {
                self.policy.violations.ignore.push(rule);
            }
        }
        let (days, rows) = (self.policy.violations.keep_days, self.policy.violations.keep_rows);
        self.policy.violations.keep_days = self.kept(days, settings.keep_days, "violations.keepDays", voice);
        self.policy.violations.keep_rows = self.kept(rows, settings.keep_rows, "violations.keepRows", voice);
    }

    pub(super) fn apply_srt_violations(&mut self, ignored: BTreeMap<String, Vec<String>>, voice: Voice) {
        let rules = ignored.into_iter().map(|(command, subjects)| SrtIgnoreRule { command, subjects });
        if voice.may_loosen() {
            self.policy.violations.ignore_srt.extend(rules);
        }
    }

    /// How much is kept after this layer has spoken. An organisation may ask for more, not for less.
    fn kept(&mut self, ours: u32, theirs: Option<u32>, key: &str, voice: Voice) -> u32 {
        match theirs {
            Some(0) => self.wrong(voice, key, "must be more than 0", "leave it out for the usual"),
            Some(theirs) if voice.layer == Layer::Project => self.ignore(voice, key, &theirs.to_string()),
            Some(theirs) if voice.layer == Layer::Managed => return ours.max(theirs),
            Some(theirs) => return theirs,
            None => {}
        }
        ours
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{inputs, load, usual_tree};
    use crate::{AuditMode, Inputs, Layer, Policy, Shape, SrtIgnoreRule, ViolationKind};

    #[test]
    fn runs_are_logged_unless_somebody_who_may_says_otherwise() {
        let tree = usual_tree();
        assert_eq!(Policy::load(inputs(), &tree).unwrap().audit(), AuditMode::On);
        let strict = Inputs { preset: Some("production".into()), ..inputs() };
        assert_eq!(Policy::load(strict, &tree).unwrap().audit(), AuditMode::Required);
        for (layer, text, expected, warned) in [
            (Layer::User, r#"{"audit": "off"}"#, AuditMode::Off, false),
            (Layer::User, r#"{"audit": "required"}"#, AuditMode::Required, false),
            (Layer::Project, r#"{"audit": "off"}"#, AuditMode::On, true),
            (Layer::Project, r#"{"audit": "required"}"#, AuditMode::Required, false),
            (Layer::Managed, r#"{"audit": "off"}"#, AuditMode::On, true),
            (Layer::Managed, r#"{"audit": "required"}"#, AuditMode::Required, false),
        ] {
            let policy = load(&tree, layer, Shape::Native, text).unwrap();
            assert_eq!(policy.audit(), expected, "{layer:?} {text}");
            let said = policy.notices().iter().any(|notice| notice.text.contains("audit (off) is ignored"));
            assert_eq!(said, warned, "{layer:?} {text}");
        }
    }

    #[test]
    fn only_the_user_hides_refusals() {
        let tree = usual_tree();
        let text = r#"{"violations": {"ignore": [{"kind": "read", "subject": "/x"}], "keepDays": 7, "keepRows": 50}}"#;
        let policy = load(&tree, Layer::User, Shape::Native, text).unwrap();
        let rules = policy.violations();
        assert_eq!(rules.ignore[0].kind, Some(ViolationKind::Read));
        assert_eq!((rules.ignore.len(), rules.keep_days, rules.keep_rows), (1, 7, 50));
        for layer in [Layer::Project, Layer::Managed] {
            let policy = load(&tree, layer, Shape::Native, text).unwrap();
            let rules = policy.violations();
            assert_eq!((rules.ignore.len(), rules.keep_days, rules.keep_rows), (0, 30, 100_000), "{layer:?}");
            let said = |notice: &crate::Notice| notice.text.contains("violations.ignore[0] (/x) is ignored");
            assert!(policy.notices().iter().any(said), "{:?}", policy.notices());
        }
        let more = r#"{"violations": {"keepDays": 365}}"#;
        let policy = load(&tree, Layer::Managed, Shape::Native, more).unwrap();
        assert_eq!(policy.violations().keep_days, 365);
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() {
        for (text, expected) in [
            (r#"{"violations": {"keepDays": 0}}"#, "violations.keepDays"),
            (r#"{"violations": {"keepRows": -1}}"#, "violations.keepRows"),
            (r#"{"violations": {"ignore": [{"subject": ""}]}}"#, "violations.ignore[0]"),
            (r#"{"violations": {"ignore": ["/x"]}}"#, "violations.ignore[0]"),
            (
                r#"{"violations": {"ignore": [{"kind": "dance", "subject": "/x"}]}}"#,
                "violations.ignore[0].kind",
            ),
            (r#"{"audit": "always"}"#, "audit"),
        ] {
            let error = load(&usual_tree(), Layer::User, Shape::Native, text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_way_of_srt_is_known() {
        let text = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []},
            "ignoreViolations": {"*": ["/usr"], "git push": ["/a", "/b"]}}"#;
        let policy = load(&usual_tree(), Layer::Flag, Shape::Srt, text).unwrap();
        assert_eq!(policy.audit(), AuditMode::Off);
        assert_eq!(policy.violations().ignore_srt.len(), 2);
        let push = SrtIgnoreRule { command: "git push".into(), subjects: vec!["/a".into(), "/b".into()] };
        assert!(policy.violations().ignore_srt.contains(&push));
        assert!(policy.notices().iter().all(|notice| !notice.text.contains("ignoreViolations")));
    }
}
