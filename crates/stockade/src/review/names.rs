//! Patterns of `profiles/review.json` against names.
//!
//! Every directory of a tree is held against every pattern, so that the usual answer has to be found with
//! one comparison: patterns are compared from their end.

/// A path pattern, at any depth.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The entry it belongs to.
    pub(super) entry: usize,
    /// The directories, outermost first.
    pub(super) parents: Vec<Part>,
    pub(super) last: Part,
}

/// One name of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(Vec<u8>),
    /// With `*` in it.
    Wild(Vec<u8>),
    /// Any number of directories.
    Any,
    /// The workspace itself.
    Top,
}

impl Pattern {
    pub(super) fn new(entry: usize, text: &str) -> Self {
        let mut parents: Vec<Part> = text.split('/').map(Part::new).collect();
        let last = match parents.pop() {
            // Everything below, at any depth.
            Some(Part::Any) => {
                parents.push(Part::Any);
                Part::Wild(b"*".to_vec())
            }
            Some(last) => last,
            None => Part::Literal(Vec::new()),
        };
        Self { entry, parents, last }
    }

    /// What stands after the last dot, where any directory and anything before it will do.
    pub(super) fn only_ending(&self) -> Option<&[u8]> {
        match &self.last {
            Part::Wild(text) if self.parents.is_empty() && !text[1..].contains(&b'*') => {
                ending(text.strip_prefix(b"*").filter(|rest| rest.first() == Some(&b'.'))?)
            }
            _ => None,
        }
    }

    /// Whether names in this directory may fit.
    pub(super) fn is_below(&self, directory: &[&[u8]]) -> bool {
        ends_with(directory, &self.parents)
    }

    /// Whether this path is one of the directories on the way.
    pub(super) fn leads_over(&self, path: &[&[u8]]) -> bool {
        (1..=self.parents.len()).any(|count| ends_with(path, &self.parents[..count]))
    }
}

impl Part {
    fn new(text: &str) -> Self {
        match text {
            "**" => Self::Any,
            "." => Self::Top,
            text if text.contains('*') => Self::Wild(text.into()),
            text => Self::Literal(text.into()),
        }
    }

    pub(super) fn fits(&self, name: &[u8]) -> bool {
        match self {
            Self::Literal(text) => text == name,
            Self::Wild(text) => fits(text, name),
            Self::Any => true,
            Self::Top => false,
        }
    }
}

/// Whether the last names of a path fit.
pub(super) fn ends_with(path: &[&[u8]], parts: &[Part]) -> bool {
    match parts.split_last() {
        None => true,
        Some((Part::Top, _)) => path.is_empty(),
        Some((Part::Any, rest)) => (0..=path.len()).rev().any(|count| ends_with(&path[..count], rest)),
        Some((part, rest)) => {
            path.split_last().is_some_and(|(name, above)| part.fits(name) && ends_with(above, rest))
        }
    }
}

/// What stands after the last dot of a name.
pub(super) fn ending(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|letter| *letter == b'.')?;
    Some(&name[dot + 1..])
}

/// The names of a path as patterns are written.
pub(super) fn parts(text: &str) -> Vec<Part> {
    text.split('/').map(Part::new).collect()
}

/// `*` stands for any letters. Goes back to the last star only, so that no name takes long.
pub(super) fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut here) = (0, 0);
    let mut star = None;
    while here < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, here));
            at += 1;
        } else if pattern.get(at) == Some(&name[here]) {
            at += 1;
            here += 1;
        } else if let Some((back, taken)) = star {
            star = Some((back, taken + 1));
            at = back + 1;
            here = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let pattern = Pattern::new(0, pattern);
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let (last, directory) = names.split_last().unwrap();
        pattern.is_below(directory) && pattern.last.fits(last)
    }

    #[test]
    fn paths_hold_at_any_depth() {
        for (pattern, path, expected) in [
            ("build.rs", "build.rs", true),
            ("build.rs", "a/b/build.rs", true),
            ("build.rs", "a/rebuild.rs", false),
            (".git/hooks/*", ".git/hooks/pre-commit", true),
            (".git/hooks/*", "sub/.git/hooks/pre-commit", true),
            (".git/hooks/*", ".git/hooks/deep/pre-commit", false),
            (".git/hooks/**", ".git/hooks/deep/pre-commit", true),
            (".git/hooks/**", ".git/hooks/pre-commit", true),
            (".git/hooks/**", "hooks/pre-commit", false),
            (".git/modules/**/hooks/*", ".git/modules/a/b/hooks/x", true),
            (".git/modules/**/hooks/*", ".git/modules/hooks/x", true),
            (".git/modules/**/hooks/*", ".git/other/hooks/x", false),
            (".git/worktrees/*/gitdir", ".git/worktrees/one/gitdir", true),
            (".git/worktrees/*/gitdir", ".git/worktrees/one/two/gitdir", false),
            ("./json.py", "json.py", true),
            ("./json.py", "a/json.py", false),
            ("*.pth", "a/evil.pth", true),
            ("*.pth", "a/evil.pth.txt", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn endings_are_told_from_other_patterns() {
        for (pattern, expected) in [
            ("*.py", Some("py")),
            ("*.tf.json", Some("json")),
            ("*", None),
            ("*rc", None),
            ("a*.py", None),
            ("*.p*y", None),
            ("a/*.py", None),
            ("a.py", None),
        ] {
            let pattern = Pattern::new(0, pattern);
            assert_eq!(pattern.only_ending(), expected.map(str::as_bytes), "{pattern:?}");
        }
    }

    #[test]
    fn stars_stand_for_letters() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("*.sample", "pre-commit.sample", true),
            ("*.sample", "pre-commit", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
        let begun = std::time::Instant::now();
        assert!(!fits(b"*a*a*a*a*a*a*b", &[b'a'; 4096]));
        assert!(begun.elapsed().as_secs() < 2);
    }

    #[test]
    fn directories_on_the_way_are_known() {
        let hooks = Pattern::new(0, ".git/modules/**/hooks/*");
        for (path, expected) in [
            (".git", true),
            ("a/.git", true),
            (".git/modules", true),
            (".git/modules/x/hooks", true),
            (".git/modules/x", true),
            ("modules", false),
            ("hooks", false),
        ] {
            let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
            assert_eq!(hooks.leads_over(&names), expected, "{path}");
        }
    }
}
