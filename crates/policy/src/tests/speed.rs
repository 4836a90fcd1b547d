//! How long the way from settings to a plan takes on real files. Run with
//! `cargo test --release -p stockade-policy -- --ignored --nocapture speed`.

use crate::testing::{inputs, request};
use crate::{FileKind, Files, Flags, Identity, Inputs, Policy, Request};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

struct Real;

fn kind(of: fs::FileType) -> FileKind {
    match () {
        () if of.is_dir() => FileKind::Directory,
        () if of.is_symlink() => FileKind::Symlink,
        () => FileKind::File,
    }
}

impl Files for Real {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        let found = fs::symlink_metadata(path)?;
        Ok(Identity { dev: found.dev(), ino: found.ino(), kind: kind(found.file_type()) })
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        fs::read_dir(path)?
            .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), kind(entry.file_type()?)))))
            .collect()
    }
}

/// The fastest of many runs: what the code needs, not what the machine did meanwhile.
fn fastest<T>(mut act: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        std::hint::black_box(act());
        start.elapsed()
    };
    (0..300).map(time).min().unwrap_or_default()
}

#[test]
#[ignore = "a measurement, not a test"]
fn speed() {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let root = place.path().canonicalize().unwrap();
    let (ws, home) = (root.join("ws"), root.join("home"));
    for path in [
        "src/a",
        "src/b",
        "tests",
        ".git/hooks",
        ".git/refs/heads",
        ".git/objects/aa",
        ".git/info",
        ".git/logs/refs",
    ] {
        fs::create_dir_all(ws.join(path)).unwrap();
    }
    for path in
        ["Cargo.toml", "src/main.rs", ".git/config", ".git/HEAD", ".git/hooks/pre-commit.sample", ".env"]
    {
        fs::write(ws.join(path), "x").unwrap();
    }
    for path in [".ssh", ".aws", ".config/gh"] {
        fs::create_dir_all(home.join(path)).unwrap();
    }
    fs::write(home.join(".ssh/id.pub"), "x").unwrap();
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let inputs = |flags| Inputs {
        cwd: ws.clone(),
        home: Some(home.clone()),
        environment: environment.clone(),
        flags,
        ..inputs()
    };
    let request = Request { cwd: ws.clone(), environment: environment.clone(), ..request() };
    let report = |name: &str, flags: &Flags| {
        let policy = Policy::load(inputs(flags.clone()), &Real).unwrap();
        let load = fastest(|| Policy::load(inputs(flags.clone()), &Real).unwrap());
        let plan = fastest(|| policy.plan(&request, &Real).unwrap());
        println!(
            "{name}: load {load:?}, plan {plan:?}, {} mounts",
            policy.plan(&request, &Real).unwrap().mounts.len()
        );
    };
    report("default", &Flags::default());
    fs::create_dir(root.join("many")).unwrap();
    for number in 0..1000 {
        fs::write(root.join(format!("many/{number}")), "").unwrap();
    }
    let rules = |directory: &str| {
        (0..1000).map(|number| format!("{}/{directory}/{number}", root.display())).collect()
    };
    report("1000 absent rules", &Flags { deny_read: rules("absent"), ..Flags::default() });
    report("1000 existing rules", &Flags { deny_read: rules("many"), ..Flags::default() });
    println!("parsing: deny-read {:?}", fastest(crate::data::deny_read));
    println!("parsing: protected {:?}", fastest(crate::data::protected));
    println!("parsing: environment {:?}", fastest(crate::data::environment));
    println!("parsing: system {:?}", fastest(crate::data::system));
    println!("lstat {:?}", fastest(|| Real.look(&root.join("many/500"))));
    println!("list {:?}", fastest(|| Real.list(&ws)));
}
