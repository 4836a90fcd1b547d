//! Rules about the source files themselves: their size, and where `unsafe` may stand.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// From here on a file is named in a warning.
const LONG: usize = 500;
/// From here on a file has to be split.
const TOO_LONG: usize = 800;

/// What was found; warnings do not fail the run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Rules broken.
    pub(crate) errors: Vec<String>,
    /// Worth a look.
    pub(crate) warnings: Vec<String>,
}

/// Looks at every Rust source below a directory.
pub(crate) fn check(root: &Path) -> Result<Findings> {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    files.sort();
    let mut findings = Findings::default();
    for file in files {
        let path = root.join(&file);
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        judge_size(&file, &text, &mut findings);
        judge_unsafe(&file, &text, &mut findings);
    }
    Ok(findings)
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("could not list {}", directory.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("could not list {}", directory.display()))?;
        let path = entry.path();
        let name = entry.file_name();
        let kind = entry.file_type().with_context(|| format!("could not look at {}", path.display()))?;
        if kind.is_dir() {
            let hidden = name.to_string_lossy().starts_with('.');
            if !hidden && name != "target" && name != "node_modules" {
                collect(root, &path, files)?;
            }
        } else if kind.is_file() && path.extension() == Some(OsStr::new("rs")) {
            files.push(path.strip_prefix(root).unwrap_or(&path).to_path_buf());
        }
    }
    Ok(())
}

fn judge_size(file: &Path, text: &str, findings: &mut Findings) {
    if is_test(file) {
        return;
    }
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
    let name = file.display();
    if lines > TOO_LONG {
        findings.errors.push(format!("{name}: {lines} lines, {TOO_LONG} at most without tests: split it"));
    } else if lines > LONG {
        findings.warnings.push(format!("{name}: {lines} lines, {LONG} is a good upper bound"));
    }
}

fn judge_unsafe(file: &Path, text: &str, findings: &mut Findings) {
    if has_component(file, |name| name.starts_with("sys") || name == "tests" || name == "fuzz") {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        if says_unsafe(line) {
            let number = index + 1;
            findings.errors.push(format!("{}:{number}: `unsafe` outside a sys module", file.display()));
        }
    }
}

/// Whether a line uses the keyword. Prose and `unsafe_code` are not meant: the keyword is always followed
/// by a brace, a parenthesis, the end of the line or one of a few other keywords.
fn says_unsafe(line: &str) -> bool {
    const AFTER: &[&str] = &["fn", "impl", "trait", "extern", "mod", "static"];
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices("unsafe").any(|(start, word)| {
        let inside_a_word = code[..start].chars().next_back().is_some_and(is_word);
        let after = &code[start + word.len()..];
        let rest = after.trim_start();
        let next: String = rest.chars().take_while(|letter| is_word(*letter)).collect();
        let keyword = rest.len() < after.len() && AFTER.contains(&next.as_str());
        !inside_a_word && (rest.is_empty() || rest.starts_with(['{', '(']) || keyword)
    })
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn is_test(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    has_component(file, |name| name == "tests" || name == "fuzz")
        || stem == "tests"
        || stem.ends_with("_tests")
        || stem.ends_with("_test")
}

fn has_component(file: &Path, wanted: impl Fn(&str) -> bool) -> bool {
    file.components().any(|part| match part {
        Component::Normal(name) => name.to_str().is_some_and(&wanted),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts the keyword in, which this file may not spell out as code.
    fn with_keyword(text: &str) -> String {
        text.replace("KEY", "unsafe")
    }

    #[test]
    fn tells_the_keyword_from_the_word() {
        for text in [
            "let x = KEY { y() };",
            "pub KEY fn f() {}",
            "KEY impl A for B {}",
            "#[KEY(x)]",
            "  KEY",
            "KEY{x}",
        ] {
            assert!(says_unsafe(&with_keyword(text)), "{text}");
        }
        for text in
            ["#![forbid(KEY_code)]", "// KEY fn", "\"KEY\"", "not_KEY {", "KEYly (so)", "the KEY part"]
        {
            assert!(!says_unsafe(&with_keyword(text)), "{text}");
        }
    }

    #[test]
    fn tests_do_not_count() {
        let long = "x\n".repeat(TOO_LONG + 1);
        let mut findings = Findings::default();
        judge_size(Path::new("crates/a/tests/it/b.rs"), &long, &mut findings);
        judge_size(Path::new("crates/a/src/b_tests.rs"), &long, &mut findings);
        judge_size(Path::new("crates/a/src/b.rs"), &format!("x\n#[cfg(test)]\n{long}"), &mut findings);
        assert_eq!(findings, Findings::default());
    }

    #[test]
    fn long_files_are_named() {
        let mut findings = Findings::default();
        judge_size(Path::new("src/a.rs"), &"x\n".repeat(TOO_LONG), &mut findings);
        judge_size(Path::new("src/b.rs"), &"x\n".repeat(TOO_LONG + 1), &mut findings);
        assert_eq!(findings.warnings, ["src/a.rs: 800 lines, 500 is a good upper bound"]);
        assert_eq!(findings.errors, ["src/b.rs: 801 lines, 800 at most without tests: split it"]);
    }

    #[test]
    fn only_sys_modules_may() {
        let mut findings = Findings::default();
        let text = &with_keyword("fn f() {\n    KEY { g() }\n}\n");
        for allowed in ["crates/i/src/linux/sys/a.rs", "crates/i/src/sys_clone.rs", "crates/c/tests/p/m.rs"] {
            judge_unsafe(Path::new(allowed), text, &mut findings);
        }
        assert_eq!(findings, Findings::default());
        judge_unsafe(Path::new("crates/i/src/linux/mount.rs"), text, &mut findings);
        assert_eq!(findings.errors, ["crates/i/src/linux/mount.rs:2: `unsafe` outside a sys module"]);
    }
}
