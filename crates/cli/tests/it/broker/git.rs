//! F23, F24: git's own work goes on, and nothing the host's git would run or follow is left behind.

use super::records::{Records, all_refused, reported};
use crate::act;
use crate::support::{World, each_caller};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A script in which every line has to work.
const WORK: &str = r#"
set -e
must() { "$@" > /tmp/said 2>&1 || { echo "failed ($?): $*"; cat /tmp/said; exit 1; }; }
mkdir repo; cd repo
must git init; must git config user.name n; must git config user.email e@example.test
echo a > a; must git add a; must git commit -m one
must git branch -m trunk; must git branch side; must git checkout -b dev
echo b > b; must git add b; must git commit -m two; must git checkout trunk; must git merge dev
must git clone . ../near; must git clone "file://$PWD" ../far
cd ../near; must git config user.name n; must git config user.email e@example.test
must git checkout --track origin/dev; must git fetch; must git pull
echo c > c; must git add c; must git stash; must git stash pop; must git commit -m three
must git push origin dev:copied; must git remote add up "$1"; must git push -u up dev
must git remote rename up upstream; must git remote set-url upstream https://example.test/x
must git remote remove upstream; cd ../repo
must git worktree add ../tree side; must git worktree list
cd ../tree; echo w > w; must git add w; must git commit -m four; cd ../repo
must git worktree remove ../tree
must git checkout dev; must git rebase trunk; must git cherry-pick side; must git gc
must git tag light; must git tag -a heavy -m x; must git branch -D side; must git revert --no-edit HEAD
must git -c protocol.file.allow=always submodule add ../near sub 
must git commit -m five; must git -c protocol.file.allow=always submodule update --init
must git submodule status; must git status; must git reset --hard; must git clean -fd
must git maintenance run; must git sparse-checkout set --skip-checks sub; must git sparse-checkout disable
must git switch -c last; must git restore a; must git archive -o /tmp/a.tar HEAD; must git bundle create /tmp/b HEAD
echo all done
"#;

#[test]
fn work_with_git() {
    each_caller(|world| {
        let safe = ["GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"];
        for options in [&[][..], &["--trace", "reads"][..]] {
            let upstream = world.dir(format!("up{}.git", options.len()));
            let made = Command::new("git").args(["init", "-q", "--bare"]).arg(&upstream).status().unwrap();
            assert!(made.success());
            world.give_all(&upstream);
            let run = safe.iter().fold(reported(world).opts(options), |run, pair| run.with("--env", pair));
            let ran = run.program([
                "bash".as_ref(),
                "-c".as_ref(),
                WORK.as_ref(),
                "work".as_ref(),
                upstream.as_os_str(),
            ]);
            ran.exits(0);
            assert_eq!(ran.out(), "all done\n", "{ran}");
            for dir in ["repo", "near", "far"] {
                fs::remove_dir_all(world.ws.join(dir)).unwrap();
            }
        }
    });
}

/// Settings that run something.
const LIVE: [(&str, &str); 34] = [
    ("core.fsmonitor", "x"),
    ("core.hooksPath", "h"),
    ("core.sshCommand", "x"),
    ("core.editor", "x"),
    ("core.pager", "x"),
    ("core.gitProxy", "x"),
    ("core.askPass", "x"),
    ("core.attributesFile", "x"),
    ("core.alternateRefsCommand", "x"),
    ("core.worktree", "/"),
    ("alias.st", "!id"),
    ("filter.x.clean", "id"),
    ("filter.x.smudge", "id"),
    ("filter.x.process", "id"),
    ("diff.external", "id"),
    ("diff.x.textconv", "id"),
    ("diff.x.command", "id"),
    ("merge.x.driver", "id"),
    ("include.path", "/tmp/x"),
    ("includeIf.gitdir:/.path", "x"),
    ("credential.helper", "x"),
    ("remote.origin.url", "ext::sh -c id"),
    ("remote.o.uploadpack", "x"),
    ("remote.o.receivepack", "x"),
    ("remote.o.vcs", "x"),
    ("url.ext::x.insteadOf", "h"),
    ("gpg.program", "x"),
    ("gpg.ssh.program", "x"),
    ("submodule.s.update", "!id"),
    ("sequence.editor", "x"),
    ("pager.log", "x"),
    ("interactive.diffFilter", "x"),
    ("uploadpack.packObjectsHook", "x"),
    ("trailer.x.command", "x"),
];

