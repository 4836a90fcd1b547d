//! The caller's own variables, where programs without walls would obey through them what commands can write.

use super::excluded::{Place, variable_fits};
use super::lookup::Lookup;
use crate::FileKind;
use crate::data::MerelyNamed;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Not obeyed, or judged program by program.
const NOT_OBEYED: [&str; 8] = ["PATH", "PWD", "OLDPWD", "_", "PS0", "PS1", "PS2", "WINDOWPATH"];

/// Printed before each command of a shell that traces what it does, after what is in it has run.
const TRACE_PROMPT: &str = "PS4";

/// Read by the shell itself before the text, which it takes for more than a name.
const SHELL_FILES: [&str; 2] = ["BASH_ENV", "ENV"];

/// Lists in which an empty entry stands for the usual places, not for the working directory.
const USUAL_WHEN_EMPTY: [&str; 5] = ["MANPATH", "INFOPATH", "TERMINFO_DIRS", "LUA_", "JULIA_"];

/// What names several directories or files.
const LISTS: [&str; 6] = ["PATH", "PATHS", "_DIRS", "LIB", "LIBS", "MAKEFILES"];

/// What names one directory or file.
const ONE: [&str; 6] = ["HOME", "DIR", "ROOT", "FILE", "RC", "CONFIG"];

/// What names hosts, addresses or modules, which have slashes of their own.
const ADDRESSES: [&str; 11] = [
    "_proxy",
    "_PROXY",
    "_URL",
    "_HOST",
    "_SITE",
    "GOPRIVATE",
    "GOPROXY",
    "GONOPROXY",
    "GONOSUMDB",
    "GOINSECURE",
    "GOVCS",
];

/// What is not a name of anything.
const SWITCHES: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "none", "auto", "default", "-"];

/// In front of a path, where an address is meant otherwise.
const PATH_SCHEMES: [&str; 2] = ["unix://", "file://"];

/// Options of compilers, and those among them that name places of headers and libraries for what is built.
const COMPILER_FLAGS: [&str; 4] = ["CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"];
const BUILT_FROM: [&str; 5] = ["-I", "-L", "-isystem", "-iquote", "-idirafter"];

/// To rustc `-C` is no directory.
const RUST_FLAGS: [&str; 2] = ["RUSTFLAGS", "RUSTDOCFLAGS"];

/// Stands alone and has node obey a file of the working directory.
const OBEYS_DIRECTORY: &str = "--experimental-default-config-file";

/// Options behind which a file, a directory or a module of the working directory is named.
const LOADING: [&str; 25] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-f",
    "--file",
    "--makefile",
    "-C",
    "--directory",
    "-I",
    "--include-dir",
    "-cp",
    "-classpath",
    "--class-path",
    "--experimental-config-file",
    "--env-file",
    "--env-file-if-exists",
    "--openssl-config",
    "--snapshot-blob",
    // Commands of vim.
    "source",
    "so",
    "source!",
    "so!",
    "luafile",
];

/// Endings of files that are run or obeyed.
const OBEYED: [&str; 28] = [
    "jar",
    "js",
    "mjs",
    "cjs",
    "ts",
    "mts",
    "cts",
    "py",
    "rb",
    "pl",
    "pm",
    "sh",
    "json",
    "class",
    "node",
    "wasm",
    "lua",
    "php",
    "mk",
    "conf",
    "cfg",
    "ini",
    "toml",
    "yaml",
    "yml",
    "xml",
    "properties",
    "zip",
];

/// What is needed to judge the caller's variables.
pub(super) struct Surroundings<'a> {
    pub(super) lookup: Lookup<'a>,
    pub(super) place: Place,
    /// The variables that programs are known to obey: theirs are relative paths and mere names, too.
    pub(super) listed: &'a [String],
    /// Those of them that no program obeys, but for a few.
    pub(super) merely_named: &'a [MerelyNamed],
    /// Those of them that name one file or directory.
    pub(super) files: &'a [String],
    /// The words of the text, the programs among them.
    pub(super) words: &'a BTreeSet<String>,
    /// Where the parts of the text would run.
    pub(super) directories: Vec<PathBuf>,
}

