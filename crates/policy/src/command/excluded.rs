//! Whether a command may run without walls because the settings list it.

use super::ground::{Ground, Stands, Ways};
use super::lookup::Lookup;
use super::part::{Direction, Input, Part, Redirection};
use super::pattern::{CommandPattern, glob};
use super::strict::is_reserved;
use super::strip::{Purpose, Stripped, last_name, strip};
use super::surroundings::Surroundings;
use super::{CommandRules, Excluded};
use crate::policy::Policy;
use crate::{CommandLine, Files, Opening, Opens, Request};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Everything one request is judged with.
pub(crate) struct Bench<'a> {
    policy: &'a Policy,
    request: &'a Request,
    files: &'a dyn Files,
    place: Place,
    letters: Letters,
    ways: Ways<'a>,
    /// Where it would run, or why nothing runs without walls there. Only what is listed needs to know.
    ground: OnceCell<Result<Stands, String>>,
    /// Why the caller's own variables speak against everything.
    surroundings: OnceCell<Option<String>>,
    /// The files that are opened for redirections.
    openings: RefCell<Vec<Opening>>,
    /// The last names of all words: the programs are among them.
    words: BTreeSet<String>,
    /// What was said about programs before.
    known: RefCell<BTreeMap<String, Option<String>>>,
    /// How many more files are looked at.
    patience: Cell<usize>,
}

/// How many redirections of one text are looked at: each may be a walk through the workspace.
const MOST_REDIRECTIONS: usize = 16;

/// Whether paths can be told from the request's directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Fixed,
    /// A part of the text goes somewhere else first.
    Moved,
}

