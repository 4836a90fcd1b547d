//! F23 and F25: what the host would later trust or run, where it exists already.

use crate::act;
use crate::support::{Answer, Snapshot, World, each_caller};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// At the root of the workspace: shells, editors, agents and their tools read these.
const CONFIGURATION: [&str; 20] = [
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".profile",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".mcp.json",
    ".envrc",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".claude/settings.json",
    ".claude/commands/x.md",
    ".claude/agents/x.md",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".stockade.json",
    ".devcontainer/devcontainer.json",
];

/// Inside a repository's own directory.
const GIT: [&str; 12] = [
    ".git/hooks/pre-commit",
    ".git/hooks/post-checkout.sample",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/modules/sub/config",
    ".git/modules/sub/hooks/post-checkout",
    ".git/worktrees/tree/gitdir",
    ".git/worktrees/tree/commondir",
    ".git/worktrees/tree/config.worktree",
    "deep/inside/other/.git/hooks/pre-commit",
    "deep/inside/other/.git/config",
];

/// Every way to turn an existing file into something else.
fn attacks(path: &Path, spare: &Path) -> Vec<Vec<OsString>> {
    vec![
        act!["write", path],
        act!["append", path],
        act!["truncate", path],
        act!["unlink", path],
        act!["rename", spare, path],
        act!["exchange", spare, path],
        act!["rename", path, path.with_extension("away")],
        act!["chmod", path, "0o777"],
        act!["put", path],
    ]
}

#[track_caller]
fn all_refused(answers: &[Answer]) {
    let holes: Vec<String> = answers
        .iter()
        .filter(|answer| {
            !["errno EROFS", "errno EBUSY", "errno EXDEV", "errno EACCES", "errno EPERM"]
                .contains(&answer.line())
        })
        .map(|answer| format!("{} -> {}", answer.asked(), answer.line()))
        .collect();
    assert!(holes.is_empty(), "not refused:\n{}{}", holes.join("\n"), answers[0].ran());
}

fn repository(world: &World, at: &Path) {
    for dir in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info"] {
        world.dir(at.join(dir));
    }
    world.file(at.join("HEAD"), "ref: refs/heads/main\n");
    world.file(
        at.join("config"),
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
    );
}

#[test]
fn f25_configuration_at_the_root_of_the_workspace() {
    each_caller(|world| {
        for name in CONFIGURATION {
            let text = if name == ".stockade.json" { "{}" } else { "host" };
            world.file(name, text);
        }
        let spare = world.file("spare", "evil");
        let before = Snapshot::of(&world.ws, &[]);
        let acts = CONFIGURATION.iter().flat_map(|name| attacks(&world.ws.join(name), &spare));
        all_refused(&world.run().batch(acts));
        // Directories that hold such files cannot be swapped, and take no new files.
        let mut more = Vec::new();
        for dir in [".vscode", ".idea", ".claude", ".cursor", ".gemini", ".codex"] {
            more.push(act!["rename", world.ws.join(dir), world.ws.join("away")]);
            more.push(act!["exchange", world.ws.join(dir), &spare]);
        }
        for file in
            [".vscode/settings.json", ".idea/new.xml", ".claude/commands/new.md", ".claude/agents/new.md"]
        {
            more.push(act!["create", world.ws.join(file)]);
        }
        all_refused(&world.run().batch(more));
        Snapshot::of(&world.ws, &[]).same_as(&before, "after attacks on configuration");
        // Ordinary files, and the same names where nobody reads them, are free.
        for answer in world.run().batch([
            act!["create", world.ws.join("plain")],
            act!["create", world.ws.join(".prettierrc")],
            act!["mkdir", world.ws.join("node_modules")],
            act!["mkdir", world.ws.join("node_modules/pkg")],
            act!["mkdir", world.ws.join("node_modules/pkg/.vscode")],
            act!["create", world.ws.join("node_modules/pkg/.vscode/settings.json")],
        ]) {
            answer.ok();
        }
    });
}

