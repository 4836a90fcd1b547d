//! What is told, where and in which words.

use super::{UNPROTECTED, brief, reviewed};
use crate::support::each_caller;
use std::fs;

#[test]
fn changes_are_listed_after_everything_else() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        world.file("package.json", r#"{"scripts": {"test": "mocha"}}"#);
        world.file(".github/workflows/old.yml", "on: push");
        let text = "mkdir -p .git/hooks .vscode sub; echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; \
                    echo '{\"scripts\": {\"test\": \"mocha\", \"postinstall\": \"./x\"}}' > package.json; \
                    rm .github/workflows/old.yml; echo {} > .vscode/tasks.json; echo x > sub/main.c; \
                    echo no > /etc/motd; exit 3";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(3).keeps_calm();
        assert_eq!(
            brief(&items),
            [
                "gitHook new .git/hooks/pre-commit",
                "gitSettings new .git",
                "editor new .vscode/tasks.json",
                "pipeline removed .github/workflows/old.yml",
                "packageScript changed package.json",
            ],
            "{ran}"
        );
        let err = ran.err();
        let told: Vec<&str> = err.lines().skip_while(|line| !line.starts_with("stockade: review:")).collect();
        assert_eq!(told.len(), 6, "{ran}");
        assert_eq!(told[0], "stockade: review: 5 things changed that this machine may execute later");
        assert_eq!(
            told[1],
            "  gitHook new .git/hooks/pre-commit (executable): git runs it on commit, checkout, merge or push"
        );
        assert!(told[5].contains("(new scripts.postinstall: \"./x\"): package managers run"), "{ran}");
    });
}

#[test]
fn what_a_rebase_would_run_is_told() {
    each_caller(|world| {
        let settings = world.settings("{}");
        world.file(".git/HEAD", "ref: refs/heads/main");
        let text = "mkdir -p .git/rebase-merge .git/sequencer; echo pick 1 > .git/sequencer/todo; \
                    printf 'pick 1 exec\\nexec id > /x\\n' > .git/rebase-merge/git-rebase-todo";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(0);
        assert_eq!(brief(&items), ["gitHook new .git/rebase-merge/git-rebase-todo"], "{ran}");
        let told = "(new \"exec id > /x\"): git rebase --continue would run these lines";
        assert!(ran.err().contains(told), "{ran}");
    });
}

#[test]
fn nothing_to_tell_is_not_told() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        world.script(".git/hooks/pre-commit", "x");
        let (ran, items) = reviewed(world, &settings, "echo x > main.c; mkdir a; echo y > a/b.c");
        ran.exits(0);
        assert!(items.is_empty() && ran.err().is_empty(), "{ran}");
    });
}

#[test]
fn without_the_option_nothing_is_looked_at() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let report = world.base.join("report.json");
        let run = world.run().with("--settings", &settings).with("--report", &report);
        let ran = run.shell("echo x > mise.toml");
        ran.exits(0);
        assert!(ran.err().is_empty(), "{ran}");
        let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        assert!(report.get("review").is_none(), "{report}");
    });
}

#[test]
fn quiet_does_not_hide_what_was_asked_for() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let ran =
            world.run().opts(["--review", "-q"]).with("--settings", &settings).shell("echo x > mise.toml");
        ran.exits(0).complains(&["review: 1 thing changed", "mise.toml"]);
        assert_eq!(ran.err().lines().count(), 2, "{ran}");
    });
}