/// Whether a shell reads the letters of the text as they are read here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    Plain,
    /// In its character set the second half of a letter may look like a quote or a backslash.
    Foreign,
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
        let ways = Ways::of(request, parts);
        let place = if ways.move_about() { Place::Moved } else { Place::Fixed };
        let known = RefCell::new(BTreeMap::new());
        let words = parts.iter().flat_map(|part| &part.words).filter_map(|word| word.value.as_deref());
        let words = words.map(|word| last_name(word).to_owned()).collect();
        let letters = letters(policy, request);
        let (patience, openings) = (Cell::new(MOST_REDIRECTIONS), RefCell::default());
        let (ground, surroundings) = (OnceCell::new(), OnceCell::new());
        Self {
            policy,
            request,
            files,
            place,
            ways,
            letters,
            ground,
            surroundings,
            openings,
            words,
            known,
            patience,
        }
    }

    /// The directory it was judged in, and what shells open for what was looked at.
    pub(crate) fn openings(self) -> (Option<PathBuf>, Vec<Opening>) {
        let mut openings = self.openings.into_inner();
        let stands = self.ground.into_inner().and_then(Result::ok);
        let directory = stands.map(|stands| {
            openings.extend(stands.entered);
            stands.first
        });
        (directory, openings)
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
        if self.letters == Letters::Foreign {
            return Some("it has letters outside ASCII, and the locale is not UTF-8".to_owned());
        }
        let ground = Ground { policy: self.policy, files: self.files };
        if let Err(objection) = self.ground.get_or_init(|| ground.stands(&self.ways)) {
            return Some(objection.clone());
        }
        if let Some(objection) = ground.raced(self.request, &self.directories()) {
            return Some(objection);
        }
        if let Some(word) = stripped.unknown_word {
            return Some(format!("{word} in front of it is not known here"));
        }
        if stripped.unfinished {
            return Some("there is too much in front of it".to_owned());
        }
        let listed = |name: &str| self.rules().variables.iter().any(|pattern| variable_fits(pattern, name));
        if let Some(known) = stripped.assignments.iter().find(|assignment| listed(&assignment.name)) {
            return Some(format!("it sets {}, which may change what programs run", known.name));
        }
        if !stripped.assignments.is_empty() {
            let surroundings = self.surroundings();
            let mut set = stripped.assignments.iter();
            let led = set.find_map(|set| surroundings.assignment_objection(set, self.policy));
            if led.is_some() {
                return led;
            }
        }
        if let Some(objection) = self.surroundings.get_or_init(|| self.surroundings().objection()) {
            return Some(objection.clone());
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
        if let Some(objection) = self.fed(part, stripped, program) {
            return Some(objection);
        }
        let names = |option: &str| {
            let listed = |pattern: &CommandPattern| pattern.excludes(stripped) && pattern.spells_out(option);
            self.rules().excluded.iter().any(|excluded| listed(&excluded.pattern))
        };
        if last_name(program) == "git"
            && let Some(Ok(stands)) = self.ground.get()
            && let Some(objection) =
                ground.repository_objection(self.request, stands, stripped.command(), names)
        {
            return Some(objection);
        }
        let unfit = part.redirections.iter().find_map(|redirection| self.unfit(redirection));
        unfit.or_else(|| self.detached(part, stripped))
    }

    /// Why an interpreter is not covered by patterns that name all its words: what it runs may be none of them.
    fn fed(&self, part: &Part<'_>, stripped: &Stripped<'_, '_>, program: &str) -> Option<String> {
        let rules = self.rules();
        let mut patterns = rules.excluded.iter().map(|excluded| &excluded.pattern);
        let runs = || {
            let name = last_name(program).as_bytes();
            rules.runs_its_input.iter().any(|known| glob(known.as_bytes(), name))
        };
        // Whoever leaves the words open has left the input open, too.
        let mut open = || patterns.any(|pattern| !pattern.names_all() && pattern.excludes(stripped));
        (part.input == Input::Fed && runs() && !open())
            .then(|| format!("{program} may run what it reads, and what it reads is not in the pattern"))
    }

    /// Names the file that `nohup` makes in its directory, perhaps through a link that commands left there.
    fn detached(&self, part: &Part<'_>, stripped: &Stripped<'_, '_>) -> Option<String> {
        let Some(Ok(Stands { first, .. })) = self.ground.get() else { return None };
        for words in &stripped.stages {
            let Some(program) = words.first().filter(|word| {
                words.len() > 1 && word.value.as_deref().is_some_and(|value| last_name(value) == "nohup")
            }) else {
                continue;
            };
            let at = part.words.len() - words.len();
            let name = match &self.request.command {
                CommandLine::Argv(_) => Some(at..at + 1),
                CommandLine::Shell(_) => place_of(self.request, program.raw),
            };
            let Some(name) = name else { return Some("where nohup stands in it cannot be told".to_owned()) };
            let opening = Opening { name, path: first.join("nohup.out"), opens: Opens::ForNohup };
            self.openings.borrow_mut().push(opening);
        }
        None
    }

    fn lookup(&self) -> Lookup<'a> {
        Lookup { request: self.request, files: self.files, roots: &self.rules().roots }
    }

    /// Where the parts of the text would run, as far as that is known.
    fn directories(&self) -> Vec<PathBuf> {
        let mut all = vec![self.request.cwd.clone()];
        if let Some(Ok(stands)) = self.ground.get() {
            all.push(stands.first.clone());
            all.extend(stands.entered.iter().map(|entered| entered.path.clone()));
        }
        all.dedup();
        all
    }

    fn surroundings(&self) -> Surroundings<'_> {
        let CommandRules { variables, merely_named, files, .. } = self.rules();
        Surroundings {
            lookup: self.lookup(),
            place: self.place,
            listed: variables,
            merely_named,
            files,
            words: &self.words,
            directories: self.directories(),
        }
    }

    /// Why a program is not the one it seems to be.
    fn untrusted(&self, program: &str) -> Option<String> {
        if let Some(known) = self.known.borrow().get(program) {
            return known.clone();
        }
        let told = self.look_up(program);
        self.known.borrow_mut().insert(program.to_owned(), told.clone());
        told
    }

    fn look_up(&self, program: &str) -> Option<String> {
        if program.contains('/') && !program.starts_with('/') && self.place == Place::Moved {
            return Some("another part of the text goes to a different directory first".to_owned());
        }
        let lookup = self.lookup();
        let inherited = self.request.environment.iter().find(|(name, _)| name == "PATH");
        let set = self.policy.environment.set.iter().find(|(name, _)| name == "PATH");
        let inherited = inherited.map(|(_, value)| value.as_os_str());
        let checked = match (inherited, set) {
            (None, None) if matches!(self.request.command, CommandLine::Shell(_)) => {
                lookup.check_without_path(program)
            }
            (None, Some((_, value))) => lookup.check(program, Some(OsStr::new(value))),
            (_, None) => lookup.check(program, inherited),
            (_, Some((_, value))) => {
                lookup.check(program, inherited).and_then(|()| lookup.check(program, Some(OsStr::new(value))))
            }
        };
        let plugins = || {
            let Some((name, how)) = self.rules().plugins_on_path.get_key_value(last_name(program)) else {
                return Ok(());
            };
            let paths = [inherited, set.map(|(_, value)| OsStr::new(value))];
            paths.into_iter().flatten().try_for_each(|path| lookup.check_plugins(name, how, path))
        };
        checked.and_then(|()| plugins()).err().map(|untrusted| untrusted.to_string())
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
        let Some(patience) = self.patience.get().checked_sub(1) else {
            return Some("there are too many redirections".to_owned());
        };
        self.patience.set(patience);
        let told = self.policy.explain(&self.request.cwd.join(path), self.files);
        let fits = told.ok().filter(|told| {
            let inside = self.rules().roots.iter().any(|root| told.resolved.starts_with(root));
            inside
                && match redirection.direction {
                    Direction::In => told.read.allowed,
                    // What is checked when commands behind walls write it, nobody would check here.
                    Direction::Out => told.write.allowed && !self.rules().is_obeyed(&told.resolved),
                }
        });
        let (Some(told), Some(name)) = (fits, place_of(self.request, redirection.target.raw)) else {
            return Some(format!("it redirects to {target}, which commands may not use"));
        };
        let is_there = self.files.look(&told.resolved).is_ok();
        if is_there && !self.files.is_plain(&told.resolved) {
            return Some(format!("it redirects to {target}, which is there and is no plain file"));
        }
        let opens = match redirection.direction {
            Direction::In => Opens::ForReading,
            Direction::Out => Opens::ForWriting,
        };
        self.openings.borrow_mut().push(Opening { name, path: told.resolved, opens });
        None
    }
}

