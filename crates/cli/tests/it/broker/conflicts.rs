//! F23: conflicts that a person's git remembers. It follows links in the place of their files.

use super::records::{Records, reported};
use crate::support::each_caller;
use std::fs;

/// Conflicts in `f` and `d/f` of the work tree here, which has commits of its own.
const MERGE: &str = "
    mkdir -p d; echo 0 > f; echo 0 > d/f; git add f d; git commit -qm 0; git checkout -qb x$1
    echo x > f; echo x > d/f; git commit -qam x; git checkout -qb y$1 HEAD~1
    echo y > f; echo y > d/f; git commit -qam y; git merge -q x$1 > said && exit 9; rm said";

/// A person who uses rerere, in the middle of merges in a repository, its submodule and a linked work tree.
const PERSON: &str = "
    set -e; export GIT_CONFIG_GLOBAL=\"$PWD/../person\"
    printf '[user]\\nname = n\\nemail = e@example.test\\n[rerere]\\nenabled = true\\n' > ../person
    git init -q sub; cd sub; git commit -q --allow-empty -m s; cd ..
    git init -q .; git commit -q --allow-empty -m m; git worktree add -q tree
    mkdir .git/modules; mv sub/.git .git/modules/sub; echo 'gitdir: ../.git/modules/sub' > sub/.git
    git -C sub config core.worktree ../../../sub";

#[test]
fn f23_no_link_comes_into_the_place_of_a_remembered_conflict() {
    each_caller(|world| {
        let script = format!("{PERSON}\nfor at in . sub tree; do set -- ${{at#.}}; (cd $at{MERGE}); done");
        world.bare("/bin/bash").opts(["-c", &script]).go().exits(0);
        for (at, git) in [("", ".git"), ("sub", ".git/modules/sub"), ("tree", ".git/worktrees/tree")] {
            assert_ne!(fs::read(world.ws.join(git).join("MERGE_RR")).unwrap(), b"", "{git}");
            let at = world.ws.join(at);
            for (way, place) in [
                ("rm f && ln -s /etc/passwd f", "f"),
                ("ln -s /etc/passwd l && mv l f", "f"),
                ("mv d e; mkdir n; ln -s /etc/passwd n/f; mv n d", "d"),
                ("mkdir -p o; ln -s /etc/passwd o/f; ln -s o d", "d"),
            ] {
                let ran = reported(world).shell(&format!("cd {}; {way}", at.display()));
                assert!(!ran.status.success(), "{way}{ran}");
                Records::of(world).tell("create", at.join(place), "");
                assert!(ran.err().contains("remembers the conflict"), "{way}{ran}");
                assert!(!at.join("f").is_symlink() && !at.join("d").is_symlink(), "{way}");
            }
            // Links elsewhere are nobody's business, and conflicts are solved and committed as ever.
            let work = "ln -s f other && echo solved > f && mv e d && echo solved > d/f && rm -r l n o &&
                git -c user.name=n -c user.email=e@example.test commit -qam solved && git status --short -uno && readlink other";
            let ran = world.run().shell(&format!("cd {}; {work}", at.display()));
            assert_eq!((ran.code(), ran.out().as_str()), (0, "f\n"), "{ran}");
        }
    });
}

