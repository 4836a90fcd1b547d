//! F23: the settings of a submodule say where git works; nothing but a directory comes to stand there.

use super::records::{Records, reported};
use crate::support::{World, each_caller};
use std::fs;

/// A repository with a submodule `sub`, as something inside would make it by hand.
const REPOSITORY: &str = "
    git init -q . && mkdir -p .git/modules && git init -q --separate-git-dir=.git/modules/x sub &&
    git -C sub config core.worktree ../../../sub";

fn repository(world: &World) {
    world.run().shell(REPOSITORY).exits(0);
}

#[test]
fn f23_settings_name_work_trees_that_are_there() {
    each_caller(|world| {
        repository(world);
        let settings = world.ws.join(".git/modules/x/config");
        let before = fs::read_to_string(&settings).unwrap();
        for wrong in ["../../../later", "../../../sub/deep", "../../../.git", "../../../.."] {
            let ran = reported(world).shell(&format!("git -C sub config core.worktree {wrong}"));
            assert!(!ran.status.success(), "{wrong}{ran}");
            Records::of(world).tell("write", &settings, "protected .git/config");
        }
        assert_eq!(fs::read_to_string(&settings).unwrap(), before);
        // Git names them absolutely first; such a name would lead to the old place when the repository has moved.
        world.run().shell("mkdir deep && git -C sub config core.worktree \"$PWD/deep\"").exits(0);
        let text = fs::read_to_string(&settings).unwrap();
        assert!(text.contains("\tworktree = ../../../deep\n"), "{text}");
        // One that was named before may be gone, and the settings change all the same.
        let gone = "git -C sub config core.worktree ../../../sub; rmdir deep; rm -r sub;
            git --git-dir=.git/modules/x --work-tree=. config user.name n";
        world.run().shell(gone).exits(0);
        let text = fs::read_to_string(&settings).unwrap();
        assert!(text.contains("name = n"), "{text}");
    });
}

#[test]
fn f23_no_link_comes_into_the_place_of_a_work_tree() {
    each_caller(|world| {
        let given = "mkdir -p home other; ln -s home link; ln -s ../home other/sub; mkdir -p way/sub";
        // Right there, and on the way there: by a link, and by a directory that brings one along.
        let deeper = "git -C sub config core.worktree ../../../way/sub && mv way aside";
        let ways = [
            ("mv sub aside", "ln -s home sub", "sub"),
            ("mv sub aside", "ln -s \"$PWD/home\" sub", "sub"),
            ("mv sub aside", "mv -T link sub", "sub"),
            ("mv sub aside", "ln -P link sub", "sub"),
            ("mv sub aside", "cp -P link sub", "sub"),
            (deeper, "ln -s other way", "way"),
            (deeper, "mv -T other way", "way"),
        ];
        for (number, (first, way, place)) in ways.into_iter().enumerate() {
            let name = format!("r{number}");
            let script =
                format!("mkdir {name}; cd {name}; {REPOSITORY} && {given} && {first} && echo made; {way}");
            let ran = reported(world).shell(&script);
            assert!(!ran.status.success(), "{way}{ran}");
            assert_eq!(ran.out(), "made\n", "{way}{ran}");
            let place = world.ws.join(name).join(place);
            Records::of(world).tell("create", &place, "");
            assert!(place.symlink_metadata().is_err(), "{way}");
        }
        // Everything else goes on: links elsewhere, directories in that place, links once nothing names it.
        let free =
            "ln -s home elsewhere; mkdir way; rmdir way; mv aside way; mv way aside; rm -r .git/modules/x;
            ln -s other way";
        let script = format!("set -e; mkdir free; cd free; {REPOSITORY}; {given}; {deeper}; {free}");
        world.run().shell(&script).exits(0);
        assert_eq!(fs::read_link(world.ws.join("free/way")).unwrap(), std::path::Path::new("other"));
    });
}

/// What a submodule's settings would lead to is found wherever they stand and whoever lays the link.
#[test]
fn f23_links_from_other_directories_and_for_other_settings() {
    each_caller(|world| {
        let of_tree = "M=.git/modules/x; git config -f $M/config extensions.worktreeConfig true &&
            git config -f $M/config --unset core.worktree && mkdir wd &&
            printf '[core]\\n\\tworktree = ../../../wd\\n' > $M/cw && mv $M/cw $M/config.worktree && rmdir wd";
        let script = format!("mkdir a home; cd a; {REPOSITORY} && {of_tree} && echo made; ln -s ../home wd");
        let ran = reported(world).shell(&script);
        assert_eq!((ran.out(), ran.status.success()), ("made\n".into(), false), "{ran}");
        Records::of(world).tell("create", world.ws.join("a/wd"), "");

        // The repository lies above what the second run may write.
        let script = format!(
            "mkdir b; cd b; {REPOSITORY}; mkdir -p deep/t; git -C sub config core.worktree ../../../deep/t"
        );
        world.run().shell(&script).exits(0);
        let deep = world.ws.join("b/deep");
        let ran = reported(world).with("--cwd", &deep).shell("rmdir t && echo gone; ln -s ../../home t");
        assert_eq!((ran.out(), ran.status.success()), ("gone\n".into(), false), "{ran}");
        Records::of(world).tell("create", deep.join("t"), "");
        world.run().with("--cwd", &deep).shell("ln -s ../../home other").exits(0);
    });
}

