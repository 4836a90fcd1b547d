//! Linked git work trees: commits reach the main repository, and nothing the host's git would run does.

use crate::support::{Ran, World, each_caller};
use std::fs;
use std::path::{Path, PathBuf};

/// The repository lies outside the workspace's own tree; both belong to the caller.
struct Repository {
    main: PathBuf,
    tree: PathBuf,
}

#[track_caller]
fn host(world: &World, at: &Path, text: &str) -> Ran {
    let ran = world.bare("/bin/sh").at(at).opts(["-c", &format!("set -e\n{text}")]).go();
    ran.exits(0);
    ran
}

fn repository(world: &World) -> Repository {
    world.file(
        world.home.join(".gitconfig"),
        "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n",
    );
    let main = world.dir(world.home.join("main"));
    let tree = world.home.join("tree");
    host(
        world,
        &main,
        "git init -q .; echo 1 > one; git add one; git commit -qm first; git worktree add -q -b side ../tree",
    );
    Repository { main, tree }
}

fn inside(world: &World, tree: &Path, text: &str) -> Ran {
    world.run().at(tree).shell(text)
}

#[test]
fn commits_reach_the_main_repository() {
    each_caller(|world| {
        let Repository { main, tree } = repository(world);
        let ran = inside(
            world,
            &tree,
            "set -e
             echo 2 > two; git add two; git commit -qm second; git branch other; git tag v1
             echo 3 >> one; git stash -q; git stash pop -q; git commit -qam third; git status --short
             git checkout -q other; git checkout -q side; git log --format=%s",
        );
        ran.exits(0);
        assert_eq!(ran.out(), "third\nsecond\nfirst\n", "{ran}");
        assert_eq!(host(world, &main, "git log --format=%s side").out(), "third\nsecond\nfirst\n");
        host(world, &main, "git fsck --no-progress && git rev-parse -q --verify v1 >/dev/null");
    });
}

#[test]
fn relative_pointers_work_too() {
    each_caller(|world| {
        let Repository { main, tree } = repository(world);
        let part = main.join(".git/worktrees/tree");
        fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").unwrap();
        fs::write(part.join("gitdir"), "../../../../tree/.git\n").unwrap();
        inside(world, &tree, "echo 2 > two && git add two && git commit -qm second").exits(0);
        assert_eq!(host(world, &main, "git log --format=%s side").out(), "second\nfirst\n");
    });
}

#[test]
fn nothing_that_git_on_the_host_would_run_or_follow_is_changed() {
    each_caller(|world| {
        let Repository { main, tree } = repository(world);
        world.script(main.join(".git/hooks/pre-push"), "#!/bin/sh\nexit 0\n");
        let part = main.join(".git/worktrees/tree");
        let kept = [
            main.join(".git/config"),
            main.join(".git/hooks/pre-push"),
            part.join("gitdir"),
            part.join("commondir"),
            tree.join(".git"),
            main.join("one"),
        ];
        let before: Vec<Vec<u8>> = kept.iter().map(|path| fs::read(path).unwrap()).collect();
        let git = main.join(".git").display().to_string();
        for attempt in [
            format!("echo evil > {git}/hooks/post-commit"),
            format!("echo evil > {git}/hooks/pre-push"),
            format!("mv {git}/hooks {git}/hooks.old"),
            format!("ln -s /tmp/evil {git}/hooks/pre-commit"),
            format!("git config core.hooksPath {}", tree.display()),
            "git config core.fsmonitor ./evil".to_owned(),
            format!("echo '[core] sshCommand = evil' >> {git}/config"),
            format!("echo /tmp > {git}/worktrees/tree/commondir"),
            format!("echo /tmp/.git > {git}/worktrees/tree/gitdir"),
            format!("mv {git} {git}.old"),
            format!("echo '* filter=evil' > {git}/info/attributes"),
            format!("echo /tmp > {git}/commondir"),
            format!("echo changed > {}", main.join("one").display()),
            "echo 'gitdir: /tmp/evil' > .git".to_owned(),
        ] {
            let ran = inside(world, &tree, &attempt);
            assert_ne!(ran.code(), 0, "{attempt}: {ran}");
        }
        for (path, before) in kept.iter().zip(&before) {
            assert_eq!(&fs::read(path).unwrap(), before, "{}", path.display());
        }
        for name in ["hooks/post-commit", "hooks/pre-commit", "info/attributes", "commondir"] {
            assert!(main.join(".git").join(name).symlink_metadata().is_err(), "{name}");
        }
        inside(world, &tree, "git config user.name Other").exits(0);
    });
}

#[test]
fn a_pointer_to_somebody_elses_repository_opens_nothing() {
    each_caller(|world| {
        let Repository { main, tree } = repository(world);
        // A workspace that claims to be a work tree of the repository, which knows nothing of it.
        let liar = world.dir(world.home.join("liar"));
        fs::copy(tree.join(".git"), liar.join(".git")).unwrap();
        world.give(&liar.join(".git"));
        let object = main.join(".git/objects/planted");
        let ran = inside(world, &liar, &format!("echo x > {}", object.display()));
        assert_ne!(ran.code(), 0, "{ran}");
        assert!(!object.exists());
        // The same from the true work tree is ordinary work.
        inside(world, &tree, &format!("echo x > {}", object.display())).exits(0);
        assert!(object.exists());
    });
}

#[test]
fn what_the_user_denies_stays_denied() {
    each_caller(|world| {
        let Repository { main, tree } = repository(world);
        let ran = world.run().at(&tree).with("--deny-write", main.join(".git")).shell("git tag v1");
        assert_ne!(ran.code(), 0, "{ran}");
        let ran = world.run().at(&tree).with("--preset", "strict").shell("git tag v1");
        assert_ne!(ran.code(), 0, "{ran}");
        assert_eq!(host(world, &main, "git tag").out(), "");
    });
}
