//! Variables that are set in front of a command: what they are set to, and where that leads.
//!
//! `make` takes every variable of its environment for one of its own, and a script may run whatever one holds: no
//! list knows all the names. So the value counts where the name is not known.

use super::part::{Assigned, Assignment};
use super::strict::{assigned, is_name, value};
use super::surroundings::{Relative, Surroundings};
use crate::policy::Policy;
use std::borrow::Cow;
use std::ffi::OsStr;

/// Letters that a shell may put something else in the place of, or takes away, where a variable is set. It does
/// not look for files there: a star is a star.
const SPECIAL: [char; 6] = ['$', '`', '\\', '\'', '"', '~'];

/// What the shell itself fills in, other than from its environment.
const FILLED_IN: [&str; 5] = ["PWD", "OLDPWD", "_", "DIRSTACK", "BASH*"];

/// What a word sets, if it sets something.
pub(super) fn assignment(raw: &str) -> Option<Assignment<'_>> {
    let name = assigned(raw)?;
    let (_, rest) = raw.split_once('=')?;
    let value = match value(rest) {
        Some(value) => Assigned::Known(value),
        None if !rest.contains(SPECIAL) => Assigned::Known(Cow::Borrowed(rest)),
        None => copied(rest).map_or(Assigned::Unknown, Assigned::Copied),
    };
    Some(Assignment { name: Cow::Borrowed(name), value })
}

/// The one variable that a value is made of.
fn copied(value: &str) -> Option<&str> {
    let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let name = value.strip_prefix('$')?;
    let name = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(name);
    let is_one = name.bytes().all(is_name) && name.starts_with(|first: char| !first.is_ascii_digit());
    is_one.then_some(name)
}

impl Surroundings<'_> {
    /// Why a variable that no list knows must not be set to this.
    pub(super) fn assignment_objection(
        &self,
        assignment: &Assignment<'_>,
        policy: &Policy,
    ) -> Option<String> {
        let name = &assignment.name;
        let unknown = || Some(format!("what it sets {name} to is not known before it runs"));
        let led = |value: &str| match self.planted_word(name, value, Relative::There) {
            _ if may_mean_more(value) => {
                Some(format!("it sets {name} to something that shells and make would read again"))
            }
            Some(piece) => Some(format!("it sets {name}, which leads to {piece}, which commands can change")),
            None => None,
        };
        match &assignment.value {
            Assigned::Known(value) => led(value),
            Assigned::Copied(other) => {
                let filled_in = |known: &&str| match known.strip_suffix('*') {
                    Some(beginning) => other.starts_with(beginning),
                    None => known == other,
                };
                if FILLED_IN.iter().any(filled_in) {
                    return unknown();
                }
                let inherited = self.lookup.request.environment.iter();
                let inherited = inherited.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
                let set = policy.environment.set.iter();
                let set = set.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
                let mut values = inherited.chain(set).filter(|(name, _)| name == other);
                values.find_map(|(_, value)| led(&value.to_string_lossy()))
            }
            Assigned::Unknown => unknown(),
        }
    }
}

/// Whether what reads the value may put something else in the place of a part of it, or, as make does, paste it into
/// the text of a command.
fn may_mean_more(value: &str) -> bool {
    let dollar = |rest: &str| {
        rest.starts_with(|next: char| next.is_ascii_alphabetic() || matches!(next, '_' | '{' | '(' | '$'))
    };
    value.contains(['`', ';', '|', '&', '<', '>', '\n'])
        || value.contains("~+")
        || value.split('$').skip(1).any(dollar)
}
