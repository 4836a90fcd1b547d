//! Where grants live.

use super::GrantError;
use super::edit::{self, Edited};
use super::grant::{Given, Grant, List, Scope, is_grantable};
use super::kept::Kept;
use super::replace::replace;
use crate::ledger::Ledger;
use crate::private::now;
use crate::records::Journal;
use crate::{AuditEvent, Directories};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use stockade_policy::{Granted, GrantedList, Reply, ViolationKind};

/// The grants of a session, and the way to those that outlive it. Copies share everything: give one to
/// several runtimes to let them share their grants.
#[derive(Clone, Debug)]
pub struct GrantStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    session: Mutex<Vec<Grant>>,
    given: AtomicU64,
    places: Option<Places>,
    journal: OnceLock<Arc<Journal>>,
}

#[derive(Debug)]
struct Places {
    settings: PathBuf,
    ledger: Ledger<Kept>,
}

/// A grant that was taken back, and what that did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// The grant.
    pub grant: Grant,
    /// The settings file that lost the grant's entry.
    pub settings: Option<PathBuf>,
}

impl GrantStore {
    /// Grants that end with the last copy of this store.
    pub fn in_memory() -> Self {
        Self::with(None)
    }

    /// Grants that can be kept in the user's settings and in Stockade's state directory.
    pub fn new(directories: &Directories) -> Self {
        Self::with(Some(Places {
            settings: directories.user_settings(),
            ledger: Ledger::new(&directories.state, "grants"),
        }))
    }

    fn with(places: Option<Places>) -> Self {
        let (session, given, journal) = (Mutex::default(), AtomicU64::new(0), OnceLock::new());
        Self { shared: Arc::new(Shared { session, given, places, journal }) }
    }

    /// From now on what is given and taken back goes to this log; the first one that is named stays.
    pub(crate) fn log_to(&self, journal: Arc<Journal>) {
        let _ = self.shared.journal.set(journal);
    }

    /// The settings file that permanent grants are written to.
    pub fn settings(&self) -> Option<&Path> {
        self.shared.places.as_ref().map(|places| places.settings.as_path())
    }

    /// Whether this session has a grant for such an act.
    pub fn allows(&self, kind: ViolationKind, subject: &str) -> bool {
        let now = now();
        self.session().iter().any(|grant| grant.allows(kind, subject, now))
    }

    /// The grants of this session and those that are kept.
    pub fn list(&self) -> Result<Vec<Grant>, GrantError> {
        let now = now();
        let mut grants = match &self.shared.places {
            Some(places) => places.ledger.read()?.grants,
            None => Vec::new(),
        };
        for grant in self.session().iter() {
            if !grants.iter().any(|known| known.id == grant.id) {
                grants.push(grant.clone());
            }
        }
        grants.retain(|grant| grant.lasts(now));
        Ok(grants)
    }

    /// Takes a grant back. Commands that are running keep what they have.
    pub fn revoke(&self, id: &str) -> Result<Revoked, GrantError> {
        let mut revoked = self.revoke_and_log(|grant| grant.id == id)?;
        revoked.pop().ok_or_else(|| GrantError::Unknown { id: id.to_owned() })
    }

    /// Takes all grants back.
    pub fn revoke_all(&self) -> Result<Vec<Revoked>, GrantError> {
        self.revoke_and_log(|_| true)
    }

    /// Grants with an end in the future, for policies that are loaded now.
    pub(crate) fn lasting(&self) -> Result<Vec<Granted>, GrantError> {
        let Some(places) = &self.shared.places else { return Ok(Vec::new()) };
        let now = now();
        let grants = places.ledger.read()?.grants;
        let timed = grants.into_iter().filter(|grant| matches!(grant.scope, Scope::Until { .. }));
        Ok(timed
            .filter(|grant| grant.lasts(now))
            .filter_map(|grant| {
                let list = match List::of(*grant.kinds.first()?)? {
                    List::Read => GrantedList::Read,
                    List::Write => GrantedList::Write,
                    List::Unix => GrantedList::Unix,
                    List::Domain => GrantedList::Domain,
                };
                Some(Granted { list, path: grant.subject.into(), id: grant.id })
            })
            .collect())
    }

    /// Gives what a reply says. `None` when it says no.
    pub(crate) fn give(&self, given: &Given, reply: Reply) -> Result<Option<Grant>, GrantError> {
        if reply == Reply::Deny {
            return Ok(None);
        }
        if !is_grantable(given.rule.as_ref()) {
            let rule = given.rule.as_ref().map(ToString::to_string).unwrap_or_default();
            return Err(GrantError::Forbidden { rule });
        }
        let grant = match reply {
            Reply::Deny => return Ok(None),
            Reply::Once => self.draft(given, Scope::Once),
            Reply::Session => self.draft(given, Scope::Session),
            Reply::Until { until } if until <= now() => return Err(GrantError::Over),
            Reply::Until { until } => self.keep(given, Scope::Until { until })?,
            Reply::Always => self.keep(given, Scope::Permanent)?,
        };
        self.log(given, &grant)?;
        // A name that stands for many is allowed this time only.
        if given.is_exact() && grant.scope != Scope::Once {
            let mut session = self.session();
            session.retain(|known| known.id != grant.id);
            session.push(grant.clone());
        }
        Ok(Some(grant))
    }

