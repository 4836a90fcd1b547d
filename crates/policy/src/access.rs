//! Who may do what where: the one model behind plans, explanations and tests.
//!
//! Rules touch paths. Going down from the root to a path, each touched directory changes the [`Standing`] of
//! everything below it; what is left at the end is the answer. A plan walks all touched paths this way, an
//! explanation walks one.

use crate::rules::{Facts, List, RuleId, Spelling};
use crate::settings::native::ReadScope;
use crate::{FileKind, Layer, Rights};

/// What the rules say at a path and, until a deeper one speaks, below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) view: View,
    /// The default deny-read list speaks, and nobody who may has opened it.
    pub(crate) secret: Option<RuleId>,
    /// It is that entry of the list itself, not something below it.
    pub(crate) secret_here: bool,
    /// Denied for good: own directories, managed settings, denied credentials.
    pub(crate) sealed: Option<RuleId>,
    pub(crate) writable: Option<RuleId>,
    /// A denyWrite or mandatory protection: for good.
    pub(crate) kept: Option<RuleId>,
    /// May be written, if the content passes a check.
    pub(crate) checked: Option<RuleId>,
    pub(crate) runnable: Option<RuleId>,
    /// A denyExecute: for good.
    pub(crate) barred: Option<RuleId>,
    execute: ExecuteDefault,
}

/// Whether a path can be seen, before the default deny list and seals have their say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// No rule spoke, and everything may be read.
    Open,
    /// No rule spoke, and only listed paths may be read.
    Unlisted,
    /// The sandbox has something of its own here.
    Private(RuleId),
    Allowed(RuleId),
    Denied(RuleId),
}

/// What may run when no rule speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExecuteDefault {
    Readable,
    Listed,
}

impl Standing {
    /// Above every rule.
    pub(crate) fn start(scope: ReadScope, book: &impl Facts) -> Self {
        Self {
            view: match scope {
                ReadScope::All => View::Open,
                ReadScope::Workspace => View::Unlisted,
            },
            secret: None,
            secret_here: false,
            sealed: None,
            writable: None,
            kept: None,
            checked: None,
            runnable: None,
            barred: None,
            execute: if book.any(List::AllowExecute) {
                ExecuteDefault::Listed
            } else {
                ExecuteDefault::Readable
            },
        }
    }

    /// The standing at a path that these rules touch.
    pub(crate) fn enter(
        self,
        rules: impl Iterator<Item = RuleId> + Clone,
        kind: FileKind,
        book: &impl Facts,
    ) -> Self {
        let mut now = self;
        let of = |list: List| rules.clone().filter(move |id| book.list(*id) == list);
        // The order below is what a tie means: denials first, then what opens them again.
        let writable = of(List::AllowWrite).next();
        now.writable = now.writable.or(writable);
        if let (Some(rule), View::Unlisted | View::Private(_)) = (writable, now.view) {
            now.view = View::Allowed(rule);
        }
        if let Some(rule) = of(List::System).next()
            && now.view == View::Unlisted
        {
            now.view = View::Allowed(rule);
        }
        now.secret_here = false;
        for rule in of(List::DenyRead) {
            match book.layer(rule) {
                Layer::BuiltIn => (now.secret, now.secret_here) = (Some(rule), true),
                _ => now.view = View::Denied(rule),
            }
        }
        if of(List::Open).next().is_some() {
            now.secret = None;
        }
        // A tie goes to allowRead, but not to that of a weaker voice: a flag's denial beats a preset's wish.
        let denied_by = of(List::DenyRead).map(|rule| book.layer(rule)).max().unwrap_or(Layer::BuiltIn);
        for rule in of(List::AllowRead).filter(|rule| book.layer(*rule) >= denied_by) {
            now.view = View::Allowed(rule);
            let may = matches!(book.layer(rule), Layer::User | Layer::Flag | Layer::Grant);
            // The entry's own directory cannot be opened; a single file can, by its name.
            let by_name = kind != FileKind::Directory && book.spelling(rule) == Spelling::Literal;
            if may && (!now.secret_here || by_name) {
                now.secret = None;
            }
        }
        // Listing the very place brings nothing of the host's into it; listing something below does.
        if let Some(rule) = of(List::Private).next() {
            now.view = View::Private(rule);
        }
        now.sealed = now.sealed.or(of(List::Seal).chain(of(List::Own)).next());
        now.kept = now.kept.or(of(List::DenyWrite).chain(of(List::Protected)).next());
        now.checked = now.checked.or(of(List::Checked).next());
        if let Some(rule) = rules.clone().find(|id| book.spelling(*id) == Spelling::Unlistable) {
            now.sealed = now.sealed.or(Some(rule));
        }
        if let Some(rule) = of(List::ToolCache).next() {
            now = Self {
                view: View::Allowed(rule),
                writable: Some(rule),
                sealed: None,
                secret: None,
                kept: None,
                ..now
            };
        }
        now.runnable = now.runnable.or(of(List::AllowExecute).next());
        now.barred = now.barred.or(of(List::DenyExecute).next());
        now
    }

    pub(crate) fn rights(&self) -> Rights {
        let seen = matches!(self.view, View::Open | View::Allowed(_));
        let read = seen && self.secret.is_none() && self.sealed.is_none();
        Rights {
            read,
            write: read && self.writable.is_some() && self.kept.is_none(),
            execute: read
                && self.barred.is_none()
                && (self.runnable.is_some() || self.execute == ExecuteDefault::Readable),
        }
    }
}
