//! `--review`: what the run left that the host may execute later.

use crate::voice::{Level, Voice};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use stockade::{
    BareWatch, MountKind, Notice, NoticeWeight, Outcome, Plan, Prepared, Review, ReviewChange, ReviewError,
    ReviewItem, ReviewKind, ReviewScope, visible,
};

/// More of one kind would bury the others.
const SHOWN: usize = 10;

/// Whether a run is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewWish {
    /// Only what costs nothing to see.
    Glance,
    /// The whole workspace, before and after.
    Whole,
}

/// The workspace before a run.
pub(super) struct Reviewing {
    review: Option<Review>,
    bare: BareWatch,
}

impl Reviewing {
    pub(super) fn begin(wish: ReviewWish, prepared: &Prepared) -> Result<Self, ReviewError> {
        let workspace = &prepared.request.cwd;
        let review = match wish {
            ReviewWish::Glance => None,
            ReviewWish::Whole => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let scope = ReviewScope::new(workspace).search_path(&path);
                let scope = changes_of(&prepared.plan).into_iter().fold(scope, ReviewScope::overlay);
                Some(scope.before()?)
            }
        };
        Ok(Self { review, bare: BareWatch::before([workspace.clone()]) })
    }

    /// Looks again. Bare repositories are worth a notice in any case.
    pub(super) fn end(&self, outcome: &mut Outcome) -> Vec<Notice> {
        let seen = self.bare.after();
        outcome.review = self.review.as_ref().map(Review::after);
        let bare = outcome.review.as_ref().unwrap_or(&seen).iter();
        bare.filter(|item| item.kind == ReviewKind::BareRepository).map(notice).collect()
    }

    /// Says what was found, at the very end.
    pub(super) fn say(&self, voice: Voice, outcome: &Outcome) {
        match &outcome.review {
            Some(items) => {
                if let Some(text) = text(items) {
                    // Asked for, so it is said to those who want to hear nothing else, too.
                    Voice { level: voice.level.max(Level::Normal), ..voice }.closing(text);
                }
            }
            None => self.bare.after().iter().for_each(|item| voice.warning(notice(item).text)),
        }
    }
}

/// Where an overlay keeps what the command changes in the workspace.
fn changes_of(plan: &Plan) -> Option<PathBuf> {
    plan.mounts.iter().find_map(|mount| match &mount.kind {
        MountKind::Overlay { directory, .. } => Some(directory.join("upper")),
        _ => None,
    })
}

fn notice(item: &ReviewItem) -> Notice {
    let text = format!("{} became a repository for git: {}", visible(&item.path), item.why);
    Notice { text, weight: NoticeWeight::Warning }
}

/// One line for each item; nothing where there is nothing to say.
fn text(items: &[ReviewItem]) -> Option<String> {
    let changed = items.iter().filter(|item| item.kind != ReviewKind::Incomplete).count();
    let mut text = match changed {
        _ if items.is_empty() => return None,
        0 => "review: nothing changed where it could be compared".to_owned(),
        1 => "review: 1 thing changed that this machine may execute later".to_owned(),
        count => format!("review: {count} things changed that this machine may execute later"),
    };
    let mut counts: HashMap<ReviewKind, usize> = HashMap::new();
    for item in items {
        let count = counts.entry(item.kind).or_default();
        *count += 1;
        if *count <= SHOWN {
            text.push_str(&line(item));
        }
    }
    let mut more: Vec<_> = counts.into_iter().filter(|(_, count)| *count > SHOWN).collect();
    more.sort();
    for (kind, count) in &more {
        let _ = write!(text, "\n  ... and {} more of kind {}", count - SHOWN, name(kind));
    }
    if !more.is_empty() {
        text.push_str("\n  (--report FILE lists all of them)");
    }
    Some(text)
}

/// Paths and details are the command's words: nothing in them may act on the terminal or pass for a line of
/// ours.
fn line(item: &ReviewItem) -> String {
    let ReviewItem { kind, path, change, detail, why } = item;
    let mut line = match change {
        ReviewChange::Unknown => format!("\n  {}", name(kind)),
        _ => format!("\n  {} {} {}", name(kind), name(change), visible(path)),
    };
    if !detail.is_empty() {
        let _ = write!(line, " ({})", visible(detail));
    }
    let _ = write!(line, ": {}", visible(why));
    line
}

/// The word that reports use, too.
fn name(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: ReviewKind, path: &str) -> ReviewItem {
        let (change, detail) = (ReviewChange::New, "executable".to_owned());
        ReviewItem { kind, path: path.to_owned(), change, detail, why: "git runs it".to_owned() }
    }

    #[test]
    fn every_item_is_one_line() {
        assert_eq!(text(&[]), None);
        assert_eq!(
            text(&[item(ReviewKind::GitHook, ".git/hooks/x")]).unwrap(),
            "review: 1 thing changed that this machine may execute later\n  \
             gitHook new .git/hooks/x (executable): git runs it"
        );
        let hostile = item(ReviewKind::GitHook, "a\nstockade: all is well\u{1b}[2J");
        let text = text(&[hostile]).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn one_kind_does_not_bury_another() {
        let mut items: Vec<ReviewItem> =
            (0..30).map(|number| item(ReviewKind::GitHook, &format!("{number}"))).collect();
        items.push(item(ReviewKind::Program, "bin/git"));
        let text = text(&items).unwrap();
        assert!(text.contains("31 things") && text.contains("program new bin/git"), "{text}");
        assert!(
            text.ends_with("... and 20 more of kind gitHook\n  (--report FILE lists all of them)"),
            "{text}"
        );
    }
}
