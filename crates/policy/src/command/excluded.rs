//! Whether a command may run without walls because the settings list it.

use super::lookup::Lookup;
use super::part::{Direction, Part, Redirection};
use super::strict::is_reserved;
use super::strip::{Purpose, Stripped, strip};
use super::{CommandRules, Excluded};
use crate::policy::Policy;
use crate::{Files, Request};
use std::ffi::OsStr;
use std::path::Path;

/// Everything one request is judged with.
pub(crate) struct Bench<'a> {
    policy: &'a Policy,
    request: &'a Request,
    files: &'a dyn Files,
    place: Place,
}

/// Whether paths can be told from the request's directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Fixed,
    /// A part of the text goes somewhere else first.
    Moved,
}

/// Why a command stays behind walls.
pub(crate) struct Kept<'a> {
    pub(crate) reason: String,
    /// The pattern that lists it, where one does.
    pub(crate) listed: Option<&'a Excluded>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        request: &'a Request,
        files: &'a dyn Files,
        parts: &[Part<'_>],
    ) -> Self {
        let moves = |part: &Part<'_>| {
            let stripped = strip(part, Purpose::Deny);
            let program = stripped.command().first().and_then(|word| word.value.as_deref());
            matches!(program, Some("cd" | "pushd" | "popd"))
        };
        let place = if parts.iter().any(moves) { Place::Moved } else { Place::Fixed };
        Self { policy, request, files, place }
    }

    fn rules(&self) -> &'a CommandRules {
        &self.policy.commands
    }

    /// The pattern that lets this command run without walls, if everything about it is certain.
    pub(crate) fn excluded(&self, part: &Part<'_>) -> Result<&'a Excluded, Kept<'a>> {
        let stripped = strip(part, Purpose::Exclude);
        let listed = self.rules().excluded.iter().find(|excluded| excluded.pattern.excludes(&stripped));
        let reason = match listed {
            None => "no pattern of excludedCommands fits it".to_owned(),
            Some(excluded) => match self.objection(part, &stripped) {
                None => return Ok(excluded),
                Some(objection) => format!("excludedCommands lists it, but {objection}"),
            },
        };
        Err(Kept { reason, listed })
    }

    /// What speaks against a listed command.
    fn objection(&self, part: &Part<'_>, stripped: &Stripped<'_, '_>) -> Option<String> {
        if let Some(option) = stripped.unknown_option {
            return Some(format!("the option {option} in front of it is not known here"));
        }
        let listed = |name: &str| self.rules().variables.iter().any(|pattern| variable_fits(pattern, name));
        if let Some(name) = stripped.assignments.iter().find(|name| listed(name)) {
            return Some(format!("it sets {name}, which changes what programs run"));
        }
        for words in &stripped.stages {
            let Some(program) = words.first().and_then(|word| word.value.as_deref()) else {
                return Some("its program is not known before it runs".to_owned());
            };
            if let Some(objection) = self.untrusted(program) {
                return Some(objection);
            }
        }
        let program = stripped.command().first().and_then(|word| word.value.as_deref()).unwrap_or_default();
        if is_reserved(program) || self.rules().never.iter().any(|never| never == program) {
            return Some(format!("{program} can run or change anything"));
        }
        part.redirections.iter().find_map(|redirection| self.unfit(redirection))
    }

    /// Why a program is not the one it seems to be.
    fn untrusted(&self, program: &str) -> Option<String> {
        if program.contains('/') && !program.starts_with('/') && self.place == Place::Moved {
            return Some("another part of the text goes to a different directory first".to_owned());
        }
        let lookup = Lookup { request: self.request, files: self.files, roots: &self.rules().roots };
        let inherited = self.request.environment.iter().find(|(name, _)| name == "PATH");
        let set = self.policy.environment.set.iter().find(|(name, _)| name == "PATH");
        let inherited = inherited.map(|(_, value)| value.as_os_str());
        let checked = lookup.check(program, inherited).and_then(|()| match set {
            Some((_, value)) => lookup.check(program, Some(OsStr::new(value))),
            None => Ok(()),
        });
        checked.err().map(|untrusted| untrusted.to_string())
    }

    /// Why the shell must not open this file for a command without walls.
    fn unfit(&self, redirection: &Redirection<'_>) -> Option<String> {
        let Some(target) = redirection.target.value.as_deref() else {
            return Some(format!("where {} leads is not known before it runs", redirection.target.raw));
        };
        if target == "/dev/null" {
            return None;
        }
        let path = Path::new(target);
        if !path.is_absolute() && self.place == Place::Moved {
            return Some("another part of the text goes to a different directory first".to_owned());
        }
        let told = self.policy.explain(&self.request.cwd.join(path), self.files);
        let fits = told.is_ok_and(|told| {
            let inside = self.rules().roots.iter().any(|root| told.resolved.starts_with(root));
            inside
                && match redirection.direction {
                    Direction::In => told.read.allowed,
                    Direction::Out => told.write.allowed,
                }
        });
        (!fits).then(|| format!("it redirects to {target}, which commands may not use"))
    }
}

fn variable_fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}
