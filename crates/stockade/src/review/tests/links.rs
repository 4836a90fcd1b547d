//! Ways that lead over links, and settings that name them.

use super::{Place, brief};
use std::fs;

#[test]
fn hooks_behind_links_inside_are_seen() {
    let place = Place::new();
    place.file(".git/config", "[core]\n\thooksPath = .hooks\n");
    place.link("tools/hooks", ".hooks");
    place.file("tools/hooks/pre-commit", "old");
    place.link("x/sub", "a/.husky");
    place.link("real", "a/x");
    place.file("a/real/sub/pre-push", "old");
    let review = place.before();
    assert_eq!(review.after(), []);
    place.file("tools/hooks/pre-commit", "new");
    place.file("a/real/sub/pre-push", "new");
    assert_eq!(
        brief(&review.after()),
        ["GitHook Changed a/real/sub/pre-push", "GitHook Changed tools/hooks/pre-commit"]
    );
}

#[test]
fn a_link_below_a_directory_that_counts_is_followed() {
    let place = Place::new();
    place.link("../shared/skills", ".claude/skills");
    place.file("shared/skills/one/SKILL.md", "old");
    let review = place.before();
    place.file("shared/skills/one/SKILL.md", "new");
    assert_eq!(brief(&review.after()), ["Agent Changed shared/skills/one/SKILL.md"]);
}

#[test]
fn settings_are_read_as_git_reads_them() {
    let place = Place::new();
    place.file("a/.git/config", "[core]\n\thooksPath = hk # ours\n");
    place.file("a/hk/pre-commit", "old");
    place.file("b/.git/config", "[core] ; x\n\thooksPath = \"h\\\nk\" ; ours\n");
    place.file("b/hk/pre-commit", "old");
    // The settings themselves may be a link.
    place.link("../settings", "c/.git/config");
    place.file("c/settings", "[core]\nhooksPath = hk\n");
    place.file("c/hk/pre-commit", "old");
    // For one working tree only.
    place.file("d/.git/config.worktree", "[core]\nhooksPath = hk\n");
    place.file("d/hk/pre-commit", "old");
    let review = place.before();
    for top in ["a", "b", "c", "d"] {
        place.file(&format!("{top}/hk/pre-commit"), "new");
    }
    assert_eq!(
        brief(&review.after()),
        ["a", "b", "c", "d"].map(|top| format!("GitHook Changed {top}/hk/pre-commit"))
    );
}

#[test]
fn settings_too_long_to_read_are_said() {
    let place = Place::new();
    let text = format!("[core]\nhooksPath = hk\n{}", "# much\n".repeat(20_000));
    place.file(".git/config", &text);
    place.file("hk/pre-commit", "old");
    let review = place.before();
    place.file("hk/pre-commit", "new");
    let items = review.after();
    assert_eq!(brief(&items), ["Incomplete Unknown ."]);
    assert!(items[0].detail.contains(".git/config"), "{items:?}");
}

#[test]
fn two_dots_behind_a_link_go_where_the_kernel_goes() {
    let place = Place::new();
    place.link("far/off", "a");
    place.file("far/off/x", "");
    place.file(".git/config", "[core]\nhooksPath = a/../hk\n");
    place.file("far/hk/pre-commit", "old");
    place.file("hk/pre-commit", "old");
    place.link("../a/../script", "sub/.envrc");
    place.file("far/script", "old");
    let review = place.before();
    place.file("hk/pre-commit", "new");
    assert_eq!(review.after(), []);
    place.file("far/hk/pre-commit", "new");
    place.file("far/script", "new");
    assert_eq!(
        brief(&review.after()),
        ["GitHook Changed far/hk/pre-commit", "ShellStart Changed sub/.envrc"]
    );
}

#[test]
fn a_way_that_leads_out_now_is_told() {
    let place = Place::new();
    fs::create_dir_all(place.top.parent().unwrap().join("outside/sub")).unwrap();
    fs::create_dir_all(place.top.join("real/sub")).unwrap();
    place.link("way/sub", ".husky");
    place.link("real", "way");
    place.file("b/.git/config", "[core]\nhooksPath = hk\n");
    fs::create_dir_all(place.top.join("b/real")).unwrap();
    place.link("real", "b/hk");
    let review = place.before();
    assert_eq!(review.after(), []);
    fs::remove_file(place.top.join("way")).unwrap();
    place.link("../outside", "way");
    fs::remove_file(place.top.join("b/hk")).unwrap();
    place.link("../../outside", "b/hk");
    let items = review.after();
    assert_eq!(brief(&items), ["GitHook Changed .husky", "GitHook Changed b/hk"]);
    assert!(items.iter().all(|item| item.detail.contains("outside the workspace")), "{items:?}");
}

#[test]
fn links_by_their_full_names_stay_inside() {
    let place = Place::new();
    let full = |path: &str| place.top.canonicalize().unwrap().join(path).to_str().unwrap().to_owned();
    place.link(&full("x/hooks"), ".githooks");
    place.link(&full("real"), "x");
    place.file("real/hooks/pre-commit", "old");
    let review = place.before();
    place.file("real/hooks/pre-commit", "new");
    assert_eq!(brief(&review.after()), ["GitHook Changed real/hooks/pre-commit"]);
}

#[test]
fn a_new_git_directory_is_told() {
    let place = Place::new();
    place.file("there/.git/HEAD", "");
    let review = place.before();
    fs::create_dir_all(place.top.join("src/deep/.git")).unwrap();
    fs::create_dir_all(place.top.join("node_modules/x/.git")).unwrap();
    fs::create_dir_all(place.top.join("there/.git/sub/.git")).unwrap();
    let items = review.after();
    assert_eq!(brief(&items), ["GitSettings New node_modules/x/.git", "GitSettings New src/deep/.git"]);
    assert_eq!(items[0].detail, "a directory");
}
