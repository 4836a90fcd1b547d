//! Real programs leave the same files behind as without walls, with reads traced and without.

use crate::support::{Run, World, each_caller, skip};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Names, modes and contents; never times and owners' numbers of inodes.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    fn look(root: &Path, path: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
        for entry in fs::read_dir(path).unwrap().flatten() {
            let (path, data) = (entry.path(), entry.metadata().unwrap());
            let content = if data.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if data.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            found.insert(path.strip_prefix(root).unwrap().to_path_buf(), (data.mode(), content));
            if data.is_dir() {
                look(root, &path, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    look(root, root, &mut found);
    found
}

/// How a shell is started.
type Way = fn(&World) -> Run<'_>;

/// Runs a script bare, walled and traced, each in the same fresh directory, and compares what is there.
fn same_everywhere(world: &World, script: &str, prepare: impl Fn(&Path)) {
    let place = world.ws.clone();
    let ways: [(&str, Way); 3] = [
        ("bare", |world| world.bare("/bin/sh")),
        ("walled", |world| world.run().opts(["--", "/bin/sh"])),
        ("traced", |world| world.run().opts(["--trace", "reads", "--", "/bin/sh"])),
    ];
    let mut first = None;
    for (name, run) in ways {
        for entry in fs::read_dir(&place).unwrap().flatten() {
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
        prepare(&place);
        world.give_all(&place);
        let ran = run(world).patience(Duration::from_secs(100)).opts(["-ec", script]).go();
        ran.exits(0);
        let found = tree(&place);
        match &first {
            None => first = Some(found),
            Some(bare) => {
                let differences: Vec<&PathBuf> = bare
                    .iter()
                    .filter(|(path, entry)| found.get(*path) != Some(entry))
                    .map(|(path, _)| path)
                    .chain(found.keys().filter(|path| !bare.contains_key(*path)))
                    .collect();
                assert!(differences.is_empty(), "{name} differs: {differences:?}{ran}");
            }
        }
    }
}

fn many_files(root: &Path) {
    for number in 0..2000 {
        let dir = root.join(format!("src/d{}", number % 40));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("f{number}")), format!("content {number}")).unwrap();
        if number % 50 == 0 {
            let _ = std::os::unix::fs::symlink(format!("f{number}"), dir.join(format!("l{number}")));
        }
    }
}

fn has(program: &str, test: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        skip(test, &format!("{program} is not installed"));
    }
    found
}

#[test]
fn tar_and_cp_of_two_thousand_files() {
    each_caller(|world| {
        same_everywhere(
            world,
            "umask 022; tar cf a.tar --mtime=@0 --sort=name src; mkdir out; tar xf a.tar -C out; cp -a src copy; rm a.tar; \
             mv copy moved; rm -r out/src/d1",
            many_files,
        );
    });
}

#[test]
fn rsync_of_two_thousand_files() {
    if has("rsync", "rsync_of_two_thousand_files") {
        each_caller(|world| same_everywhere(world, "rsync -a src/ out/", many_files));
    }
}

#[test]
fn make_with_four_jobs() {
    if has("make", "make_with_four_jobs") {
        each_caller(|world| {
            same_everywhere(world, "make -s -j4", |root| {
                let rules = "all: $(patsubst %,o/%,$(shell seq 200))\no/%:\n\t@mkdir -p o; echo $* > $@.tmp; mv $@.tmp $@\n";
                fs::write(root.join("Makefile"), rules).unwrap();
            });
        });
    }
}

#[test]
fn a_virtual_environment_and_a_package() {
    each_caller(|world| {
        same_everywhere(
            world,
            "export PYTHONDONTWRITEBYTECODE=1; /usr/bin/python3 -m venv --without-pip v; v/bin/python -c 'import pkg' ; \
             ls v/bin > list",
            |root| {
                fs::create_dir(root.join("pkg")).unwrap();
                fs::write(root.join("pkg/__init__.py"), "x = 1\n").unwrap();
            },
        );
    });
}

#[test]
fn npm_install_from_a_directory() {
    if has("npm", "npm_install_from_a_directory") {
        each_caller(|world| {
            same_everywhere(
                world,
                "export npm_config_cache=$PWD/.cache npm_config_offline=true; cd app; \
                 npm install --no-audit --no-fund --loglevel=error ../dep > /dev/null; cd ..; rm -rf .cache",
                |root| {
                    fs::create_dir_all(root.join("dep/.vscode")).unwrap();
                    fs::create_dir_all(root.join("app")).unwrap();
                    fs::write(
                        root.join("dep/package.json"),
                        r#"{"name":"dep","version":"1.0.0","bin":{"d":"d.js"}}"#,
                    )
                    .unwrap();
                    fs::write(root.join("dep/d.js"), "#!/usr/bin/env node\n").unwrap();
                    fs::write(root.join("app/package.json"), r#"{"name":"app","version":"1.0.0"}"#).unwrap();
                },
            );
        });
    }
}

#[test]
fn cargo_build() {
    each_caller(|world| {
        // The toolchain of the machine often lies in root's home.
        let found = world
            .bare("/bin/sh")
            .opts(["-c", "cargo --version"])
            .var("PATH", path_with_cargo())
            .var("RUSTUP_HOME", rustup_home())
            .go();
        if found.code() != 0 {
            skip("cargo_build", "this caller cannot run cargo");
            return;
        }
        let root = world.dir("crate/src");
        fs::write(root.join("main.rs"), "fn main() { println!(\"built\"); }\n").unwrap();
        fs::write(
            world.ws.join("crate/Cargo.toml"),
            "[package]\nname=\"c\"\nversion=\"0.1.0\"\nedition=\"2021\"\n",
        )
        .unwrap();
        world.give_all(&world.ws);
        for options in [&[][..], &["--trace", "reads"][..]] {
            let ran = world
                .run()
                .var("PATH", path_with_cargo())
                .with("--env", format!("RUSTUP_HOME={}", rustup_home()))
                .opts(options)
                .with("--cwd", world.ws.join("crate"))
                .shell("cargo build --offline -q && target/debug/c && rm -r target");
            ran.exits(0);
            assert_eq!(ran.out(), "built\n", "{ran}");
        }
    });
}

fn path_with_cargo() -> String {
    std::env::var("PATH").unwrap_or_default()
}

fn rustup_home() -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    std::env::var("RUSTUP_HOME").unwrap_or(format!("{home}/.rustup"))
}
