//! File rules with their origins.

use crate::pattern::{Glob, Pattern};
use crate::{Layer, Origin, RuleRef};
use std::path::PathBuf;

/// Which list a rule stands in; what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum List {
    /// May be read.
    AllowRead,
    /// May not be read.
    DenyRead,
    /// May be written.
    AllowWrite,
    /// May not be written.
    DenyWrite,
    /// May be run.
    AllowExecute,
    /// May not be run.
    DenyExecute,
    /// Denies reading whatever else says: managed settings, denied credential files.
    Seal,
    /// An exception inside the default deny list.
    Open,
    /// A directory of the system, visible when reading is limited.
    System,
    /// Stockade's own.
    Own,
    /// The private cache of tools inside Stockade's own.
    ToolCache,
    /// The sandbox has something of its own there.
    Private,
    /// Mandatory protection from writing.
    Protected,
    /// Mandatory protection by content: a change must pass a check.
    Checked,
}

impl List {
    /// Lists that keep something from being read.
    pub(crate) fn hides(self) -> bool {
        matches!(self, Self::DenyRead | Self::Seal | Self::Own)
    }

    /// Lists that keep something from being read or written.
    pub(crate) fn refuses(self) -> bool {
        self.hides() || matches!(self, Self::DenyWrite | Self::Protected)
    }

    fn words(self) -> &'static str {
        match self {
            Self::AllowRead | Self::Open => "allowRead",
            Self::DenyRead | Self::Seal => "denyRead",
            Self::AllowWrite | Self::ToolCache => "allowWrite",
            Self::DenyWrite => "denyWrite",
            Self::AllowExecute => "allowExecute",
            Self::DenyExecute => "denyExecute",
            Self::System => "system directory",
            Self::Own => "own directory",
            Self::Private => "private",
            Self::Protected | Self::Checked => "protected",
        }
    }
}

/// What a rule names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One path, as written: links are still in it.
    Literal(PathBuf),
    /// What matches below one directory.
    Anchored { base: PathBuf, glob: Glob },
    /// What matches below the workspace and every listed root.
    Anywhere(Glob),
    /// What matches below every git directory in a writable region.
    InGitDirectory(Glob),
    /// A `.git` that is a file, in a writable region.
    GitFile,
    /// What matches at protected roots in a writable region.
    AtRoots(Glob),
    /// The same, but not inside node_modules.
    AtRootsOutsideModules(Glob),
    /// A directory nobody could look into.
    Unlistable,
}

impl From<Pattern> for Place {
    fn from(pattern: Pattern) -> Self {
        match pattern {
            Pattern::Literal(path) => Self::Literal(path),
            Pattern::Anchored { base, glob } => Self::Anchored { base, glob },
            Pattern::Anywhere(glob) => Self::Anywhere(glob),
        }
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) list: List,
    pub(crate) place: Place,
    /// As written.
    pub(crate) text: Box<str>,
    pub(crate) source: SourceId,
    /// The key and index inside the source.
    pub(crate) key: Option<(&'static str, usize)>,
}

impl Rule {
    /// Whether this hides what git remembers of conflicts.
    pub(crate) fn hides_git_memory(&self) -> bool {
        self.list == List::DenyRead && matches!(self.place, Place::InGitDirectory(_))
    }
}

/// A rule's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RuleId(u32);

impl RuleId {
    /// The rule at this place of a list.
    pub(crate) fn at(index: usize) -> Self {
        Self(index as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What precedence needs to know about rules, wherever they are kept.
pub(crate) trait Facts {
    fn list(&self, id: RuleId) -> List;
    fn layer(&self, id: RuleId) -> Layer;
    fn spelling(&self, id: RuleId) -> Spelling;
    fn any(&self, list: List) -> bool;
}

/// How a rule says what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// By its path.
    Literal,
    /// By a pattern.
    Pattern,
    /// It is what nobody could look into.
    Unlistable,
}

/// A source's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceId(u32);

/// A file, preset or option.
#[derive(Clone, Debug)]
struct Source {
    layer: Layer,
    name: Box<str>,
    /// What stands before every key, where the keys are those of a part of the file.
    within: &'static str,
}

/// Every rule of a policy. Origins are put together only when somebody wants to read one.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    rules: Vec<Rule>,
    sources: Vec<Source>,
}

impl Book {
    /// An empty one with room for what is built in and a few more: growing step by step takes twice the memory.
    pub(crate) fn new() -> Self {
        const USUAL: usize = 256;
        Self { rules: Vec::with_capacity(USUAL), sources: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn source(&mut self, layer: Layer, name: impl Into<Box<str>>) -> SourceId {
        self.source_within(layer, name, "")
    }

    /// A part of a file, with what stands before the keys there: `sandbox.`.
    pub(crate) fn source_within(
        &mut self,
        layer: Layer,
        name: impl Into<Box<str>>,
        within: &'static str,
    ) -> SourceId {
        self.sources.push(Source { layer, name: name.into(), within });
        SourceId(self.sources.len() as u32 - 1)
    }

    pub(crate) fn add(&mut self, rule: Rule) -> RuleId {
        self.rules.push(rule);
        RuleId(self.rules.len() as u32 - 1)
    }

    pub(crate) fn get(&self, id: RuleId) -> &Rule {
        &self.rules[id.0 as usize]
    }

    pub(crate) fn layer(&self, id: RuleId) -> Layer {
        self.source_layer(self.get(id).source)
    }

    pub(crate) fn any(&self, list: List) -> bool {
        self.rules.iter().any(|rule| rule.list == list)
    }

    pub(crate) fn source_layer(&self, source: SourceId) -> Layer {
        self.sources[source.0 as usize].layer
    }

    pub(crate) fn source_name(&self, source: SourceId) -> &str {
        &self.sources[source.0 as usize].name
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (RuleId, &Rule)> {
        self.rules.iter().enumerate().map(|(number, rule)| (RuleId(number as u32), rule))
    }

    /// A key of a source as the file spells it.
    pub(crate) fn key(&self, source: SourceId, key: &str) -> String {
        let within = self.sources[source.0 as usize].within;
        if key.is_empty() { String::new() } else { format!("{within}{key}") }
    }

    pub(crate) fn origin(&self, source: SourceId, key: impl AsRef<str>) -> Origin {
        let Source { layer, name, .. } = &self.sources[source.0 as usize];
        Origin { layer: *layer, source: name.to_string(), key: self.key(source, key.as_ref()) }
    }

    /// The rule as a person would quote it.
    pub(crate) fn quote(&self, id: RuleId) -> RuleRef {
        let rule = self.get(id);
        let key = rule.key.map(|(key, index)| format!("{key}[{index}]")).unwrap_or_default();
        RuleRef { text: [rule.list.words(), " ", &rule.text].concat(), origin: self.origin(rule.source, key) }
    }
}

impl Facts for Book {
    fn list(&self, id: RuleId) -> List {
        self.get(id).list
    }

    fn layer(&self, id: RuleId) -> Layer {
        Self::layer(self, id)
    }

    fn spelling(&self, id: RuleId) -> Spelling {
        match self.get(id).place {
            Place::Literal(_) => Spelling::Literal,
            Place::Unlistable => Spelling::Unlistable,
            _ => Spelling::Pattern,
        }
    }

    fn any(&self, list: List) -> bool {
        Self::any(self, list)
    }
}