/// The same files in HOME, for somebody who opened all of HOME.
#[test]
fn f25_configuration_in_the_home() {
    each_caller(|world| {
        let names = [
            ".bashrc",
            ".bash_profile",
            ".profile",
            ".zshrc",
            ".zprofile",
            ".gitconfig",
            ".config/git/config",
        ];
        for name in names {
            world.file(world.home.join(name), "host");
        }
        let own = world.file(world.home.join(".config/stockade/settings.json"), "{}");
        let free = world.file(world.home.join("notes"), "x");
        let spare = world.file(world.home.join("spare"), "evil");
        let run = || world.run().with("--allow-write", &world.home);
        let acts = names.iter().flat_map(|name| attacks(&world.home.join(name), &spare));
        all_refused(&run().batch(acts));
        let mut acts = attacks(&own, &spare);
        acts.push(act!["read", &own]);
        acts.push(act!["rename", world.home.join(".config/stockade"), world.home.join("away")]);
        acts.push(act!["rename", world.home.join(".config"), world.home.join("away")]);
        all_refused(&run().batch(acts));
        run().probe(act!["write", &free]).ok();
    });
}

#[test]
fn f23_git_of_an_existing_repository() {
    each_caller(|world| {
        repository(world, &world.ws.join(".git"));
        repository(world, &world.ws.join("deep/inside/other/.git"));
        repository(world, &world.ws.join(".git/modules/sub"));
        for name in GIT {
            if !world.ws.join(name).exists() {
                world.file(name, "host");
            }
        }
        let spare = world.file("spare", "evil");
        let before = Snapshot::of(&world.ws, &[]);
        // Settings without anything that protects somebody may go, and their mode is nobody's business.
        let settings = |name: &str| name.ends_with("config") || name.ends_with("config.worktree");
        let harmless = |act: &Vec<OsString>| match act[0].to_str() {
            Some("unlink" | "chmod") => true,
            Some("rename") => act[1] != spare,
            _ => false,
        };
        let acts = GIT.iter().flat_map(|name| {
            let attacks = attacks(&world.ws.join(name), &spare).into_iter();
            attacks.filter(move |act| !(settings(name) && harmless(act)))
        });
        all_refused(&world.run().batch(acts));
        all_refused(&world.run().batch([
            act!["create", world.ws.join(".git/hooks/new")],
            act!["create", world.ws.join(".git/modules/sub/hooks/new")],
            act!["create", world.ws.join("deep/inside/other/.git/hooks/new")],
            act![
                "rename",
                world.ws.join(".git/hooks/post-checkout.sample"),
                world.ws.join(".git/hooks/post-checkout")
            ],
            act!["rename", world.ws.join(".git/hooks"), world.ws.join(".git/away")],
            act!["rename", world.ws.join(".git"), world.ws.join("away")],
            act!["exchange", world.ws.join(".git"), world.ws.join("deep")],
            act!["rename", world.ws.join("deep/inside/other/.git"), world.ws.join("away")],
            act!["rename", world.ws.join("deep"), world.ws.join("away")],
            act!["rmdir", world.ws.join(".git/hooks")],
        ]));
        Snapshot::of(&world.ws, &[]).same_as(&before, "after attacks on git");
        // What git itself writes all day.
        for answer in world.run().batch([
            act!["create", world.ws.join(".git/HEAD.lock")],
            act!["rename", world.ws.join(".git/HEAD.lock"), world.ws.join(".git/HEAD")],
            act!["create", world.ws.join(".git/COMMIT_EDITMSG")],
            act!["create", world.ws.join(".git/refs/heads/main")],
            act!["mkdir", world.ws.join(".git/objects/ab")],
            act!["create", world.ws.join(".git/objects/ab/cdef")],
            act!["write", world.ws.join(".git/HEAD")],
            act!["write", world.ws.join("spare")],
        ]) {
            answer.ok();
        }
    });
}

/// A worktree or submodule is a file that points elsewhere.
#[test]
fn f23_gitdir_pointers() {
    each_caller(|world| {
        repository(world, &world.outside.join("main/.git"));
        let hooks = world.file(world.outside.join("main/.git/hooks/pre-commit"), "host");
        let pointed = world.outside.join("main/.git/worktrees/tree");
        world.file(pointed.join("commondir"), "../..\n");
        world.file(pointed.join("gitdir"), format!("{}\n", world.ws.join(".git").display()));
        world.file(pointed.join("HEAD"), "ref: refs/heads/main\n");
        let pointer = world.file(".git", format!("gitdir: {}\n", pointed.display()));
        let nested = world.file("sub/.git", "gitdir: ../.git/modules/sub\n");
        let spare = world.file("spare", "evil");
        let before = [Snapshot::of(&world.ws, &[]), Snapshot::of(&world.outside, &[])];
        let mut acts = attacks(&pointer, &spare);
        acts.extend(attacks(&nested, &spare));
        acts.extend(attacks(&hooks, &spare));
        acts.extend(attacks(&pointed.join("commondir"), &spare));
        all_refused(&world.run().batch(acts));
        let after = [Snapshot::of(&world.ws, &[]), Snapshot::of(&world.outside, &[])];
        for (after, before) in after.iter().zip(&before) {
            after.same_as(before, "after attacks on pointers");
        }
    });
}

