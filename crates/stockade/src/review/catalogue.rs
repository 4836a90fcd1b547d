//! What counts in a review, ready to be asked for every name of a tree.

use super::names::{Part, Pattern, ending, ends_with, fits, parts};
use std::collections::{HashMap, HashSet};
use stockade_policy::{ReviewEntry, ReviewList, ReviewPackages, review_list};

/// The entries, by the names they are about.
#[derive(Debug)]
pub(super) struct Catalogue {
    pub(super) entries: Vec<ReviewEntry>,
    literal: HashMap<Vec<u8>, Vec<Pattern>>,
    /// Those that say no more than how a name ends, by what stands after its last dot.
    endings: HashMap<Vec<u8>, Vec<Pattern>>,
    wild: Vec<Pattern>,
    /// Entries that do not count below some directories.
    bounded: Vec<(usize, HashSet<Vec<u8>>)>,
    skip: Vec<Vec<Part>>,
    packages: HashSet<Vec<u8>>,
}

/// The part of it that a directory has to do with.
pub(super) struct Here<'a> {
    catalogue: &'a Catalogue,
    directory: &'a [&'a [u8]],
    wild: Vec<&'a Pattern>,
    /// Entries that do not count here.
    shut: Vec<usize>,
    inside: Inside,
}

/// Whether a directory belongs to installed packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Project,
    Packages,
}

impl Catalogue {
    pub(super) fn new() -> Self {
        let ReviewList { packages, skip, entries } = review_list();
        let (mut literal, mut endings, mut wild) =
            (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new(), Vec::new());
        let mut bounded = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            for path in &entry.paths {
                let pattern = Pattern::new(number, path);
                match (&pattern.last, pattern.only_ending()) {
                    (Part::Literal(name), _) => literal.entry(name.clone()).or_default().push(pattern),
                    (_, Some(ending)) => endings.entry(ending.to_vec()).or_default().push(pattern),
                    _ => wild.push(pattern),
                }
            }
            if !entry.outside.is_empty() {
                bounded.push((number, entry.outside.iter().map(|name| name.clone().into_bytes()).collect()));
            }
        }
        Self {
            entries,
            literal,
            endings,
            wild,
            bounded,
            skip: skip.iter().map(|path| parts(path)).collect(),
            packages: packages.into_iter().map(String::into_bytes).collect(),
        }
    }

    pub(super) fn here<'a>(&'a self, directory: &'a [&'a [u8]], inside: Inside) -> Here<'a> {
        let is_in = |names: &HashSet<Vec<u8>>| directory.iter().any(|name| names.contains(*name));
        let shut = self.bounded.iter().filter(|(_, names)| is_in(names)).map(|(entry, _)| *entry).collect();
        let mut here = Here { catalogue: self, directory, wild: Vec::new(), shut, inside };
        // Once for a directory, not for each of its names.
        let open = |pattern: &&Pattern| here.is_open(pattern.entry) && pattern.is_below(directory);
        here.wild = self.wild.iter().filter(open).collect();
        here
    }

    /// Whether nothing is looked for below this path.
    pub(super) fn skips(&self, path: &[&[u8]]) -> bool {
        self.skip.iter().any(|parts| ends_with(path, parts))
    }

    /// What a directory of this name holds.
    pub(super) fn below(&self, inside: Inside, name: &[u8]) -> Inside {
        if self.packages.contains(name) { Inside::Packages } else { inside }
    }

    /// The entry for whose sake somebody follows a link that stands at this path.
    pub(super) fn leads_over(&self, path: &[&[u8]]) -> Option<usize> {
        let literal = self.literal.values().flatten();
        // Of installed packages some package managers make nothing but links.
        let led = |pattern: &&Pattern| self.entries[pattern.entry].packages != ReviewPackages::Only;
        let leading = self.wild.iter().chain(literal).filter(led).filter(|pattern| pattern.leads_over(path));
        leading.map(|pattern| pattern.entry).min()
    }
}