#[test]
fn f23_settings_that_run_something() {
    each_caller(|world| {
        world.run().program(["git", "init", "-q", "r"]).exits(0);
        let file = world.ws.join("r/.git/config");
        let before = fs::read(&file).unwrap();
        for new in ["r", "n"] {
            let mut script = String::from("git init -q n; ");
            for (key, value) in LIVE {
                script += &format!("git -C {new} config '{key}' '{value}' 2>/dev/null && echo '{key}'; ");
                script += &format!(
                    "git -C {new} config --worktree '{key}' '{value}' 2>/dev/null && echo '{key}'; "
                );
            }
            let ran = reported(world).shell(&(script + "true"));
            assert_eq!(ran.out(), "", "set in {new}{ran}");
            let subject = world.ws.join(new).join(".git/config");
            Records::of(world).tell("write", subject, "protected .git/config");
        }
        assert_eq!(fs::read(&file).unwrap(), before);
        world.run().shell("git -C r config user.name x && git -C r config branch.b.remote o").exits(0);
        assert_ne!(fs::read(&file).unwrap(), before, "the control changed nothing");
    });
}

/// Every order in which the parts of a bare repository can come together.
#[test]
fn f24_bare_sets_in_every_order() {
    const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    each_caller(|world| {
        for (round, order) in ORDERS.into_iter().enumerate() {
            // At the root of the workspace, below, made in place and moved there.
            for below in ["", "deep/er"] {
                for how in ["made", "moved", "linked"] {
                    let dir = world.dir(format!("{round}{how}")).join(below);
                    world.dir(&dir);
                    let mut acts = Vec::new();
                    for part in order.map(|at| PARTS[at]) {
                        let (path, ready) = (dir.join(part), dir.join(format!("{part}.ready")));
                        match (how, part) {
                            ("made", "HEAD") => acts.push(act!["create", &path]),
                            ("made", _) => acts.push(act!["mkdir", &path]),
                            ("moved", "HEAD") => {
                                acts.push(act!["create", &ready]);
                                acts.push(act!["rename", &ready, &path]);
                            }
                            ("moved", _) => {
                                acts.push(act!["mkdir", &ready]);
                                acts.push(act!["rename", &ready, &path]);
                            }
                            (_, "HEAD") => {
                                acts.push(act!["create", &ready]);
                                acts.push(act!["link", &ready, &path]);
                            }
                            _ => acts.push(act!["symlink", "/tmp/x", &path]),
                        }
                    }
                    let answers = reported(world).batch(acts);
                    let (last, others) = answers.split_last().unwrap();
                    super::records::all_fine(others);
                    all_refused(std::slice::from_ref(last));
                    let subject = dir.join(PARTS[order[2]]);
                    Records::of(world).tell("create", subject, "protected bare repository");
                }
            }
        }
    });
}

fn is_repository(dir: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|part| fs::symlink_metadata(dir.join(part)).is_ok())
}

fn find_repositories(dir: &Path, found: &mut Vec<String>) {
    if is_repository(dir)
        && dir.file_name() != Some(".git".as_ref())
        && !dir.to_str().unwrap().contains("/.git/modules/")
    {
        found.push(dir.display().to_string());
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_repositories(&entry.path(), found);
        }
    }
}

/// Whole directories: each line is tried for itself, and none may leave a repository without protection.
const TRICKS: [&str; 21] = [
    "git init -q --bare bare",
    "git clone -q --bare r bare",
    "git clone -q --mirror r bare",
    "git init -q --separate-git-dir sep wt",
    "mv r/.git moved",
    "mv r/.git r/git",
    "cp -a r/.git copied",
    "mv r/.git/modules mods",
    "mv r/.git/modules/sub sub.git",
    "mkdir half && cp r/.git/HEAD half && cp -a r/.git/refs half && mv r/.git/objects half/",
    "mkdir half && mv r/.git/HEAD half/ && mv r/.git/refs half/ && mv r/.git/objects half/",
    "mkdir -p x/d && cp -a r/.git/objects r/.git/refs x/d && cp r/.git/HEAD x/d/h && mv x/d/h x/d/HEAD",
    "mkdir x && cd x && cp -a ../r/.git/objects ../r/.git/refs . && ln ../r/.git/HEAD HEAD",
    "mkdir x && cp r/.git/HEAD x && echo ../r/.git > x/commondir",
    "mkdir -p r/.git/in && cp -a r/.git/objects r/.git/refs r/.git/HEAD r/.git/in",
    "echo 'gitdir: ../evil' > w/.git",
    "mkdir w2 && echo \"gitdir: $PWD/evil\" > w2/f && mv w2/f w2/.git",
    "ln -s ../evil w/.git",
    "mkdir ready && mkdir ready/hooks && echo x > ready/hooks/pre-commit && mv ready w/.git",
    "mkdir -p r/.git/m2/sub/hooks && echo x > r/.git/m2/sub/hooks/post-checkout && rm -rf r/.git/modules && mv r/.git/m2 r/.git/modules",
    "mkdir r/.git/h2 && echo x > r/.git/h2/pre-commit && rm -rf r/.git/hooks && mv r/.git/h2 r/.git/hooks",
];

