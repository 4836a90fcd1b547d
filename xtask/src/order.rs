//! What a start runs, for the linker to put in one place.
//!
//! Found out by starting a sandbox with the program itself, step by step.

use crate::sys_steps;
use anyhow::{Context, Result, ensure};
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

/// Fewer would mean that nothing was traced.
const FEWEST: usize = 300;
const TRIES: usize = 3;

/// A function, where it begins and ends.
struct Function {
    start: u64,
    end: u64,
    name: String,
}

/// Arguments for the linker's step that put what a start runs in one place. `place` is where the list of it is kept,
/// `host` the machine's own target, whose linker knows such lists.
pub(crate) fn of(program: &Path, place: &Path, host: &str) -> Result<Vec<String>> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().context("rustc")?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim().to_owned();
    let linker = Path::new(&sysroot).join("lib/rustlib").join(host).join("bin/gcc-ld");
    ensure!(linker.join("ld.lld").exists(), "the toolchain has no linker that takes a list of functions");
    let functions = functions(program)?;
    let ground = place.join("start");
    let (home, workspace) = (ground.join("home"), ground.join("workspace"));
    for directory in [&home, &workspace] {
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    let start = || {
        let mut start = Command::new(program);
        start.args(["run", "--", "true"]).current_dir(&workspace).env("HOME", &home);
        start
    };
    // What only the first start does is not what counts.
    let status = start().status().context("could not start the program")?;
    ensure!(status.success(), "a sandbox did not start ({status})");
    // Step by step it takes a minute, in which somebody may change a file that has to stay as it was.
    let mut names = run_by(&mut start(), &functions);
    for _ in 1..TRIES {
        names = names.or_else(|_| run_by(&mut start(), &functions));
    }
    let names = names?;
    ensure!(names.len() >= FEWEST, "only {} functions were seen", names.len());
    let list = place.join("start-order.txt");
    std::fs::write(&list, names.join("\n") + "\n").with_context(|| list.display().to_string())?;
    let arguments = [
        "-fuse-ld=lld".to_owned(),
        format!("-B{}", linker.display()),
        format!("-Wl,--symbol-ordering-file={}", list.display()),
        // Not all have a section of their own.
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    Ok(arguments.into_iter().map(|argument| format!("-Clink-arg={argument}")).collect())
}

/// What a program runs, in the order in which it first does.
fn run_by<'a>(start: &mut Command, functions: &'a [Function]) -> Result<Vec<&'a str>> {
    let mut known = HashSet::new();
    let mut names = Vec::new();
    sys_steps::follow(start, |address| {
        let after = functions.partition_point(|function| function.start <= address);
        let function = after.checked_sub(1).map(|at| &functions[at]).filter(|found| address < found.end);
        if let Some(function) = function
            && known.insert(function.start)
        {
            names.push(function.name.as_str());
        }
    })?;
    Ok(names)
}

/// The functions of a program, by address.
fn functions(program: &Path) -> Result<Vec<Function>> {
    let told = Command::new("nm").arg("-S").arg(program).output().context("nm")?;
    let mut functions: Vec<Function> =
        String::from_utf8_lossy(&told.stdout).lines().filter_map(function).collect();
    functions.sort_by_key(|function| function.start);
    ensure!(!functions.is_empty(), "the program has no symbols");
    Ok(functions)
}

/// A line of `nm -S`: where, how long, what kind, name.
fn function(line: &str) -> Option<Function> {
    let mut words = line.split_whitespace();
    let (start, length) = (words.next()?, words.next()?);
    let (kind, name) = (words.next()?, words.next()?);
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = start + u64::from_str_radix(length, 16).ok()?.max(1);
    matches!(kind, "t" | "T" | "w" | "W").then(|| Function { start, end, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::function;

    #[test]
    fn functions_have_a_place_and_a_length() {
        let found = function("0000000000001040 0000000000000010 t _ZN4main17h0E").unwrap();
        assert_eq!((found.start, found.end, found.name.as_str()), (0x1040, 0x1050, "_ZN4main17h0E"));
        for line in
            ["                 U memcpy", "0000000000001040 t label", "0000000000002000 0000000000000008 d x"]
        {
            assert!(function(line).is_none(), "{line}");
        }
    }
}