impl Here<'_> {
    /// The first entry that a name in this directory belongs to.
    pub(super) fn entry(&self, name: &[u8]) -> Option<usize> {
        let literal = self.catalogue.literal.get(name).into_iter().flatten();
        let literal = literal.filter(|pattern| pattern.is_below(self.directory));
        let ending = ending(name).and_then(|ending| self.catalogue.endings.get(ending));
        let wild = self.wild.iter().copied().chain(ending.into_iter().flatten());
        let wild = wild.filter(|pattern| pattern.last.fits(name));
        literal.chain(wild).map(|pattern| pattern.entry).filter(|entry| self.counts(*entry, name)).min()
    }

    fn counts(&self, entry: usize, name: &[u8]) -> bool {
        let except = &self.catalogue.entries[entry].except;
        self.is_open(entry) && !except.iter().any(|pattern| fits(pattern.as_bytes(), name))
    }

    /// Whether an entry counts in this directory at all.
    fn is_open(&self, entry: usize) -> bool {
        let here = match self.catalogue.entries[entry].packages {
            ReviewPackages::Left => self.inside == Inside::Project,
            ReviewPackages::Included => true,
            ReviewPackages::Only => self.inside == Inside::Packages,
        };
        here && !self.shut.contains(&entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade_policy::ReviewKind;

    fn kind(catalogue: &Catalogue, path: &str) -> Option<ReviewKind> {
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let (last, directory) = names.split_last().unwrap();
        let inside = directory.iter().fold(Inside::Project, |inside, name| catalogue.below(inside, name));
        let entry = catalogue.here(directory, inside).entry(last)?;
        Some(catalogue.entries[entry].kind)
    }

    #[test]
    fn names_find_their_kind() {
        use ReviewKind::*;
        let catalogue = Catalogue::new();
        for (path, expected) in [
            (".git/hooks/pre-commit", Some(GitHook)),
            (".git/hooks/pre-commit.sample", None),
            (".git/modules/sub/hooks/post-checkout", Some(GitHook)),
            ("deep/down/.git/config", Some(GitSettings)),
            (".github/workflows/ci.yml", Some(Pipeline)),
            ("node_modules/x/.github/workflows/ci.yml", None),
            ("node_modules/x/package.json", Some(PackageScript)),
            ("node_modules/@a/x/package.json", Some(PackageScript)),
            ("node_modules/x/esm/deep/package.json", None),
            ("vendor/x/package.json", None),
            (".venv/bin/activate", Some(ShellStart)),
            (".venv/bin/activate.fish", Some(ShellStart)),
            (".venv/bin/Activate.ps1", Some(ShellStart)),
            (".venv/bin/python", Some(Program)),
            ("a/Cargo.toml", Some(BuildScript)),
            ("pom.xml", Some(BuildScript)),
            ("a/b.csproj", Some(BuildScript)),
            ("build.xml", Some(BuildScript)),
            (".rubocop.yml", Some(BuildScript)),
            (".pryrc", Some(BuildScript)),
            ("mypy.ini", Some(BuildScript)),
            (".flake8", Some(BuildScript)),
            ("nodemon.json", Some(BuildScript)),
            (".storybook/main.js", Some(BuildScript)),
            ("devbox.json", Some(ShellStart)),
            ("infra/main.tf", Some(BuildScript)),
            ("json.py", Some(BuildScript)),
            ("scripts/json.py", Some(BuildScript)),
            // Of a package, where nothing is found by this name.
            ("src/pkg/random.md", None),
            ("bin/tool", Some(Program)),
            ("run.sh", Some(Program)),
            ("target/debug/tool", None),
            ("a/build/run.sh", None),
            ("node_modules/x/run.sh", None),
            ("node_modules/x/.vscode/tasks.json", Some(Editor)),
            ("node_modules/.bin/tsc", Some(Program)),
            ("a/package.json", Some(PackageScript)),
            (".claude/settings.json", Some(Agent)),
            (".claude/skills/a/b/SKILL.md", Some(Agent)),
            ("crates/a/build.rs", Some(BuildScript)),
            ("venv/lib/python3/site-packages/x.pth", Some(BuildScript)),
            // Protected at roots, and looked for everywhere.
            ("a/.qwen/settings.json", Some(Agent)),
            ("a/.crush.json", Some(Agent)),
            ("a/.github/hooks/x.json", Some(Agent)),
            ("node_modules/x/.agents/skills/y", Some(Agent)),
            ("a/.local/bin/ls", Some(ShellStart)),
            ("a/.idea/workspace.xml", None),
            ("a/deno.jsonc", Some(PackageScript)),
            ("a/mise.local.toml", Some(ShellStart)),
            ("a/.mise.local.toml", Some(ShellStart)),
            ("a/.pnp.cjs", Some(BuildScript)),
            ("a/pnpm-workspace.yaml", Some(ToolSettings)),
            ("a/eslint.config.mjs", Some(BuildScript)),
            ("a/.Rprofile", Some(BuildScript)),
            ("a/.gdbinit", Some(BuildScript)),
            ("a/.ghci", Some(BuildScript)),
            ("a/.irbrc", Some(BuildScript)),
            ("a/justfile", Some(BuildScript)),
            ("jest.config.js", Some(BuildScript)),
            ("a/vite.config.mts", Some(BuildScript)),
            ("node_modules/x/jest.config.js", None),
            ("docker-compose.yml", Some(BuildScript)),
            ("compose.override.yaml", Some(BuildScript)),
            ("Dockerfile", Some(BuildScript)),
            ("Taskfile.yml", Some(BuildScript)),
            ("tox.ini", Some(BuildScript)),
            ("flake.nix", Some(BuildScript)),
            (".lldbinit", Some(BuildScript)),
            (".pylintrc", Some(BuildScript)),
            (".rspec", Some(BuildScript)),
            (".hg/hgrc", Some(ToolSettings)),
            ("a/.jj/repo/config.toml", Some(ToolSettings)),
            ("ansible.cfg", Some(ToolSettings)),
            ("tools/bazel", Some(ToolSettings)),
            ("WORKSPACE.bazel", Some(BuildScript)),
            ("a/CMakeLists.txt", Some(BuildScript)),
            ("Makefile", Some(BuildScript)),
            ("src/config.ts", None),
            ("src/jest.ts", None),
            ("docs/compose.md", None),
            ("src/main.rs", None),
            ("README.md", None),
        ] {
            assert_eq!(kind(&catalogue, path), expected, "{path}");
        }
    }

    #[test]
    fn git_data_is_skipped() {
        let catalogue = Catalogue::new();
        assert!(catalogue.skips(&[b"a", b".git", b"objects"]));
        assert!(!catalogue.skips(&[b"objects"]));
        assert!(!catalogue.skips(&[b".git", b"hooks"]));
    }
}