/// Whatever a command does to the git directory first, and whatever stood there before the conflict was listed.
#[test]
fn f23_a_remembered_conflict_is_found_in_every_way() {
    each_caller(|world| {
        let script = format!("{PERSON}\nset -- p; {MERGE}");
        world.bare("/bin/bash").opts(["-c", &script]).go().exits(0);
        let refused = |way: &str, place: &str| {
            let ran = reported(world).shell(way);
            assert!(!ran.status.success(), "{way}{ran}");
            Records::of(world).tell("create", world.ws.join(place), "");
            world.bare("/bin/chmod").opts(["755", ".git"]).go().exits(0);
        };
        for mode in ["311", "000", "100"] {
            refused(&format!("chmod {mode} .git; rm -f f; ln -s /etc/passwd f"), "f");
        }
        // Links that a merge finds are part of the way.
        let list = world.ws.join(".git/MERGE_RR");
        let listed = fs::read(&list).unwrap();
        world.run().shell("rm .git/MERGE_RR; ln -s g f; ln -s h g; echo > h; mv d dd; ln -s dd d").exits(0);
        world.file(&list, &listed);
        for (way, place) in [
            ("rm h; ln -s /etc/passwd h", "h"),
            ("ln -s /etc/passwd x; mv -T x g", "g"),
            ("rm dd/f; ln -s /etc/passwd dd/f", "dd/f"),
            ("mv dd ee; ln -s /etc dd", "dd"),
        ] {
            refused(way, place);
        }
        world.run().shell("rm f g d; mv ee d; ln -s /etc/passwd elsewhere").exits(0);
        // The git directory of a person may lie behind a link.
        let moved = "mv .git ../kept && ln -s ../kept .git";
        world.bare("/bin/sh").opts(["-c", moved]).go().exits(0);
        refused("ln -s /etc/passwd f", "f");
        refused("rm d/f; ln -s /etc/passwd d/f", "d/f");
    });
}

/// What git remembers is not seen, so that nothing is gained by having it copied, and not made: the person's git would
/// write it over files of its own. The lock of a merge under way is not taken from it.
#[test]
fn f23_what_git_remembers_is_neither_seen_nor_made() {
    each_caller(|world| {
        let script = format!("{PERSON}\nset -- p; {MERGE}; echo 1 > f; echo 1 > d/f; git commit -qam solved");
        world.bare("/bin/bash").opts(["-c", &script]).go().exits(0);
        world.bare("/bin/sh").opts(["-c", "cat .git/rr-cache/*/postimage > ../known"]).go().exits(0);
        assert_ne!(fs::read(world.home.join("known")).unwrap(), b"");
        let ran = world.run().shell("cat .git/rr-cache/*/*; ls -A .git/rr-cache; mkdir .git/rr-cache/1; mv .git/rr-cache x; rm -r .git/rr-cache; true");
        assert_eq!(ran.out(), "", "{ran}");
        assert!(world.ws.join(".git/rr-cache").is_dir() && !world.ws.join(".git/rr-cache/1").exists());
        let lock = world.file(".git/MERGE_RR.lock", "");
        for way in
            ["rm -f .git/MERGE_RR.lock", "mv .git/MERGE_RR.lock x", "echo > x; mv x .git/MERGE_RR.lock"]
        {
            let ran = reported(world).shell(way);
            assert!(!ran.status.success() && lock.exists(), "{way}{ran}");
        }
        fs::remove_file(lock).unwrap();
        // A copy of the repository has everything else.
        let copied = "cp -a . ../../copy 2>/dev/null; cp -a . /tmp/copy && cd /tmp/copy && git status --short -uno && git log --oneline | wc -l";
        let ran = world.run().shell(copied);
        assert_eq!(ran.code(), 0, "{ran}");
    });
}

/// A list that git on the host is writing may come to name anything.
#[test]
fn f23_no_link_is_made_while_git_writes_its_list_of_conflicts() {
    each_caller(|world| {
        world.run().shell("git init -q .").exits(0);
        let lock = world.file(".git/MERGE_RR.lock", "");
        let ran = reported(world).shell("ln -s /etc/passwd f");
        assert!(!ran.status.success(), "{ran}");
        Records::of(world).tell("create", world.ws.join("f"), "");
        fs::remove_file(lock).unwrap();
        world.run().shell("ln -s /etc/passwd f").exits(0);
    });
}

/// Git of somebody who uses rerere works behind walls, and remembers nothing there.
#[test]
fn git_behind_walls_remembers_no_conflicts() {
    each_caller(|world| {
        let settings = "[user]\nname = n\nemail = e@example.test\n[rerere]\nenabled = true\n";
        world.file(world.home.join(".gitconfig"), settings);
        let ran = world.run().shell(&format!(
            "git init -q .; {MERGE}; echo z > f; echo z > d/f; git commit -qam z && echo done"
        ));
        assert_eq!(ran.out(), "done\n", "{ran}");
        assert!(!world.ws.join(".git/rr-cache").exists());
    });
}