/// Where a word of the text stands in it.
pub(super) fn place_of(request: &Request, word: &str) -> Option<Range<usize>> {
    let CommandLine::Shell(text) = &request.command else { return None };
    let text = text.to_str()?.as_bytes().as_ptr_range();
    let word = word.as_bytes().as_ptr_range();
    let inside = text.start <= word.start && word.end <= text.end;
    let offset = |at: *const u8| at.addr() - text.start.addr();
    inside.then(|| offset(word.start)..offset(word.end))
}

/// How the shell of a request reads its text.
fn letters(policy: &Policy, request: &Request) -> Letters {
    let CommandLine::Shell(text) = &request.command else { return Letters::Plain };
    if text.as_encoded_bytes().is_ascii() {
        return Letters::Plain;
    }
    let inherited = request.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let set = policy.environment.set.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    let odd = |(name, value): (&OsStr, &OsStr)| {
        let counts = ["LC_ALL", "LC_CTYPE", "LANG"].iter().any(|known| name == *known);
        counts && !value.to_str().is_some_and(is_plain_locale)
    };
    if inherited.chain(set).any(odd) { Letters::Foreign } else { Letters::Plain }
}

fn is_plain_locale(name: &str) -> bool {
    let (name, _) = name.split_once('@').unwrap_or((name, ""));
    let set = name.split_once('.').map(|(_, set)| set.to_ascii_lowercase());
    matches!(name, "" | "C" | "POSIX") || matches!(set.as_deref(), Some("utf-8" | "utf8"))
}

pub(super) fn variable_fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(rest), Some(_)) => name.contains(rest.trim_end_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => pattern == name,
    }
}