/// A project's own settings may not lift the protection.
#[test]
fn project_settings_only_tighten() {
    each_caller(|world| {
        world.file(".bashrc", "host");
        let outside = world.file(world.outside.join("f"), "host");
        let plain = world.file("plain", "x");
        world.file(
            ".stockade.json",
            serde_json::json!({"filesystem": {
                "allowWrite": [world.outside, ".bashrc", "/"],
                "denyWrite": ["plain"],
            }})
            .to_string(),
        );
        world.probe(["write", ".bashrc"]).errno(&["EROFS"]);
        world.probe(act!["write", &outside]).errno(&["EROFS"]);
        world.probe(act!["write", &plain]).errno(&["EROFS"]);
    });
}

/// A repository made below another does not end what the outer one's settings forbid.
#[test]
fn a_new_repository_does_not_silence_the_project_above() {
    for make in ["mkdir .git", "git init -q ."] {
        each_caller(|world| {
            world.dir(".git");
            let plans = world.file("plans/a", "plan");
            let denied = serde_json::json!({"filesystem": {"denyRead": [plans]}}).to_string();
            world.file(".stockade.json", &denied);
            let below = world.dir("sub");
            world.run().at(&below).shell("cat ../plans/a").exits(1);
            world.run().at(&below).shell(make).exits(0);
            assert!(below.join(".git").exists(), "{make}");
            world.run().at(&below).shell("cat ../plans/a").exits(1);
            fs::remove_file(world.ws.join(".stockade.json")).expect("remove");
            world.run().at(&below).shell("cat ../plans/a").exits(0);
            let claude = serde_json::json!({"sandbox": {"filesystem": {"denyRead": [plans]}}}).to_string();
            world.file(".claude/settings.json", claude);
            world.run().opt("--claude").at(&below).shell("cat ../plans/a").exits(1);
        });
    }
}

/// What git's configuration includes, and where it takes hooks from, is as good as the configuration.
#[test]
fn what_git_is_told_to_include_stays_as_it_is() {
    each_caller(|world| {
        world.file(".git/HEAD", "ref: refs/heads/main\n");
        world.dir(".git/objects");
        world.dir(".git/refs");
        world.file(
            ".git/config",
            "[include]\n\tpath = ../team.gitconfig\n\tpath = ../conf/new\n[core]\n\thooksPath = .githooks\n",
        );
        let team = world.file("team.gitconfig", "[user]\n\tname = T\n");
        let hook = world.file(".githooks/pre-commit", "host");
        let spare = world.file("spare", "evil");
        let before = Snapshot::of(&world.ws, &[]);
        let mut acts = attacks(&team, &spare);
        acts.extend(attacks(&hook, &spare));
        all_refused(&world.run().batch(acts));
        Snapshot::of(&world.ws, &[]).same_as(&before, "after attacks on included files");
        for text in ["mkdir -p conf && echo x > conf/new", "echo x > .githooks/post-commit"] {
            assert_ne!(world.run().shell(text).code(), 0, "{text}");
        }
        assert!(!world.ws.join("conf/new").exists());
        world.run().shell("echo x > other").exits(0);
    });
}

/// What is wrong with git's settings is said in a line that can be read.
#[test]
fn a_refused_git_setting_is_told_in_plain_words() {
    each_caller(|world| {
        let ran = world.run().shell("git init -q . && git config core.fsmonitor evil");
        assert_ne!(ran.code(), 0, "{ran}");
        ran.complains(&["core.fsmonitor", "a person can make this change"]);
        assert!(!ran.err().contains("\\nhint"), "{ran}");
    });
}