fn fresh(world: &World) {
    for entry in fs::read_dir(&world.ws).unwrap().flatten() {
        fs::remove_dir_all(entry.path()).unwrap();
    }
    world.dir("evil");
    world.dir("w");
    let ran = world.run().shell(
        "git init -q r && cd r && git -c user.name=n -c user.email=e commit -q --allow-empty -m x && \
         git init -q ../s && git -C ../s -c user.name=n -c user.email=e commit -q --allow-empty -m x && \
         git -c protocol.file.allow=always submodule --quiet add ../s sub",
    );
    ran.exits(0);
}

#[test]
fn f24_f12_whole_directories() {
    each_caller(|world| {
        for trick in TRICKS {
            fresh(world);
            let ran = reported(world).shell(trick);
            let mut found = Vec::new();
            find_repositories(&world.ws, &mut found);
            assert!(found.is_empty(), "{trick}: {found:?}{ran}");
            let pointer =
                |name: &str| world.ws.join(name).symlink_metadata().is_ok_and(|data| !data.is_dir());
            for name in
                ["w/.git", "w2/.git", "x/commondir", "w/.git/hooks/pre-commit", "r/.git/hooks/pre-commit"]
            {
                assert!(!pointer(name), "{trick}: {name}{ran}");
            }
            assert!(!world.ws.join("r/.git/modules/sub/hooks/post-checkout").exists(), "{trick}{ran}");
            assert_ne!(ran.code(), 0, "{trick} claims to have worked{ran}");
            let records = Records::of(world);
            assert!(!records.all().is_empty(), "{trick}: no record{ran}");
        }
    });
}

/// Ways to a link in a git directory; `$OUT` is a file of the host's.
const LINKS: [&str; 14] = [
    "ln -s \"$OUT\" r/.git/COMMIT_EDITMSG",
    "ln -s \"$OUT\" r/.git/FETCH_HEAD",
    "rm -f r/.git/index; ln -s \"$OUT\" r/.git/index",
    "rm -f r/.git/logs/HEAD; ln -s \"$OUT\" r/.git/logs/HEAD",
    "rm -rf r/.git/logs; ln -s ../../evil r/.git/logs",
    "ln -s config r/.git/COMMIT_EDITMSG",
    "ln -s \"$OUT\" l; mv l r/.git/COMMIT_EDITMSG",
    "ln -s \"$OUT\" l; ln -P l r/.git/COMMIT_EDITMSG",
    "ln -s config r/.git/tabcdef && mv r/.git/tabcdef r/.git/COMMIT_EDITMSG",
    "mkdir d; ln -s \"$OUT\" d/HEAD; rm -rf r/.git/logs; mv d r/.git/logs",
    "mkdir d; ln -s \"$OUT\" d/COMMIT_EDITMSG; mv d w/.git",
    "mkdir d; ln -s \"$OUT\" d/COMMIT_EDITMSG; tar cf /tmp/t -C d . && tar xf /tmp/t -C r/.git",
    "ln -s \"$OUT\" r/.git/modules/sub/COMMIT_EDITMSG",
    "mkdir -p r/.git/worktrees/t && ln -s \"$OUT\" r/.git/worktrees/t/COMMIT_EDITMSG",
];

fn links_in(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            links_in(&path, found);
        } else if kind.is_symlink() && !path.ends_with("tabcdef") {
            found.push(path.display().to_string());
        }
    }
}

/// Git on the host would write through them, whatever they lead to.
#[test]
fn no_links_in_git_directories() {
    each_caller(|world| {
        let out = world.file(world.outside.join("out"), "mine");
        for trick in LINKS {
            fresh(world);
            let ran = reported(world)
                .shell(&format!("OUT='{}'; rm -f r/.git/COMMIT_EDITMSG; {trick}", out.display()));
            assert_ne!(ran.code(), 0, "{trick} claims to have worked{ran}");
            let mut found = Vec::new();
            for dir in ["r/.git", "w/.git"] {
                links_in(&world.ws.join(dir), &mut found);
            }
            assert!(found.is_empty(), "{trick}: {found:?}{ran}");
            let records = Records::of(world);
            assert!(
                records.all().iter().any(|record| format!("{record:?}").contains(".git")),
                "{trick}{ran}"
            );
        }
        assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
    });
}

/// Each leaves something in a git directory that is neither a file nor a directory.
const WAITS: [&str; 8] = [
    "mkfifo r/.git/info/exclude",
    "git init -q q && mkfifo q/.git/modules",
    "mkfifo r/.git/objects/x",
    "mkfifo w/p && mv w/p r/.git/info/exclude",
    "mkfifo w/p && ln w/p r/.git/COMMIT_EDITMSG",
    "mkfifo w/p && python3 -c 'import os; os.rename(\"w/p\", \"r/.git/info/exclude\")'",
    "mkdir d && mkfifo d/p && mv d r/.git/d",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"r/.git/FETCH_HEAD\")'",
];

