//! What git writes in everyday work.

use super::super::{
    GitPlaces, check_git_config, check_git_config_change, check_git_pointer, check_worktree_commondir,
    check_worktree_pointer, git_config_worktree,
};
use super::run::Place;
use std::fs;
use std::path::Path;

/// Every configuration below a directory passes.
fn configs_pass(directory: &Path, root: &Path) -> usize {
    let mut found = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found += configs_pass(&path, root);
        } else if path.ends_with("config") || path.ends_with("config.worktree") {
            found += 1;
            let places = GitPlaces {
                writable: vec![root.to_owned()],
                private: vec![],
                git_directory: directory.to_owned(),
            };
            let text = fs::read(&path).unwrap();
            let result = check_git_config(&text, &places);
            assert!(result.is_ok(), "{}: {}", path.display(), result.unwrap_err());
            assert!(check_git_config_change(b"", &text, &places).is_ok());
            assert!(check_git_config_change(&text, &text, &places).is_ok());
        }
    }
    found
}

fn repository(place: &Place, name: &str) {
    place.git(&place.path(""), &["init", "-q", "-b", "main", name]);
    fs::write(place.path(name).join("f"), name).unwrap();
    place.git(&place.path(name), &["add", "."]);
    place.git(&place.path(name), &["commit", "-q", "-m", "first"]);
}

#[test]
fn branches_and_remotes() {
    let place = Place::new();
    repository(&place, "origin");
    let root = place.path("");
    let steps: &[&[&str]] = &[
        &["config", "user.name", "A \"quoted\" #name; with \\ in it"],
        &["config", "user.email", "a@example.org"],
        &["branch", "-m", "main", "trunk"],
        &["branch", "old"],
        &["config", "branch.old.description", "first line\nsecond line"],
        &["branch", "-m", "old", "New/Branch.x"],
        &["checkout", "-q", "--track", "-b", "tracking", "origin/main"],
        &["checkout", "-q", "--track", "-b", "local", "trunk"],
        &["remote", "add", "-t", "main", "--no-tags", "up", "git@example.org:a/b.git"],
        &["remote", "add", "--mirror=push", "copy", "https://example.org/c"],
        &["remote", "rename", "up", "upstream"],
        &["remote", "set-url", "--push", "origin", "../origin"],
        &["push", "-q", "-u", "origin", "HEAD:topic"],
        &["branch", "--set-upstream-to=origin/topic", "trunk"],
        &["stash", "list"],
        &["sparse-checkout", "set", "--cone", "x"],
        &["config", "advice.detachedHead", "false"],
        &["config", "pull.rebase", "true"],
        &["config", "commit.gpgsign", "false"],
        &["config", "--unset", "pull.rebase"],
        &["remote", "remove", "copy"],
    ];
    place.git(&root, &["clone", "-q", "origin", "copy"]);
    let copy = place.path("copy");
    let places =
        GitPlaces { writable: vec![root.clone()], private: vec![], git_directory: place.path("copy/.git") };
    for step in steps {
        let before = fs::read(copy.join(".git/config")).unwrap();
        place.git(&copy, step);
        let after = fs::read(copy.join(".git/config")).unwrap();
        let result = check_git_config_change(&before, &after, &places);
        assert!(result.is_ok(), "{step:?}: {}", result.unwrap_err());
    }
    place.git(&root, &["clone", "-q", "--no-checkout", "--depth=1", &url(&place.path("origin")), "shallow"]);
    // origin, copy with its sparse checkout, shallow.
    assert_eq!(configs_pass(&root, &root), 4);
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
fn work_trees() {
    let place = Place::new();
    repository(&place, "r");
    let (root, r) = (place.path(""), place.path("r"));
    place.git(&r, &["worktree", "add", "-q", "../w", "-b", "w"]);
    place.git(&r, &["config", "extensions.worktreeConfig", "true"]);
    place.git(&r, &["worktree", "add", "-q", "../v x", "-b", "v"]);
    place.git(&place.path("v x"), &["config", "--worktree", "core.sparseCheckout", "true"]);
    place.git(&place.path("w"), &["sparse-checkout", "set", "x"]);
    assert_eq!(configs_pass(&root, &root), 3);
    let places = GitPlaces { writable: vec![root], private: vec![], git_directory: place.path("r/.git") };
    for (tree, name) in [("w", "w"), ("v x", "v-x")] {
        let file = place.path(tree).join(".git");
        check_git_pointer(&fs::read(&file).unwrap(), &file, &places).unwrap();
        let inside = place.path("r/.git/worktrees").join(name);
        check_worktree_commondir(&fs::read(inside.join("commondir")).unwrap()).unwrap();
        check_worktree_pointer(&fs::read(inside.join("gitdir")).unwrap(), &inside.join("gitdir"), &places)
            .unwrap();
        let elsewhere = GitPlaces { writable: vec![r.clone()], ..places.clone() };
        assert!(
            check_worktree_pointer(
                &fs::read(inside.join("gitdir")).unwrap(),
                &inside.join("gitdir"),
                &elsewhere
            )
            .is_err()
        );
    }
}

#[test]
fn submodules() {
    let place = Place::new();
    let root = place.path("");
    for name in ["inner", "middle", "outer"] {
        repository(&place, name);
    }
    let middle = url(&place.path("middle"));
    place.git(&place.path("middle"), &["submodule", "add", "-q", &url(&place.path("inner")), "lib/inner"]);
    place.git(&place.path("middle"), &["commit", "-q", "-m", "second"]);
    place.git(
        &place.path("outer"),
        &["submodule", "add", "-q", "-b", "main", "--name", "other name", &middle, "deps/middle"],
    );
    place.git(&place.path("outer"), &["commit", "-q", "-m", "second"]);
    place.git(&root, &["clone", "-q", "outer", "copy"]);
    place.git(&place.path("copy"), &["submodule", "update", "-q", "--init", "--recursive"]);
    place.git(&place.path("copy/deps/middle"), &["sparse-checkout", "set", "x"]);
    place.git(&place.path("copy"), &["submodule", "deinit", "-q", "-f", "deps/middle"]);
    place.git(&place.path("copy"), &["submodule", "update", "-q", "--init", "--recursive"]);
    // inner; middle with inner; outer with middle; copy with both, one of them in two files.
    assert_eq!(configs_pass(&root, &root), 9);
    let places = GitPlaces { writable: vec![root], private: vec![], git_directory: place.path("copy/.git") };
    for (tree, directory) in [
        ("copy/deps/middle", "copy/.git/modules/other name"),
        ("copy/deps/middle/lib/inner", "copy/.git/modules/other name/modules/lib/inner"),
    ] {
        let file = place.path(tree).join(".git");
        check_git_pointer(&fs::read(&file).unwrap(), &file, &places).unwrap();
        let directory = place.path(directory);
        // With a sparse checkout it stands in the file beside, and perhaps in both.
        let texts =
            ["config", "config.worktree"].map(|name| fs::read(directory.join(name)).unwrap_or_default());
        let mut trees: Vec<_> =
            texts.iter().filter_map(|text| git_config_worktree(text, &directory)).collect();
        trees.dedup();
        assert_eq!(trees, [place.path(tree)]);
    }
}