/// Git on the host finds the repository above, whether or not the sandbox can see it.
#[test]
fn f23_links_below_a_repository_that_is_hidden() {
    each_caller(|world| {
        let script =
            format!("{REPOSITORY}; mkdir -p deep/t home; git -C sub config core.worktree ../../../deep/t");
        world.run().shell(&script).exits(0);
        let deep = world.ws.join("deep");
        let hiding = world.settings(r#"{"filesystem": {"readScope": "workspace"}}"#);
        let run = || reported(world).with("--settings", &hiding).with("--cwd", &deep);
        for way in ["ln -s ../home t", "ln -s ../home aside; mv -T aside t"] {
            let ran = run().shell(&format!("ls ../.git; rmdir t && echo gone; {way}"));
            assert_eq!((ran.out(), ran.status.success()), ("gone\n".into(), false), "{ran}");
            Records::of(world).tell("create", deep.join("t"), "");
            assert!(deep.join("t").symlink_metadata().is_err());
            fs::create_dir(deep.join("t")).unwrap();
            world.give(&deep.join("t"));
        }
        run().shell("ln -s ../home other && rmdir t && mkdir t").exits(0);
    });
}

#[test]
fn f29_f23_nothing_that_misleads_a_submodule_is_applied() {
    each_caller(|world| {
        world.run().shell(&format!("{REPOSITORY}; mkdir wd home; touch wd/k")).exits(0);
        let settings = world.ws.join(".git/modules/x/config");
        let names = "git config -f .git/modules/x/config core.worktree ../../../wd";
        let links = "rm -r wd; ln -s home wd; echo x > applied";
        world.run().opt("--overlay=link").shell(links).exits(0);
        world.run().opt("--overlay=settings").shell(&format!("{names}; echo x > too")).exits(0);

        world.run().shell(names).exits(0);
        let applied = world.stockade().opts(["apply", "link"]).go();
        assert!(!applied.status.success(), "{applied}");
        assert!(
            world.ws.join("applied").exists() && world.ws.join("wd").symlink_metadata().unwrap().is_dir()
        );

        let plain = "git config -f .git/modules/x/config core.worktree ../../../sub";
        world.run().shell(&format!("{plain}; {links}")).exits(0);
        let before = fs::read(&settings).unwrap();
        let applied = world.stockade().opts(["apply", "settings"]).go();
        assert!(!applied.status.success(), "{applied}");
        assert!(world.ws.join("too").exists());
        assert_eq!(fs::read(&settings).unwrap(), before);
    });
}

/// The submodules of a work tree that lies elsewhere have their git directories in the repository all the same.
#[test]
fn f23_submodules_of_linked_work_trees_are_protected() {
    each_caller(|world| {
        world.run().shell("git init -q .; mkdir wd home").exits(0);
        let git = world.ws.join(".git/worktrees/wt/modules/x");
        for (name, text) in
            [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tbare = false\n"), ("refs/x", "")]
        {
            world.file(git.join(name).strip_prefix(&world.ws).unwrap(), text);
        }
        world.dir(".git/worktrees/wt/modules/x/objects");
        world.give_all(&world.ws.join(".git/worktrees"));
        let before = fs::read(git.join("config")).unwrap();
        let ways = [
            "git config -f $G/config core.fsmonitor id",
            "git config -f $G/config core.worktree ../../../../../wd",
            "printf '[core]\\n\\tfsmonitor = id\\n' > $G/config",
            "mkdir -p $G/hooks; echo x > $G/hooks/post-checkout",
            "mkdir -p $G/modules/n; echo '[core]' > $G/modules/n/c; echo fsmonitor=id >> $G/modules/n/c; mv $G/modules/n/c $G/modules/n/config",
        ];
        for way in ways {
            let ran = reported(world).shell(&format!("G=.git/worktrees/wt/modules/x; {way}"));
            assert!(!ran.status.success(), "{way}{ran}");
            assert!(!Records::of(world).all().is_empty(), "{way}{ran}");
        }
        assert_eq!(fs::read(git.join("config")).unwrap(), before);
        world.run().shell("git config -f .git/worktrees/wt/modules/x/config user.name n").exits(0);
    });
}
