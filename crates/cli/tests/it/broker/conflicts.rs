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

/// Nothing in a work tree that only settings name leads to its git directory.
#[test]
fn f23_conflicts_of_work_trees_that_only_settings_name_are_remembered() {
    each_caller(|world| {
        // Trees beside their git directory, below it, and behind a link.
        let script = format!(
            "{PERSON}
            git init -q apart; mv apart/.git repo; git --git-dir=repo config core.worktree \"$PWD/apart\"
            mkdir -p own/src real; git init -q own; git -C own config core.worktree ../src
            ln -s real link; git init -q real/far; mv real/far/.git .dots
            git --git-dir=.dots config core.worktree ../link/far
            for at in apart:repo own/src:own/.git real/far:.dots; do
                (export GIT_DIR=\"$PWD/${{at#*:}}\"; cd ${{at%:*}}; set -- p; {MERGE})
            done"
        );
        world.bare("/bin/bash").opts(["-c", &script]).go().exits(0);
        let places = [
            ("apart", "apart", "repo"),
            ("own/src", "own/src", "own/.git"),
            ("real/far", "link/far", ".dots"),
        ];
        for (tree, written, git) in places {
            assert_ne!(fs::read(world.ws.join(git).join("MERGE_RR")).unwrap(), b"", "{git}");
            let ways = [
                ("rm $T/f && ln -s /etc/passwd $T/f", format!("{tree}/f")),
                ("ln -s /etc/passwd l && mv l $T/f", format!("{tree}/f")),
                ("mv $T/d e; mkdir n; ln -s /etc/passwd n/f; mv n $T/d", format!("{tree}/d")),
                (
                    "mv e $T/d; rm -r n; mv $T t && rm -f t/f && ln -s /etc/passwd t/f && mv t $T",
                    tree.to_owned(),
                ),
                ("ln -s t $T", tree.to_owned()),
                (
                    "rm t/f; echo > t/f; mv t $T; chmod 0 $G; rm $T/f; ln -s /etc/passwd $T/f",
                    format!("{tree}/f"),
                ),
            ];
            for (way, place) in ways {
                let ran = reported(world).shell(&format!("T={tree}; G={git}; {way}"));
                assert!(!ran.status.success(), "{way}{ran}");
                Records::of(world).tell("create", world.ws.join(place), "");
            }
            world.bare("/bin/chmod").opts(["755", git]).go().exits(0);
            let listed = "T={tree}; G={git}; ls -A $G/rr-cache; mkdir $G/rr-cache/1; mv $G gone; true";
            let ran = world.run().shell(&listed.replace("{tree}", tree).replace("{git}", git));
            assert_eq!(ran.out(), "", "{ran}");
            assert!(!world.ws.join(git).join("rr-cache/1").exists() && world.ws.join(git).exists());
            if written != tree {
                let ran = reported(world).shell("ln -s /etc other && mv -T other link");
                assert!(!ran.status.success(), "{ran}");
                Records::of(world).tell("create", world.ws.join("link"), "");
            }
            // Links elsewhere are nobody's business, and conflicts are solved and committed as ever.
            let work = "rm -f l other; ln -s f $T/other && ln -s $T beside && rm beside && echo 1 > $T/f && echo 1 > $T/d/f &&
                export GIT_DIR=$PWD/$G && cd $T && git -c user.name=n -c user.email=e@example.test commit -qam solved &&
                git status --short -uno && readlink other";
            let ran = world.run().shell(&format!("T={tree}; G={git}; {work}"));
            assert_eq!((ran.code(), ran.out().as_str()), (0, "f\n"), "{ran}");
        }
    });
}

/// Nor is one applied that was held back before the conflict was there.
#[test]
fn f23_no_link_is_applied_into_a_work_tree_that_only_settings_name() {
    each_caller(|world| {
        let script = format!(
            "{PERSON}
            git init -q apart; mv apart/.git repo; git --git-dir=repo config core.worktree ../apart
            export GIT_DIR=\"$PWD/repo\"; cd apart; set -- p; {MERGE}"
        );
        world.bare("/bin/bash").opts(["-c", &script]).go().exits(0);
        let list = world.ws.join("repo/MERGE_RR");
        let listed = fs::read(&list).unwrap();
        fs::remove_file(&list).unwrap();
        let links = "rm apart/f; ln -s /etc/passwd apart/f; ln -s f apart/other";
        world.run().opt("--overlay=links").shell(links).exits(0);
        world.file(&list, &listed);
        let applied = world.stockade().opts(["apply", "links"]).go();
        assert!(applied.err().contains("remembers the conflict"), "{applied}");
        assert!(!world.ws.join("apart/f").is_symlink() && world.ws.join("apart/other").is_symlink());
    });
}

/// A submodule whose work tree has no `.git`, and one that a command would give another work tree, where links stand.
#[test]
fn f23_conflicts_of_submodules_stay_in_the_work_tree_they_are_in() {
    each_caller(|world| {
        let script = format!("{PERSON}\ncd sub; set -- p; {MERGE}");
        world.bare("/bin/bash").opts(["-c", &script]).go().exits(0);
        let settings = world.ws.join(".git/modules/sub/config");
        let before = fs::read(&settings).unwrap();
        let renames = "mkdir deep; ln -s /etc/passwd deep/f; git -C sub config core.worktree ../../../deep";
        let ran = reported(world).shell(renames);
        assert!(!ran.status.success(), "{ran}");
        Records::of(world).tell("write", &settings, "protected .git/config");
        assert_eq!(fs::read(&settings).unwrap(), before);
        // Held back until there is something to remember, it is not applied either.
        let list = world.ws.join(".git/modules/sub/MERGE_RR");
        let listed = fs::read(&list).unwrap();
        fs::remove_file(&list).unwrap();
        let renames = "git -C sub config core.worktree ../../../deep";
        world.run().opt("--overlay=renamed").shell(renames).exits(0);
        world.file(&list, &listed);
        let applied = world.stockade().opts(["apply", "renamed"]).go();
        assert!(applied.err().contains("remembers conflicts"), "{applied}");
        assert_eq!(fs::read(&settings).unwrap(), before);

        fs::remove_file(world.ws.join("sub/.git")).unwrap();
        let ran = reported(world).shell("rm sub/f; ln -s /etc/passwd sub/f");
        assert!(!ran.status.success(), "{ran}");
        Records::of(world).tell("create", world.ws.join("sub/f"), "");
        world
            .run()
            .shell(
                "ln -s f sub/other; git -C sub status -s; git config -f .git/modules/sub/config user.name n",
            )
            .exits(0);
    });
}
