//! A workspace that was made to deceive, hold up or use whoever reviews it.

use super::{UNPROTECTED, brief, reviewed};
use crate::support::{Caller, each_caller};
use std::time::Duration;

#[test]
fn names_do_not_act_on_the_terminal() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let text = "mkdir -p .git/hooks; d=$(printf '.git/hooks/a\\033[2J\\nstockade: all is well'); echo x > \"$d\"; \
                    printf '{\"scripts\": {\"a\\\\u001b[31m\\\\nstockade: b\": \"\\\\u202ex\\\\u001b]0;t\\\\u0007\"}}' > package.json";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(0).keeps_calm();
        assert_eq!(items.len(), 3, "{items:?}{ran}");
        let err = ran.err();
        assert!(!err.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{ran}");
        assert!(
            !err.lines().any(|line| line.starts_with("stockade: all") || line.starts_with("stockade: b")),
            "{ran}"
        );
        assert_eq!(err.lines().count(), 4, "{ran}");
    });
}

#[test]
fn pipes_holes_depths_and_circles_hold_nobody_up() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let text = "mkdir -p .git/hooks deep; mkfifo .git/hooks/pre-commit package.json .git/config mise.toml; \
                    truncate -s 1T .bashrc; ln -s .bashrc .zshrc; ln -s . .claude; ln -s .. deep/up; ln -s loop loop; \
                    ln -s /dev/zero .profile; ln -s /proc/self/fd/0 .vimrc; ln -s .husky .husky; \
                    head -c 900000 /dev/zero | tr '\\0' '[' > deep/package.json; \
                    python3 -c 'import os\nfor i in range(60): os.mkdir(\"d\"*200); os.chdir(\"d\"*200)' 2>&1; true";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(0).keeps_calm();
        assert!(ran.took < Duration::from_secs(10), "{ran}");
        let told = brief(&items);
        for wanted in [
            "incomplete unknown .",
            "gitHook new .git/hooks/pre-commit",
            "gitSettings new .git/config",
            "shellStart new mise.toml",
            "shellStart new .bashrc",
            "shellStart new .profile",
            "agent new .claude",
            "packageScript new package.json",
            "packageScript new deep/package.json",
        ] {
            assert!(told.contains(&wanted.to_owned()), "{wanted}: {told:?}{ran}");
        }
        // What came from there is no longer a surprise, and no less dangerous to look at.
        let (ran, items) = reviewed(world, &settings, "true");
        ran.exits(0).keeps_calm();
        assert_eq!(brief(&items), ["incomplete unknown ."], "{ran}");
    });
}

#[test]
fn nothing_outside_is_read() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let secret = world.file(world.outside.join("package.json"), r#"{"scripts": {"a": "s3cret"}}"#);
        let text = format!(
            "ln -s {0} package.json; mkdir a b; ln -s ../../../outside/package.json a/package.json; \
             ln -s {1} way; ln -s ../way/package.json b/package.json; mkdir .git; ln -s {1} .git/hooks",
            secret.display(),
            world.outside.display()
        );
        let (ran, items) = reviewed(world, &settings, &text);
        ran.exits(0).keeps_calm();
        assert!(!format!("{items:?}{}", ran.err()).contains("s3cret"), "{ran}");
        assert_eq!(
            brief(&items),
            [
                "gitHook new .git/hooks",
                "gitSettings new .git",
                "packageScript new a/package.json",
                "packageScript new b/package.json",
                "packageScript new package.json",
            ],
            "{ran}"
        );
    });
}

#[test]
fn a_closed_directory_is_said() {
    each_caller(|world| {
        // Root lists everything.
        if world.caller == Caller::Root {
            return;
        }
        let settings = world.settings(UNPROTECTED);
        world.file(".github/workflows/a.yml", "x");
        let (ran, items) = reviewed(world, &settings, "chmod 0 .github/workflows");
        assert_eq!(brief(&items), ["incomplete unknown ."], "{ran}");
        ran.exits(0).complains(&[".github/workflows\" cannot be listed"]);
        world.bare("/bin/chmod").opts(["755", ".github/workflows"]).go().exits(0);
    });
}

#[test]
fn one_kind_buries_no_other() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let text = "mkdir -p .vscode .git/hooks; for i in $(seq 5000); do : > .vscode/$i; done; : > .git/hooks/pre-push";
        let (ran, items) = reviewed(world, &settings, text);
        ran.exits(0).complains(&["gitHook new .git/hooks/pre-push", "more of kind editor", "incomplete"]);
        assert!(items.len() < 600, "{}", items.len());
        assert!(ran.err().lines().count() < 20, "{ran}");
    });
}
