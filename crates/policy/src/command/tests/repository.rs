//! Repositories in which git keeps its walls.

use super::{shell, tree};
use crate::testing::Tree;
use crate::{Request, Verdict};

/// Whether git stays behind walls in a repository with these, and why.
fn git_in(files: &Tree, text: &str) -> (Verdict, String) {
    let settings = r#"{"excludedCommands": ["git:*", "docker:*", "cd:*"]}"#;
    let files = files.clone().files(&["/ws/.git/HEAD", "/ws/src/a", "/usr/bin/git", "/usr/bin/docker"]);
    let policy = crate::testing::load(&files, crate::Layer::User, crate::Shape::Native, settings).unwrap();
    let environment = vec![("PATH".into(), "/usr/bin".into())];
    let decision = policy.decide(&Request { environment, ..shell(text) }, &files);
    (decision.verdict, decision.reason)
}

#[test]
fn git_stays_behind_walls_where_it_would_go_on_with_what_commands_left() {
    for state in
        ["rebase-merge", "rebase-apply", "sequencer", "worktrees/w/rebase-merge", "modules/a/b/sequencer"]
    {
        let files = tree().text(&format!("/ws/.git/{state}/git-rebase-todo"), "exec id\n");
        for text in ["git rebase --continue", "cd src && git status", "git -C src rebase --skip"] {
            let (verdict, reason) = git_in(&files, text);
            assert_eq!(verdict, Verdict::Sandbox, "{state} {text}");
            assert!(reason.contains("git would go on with") && reason.contains(state), "{reason}");
        }
        assert_eq!(git_in(&files, "docker ps").0, Verdict::Unsandboxed, "{state}");
        assert_eq!(git_in(&files, "git -C /usr/bin status").0, Verdict::Unsandboxed, "{state}");
        assert_eq!(git_in(&files, "git --git-dir=/ws/.git status").0, Verdict::Sandbox, "{state}");
    }
    let nested = tree().file("/ws/app/.git/HEAD").file("/ws/app/.git/sequencer/todo");
    assert_eq!(git_in(&nested, "git status").0, Verdict::Unsandboxed);
    for text in ["git -C app status", "git -C . -C app status", "git -c a.b=c --git-dir app/.git status"] {
        assert_eq!(git_in(&nested, text).0, Verdict::Sandbox, "{text}");
    }
    assert_eq!(git_in(&tree(), "git -C $X status").0, Verdict::Sandbox);
    let clean = tree().file("/ws/.git/logs/HEAD");
    assert_eq!(git_in(&clean, "git log").0, Verdict::Unsandboxed);
    // It may be laid there between the look and the run.
    for text in ["git rebase --continue", "git -C src rebase --skip", "git --git-dir=/ws/.git rebase main"] {
        let (verdict, reason) = git_in(&clean, text);
        assert_eq!(verdict, Verdict::Sandbox, "{text}");
        assert!(reason.contains("may write at any moment"), "{reason}");
    }
    // Where commands cannot have written it.
    let others = tree().file("/srv/r/.git/HEAD").file("/srv/r/.git/rebase-merge/done");
    assert_eq!(git_in(&others, "git -C /srv/r status").0, Verdict::Unsandboxed);
}

#[test]
fn git_stays_behind_walls_when_options_bring_settings_that_no_pattern_names() {
    for text in [
        "git -c core.fsmonitor=./x status",
        "git -C src -c alias.x='!sh a' x",
        "git --config-env=core.pager=P log",
        "git --config-env core.pager=P log",
        "git --exec-path=/ws/src status",
    ] {
        let (verdict, reason) = git_in(&tree(), text);
        assert_eq!(verdict, Verdict::Sandbox, "{text}");
        assert!(reason.contains("can make git run anything"), "{reason}");
    }
    let files = tree().files(&["/ws/.git/HEAD", "/usr/bin/git"]);
    let settings = r#"{"excludedCommands": ["git -c core.pager=cat log:*", "git -c * gc"]}"#;
    let policy = crate::testing::load(&files, crate::Layer::User, crate::Shape::Native, settings).unwrap();
    for (text, expected) in [
        ("git -c core.pager=cat log -1", Verdict::Unsandboxed),
        ("git -c gc.auto=1 gc", Verdict::Unsandboxed),
        ("git --exec-path=/ws -c core.pager=cat log", Verdict::Sandbox),
        ("git -c gc.auto=1 --config-env=a.b=C gc", Verdict::Sandbox),
    ] {
        let environment = vec![("PATH".into(), "/usr/bin".into())];
        let decision = policy.decide(&Request { environment, ..shell(text) }, &files);
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
    }
}

#[test]
fn git_stays_behind_walls_where_it_would_follow_a_link() {
    for name in ["COMMIT_EDITMSG", "logs", "logs/HEAD", "index", "FETCH_HEAD"] {
        let files = tree().link(&format!("/ws/.git/{name}"), "/home/me/.bashrc");
        let (verdict, reason) = git_in(&files, "git commit -m x");
        assert_eq!(verdict, Verdict::Sandbox, "{name}");
        assert!(reason.contains("git would follow the link"), "{reason}");
    }
    let own = tree().link("/ws/.git/hooks", "/usr/share/hooks");
    assert_eq!(git_in(&own, "git commit -m x").0, Verdict::Unsandboxed);
}

