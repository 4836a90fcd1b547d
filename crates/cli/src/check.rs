//! `stockade check`.

use crate::args::CheckArgs;
use crate::config::Warnings;
use crate::voice::Voice;
use crate::{print, refuse};
use serde_json::{Value, json};
use std::fmt::Write;
use std::process::ExitCode;
use stockade::{BareWish, Decision, NoticeWeight, Request, RuleRef, Verdict, visible};

/// Says what would become of a command, part by part.
pub(crate) fn main(args: CheckArgs) -> ExitCode {
    let command = args.command_line();
    let bare = if args.bare { BareWish::Bare } else { BareWish::Sandboxed };
    let runtime = match args.policy.runtime(|builder| builder) {
        Ok(runtime) => runtime,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let mut warnings = Warnings::of(&runtime, Voice::NORMAL.level);
    for notice in runtime.policy().notices() {
        if notice.weight == NoticeWeight::Warning
            && let Some(text) = warnings.word(notice)
        {
            Voice::NORMAL.warning(text);
        }
    }
    let decision = runtime.check(&Request { bare, ..runtime.request(command) });
    if args.json {
        return print::json(&object(&decision));
    }
    print::text(&text(&decision))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Sandbox => "sandbox",
        Verdict::Unsandboxed => "unsandboxed",
        Verdict::Ask => "ask",
        Verdict::Refuse => "refuse",
    }
}

fn object(decision: &Decision) -> Value {
    let rule = |rule: &Option<RuleRef>| rule.as_ref().map(|rule| rule.text.clone());
    let origin = |rule: &Option<RuleRef>| rule.as_ref().map(|rule| rule.origin.clone());
    let parts = decision.parts.iter().map(|part| {
        json!({
            "text": part.text,
            "decision": word(part.verdict),
            "reason": part.reason,
            "rule": rule(&part.rule),
            "origin": origin(&part.rule),
        })
    });
    json!({
        "decision": word(decision.verdict),
        "needs_approval": decision.approval,
        "reason": decision.reason,
        "rule": rule(&decision.rule),
        "origin": origin(&decision.rule),
        "parts": parts.collect::<Vec<_>>(),
    })
}

/// For people: whatever a command could use to look like something else is written out.
fn text(decision: &Decision) -> String {
    let mut text = format!("{}: {}\n", word(decision.verdict), visible(&decision.reason));
    quote(&mut text, "  ", &decision.rule);
    // `run` is an order somebody gave; only a rule that wants a person to be asked stands above it.
    let approval = match (decision.approval.is_needed(), decision.verdict) {
        (false, _) => "no",
        (true, Verdict::Ask) => "yes, from whoever embeds this and asks a person; `stockade run` refuses it",
        (true, _) => "yes, from whoever embeds this; `stockade run` takes the order for it",
    };
    let _ = writeln!(text, "  needs approval: {approval}");
    // One part that is the whole has nothing to add.
    if decision.parts.len() > 1 {
        for part in &decision.parts {
            let _ = writeln!(text, "  {:11} {}", word(part.verdict), visible(&part.text));
            let _ = writeln!(text, "              {}", visible(&part.reason));
            quote(&mut text, "              ", &part.rule);
        }
    }
    text
}

fn quote(text: &mut String, indent: &str, rule: &Option<RuleRef>) {
    if let Some(rule) = rule {
        let _ = writeln!(text, "{indent}rule: {}", visible(&rule.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade::{Approval, Layer, Origin, PartDecision};

    fn decision() -> Decision {
        let origin =
            Origin { layer: Layer::User, source: "/s.json".into(), key: "excludedCommands[0]".into() };
        let rule = Some(RuleRef { text: "excludedCommands docker*".into(), origin });
        let part = |text: &str, verdict, rule: &Option<RuleRef>| PartDecision {
            text: text.into(),
            verdict,
            reason: "because".into(),
            rule: rule.clone(),
        };
        Decision {
            verdict: Verdict::Sandbox,
            approval: Approval::NotNeeded,
            reason: "one part is not listed".into(),
            parts: vec![
                part("docker ps", Verdict::Unsandboxed, &rule),
                part("rm x", Verdict::Sandbox, &None),
            ],
            rule: None,
            openings: Vec::new(),
            directory: None,
        }
    }

    #[test]
    fn the_object_has_the_promised_keys() {
        let told = object(&decision());
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&told), ["decision", "needs_approval", "reason", "rule", "origin", "parts"]);
        assert_eq!(keys(&told["parts"][0]), ["text", "decision", "reason", "rule", "origin"]);
        assert_eq!((&told["decision"], &told["needs_approval"]), (&json!("sandbox"), &json!(false)));
        assert_eq!(told["parts"][0]["decision"], "unsandboxed");
        assert_eq!(told["parts"][0]["origin"]["key"], "excludedCommands[0]");
        assert!(told["rule"].is_null() && told["parts"][1]["origin"].is_null());
    }

    #[test]
    fn the_text_names_each_part_and_its_rule() {
        let told = text(&decision());
        assert!(told.starts_with("sandbox: one part is not listed\n"), "{told}");
        assert!(told.contains("  unsandboxed docker ps\n"), "{told}");
        assert!(told.contains("rule: excludedCommands docker* (/s.json excludedCommands[0])"), "{told}");
        let mut odd = decision();
        odd.reason = "of \u{202e}x".into();
        odd.parts[0].text = "docker \u{200b}\u{202e}\u{1b}[2J\nps".into();
        let told = text(&odd);
        assert!(told.contains("docker \\u{200b}\\u{202e}\\u{1b}[2J\\nps\n"), "{told}");
        assert!(told.starts_with("sandbox: of \\u{202e}x\n"), "{told}");
        let mut whole = decision();
        whole.parts.truncate(1);
        assert!(!text(&whole).contains("docker ps\n"));
    }
}
