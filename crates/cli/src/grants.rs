//! `stockade grants`.

use crate::args::GrantsAct;
use crate::voice::Voice;
use crate::{print, refuse};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use stockade::{AuditEvent, AuditLog, Directories, Grant, GrantError, GrantStore, Revoked, Scope, visible};

/// How the list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Lists grants, or takes some back.
pub(crate) fn main(act: Option<GrantsAct>, form: Form) -> ExitCode {
    let environment: Vec<_> = std::env::vars_os().collect();
    let home = stockade::home(&environment);
    let directories = Directories::new(&environment, home.as_deref());
    let store = GrantStore::new(&directories);
    let result = match act {
        None => list(&store, form),
        Some(GrantsAct::Revoke { ids, .. }) => revoke(&store, &ids, &AuditLog::new(&directories.state)),
    };
    result.unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

fn list(store: &GrantStore, form: Form) -> Result<ExitCode, GrantError> {
    let grants = store.list()?;
    Ok(match form {
        Form::Json => print::json(&grants),
        Form::Text if grants.is_empty() => print::text("no grants\n"),
        Form::Text => print::text(&table(&grants, now())),
    })
}

/// Takes these back, or all when none is named.
fn revoke(store: &GrantStore, ids: &[String], log: &AuditLog) -> Result<ExitCode, GrantError> {
    let mut revoked = Vec::new();
    if ids.is_empty() {
        revoked = store.revoke_all()?;
        record(log, &revoked);
    }
    for id in ids {
        revoked.push(store.revoke(id)?);
        record(log, &revoked[revoked.len() - 1..]);
    }
    Ok(print::text(&told(&revoked)))
}

/// Where a log is kept, it is told. What was taken back stays so whether or not it can be.
fn record(log: &AuditLog, revoked: &[Revoked]) {
    for Revoked { grant, .. } in revoked.iter().filter(|_| log.path().exists()) {
        let event = AuditEvent::Revoke { grant: grant.clone(), who: "the command line".to_owned() };
        if let Err(error) = log.append(&event) {
            return Voice::NORMAL.warning(format!("this is not in the audit log: {error}"));
        }
    }
}

fn table(grants: &[Grant], now: u64) -> String {
    let mut text = String::new();
    for grant in grants {
        let _ = writeln!(text, "{}  {} {}", grant.id, kinds(grant), visible(&grant.subject));
        let _ = writeln!(
            text,
            "    {}, given {} by {}",
            lasting(grant, now),
            ago(grant.when, now),
            visible(&grant.who)
        );
        let _ = writeln!(text, "    for {}", visible(&grant.why));
    }
    text
}

fn told(revoked: &[Revoked]) -> String {
    if revoked.is_empty() {
        return "no grants\n".to_owned();
    }
    let mut text = String::new();
    for Revoked { grant, settings } in revoked {
        let _ = write!(text, "revoked {}: {} {}", grant.id, kinds(grant), visible(&grant.subject));
        if let Some(settings) = settings {
            let _ = write!(text, ", removed from {}", visible(&settings.to_string_lossy()));
        }
        text.push('\n');
    }
    text
}

fn kinds(grant: &Grant) -> String {
    let names = grant.kinds.iter().filter_map(|kind| serde_json::to_value(kind).ok());
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>().join(", ")
}

fn lasting(grant: &Grant, now: u64) -> String {
    match grant.scope {
        Scope::Once => "once".to_owned(),
        Scope::Session => "for a session".to_owned(),
        Scope::Until { until } => format!("for another {}", span(until.saturating_sub(now))),
        Scope::Permanent => match &grant.settings {
            Some(path) => format!("always, in {}", visible(&path.to_string_lossy())),
            None => "always, as your settings said already".to_owned(),
        },
    }
}

fn ago(when: u64, now: u64) -> String {
    format!("{} ago", span(now.saturating_sub(when)))
}

/// A span of time in its largest whole unit.
fn span(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade::ViolationKind;

    fn grant(scope: Scope) -> Grant {
        Grant {
            id: "g3".into(),
            kinds: vec![ViolationKind::Read],
            subject: "/home/a/x\u{1b}".into(),
            scope,
            who: "a, on the terminal".into(),
            when: 10_000,
            why: "/usr/bin/cat, in: cat x".into(),
            settings: None,
        }
    }

    #[test]
    fn a_list_says_what_who_and_how_long() {
        assert_eq!(
            table(&[grant(Scope::Until { until: 7_330_000 })], 130_000),
            "g3  read /home/a/x\\u{1b}\n    for another 2 hours, given 2 minutes ago by a, on the terminal\n    for /usr/bin/cat, in: cat x\n"
        );
        let kept = Grant { settings: Some("/s.json".into()), ..grant(Scope::Permanent) };
        assert!(table(&[kept], 11_000).contains("always, in /s.json, given 1 second ago"));
    }

    #[test]
    fn what_was_taken_back_is_told() {
        let revoked = Revoked { grant: grant(Scope::Permanent), settings: Some("/s.json".into()) };
        assert_eq!(told(&[revoked]), "revoked g3: read /home/a/x\\u{1b}, removed from /s.json\n");
        assert_eq!(told(&[]), "no grants\n");
    }
}