#[test]
fn what_is_run_by_habit_is_told() {
    each_caller(|world| {
        let settings = world.settings("{}");
        world.dir("src");
        world.file("Makefile", "all:\n\ttrue\n");
        world.file("tox.ini", "[testenv]\ncommands =\n  pytest\n");
        let git = "git init -q; git remote add origin https://a.example/r";
        world.run().shell(git).exits(0);
        let text = "for name in Makefile jest.config.js vite.config.ts docker-compose.yml Dockerfile src/CMakeLists.txt \
                    .lldbinit src/x.js; do echo '# x' >> $name; done; \
                    echo '  evil' >> tox.ini; git remote set-url origin https://b.example/r; git config user.name x";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(0);
        let mut paths: Vec<&str> = items.iter().map(|item| item["path"].as_str().unwrap()).collect();
        paths.sort();
        assert_eq!(
            paths,
            [
                ".git/config",
                ".lldbinit",
                "Dockerfile",
                "Makefile",
                "docker-compose.yml",
                "jest.config.js",
                "src/CMakeLists.txt",
                "tox.ini",
                "vite.config.ts"
            ]
        );
        ran.complains(&["changed remote.origin.url: \"https://b.example/r\"", "your next `make` here"]);
    });
}

/// What walls protect does not change; deeper names may be written and are told.
#[test]
fn protection_holds_and_the_rest_is_told() {
    each_caller(|world| {
        let settings = world.settings("{}");
        let text = "echo x > .bashrc; mkdir -p vendor/p; echo x > vendor/p/.bashrc; git init -q repo; true";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(0);
        assert_eq!(brief(&items), ["gitSettings new repo/.git", "shellStart new vendor/p/.bashrc"], "{ran}");
        assert!(ran.err().contains(".bashrc"), "{ran}");
        let refused = ran.err().find("refused").unwrap_or_else(|| panic!("no refusal{ran}"));
        assert!(refused < ran.err().find("review:").unwrap(), "{ran}");
    });
}

#[test]
fn programs_of_the_search_path_are_told() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        world.dir("tools");
        let path = format!("/usr/bin:/bin:{}", world.ws.join("tools").display());
        let run = world.run().opt("--review").with("--settings", &settings).var("PATH", path);
        let ran = run.shell("echo x > tools/ls; chmod +x tools/ls; echo x > tools/notes");
        ran.exits(0).complains(&["program new tools/ls (executable)"]);
        assert!(!ran.err().contains("notes"), "{ran}");
    });
}

#[test]
fn events_end_with_the_review() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let events = world.base.join("events");
        let run = world.run().opt("--review").with("--settings", &settings).with("--events", &events);
        run.shell("mkdir -p r/objects r/refs; echo x > r/HEAD").exits(0);
        let text = fs::read_to_string(&events).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [.., notice, exited] = lines.as_slice() else { panic!("{text}") };
        assert_eq!(notice["type"], "notice", "{text}");
        assert!(notice["text"].as_str().unwrap().starts_with("r became a repository for git"), "{text}");
        assert_eq!(exited["type"], "exited", "{text}");
        assert_eq!(brief(exited["review"].as_array().unwrap()), ["bareRepository new r"], "{text}");
    });
}

#[test]
fn a_killed_command_is_reviewed_too() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let run = world.run().opts(["--review", "--timeout", "0.5"]).with("--settings", &settings);
        run.shell("echo x > mise.toml; sleep 60").exits(137).complains(&["shellStart new mise.toml"]);
    });
}

/// What the project keeps elsewhere and reaches by links is executed as if it were in its place.
#[test]
fn hooks_that_are_reached_by_links_are_told() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        world.file(".git/config", "[core]\n\thooksPath = .hooks # ours\n");
        world.script("tools/hooks/pre-commit", "old");
        world.script("far/hk/pre-push", "old");
        let text = "ln -s tools/hooks .hooks; ln -s far/hk deep; ln -s deep .husky";
        reviewed(world, &settings, text).0.exits(0);
        let text = "echo new > tools/hooks/pre-commit; echo new > far/hk/pre-push; mkdir -p src/.git";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(0).keeps_calm();
        assert_eq!(
            brief(&items),
            [
                "gitHook changed far/hk/pre-push",
                "gitHook changed tools/hooks/pre-commit",
                "gitSettings new src/.git",
            ],
            "{ran}"
        );
    });
}
