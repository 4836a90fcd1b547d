//! Files made from the code and committed: the settings' schema, man pages, completions.

use crate::process::root;
use anyhow::{Context, Result, bail};
use clap_complete::Shell;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Directories that hold nothing else, so that a page of a command that is gone goes too.
const OWNED: [&str; 2] = ["man", "completions"];

/// Contents by path below the root.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Writes what is new, removes what is no longer made.
pub(crate) fn write() -> Result<()> {
    let root = root();
    let files = make()?;
    for (path, contents) in &files {
        if read(&root.join(path))?.as_deref() == Some(contents) {
            continue;
        }
        let path = root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("could not make {}", parent.display()))?;
        }
        fs::write(&path, contents).with_context(|| format!("could not write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    for path in strays(&root, &files)? {
        fs::remove_file(root.join(&path)).with_context(|| format!("could not remove {}", path.display()))?;
        println!("removed {}", path.display());
    }
    Ok(())
}

/// Says which committed files are not what the code makes.
pub(crate) fn check() -> Result<()> {
    let root = root();
    let files = make()?;
    let mut stale: Vec<PathBuf> = strays(&root, &files)?;
    for (path, contents) in files {
        if read(&root.join(&path))? != Some(contents) {
            stale.push(path);
        }
    }
    if !stale.is_empty() {
        let names: Vec<String> = stale.iter().map(|path| path.display().to_string()).collect();
        bail!("not what the code makes: {}\nhint: run `cargo xtask generate`", names.join(", "));
    }
    Ok(())
}

fn make() -> Result<Files> {
    let mut files = Files::new();
    files.insert("schema/settings.schema.json".into(), format!("{:#}\n", stockade_policy::schema()).into());

    let mut documented = without_help(stockade_cli::command());
    documented.build();
    add_pages(&documented, &mut files)?;
    let mut command = stockade_cli::command();
    for (shell, name) in
        [(Shell::Bash, "stockade.bash"), (Shell::Zsh, "_stockade"), (Shell::Fish, "stockade.fish")]
    {
        let mut contents = Vec::new();
        clap_complete::generate(shell, &mut command, "stockade", &mut contents);
        files.insert(Path::new("completions").join(name), contents);
    }
    Ok(files)
}

/// `help` needs no page of its own, and must not be pointed to.
fn without_help(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// A page for a command and each one below it that people can see.
fn add_pages(command: &clap::Command, files: &mut Files) -> Result<()> {
    // Without a version, or every release would change every page.
    let page = clap_mangen::Man::new(command.clone()).source("Stockade").manual("Stockade manual");
    let name = page.get_filename();
    let mut contents = Vec::new();
    page.render(&mut contents).with_context(|| format!("could not write the page {name}"))?;
    files.insert(Path::new("man").join(name), contents);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below, files)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(contents) => Ok(Some(contents)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

/// Files in our directories that were not made now.
fn strays(root: &Path, files: &Files) -> Result<Vec<PathBuf>> {
    let mut strays = Vec::new();
    for directory in OWNED.map(Path::new) {
        let entries = match fs::read_dir(root.join(directory)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("could not list {}", directory.display()));
            }
        };
        for entry in entries {
            let entry = entry.with_context(|| format!("could not list {}", directory.display()))?;
            let path = directory.join(entry.file_name());
            if !files.contains_key(&path) {
                strays.push(path);
            }
        }
    }
    Ok(strays)
}