    /// What must be in the log and is not, was not given.
    fn log(&self, given: &Given, grant: &Grant) -> Result<(), GrantError> {
        let Some(journal) = self.shared.journal.get() else { return Ok(()) };
        let sandbox = Some(given.sandbox.clone());
        let noted = journal.note(&AuditEvent::Grant { sandbox, grant: grant.clone() });
        noted.map(drop).map_err(|error| {
            if matches!(grant.scope, Scope::Permanent | Scope::Until { .. }) {
                // The same disk may refuse this, too; the error tells of the log either way.
                let _ = self.revoke_where(|known| known.id == grant.id);
            }
            GrantError::Unlogged(error)
        })
    }

    fn revoke_and_log(&self, wanted: impl Fn(&Grant) -> bool) -> Result<Vec<Revoked>, GrantError> {
        let revoked = self.revoke_where(wanted)?;
        if let Some(journal) = self.shared.journal.get() {
            for Revoked { grant, .. } in &revoked {
                journal.tell(&AuditEvent::Revoke { grant: grant.clone(), who: "the program".to_owned() });
            }
        }
        Ok(revoked)
    }

    fn draft(&self, given: &Given, scope: Scope) -> Grant {
        let number = self.shared.given.fetch_add(1, Ordering::Relaxed) + 1;
        Grant {
            id: format!("s{number}"),
            kinds: vec![given.kind],
            subject: given.subject.clone(),
            scope,
            who: given.who.clone(),
            when: now(),
            why: given.why.clone(),
            settings: None,
        }
    }

    fn keep(&self, given: &Given, scope: Scope) -> Result<Grant, GrantError> {
        let list = given.keepable().map_err(|why| GrantError::NotKeepable { why })?;
        let places = self.shared.places.as_ref().ok_or(GrantError::NoPlace)?;
        let mut held = places.ledger.hold()?;
        held.content.prune(now());
        let same = |grant: &Grant| {
            grant.scope == scope && grant.subject == given.subject && grant.kinds == list.kinds()
        };
        if let Some(known) = held.content.grants.iter().find(|grant| same(grant)) {
            let known = known.clone();
            if scope == Scope::Permanent {
                // Somebody may have taken the entry out by hand since.
                write_settings(&places.settings, |text| edit::add(text, list, &given.subject))?;
            }
            return Ok(known);
        }
        let mut grant = Grant { id: held.content.next_id(), kinds: list.kinds(), ..self.draft(given, scope) };
        let edited = match scope {
            Scope::Permanent => edited(&places.settings, |text| edit::add(text, list, &given.subject))?,
            _ => Edited::Same,
        };
        if let Edited::Changed(_) = &edited {
            grant.settings = Some(places.settings.clone());
        }
        held.content.grants.push(grant.clone());
        held.save()?;
        if let Edited::Changed(text) = edited
            && let Err(source) = replace(&places.settings, text.as_bytes())
        {
            held.content.grants.retain(|known| known.id != grant.id);
            held.save()?;
            return Err(GrantError::Write { path: places.settings.clone(), source });
        }
        Ok(grant)
    }

    fn revoke_where(&self, wanted: impl Fn(&Grant) -> bool) -> Result<Vec<Revoked>, GrantError> {
        let mut revoked = Vec::new();
        if let Some(places) = &self.shared.places {
            let mut held = places.ledger.hold()?;
            held.content.prune(now());
            let (gone, left) = std::mem::take(&mut held.content.grants).into_iter().partition(&wanted);
            held.content.grants = left;
            let gone: Vec<Grant> = gone;
            for grant in gone {
                let settings = match (&grant.settings, grant.kinds.first().and_then(|kind| List::of(*kind))) {
                    (Some(path), Some(list)) => {
                        write_settings(path, |text| edit::remove(text, list, &grant.subject))?
                            .then(|| path.clone())
                    }
                    _ => None,
                };
                revoked.push(Revoked { grant, settings });
            }
            if !revoked.is_empty() {
                held.save()?;
            }
        }
        let mut session = self.session();
        for grant in session.iter().filter(|grant| wanted(grant)) {
            if !revoked.iter().any(|known| known.grant.id == grant.id) {
                revoked.push(Revoked { grant: grant.clone(), settings: None });
            }
        }
        session.retain(|grant| !wanted(grant));
        Ok(revoked)
    }

    fn session(&self) -> MutexGuard<'_, Vec<Grant>> {
        // Nothing is done under this lock that could leave the list half changed.
        self.shared.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an edit makes of a settings file. A file that is not there is as good as an empty object.
fn edited(path: &Path, edit: impl Fn(&str) -> Result<Edited, String>) -> Result<Edited, GrantError> {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(edit::EMPTY.to_owned()),
        Err(source) => return Err(GrantError::Read { path: path.to_owned(), source }),
    };
    text.and_then(|text| edit(&text)).map_err(|reason| GrantError::Settings {
        path: path.to_owned(),
        reason,
        hint: "mend the file, then answer again or add the path by hand",
    })
}

/// Edits a settings file; says whether anything changed.
fn write_settings(path: &Path, edit: impl Fn(&str) -> Result<Edited, String>) -> Result<bool, GrantError> {
    match edited(path, edit)? {
        Edited::Same => Ok(false),
        Edited::Changed(text) => match replace(path, text.as_bytes()) {
            Ok(()) => Ok(true),
            Err(source) => Err(GrantError::Write { path: path.to_owned(), source }),
        },
    }
}
