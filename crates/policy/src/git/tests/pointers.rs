use super::super::{check_git_pointer, check_worktree_commondir, check_worktree_pointer};
use super::places;
use std::path::Path;

fn pointer(content: &str, file: &str) -> bool {
    check_git_pointer(content.as_bytes(), Path::new(file), &places()).is_ok()
}

#[test]
fn git_files_lead_to_protected_directories() {
    for (content, file) in [
        ("gitdir: /ws/repo/.git/worktrees/w\n", "/ws/w/.git"),
        ("gitdir: /ws/repo/.git/worktrees/w\n", "/private/w/.git"),
        ("gitdir: /ws/.git/worktrees/w\n", "/ws/w/.git"),
        ("gitdir: ../.git/modules/sub\n", "/ws/repo/sub/.git"),
        ("gitdir: ../../.git/modules/lib/sub\n", "/ws/repo/lib/sub/.git"),
        ("gitdir: ../../.git/modules/a/modules/b\n", "/ws/repo/a/b/.git"),
        ("gitdir: ../repo/.git/worktrees/w x\n", "/ws/w/.git"),
    ] {
        assert!(pointer(content, file), "{content:?} in {file}");
    }
}

#[test]
fn git_files_lead_nowhere_else() {
    for path in [
        "",
        "/ws/repo/.git",
        "/ws/repo/.git/",
        "/ws/repo/.git/worktrees",
        "/ws/repo/.git/modules",
        "/ws/repo/evil",
        "/ws/repo/evil.git/worktrees/w",
        "/ws/repo/.git/worktrees/w/x",
        "/ws/repo/.git/hooks/w",
        "/ws/repo/.git/objects/w",
        "/ws/repo/git/modules/x",
        "/etc/.git/modules/x",
        "/wsx/repo/.git/modules/x",
        "/.git/modules/x",
        "/private/r/.git/modules/x",
        "/ws/repo/.git/modules/../../evil",
        "/ws/repo/.git/worktrees/..",
        "/ws/repo/.git/worktrees/w/",
        "/ws/repo/.git//worktrees/w",
        "/ws/repo/.git/./worktrees/w",
        "/ws/../etc/.git/modules/x",
        "../a/../.git/modules/x",
        "../../../../etc/.git/modules/x",
        "/ws/repo/.git/modules/x/.git/modules/y",
        "/ws/repo/.GIT/modules/x",
        "/ws/repo/.git/modules/.Git",
        " /ws/repo/.git/modules/x",
        "/ws/repo/.git/modules/x ",
        "/ws/repo/.git/modules/x\r",
        "/ws/repo/.git/modules/x\n",
        "/ws/repo/.git/modules/x\0",
        "/ws/repo/.git/modules/\tx",
        ".git/modules/../x",
        "~/.git/modules/x/..",
    ] {
        let content = format!("gitdir: {path}\n");
        assert!(!pointer(&content, "/ws/repo/sub/.git"), "{path:?}");
    }
    for content in [
        "",
        "gitdir:",
        "gitdir: \n",
        "gitdir:/ws/repo/.git/modules/x\n",
        "gitdir: /ws/repo/.git/modules/x",
        "GITDIR: /ws/repo/.git/modules/x\n",
        "\ngitdir: /ws/repo/.git/modules/x\n",
        "gitdir: /ws/repo/.git/modules/x\n\n",
        "gitdir: /ws/repo/.git/modules/x\ngitdir: /evil\n",
        "\u{feff}gitdir: /ws/repo/.git/modules/x\n",
    ] {
        assert!(!pointer(content, "/ws/repo/sub/.git"), "{content:?}");
    }
    assert!(!pointer("gitdir: ../.git/modules/x\n", "repo/sub/.git"));
    assert!(!pointer("gitdir: ../.git/modules/x\n", "/ws/repo/a/../sub/.git"));
    let long = format!("gitdir: /ws/.git/modules/{}\n", "x/".repeat(3000));
    assert!(!pointer(&long, "/ws/repo/sub/.git"));
    let odd = b"gitdir: /ws/.git/modules/\xff\n";
    assert!(check_git_pointer(odd, Path::new("/ws/x/.git"), &places()).is_err());
}

#[test]
fn a_common_directory_is_the_one_it_lies_in() {
    for content in ["../..", "../..\n"] {
        assert_eq!(check_worktree_commondir(content.as_bytes()), Ok(()));
    }
    for content in [
        "",
        "..",
        "../../",
        "../../..",
        "../..\n\n",
        "../..\r\n",
        " ../..",
        "/ws/.git",
        "../..\0",
        "../../../x/.git",
    ] {
        assert!(check_worktree_commondir(content.as_bytes()).is_err(), "{content:?}");
    }
}

#[test]
fn a_work_tree_is_where_the_command_may_write() {
    let check = |content: &str| {
        check_worktree_pointer(content.as_bytes(), Path::new("/ws/repo/.git/worktrees/w/gitdir"), &places())
            .is_ok()
    };
    for content in [
        "/ws/w/.git\n",
        "/ws/w/.git",
        "/ws/.git\n",
        "/private/x/w/.git\n",
        "../../../../w/.git\n",
        "../../../w/.git\n",
    ] {
        assert!(check(content), "{content:?}");
    }
    for content in [
        "",
        "\n",
        "/ws/w\n",
        "/ws/w/.git/\n",
        "/ws/w/x.git\n",
        "/ws/w/.GIT\n",
        "/home/me/.git\n",
        "/wsx/.git\n",
        "/.git\n",
        "/ws/../etc/.git\n",
        "../../../../../etc/.git\n",
        "/ws/w/.git\n\n",
        "/ws/w/.git\r\n",
        "/ws/a/.git/b/.git\n",
        "../../x/.git\n",
        "/ws/w/.git\nx",
        "/ws/w/\0/.git\n",
        "/ws//w/.git\n",
    ] {
        assert!(!check(content), "{content:?}");
    }
}
