//! Refusals in words.

use super::descent::Place;
use super::judgement::Refusal;
use super::table::Table;
use crate::access::View;
use crate::rules::{Facts, List, RuleId};
use crate::{FileKind, Layer, RuleRef, Switch};
use std::path::Path;

const PROTECTED: &str = "the host would later run or trust it: mandatory protection";

/// Why a place may neither be read nor written under any rule that could allow it; none where only the
/// walls decide.
pub(super) fn denied(table: &Table, place: &Place<'_>, path: &Path, kind: FileKind) -> Option<Refusal> {
    hidden(table, place, path, kind).or_else(|| {
        let rule = place.standing.kept.filter(|_| !place.private)?;
        Some(match table.list(rule) {
            List::Protected => protected(Some(table.quote(rule)), PROTECTED),
            _ => Refusal {
                rule: Some(table.quote(rule)),
                reason: "a rule denies writing it, and a denial beats every allowWrite".to_owned(),
                suggestion: None,
                grantable: grantable(table, rule),
            },
        })
    })
}

/// The sandbox's own /dev has devices in it and nothing else.
pub(super) fn among_devices() -> Refusal {
    Refusal {
        rule: None,
        reason: "the sandbox's own /dev holds devices only; /tmp and /dev/shm take files".to_owned(),
        suggestion: None,
        grantable: Switch::Refused,
    }
}

/// Why a place may not be read.
pub(super) fn hidden(table: &Table, place: &Place<'_>, path: &Path, kind: FileKind) -> Option<Refusal> {
    let standing = &place.standing;
    if place.private {
        return None;
    }
    if let Some(rule) = standing.sealed {
        return Some(Refusal {
            rule: Some(table.quote(rule)),
            reason: match table.list(rule) {
                List::Own => "Stockade's own files are always hidden",
                _ => "it is denied for good",
            }
            .to_owned(),
            suggestion: None,
            grantable: grantable(table, rule),
        });
    }
    if let Some(rule) = standing.secret {
        // A directory on the list cannot be opened, only what lies below it.
        let entry = kind == FileKind::Directory && standing.secret_here;
        return Some(Refusal {
            rule: Some(table.quote(rule)),
            reason: "it is on the default deny-read list".to_owned(),
            suggestion: (!entry).then(|| option("--allow-read", path)),
            grantable: if entry { Switch::Refused } else { Switch::Allowed },
        });
    }
    match standing.view {
        View::Denied(rule) => Some(Refusal {
            rule: Some(table.quote(rule)),
            reason: "a rule denies reading it and no more specific one allows it".to_owned(),
            suggestion: Some(option("--allow-read", path)),
            grantable: grantable(table, rule),
        }),
        _ => None,
    }
}

/// Mandatory protection: nobody who is asked may lift it.
pub(super) fn protected(rule: Option<RuleRef>, reason: &str) -> Refusal {
    Refusal { rule, reason: reason.to_owned(), suggestion: None, grantable: Switch::Refused }
}

/// A link in the place of a directory that a rule leads through.
pub(super) fn leads_to(table: &Table, rule: RuleId) -> Refusal {
    Refusal {
        rule: Some(table.quote(rule)),
        reason: "a link here would lead to a name that a rule protects".to_owned(),
        suggestion: None,
        grantable: grantable(table, rule),
    }
}

/// An option a person can type.
pub(super) fn option(name: &str, path: &Path) -> String {
    format!("{name} {}", path.display())
}

fn grantable(table: &Table, rule: RuleId) -> Switch {
    match (table.list(rule), table.layer(rule)) {
        (List::Protected | List::Checked | List::Own, _) => Switch::Refused,
        (List::Seal, Layer::BuiltIn) | (_, Layer::Managed) => Switch::Refused,
        _ => Switch::Allowed,
    }
}