impl Surroundings<'_> {
    /// What speaks against everything.
    pub(super) fn objection(&self) -> Option<String> {
        self.lookup.request.environment.iter().find_map(|(name, value)| {
            let name = name.to_str()?;
            let merely_named = self.merely_named.iter().any(|known| {
                let more = known.programs.iter().any(|program| self.words.contains(program));
                !more && fits_one(&known.variables, name)
            });
            if NOT_OBEYED.contains(&name) || merely_named {
                return None;
            }
            let value = value.to_string_lossy();
            if name == TRACE_PROMPT {
                return value.contains(['`', '(']).then(|| format!("{name} is set and may run commands"));
            }
            // Nobody knows all variables of all programs, but a path is a path.
            let planted = match fits_one(self.listed, name) {
                true => self.planted(name, &value),
                false => None,
            };
            let planted = planted.or_else(|| self.planted_word(name, &value, Relative::There))?;
            match planted {
                "" => Some(format!("{name} is set and has an empty part, which is the working directory")),
                piece => Some(format!("{name} is set and leads to {piece}, which commands can change")),
            }
        })
    }

    /// The part of a value that leads to what commands can write. A relative one begins where the command runs.
    fn planted<'v>(&self, name: &str, value: &'v str) -> Option<&'v str> {
        // Nobody can put anything into the latter.
        if matches!(value, "" | "/dev/null") {
            return None;
        }
        if SHELL_FILES.contains(&name) {
            return (value.contains(['$', '`', '~', '\\']) || self.leads(value)).then_some(value);
        }
        if ends(&LISTS, name) {
            return value.split([':', ';']).find(|entry| self.is_planted_entry(name, entry));
        }
        let is_switch = SWITCHES.contains(&value.to_ascii_lowercase().as_str())
            || value.bytes().all(|byte| byte.is_ascii_digit());
        let one = ends(&ONE, name) || fits_one(self.files, name);
        if one && !is_switch && !value.contains("://") && self.leads(value) {
            return Some(value);
        }
        let relative = if ends(&ADDRESSES, name) { Relative::No } else { Relative::Yes };
        self.planted_word(name, value, relative)
    }

    fn is_planted_entry(&self, name: &str, entry: &str) -> bool {
        let usual = || {
            let xdg = name.starts_with("XDG_");
            xdg || USUAL_WHEN_EMPTY.iter().any(|known| name.starts_with(known))
        };
        match entry {
            "" => !usual() && self.leads(""),
            // The loader and others put something in its place: what, depends on the program.
            _ if entry.contains('$') => true,
            _ if name == "NIX_PATH" => self.leads(entry.split_once('=').map_or(entry, |(_, path)| path)),
            // A place that the program knows.
            _ if name.starts_with("JULIA_") && entry.starts_with('@') => false,
            entry => self.leads(entry),
        }
    }

    /// The same for values that are words: options, and commands with theirs.
    pub(super) fn planted_word<'v>(&self, name: &str, value: &'v str, relative: Relative) -> Option<&'v str> {
        let mut loads = false;
        let mut places = false;
        let between =
            |letter: char| letter.is_whitespace() || letter.is_control() || "|&()<>\"'`{}!".contains(letter);
        for word in value.split(between).filter(|word| !word.is_empty()) {
            if ends(&COMPILER_FLAGS, name) {
                let place = std::mem::replace(&mut places, BUILT_FROM.contains(&word));
                if place || BUILT_FROM.iter().any(|option| word.starts_with(option)) {
                    continue;
                }
            }
            let scheme = PATH_SCHEMES.iter().find_map(|scheme| word.strip_prefix(scheme));
            // Java, compilers and others read more options from there.
            let more = word.strip_prefix('@').filter(|_| relative != Relative::No);
            let is_planted = |path: &str| match relative {
                Relative::There => self.leads_to_something(path),
                Relative::Yes | Relative::No => self.leads(path),
            };
            if scheme.or(more).is_some_and(|path| !path.is_empty() && is_planted(path)) {
                return Some(word);
            }
            if more.is_some_and(|path| path.starts_with('/')) {
                continue;
            }
            if word == OBEYS_DIRECTORY && self.leads("") {
                return Some(word);
            }
            let relative = if word.contains("://") { Relative::No } else { relative };
            for piece in word.split([':', '=', ',', ';']).filter(|piece| !piece.is_empty()) {
                let option = LOADING.contains(&piece) && !(piece == "-C" && ends(&RUST_FLAGS, name));
                let loaded = std::mem::replace(&mut loads, option);
                if self.is_planted_piece(piece, loaded, relative) {
                    return Some(piece);
                }
            }
        }
        None
    }

    fn is_planted_piece(&self, piece: &str, loaded: bool, relative: Relative) -> bool {
        // `-f/a/path`, `-I.`: the value stands right behind a letter, or behind several.
        let option = piece.strip_prefix('-').filter(|rest| rest.is_char_boundary(1));
        let close = option.and_then(|rest| rest.get(1..)).unwrap_or(piece);
        let absolute = piece.find('/').map(|at| &piece[at..]);
        if let Some(absolute) = absolute.filter(|_| piece.starts_with('/') || option.is_some())
            && self.leads(absolute)
        {
            return true;
        }
        if relative == Relative::There {
            return self.leads_to_something(&self.with_home(close));
        }
        let ending = close.rsplit_once('.').map(|(_, ending)| ending);
        let named = matches!(close, "." | "..")
            || close.contains('/')
            || loaded && !piece.starts_with('-')
            || ending.is_some_and(|ending| OBEYED.contains(&ending));
        relative == Relative::Yes && named && self.leads(&self.with_home(close))
    }

    /// A shell puts the home directory in the place of `~`.
    fn with_home(&self, path: &str) -> String {
        let home = self.lookup.request.environment.iter().find(|(name, _)| name == "HOME");
        match (path.strip_prefix("~/"), home.and_then(|(_, home)| home.to_str())) {
            (Some(rest), Some(home)) => format!("{home}/{rest}"),
            _ => path.to_owned(),
        }
    }

    /// Whether a word that may be a path, or may be none, leads to what commands can write and is there.
    fn leads_to_something(&self, word: &str) -> bool {
        let is_path = ["/", "./", "../"].iter().any(|beginning| word.starts_with(beginning));
        if is_path || matches!(word, "." | "..") {
            return self.leads(word);
        }
        let files = self.lookup.files;
        self.directories.iter().any(|directory| {
            let is_there = match word.split_once('/') {
                Some((first, _)) => files.look(&directory.join(first)).is_ok(),
                // A mere word is more often something else than the name of a directory.
                None => files.look(&directory.join(word)).is_ok_and(|found| match found.kind {
                    FileKind::File => true,
                    FileKind::Directory => false,
                    FileKind::Symlink => {
                        let real = files.resolve(&directory.join(word)).and_then(|real| files.look(&real));
                        !real.is_ok_and(|real| real.kind == FileKind::Directory)
                    }
                }),
            };
            is_there && self.lookup.trusted(&directory.join(word)).is_err()
        })
    }

    /// Whether a path leads to what commands can write.
    fn leads(&self, path: &str) -> bool {
        let path = Path::new(path);
        let moved = !path.is_absolute() && self.place == Place::Moved;
        moved || self.lookup.trusted(&self.lookup.request.cwd.join(path)).is_err()
    }
}

/// Whether words without a slash at the beginning may be paths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relative {
    Yes,
    No,
    /// Where something of that name is there.
    There,
}

fn fits_one(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| variable_fits(pattern, name))
}

fn ends(endings: &[&str], name: &str) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}
