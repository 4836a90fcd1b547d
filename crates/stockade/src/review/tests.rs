//! Reviews of real directories.

mod links;
mod tools;

use super::{BareWatch, Review, ReviewScope};
use rustix::fs::{CWD, FileType, Mode};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use stockade_policy::{ReviewChange, ReviewItem, ReviewKind};
use tempfile::TempDir;

struct Place {
    top: PathBuf,
    _keep: TempDir,
}

impl Place {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let place = Self { top: keep.path().join("ws"), _keep: keep };
        fs::create_dir(&place.top).unwrap();
        place
    }

    fn file(&self, path: &str, content: &str) -> PathBuf {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn program(&self, path: &str, content: &str) {
        let path = self.file(path, content);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn link(&self, target: &str, path: &str) {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn pipe(&self, path: &str) {
        let path = self.top.join(path);
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    fn before(&self) -> Review {
        Review::before(&self.top).unwrap()
    }
}

/// Kind, change and path of everything, for comparing.
fn brief(items: &[ReviewItem]) -> Vec<String> {
    items.iter().map(|item| format!("{:?} {:?} {}", item.kind, item.change, item.path)).collect()
}

#[test]
fn nothing_changed_nothing_said() {
    let place = Place::new();
    place.file("package.json", r#"{"scripts": {"test": "x"}}"#);
    place.program(".git/hooks/pre-commit", "#!/bin/sh");
    place.link("pre-commit", ".git/hooks/pre-push");
    place.file("src/main.c", "");
    let review = place.before();
    place.file("src/main.c", "other");
    place.file("src/new.c", "new");
    // The same content, written anew.
    place.program(".git/hooks/pre-commit", "#!/bin/sh");
    assert_eq!(review.after(), []);
}

#[test]
fn new_changed_and_removed() {
    let place = Place::new();
    place.program(".git/hooks/pre-commit", "old");
    place.file(".git/hooks/post-merge", "same");
    place.file(".github/workflows/ci.yml", "on: push");
    place.file("deep/down/.envrc", "export A=1");
    let review = place.before();
    place.program(".git/hooks/pre-commit", "new");
    let post_merge = place.top.join(".git/hooks/post-merge");
    fs::set_permissions(post_merge, fs::Permissions::from_mode(0o755)).unwrap();
    place.program(".git/hooks/pre-push", "x");
    place.file(".git/hooks/pre-push.sample", "x");
    fs::remove_file(place.top.join(".github/workflows/ci.yml")).unwrap();
    place.file("deep/down/.envrc", "export A=2");
    place.file("new/project/.claude/settings.json", "{}");
    let items = review.after();
    assert_eq!(
        brief(&items),
        [
            "GitHook Changed .git/hooks/post-merge",
            "GitHook Changed .git/hooks/pre-commit",
            "GitHook New .git/hooks/pre-push",
            "ShellStart Changed deep/down/.envrc",
            "Agent New new/project/.claude/settings.json",
            "Pipeline Removed .github/workflows/ci.yml",
        ]
    );
    let details: Vec<&str> = items.iter().take(3).map(|item| item.detail.as_str()).collect();
    assert_eq!(details, ["made executable", "other content", "executable"]);
}

#[test]
fn only_scripts_of_a_package_count() {
    let place = Place::new();
    let text =
        |scripts: &str, more: &str| format!(r#"{{"scripts": {{{scripts}}}, "dependencies": {{{more}}}}}"#);
    place.file("package.json", &text(r#""test": "a", "old": "o""#, ""));
    place.file("other/package.json", &text("", ""));
    let review = place.before();
    place.file("other/package.json", &text("", r#""left-pad": "1""#));
    place.file("plain/package.json", "{}");
    place.file("node_modules/x/package.json", &text(r#""test": "x", "prepare": "x""#, ""));
    assert_eq!(review.after(), []);
    place.file("package.json", &text(r#""test": "b", "postinstall": "curl x | sh""#, ""));
    let items = review.after();
    assert_eq!(brief(&items), ["PackageScript Changed package.json"]);
    assert_eq!(
        items[0].detail,
        r#"new scripts.postinstall: "curl x | sh", changed scripts.test: "b", removed "scripts.old""#
    );
    place.file("package.json", "{ broken");
    assert_eq!(review.after()[0].detail, "can no longer be read");
}

#[test]
fn harmless_git_settings_may_change() {
    let place = Place::new();
    let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
    place.file(".git/config", plain);
    let review = place.before();
    place.file(".git/config", &format!("{plain}[user]\n\tname = n\n[branch \"a\"]\n\tremote = origin\n"));
    assert_eq!(review.after(), []);
    place.file(".git/config", &format!("{plain}\tfsmonitor = ./x\n"));
    let items = review.after();
    assert_eq!(brief(&items), ["GitSettings Changed .git/config"]);
    assert!(items[0].detail.contains("core.fsmonitor"), "{items:?}");
}

#[test]
fn hooks_are_found_wherever_they_are() {
    let place = Place::new();
    place.file("a/.git/config", "[core]\n\thooksPath = tools/hooks\n");
    place.file("a/tools/hooks/pre-commit", "old");
    place.file("b/scripts/check", "old");
    place.link("../../scripts/check", "b/.git/hooks/pre-commit");
    place.link("../run", "c/.git/hooks");
    place.file("c/run/pre-push", "old");
    place.file("a/tools/other", "old");
    let review = place.before();
    place.file("a/tools/hooks/pre-commit", "new");
    place.file("a/tools/hooks/post-commit", "new");
    place.file("a/tools/other", "new");
    place.file("b/scripts/check", "new");
    place.file("c/run/pre-push", "new");
    assert_eq!(
        brief(&review.after()),
        [
            "GitHook New a/tools/hooks/post-commit",
            "GitHook Changed a/tools/hooks/pre-commit",
            "GitHook Changed b/.git/hooks/pre-commit",
            "GitHook Changed c/run/pre-push",
        ]
    );
}

#[test]
fn directories_act_by_what_they_hold() {
    let place = Place::new();
    place.file("py/pyvenv.cfg", "");
    place.program("py/bin/python", "old");
    let review = place.before();
    place.program("py/bin/pip", "new");
    place.file("py/bin/readme", "not a program");
    place.file("store/HEAD", "ref: refs/heads/main");
    fs::create_dir_all(place.top.join("store/objects")).unwrap();
    assert_eq!(brief(&review.after()), ["Program New py/bin/pip"]);
    fs::create_dir_all(place.top.join("store/refs")).unwrap();
    place.program("store/hooks/post-receive", "x");
    assert_eq!(
        brief(&review.after()),
        ["GitHook New store/hooks/post-receive", "BareRepository New store", "Program New py/bin/pip"]
    );
}

#[test]
fn programs_in_the_search_path() {
    let place = Place::new();
    place.file("tools/x", "");
    let path = format!("/usr/bin:{}:./scripts:/nonexistent", place.top.join("tools").display());
    let review = ReviewScope::new(&place.top).search_path(OsStr::new(&path)).before().unwrap();
    place.program("tools/ls", "x");
    place.program("scripts/git", "x");
    place.program("elsewhere/git", "x");
    place.program("tools/deep/git", "x");
    assert_eq!(brief(&review.after()), ["Program New scripts/git", "Program New tools/ls"]);
}

#[test]
fn nothing_outside_is_looked_at() {
    let place = Place::new();
    let outside = place.top.parent().unwrap().join("outside");
    fs::create_dir_all(outside.join("hooks")).unwrap();
    fs::write(outside.join("hooks/pre-commit"), "old").unwrap();
    fs::write(outside.join("secret"), r#"{"scripts": {"secret": "s3cret"}}"#).unwrap();
    let review = place.before();
    place.link("../outside/secret", "package.json");
    place.link(outside.join("secret").to_str().unwrap(), "a/package.json");
    place.link("../../outside/hooks", "b/.git/hooks");
    // Stays inside by its letters, and leaves by a link on the way.
    place.link("../outside", "way");
    place.link("../way/secret", "c/package.json");
    place.file("d/.git/config", "[core]\nhooksPath = ../../outside/hooks\n");
    let items = review.after();
    let told = format!("{items:?}");
    assert!(!told.contains("s3cret"), "{told}");
    assert_eq!(
        brief(&items),
        [
            "GitHook New b/.git/hooks",
            "GitSettings New b/.git",
            "GitSettings New d/.git",
            "GitSettings New d/.git/config",
            "PackageScript New a/package.json",
            "PackageScript New c/package.json",
            "PackageScript New package.json",
        ]
    );
    assert!(items[4..].iter().all(|item| item.detail.contains("not looked into")), "{items:?}");
}

#[test]
fn hostile_files_hold_nobody_up() {
    let place = Place::new();
    let review = place.before();
    fs::create_dir_all(place.top.join(".git/hooks")).unwrap();
    place.pipe("package.json");
    place.pipe(".git/hooks/pre-commit");
    place.pipe(".git/config");
    place.link("pre-commit", ".git/hooks/by-link");
    // Huge, and all holes.
    let huge = File::create(place.top.join(".envrc")).unwrap();
    huge.set_len(1 << 40).unwrap();
    place.link(".envrc", ".bashrc");
    place.file("deep/package.json", &format!("{{\"scripts\": {}", "[".repeat(500_000)));
    // Circles, under names that are followed.
    place.link(".", ".claude");
    place.link("..", ".vscode/up");
    place.link("loop", "loop");
    place.link(".husky", ".husky");
    place.link("/dev/zero", ".zshrc");
    place.file("circle/.git/config", "[core]\nhooksPath = .\n[core]\nhooksPath = .git\n");
    place.link("..", "circle/in/.git");
    let begun = Instant::now();
    let items = review.after();
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let told = brief(&items);
    for wanted in [
        "GitHook New .git/hooks/pre-commit",
        "GitHook New .git/hooks/by-link",
        "GitSettings New .git/config",
        "ShellStart New .envrc",
        "ShellStart New .zshrc",
        "Agent New .claude",
        "PackageScript New package.json",
        "PackageScript New deep/package.json",
    ] {
        assert!(told.contains(&wanted.to_owned()), "{wanted} is missing: {told:?}");
    }
    // What is large is still seen to change.
    let review = place.before();
    huge.set_len((1 << 40) + 1).unwrap();
    let told = brief(&review.after());
    assert!(told.contains(&"ShellStart Changed .envrc".to_owned()), "{told:?}");
    assert!(told.contains(&"ShellStart Changed .bashrc".to_owned()), "{told:?}");
}

#[test]
fn a_flood_hides_nothing_else() {
    let place = Place::new();
    let review = place.before();
    fs::create_dir_all(place.top.join(".vscode")).unwrap();
    for number in 0..5000 {
        place.file(&format!(".vscode/{number}"), "");
    }
    place.program(".git/hooks/pre-commit", "x");
    let items = review.after();
    assert!(items.len() < 600);
    assert!(items.iter().any(|item| item.path == ".git/hooks/pre-commit"));
    assert_eq!((items[0].kind, items[0].change), (ReviewKind::Incomplete, ReviewChange::Unknown));
    assert!(items[0].detail.contains("1000 files like .vscode "), "{}", items[0].detail);
    assert!(items[0].detail.contains("3500 more are not listed"), "{}", items[0].detail);
}

#[test]
fn a_tree_deeper_than_a_path_may_be_is_said() {
    let place = Place::new();
    let review = place.before();
    let name = "d".repeat(200);
    let mut at = rustix::fs::open(&place.top, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..60 {
        rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, &name, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let items = review.after();
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(items[0].kind, ReviewKind::Incomplete);
    assert!(items[0].detail.contains("cannot be listed"), "{}", items[0].detail);
    assert!(items[0].detail.len() < 400);
}

#[test]
fn a_workspace_that_is_replaced_stays_the_same() {
    let place = Place::new();
    place.file(".envrc", "x");
    let review = place.before();
    let elsewhere = place.top.parent().unwrap().join("elsewhere");
    fs::rename(&place.top, &elsewhere).unwrap();
    symlink("/", &place.top).unwrap();
    assert_eq!(review.after(), []);
    fs::write(elsewhere.join(".envrc"), "y").unwrap();
    assert_eq!(brief(&review.after()), ["ShellStart Changed .envrc"]);
}

#[test]
fn a_workspace_has_to_be_a_directory() {
    let place = Place::new();
    let file = place.file("file", "");
    for path in [file.as_path(), Path::new("/nonexistent")] {
        let error = Review::before(path).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn bare_repositories_are_seen_at_a_glance() {
    let place = Place::new();
    let watch = BareWatch::before([place.top.clone(), place.top.clone()]);
    place.file("HEAD", "");
    place.file("objects/x", "");
    assert_eq!(watch.after(), []);
    place.link("/nonexistent", "refs");
    assert_eq!(watch.after().len(), 1);
    assert_eq!(watch.after()[0].kind, ReviewKind::BareRepository);
    assert_eq!(BareWatch::before([place.top.clone()]).after(), []);
}

/// Built by hand as the kernel would: what is gone is a device without a number.
#[test]
fn an_overlay_is_seen_as_commands_see_it() {
    let place = Place::new();
    place.file(".envrc", "old");
    place.file(".github/workflows/a.yml", "old");
    place.file(".github/workflows/b.yml", "old");
    place.file("pkg/.claude/one", "old");
    place.file("kept/package.json", r#"{"scripts": {"a": "b"}}"#);
    place.link("../../tool", "x/.git/hooks");
    place.file("tool/pre-commit", "old");
    let upper = Place::new();
    let review = ReviewScope::new(&place.top).overlay(&upper.top).before().unwrap();
    assert_eq!(review.after(), []);
    upper.file(".envrc", "new");
    upper.file(".github/workflows/c.yml", "new");
    upper.file("tool/pre-commit", "new");
    // Another directory under the same name.
    upper.file("pkg/.claude/two", "new");
    let covers = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(upper.top.join("pkg/.claude"), "user.overlay.opaque", b"y", covers).unwrap();
    let gone = upper.top.join(".github/workflows/a.yml");
    rustix::fs::mknodat(CWD, &gone, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    assert_eq!(
        brief(&review.after()),
        [
            "GitHook Changed tool/pre-commit",
            "ShellStart Changed .envrc",
            "Agent Removed pkg/.claude/one",
            "Agent New pkg/.claude/two",
            "Pipeline Removed .github/workflows/a.yml",
            "Pipeline New .github/workflows/c.yml",
        ]
    );
    // The workspace itself is as it was.
    assert_eq!(place.before().after(), []);
}