fn waits_in(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            waits_in(&path, found);
        } else if !kind.is_file() && !kind.is_symlink() {
            found.push(path.display().to_string());
        }
    }
}

/// Git on the host would open them like files, and wait for ever.
#[test]
fn no_pipes_in_git_directories() {
    each_caller(|world| {
        for trick in WAITS {
            fresh(world);
            let ran =
                reported(world).shell(&format!("rm -rf r/.git/info/exclude r/.git/COMMIT_EDITMSG; {trick}"));
            assert_ne!(ran.code(), 0, "{trick} claims to have worked{ran}");
            let mut found = Vec::new();
            for dir in ["r/.git", "q/.git"] {
                waits_in(&world.ws.join(dir), &mut found);
            }
            assert!(found.is_empty(), "{trick}: {found:?}{ran}");
            let records = Records::of(world);
            let told = |record: &super::records::Record| record.subject.contains("/.git/");
            assert!(records.all().iter().any(told), "{trick}{ran}");
        }
        // Elsewhere they may be.
        world.run().shell("mkfifo w/q && mkfifo r/p").exits(0);
    });
}

/// What the settings of repositories below the workspace name is as good as the settings.
#[test]
fn hooks_settings_and_programs_of_nested_repositories() {
    each_caller(|world| {
        world.dir("tools");
        world.run().shell("git init -q app && git init -q .").exits(0);
        let settings = "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../../shared.cfg\n\
                        [alias]\n\tx = !./run\n[diff \"d\"]\n\ttextconv = sh tools/conv\n";
        world.file("app/.git/config", settings);
        world.file("app/tools/conv", "cat");
        let text = "for file in app/.husky/pre-commit shared.cfg app/run app/tools/conv; do \
                    mkdir -p \"$(dirname $file)\" 2>/dev/null; (echo x > $file) 2>/dev/null && echo $file; \
                    (echo x > other; mv other $file) 2>/dev/null && echo $file; done; echo x > app/tools/free";
        let ran = reported(world).shell(text);
        assert_eq!(ran.out(), "", "{ran}");
        assert!(world.ws.join("app/tools/free").exists(), "{ran}");
        assert_eq!(fs::read_to_string(world.ws.join("app/tools/conv")).unwrap(), "cat");
    });
}

/// Ways to make a repository of a work tree's part of one.
const WORKTREES: [&str; 4] = [
    "d=r/.git/worktrees/e; mkdir -p $d/objects $d/refs $d/hooks; cp evil $d/hooks/post-receive; echo 'ref: x' > $d/HEAD",
    "mkdir -p w/e/objects w/e/refs w/e/hooks; cp evil w/e/config; mv w r/.git/worktrees; echo 'ref: x' > r/.git/worktrees/e/HEAD",
    "d=r/.git/modules/q/worktrees/z; mkdir -p $d/refs; mkdir $d/objects; echo 'ref: x' > $d/HEAD",
    "mkdir -p r/.git/worktrees/e; cp evil r/.git/worktrees/e/config",
];

#[test]
fn a_work_trees_part_does_not_become_a_repository() {
    each_caller(|world| {
        for trick in WORKTREES {
            world.run().shell("rm -rf r w; git init -q r; echo x > evil").exits(0);
            let ran = reported(world).shell(trick);
            for dir in ["r/.git/worktrees/e", "r/.git/modules/q/worktrees/z"] {
                let dir = world.ws.join(dir);
                let stands = |name: &str| dir.join(name).exists();
                assert!(!stands("config") && !stands("hooks/post-receive"), "{trick}{ran}");
                assert!(!(stands("HEAD") && stands("objects") && stands("refs")), "{trick}{ran}");
            }
            assert!(!Records::of(world).all().is_empty(), "{trick}{ran}");
        }
    });
}

/// Git needs neither hooks nor settings in a git directory, so that taking them away changes nothing.
#[test]
fn f25_a_repository_stripped_of_its_settings_stays_one() {
    each_caller(|world| {
        let made = r"git init -q --template= there; git init -q --template= ../out; mkdir plain
                     rm there/.git/config && echo stripped";
        assert_eq!(world.run().shell(made).out(), "stripped\n");
        let acts = |dir: &str| {
            let at = world.ws.join(dir);
            vec![act!["mkdir", at.join(".vscode")], act!["create", at.join(".mcp.json")]]
        };
        for answer in reported(world).batch(acts("there")) {
            answer.errno(&["EACCES"]);
        }
        Records::of(world).tell("create", world.ws.join("there/.vscode"), "protected .vscode");
        for answer in reported(world).batch(acts("plain")) {
            answer.ok();
        }
    });
}