#[test]
fn git_stays_behind_walls_where_a_work_tree_is_a_link() {
    let module = "/ws/.git/modules/deep/er/config";
    let settings = "[core]\n\tworktree = ../../../../sub\n";
    let files = tree().text(module, settings);
    let linked = files.link("/ws/sub", "/home/me/.ssh");
    let (verdict, reason) = git_in(&linked.directory("/home/me/.ssh"), "git status");
    assert_eq!(verdict, Verdict::Sandbox, "{reason}");
    assert!(reason.contains("git would follow the link /ws/sub on the way"), "{reason}");
    // It may lead nowhere now and somewhere in a moment.
    let lost = tree().text(module, settings).link("/ws/sub", "/ws/later/x");
    assert_eq!(git_in(&lost, "git status").0, Verdict::Sandbox);
    // The same where the settings of the work tree say so.
    let other = "/ws/.git/modules/deep/er/config.worktree";
    let linked = tree().text(other, settings).link("/ws/sub", "/home/me/.ssh").directory("/home/me/.ssh");
    assert_eq!(git_in(&linked, "git status").0, Verdict::Sandbox);
    let files = tree().text(module, settings).directory("/ws/sub");
    assert_eq!(git_in(&files, "git status").0, Verdict::Unsandboxed);
}

#[test]
fn git_stays_behind_walls_where_it_runs_what_commands_may_write() {
    for (config, expected) in [
        ("[core]\nfsmonitor = ./watch\n", Verdict::Sandbox),
        ("[alias]\nx = !sh src/a\n", Verdict::Sandbox),
        ("[filter \"f\"]\nclean = /ws/.venv/bin/python -m x\n", Verdict::Sandbox),
        ("[filter \"f\"]\nclean = git-lfs clean -- %f\n", Verdict::Unsandboxed),
        ("[core]\neditor = /usr/bin/vim\nfsmonitor = true\n", Verdict::Unsandboxed),
        ("[diff \"x\"]\ntextconv = sed s/a/b/\n", Verdict::Unsandboxed),
    ] {
        for file in ["/ws/.git/config", "/home/me/.gitconfig"] {
            let (verdict, reason) = git_in(&tree().text(file, config), "git status");
            assert_eq!(verdict, expected, "{file} {config}: {reason}");
            assert_eq!(reason.contains("has git run"), expected == Verdict::Sandbox, "{reason}");
        }
        assert_eq!(git_in(&tree().text("/ws/.git/config", config), "docker ps").0, Verdict::Unsandboxed);
    }
}

#[test]
fn git_stays_behind_walls_where_a_work_tree_may_have_hooks_of_commands() {
    let hooks = "[core]\nhooksPath = .husky\n";
    let nested =
        |tree: Tree| tree.file("/ws/s/wt/a").text("/ws/s/wt/.git", "gitdir: /ws/.git/worktrees/wt\n");
    let own =
        nested(tree().text("/ws/.git/config", hooks).text("/ws/.git/worktrees/wt/commondir", "../..\n"));
    // Protected there, since whoever says so said it.
    assert_eq!(git_in(&own, "git status").0, Verdict::Unsandboxed);
    for text in ["cd s/wt && git status", "git -C s/wt diff"] {
        let (verdict, reason) = git_in(&own, text);
        assert_eq!(verdict, Verdict::Sandbox, "{text}");
        assert!(reason.contains("hooks of the work tree /ws/s/wt"), "{reason}");
    }
    // Every repository's, also the first one.
    let all = tree().text("/home/me/.gitconfig", hooks).file("/ws/n/.git/HEAD");
    for text in ["git status", "git -C n status"] {
        assert_eq!(git_in(&all, text).0, Verdict::Sandbox, "{text}");
    }
    assert_eq!(git_in(&all.file("/srv/r/.git/HEAD"), "git -C /srv/r status").0, Verdict::Unsandboxed);
    for elsewhere in ["/opt/hooks", "~/hooks"] {
        let settings = format!("[core]\nhooksPath = {elsewhere}\n");
        let files = tree().text("/home/me/.gitconfig", &settings).file("/ws/n/.git/HEAD");
        assert_eq!(git_in(&files, "git -C n status").0, Verdict::Unsandboxed, "{elsewhere}");
    }
}

#[test]
fn git_stays_behind_walls_where_its_list_of_files_leads_elsewhere() {
    let empty = "DIRC\0\0\0\u{2}\0\0\0\0aaaaaaaaaaaaaaaaaaaa";
    for place in ["/ws/.git/index", "/ws/.git/worktrees/w/index", "/ws/.git/modules/a/index"] {
        let around = tree().files(&["/ws/.git/worktrees/w/HEAD", "/ws/.git/modules/a/HEAD"]);
        assert_eq!(
            git_in(&around.clone().text(place, empty), "git status").0,
            Verdict::Unsandboxed,
            "{place}"
        );
        let (verdict, reason) = git_in(&around.text(place, "DIRC and more"), "git diff");
        assert_eq!(verdict, Verdict::Sandbox, "{place}");
        assert!(reason.contains(place), "{reason}");
    }
}
