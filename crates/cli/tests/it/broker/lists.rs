//! F23: lists of files. Git believes the names in an index that it did not write.

use super::records::{Records, reported};
use crate::support::each_caller;
use std::fs;
use std::process::Command;

/// Writes an index with these names, in one of several ways.
const FORGE: &str = r#"
import hashlib, os, struct, sys
way, names = sys.argv[1], sorted(name.encode() for name in sys.argv[2:])
out = b"DIRC" + struct.pack(">II", 2, len(names))
for name in names:
    entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + b"\1" * 20 + struct.pack(">H", len(name)) + name
    out += entry + b"\0" * (8 - len(entry) % 8)
out += hashlib.sha1(out).digest()
def at(path, flags): return os.open(path, flags, 0o644)
try:
    if way == "write": fd = at(".git/index", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    elif way == "update": fd = at(".git/index", os.O_RDWR)
    elif way == "make": os.unlink(".git/index"); fd = at(".git/index", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
    else: fd = at(".git/index.lock", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, out); os.close(fd)
    if way == "rename": os.rename(".git/index.lock", ".git/index")
    if way == "link": os.unlink(".git/index"); os.link(".git/index.lock", ".git/index")
    if way == "exchange":
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(-100, b".git/index.lock", -100, b".git/index", 2) < 0: raise OSError(ctypes.get_errno(), "")
    if way == "shared": os.rename(".git/index.lock", ".git/sharedindex." + "1" * 40)
    print("done")
except OSError as error: print(error.errno)
"#;

#[test]
fn f23_no_list_names_files_elsewhere() {
    each_caller(|world| {
        world.run().shell("git init -q .; echo a > a; git add a").exits(0);
        let script = world.file("forge.py", FORGE);
        let git = world.ws.join(".git");
        let before = fs::read(git.join("index")).unwrap();
        let forge = |way: &str, name: &str| {
            reported(world).program(["python3".as_ref(), script.as_os_str(), way.as_ref(), name.as_ref()])
        };
        let names = ["../out/secret", "/etc/passwd", ".git/hooks/post-checkout", "a/../../x", ".GIT/config"];
        for name in names {
            let ran = forge("rename", name);
            assert_eq!(ran.out(), "13\n", "{name}: {ran}");
            Records::of(world).tell("write", git.join("index"), "protected .git/index");
        }
        for way in ["write", "update", "make", "link", "exchange", "shared"] {
            fs::write(git.join("index"), &before).unwrap();
            world.give_all(&git);
            let ran = forge(way, "../out/secret");
            assert_ne!(ran.out(), "done\n", "{way}: {ran}");
            let now = fs::read(git.join("index")).unwrap_or_default();
            assert!(!now.windows(6).any(|part| part == b"../out"), "{way}");
            assert!(!git.join(format!("sharedindex.{}", "1".repeat(40))).exists(), "{way}");
        }
        // What stands behind the entries is left out: git on the host would list these directories.
        let untracked = "git -c core.untrackedCache=true status >/dev/null; git update-index --untracked-cache; git status >/dev/null";
        world.run().shell(untracked).exits(0);
        assert!(!fs::read(git.join("index")).unwrap().windows(4).any(|part| part == b"UNTR"));
        // A harmless list, in git's own way.
        fs::write(git.join("index"), &before).unwrap();
        world.give_all(&git);
        let ran = forge("rename", "b");
        assert_eq!(ran.out(), "done\n", "{ran}");
    });
}

/// Every form in which git writes a list.
const FORMS: &str = r#"
set -e
must() { "$@" > /tmp/said 2>&1 || { echo "failed ($?): $*"; cat /tmp/said; exit 1; }; }
id="-c user.name=n -c user.email=e@example.test"
mkdir many; cd many; must git init -q .
mkdir d; (cd d; seq 1 25000 | xargs touch)
must git add .; must git $id commit -qm one; must git status
must git update-index --index-version 4; echo x > d/7; must git add d/7; must git status
must git -c index.threads=4 update-index --refresh
must git update-index --split-index; echo y > d/8; must git add d/8; must git status; must git update-index --no-split-index
must git update-index --index-version 2; must git update-index --untracked-cache; must git status
echo z > n; must git add -N n; must git status; must git rm -q --cached n; rm n
must git sparse-checkout set --cone --sparse-index d; must git status; must git sparse-checkout disable
must git stash list; echo w > d/9; must git stash; must git stash pop; must git reset -q --hard
must git worktree add -q ../linked; cd ../linked; echo l > l; must git add l; must git $id commit -qm two; cd ..
cd long; echo a > a; must git add a; must git $id commit -qm one; must git status
cd ..; must git clone -q many copy; cd copy; must git status; must git $id merge -q HEAD
echo all done
"#;

#[test]
fn git_writes_its_lists_in_every_form() {
    each_caller(|world| {
        // Repositories with other digests are not made inside; those that are there work.
        let long = world.ws.join("long");
        let made = Command::new("git").args(["init", "-q", "--object-format=sha256"]).arg(&long).status();
        assert!(made.unwrap().success());
        world.give_all(&long);
        let ran = reported(world).program(["bash", "-c", FORMS]);
        ran.exits(0);
        assert_eq!(ran.out(), "all done\n", "{ran}");
        // What the host's git reads is what was written.
        let fsck = |dir: &str| {
            let git = Command::new("git")
                .args(["-c", "safe.directory=*", "-C"])
                .arg(world.ws.join(dir))
                .args(["status", "--porcelain"])
                .output();
            String::from_utf8_lossy(&git.unwrap().stdout).into_owned()
        };
        for dir in ["many", "linked", "long", "copy"] {
            assert_eq!(fsck(dir), "", "{dir}");
        }
    });
}

/// What git is in the middle of: it reads, writes and removes what such files name.
#[test]
fn f23_no_unfinished_work_leads_elsewhere() {
    each_caller(|world| {
        world.run().shell("git init -q .; echo a > a; git add a").exits(0);
        let git = world.ws.join(".git");
        let hash = "1".repeat(40);
        for (name, wrong) in [
            ("MERGE_RR", format!("{hash}\t/etc/passwd\0")),
            ("MERGE_RR", format!("{hash}\tlink\0")),
            ("BISECT_START", "--pathspec-from-file=/etc/passwd\n".to_owned()),
            ("reftable/tables.list", "../../../other/.git/reftable/0x1.ref\n".to_owned()),
        ] {
            let new = world.file("new", &wrong);
            let ran = reported(world).program([
                "sh",
                "-c",
                r#"mkdir -p .git/reftable; mv -f new ".git/$1" || cp "$2" ".git/$1""#,
                "sh",
                name,
                new.to_str().unwrap(),
            ]);
            assert_ne!(ran.code(), 0, "{name}: {ran}");
            assert_eq!(fs::read(git.join(name)).unwrap_or_default(), b"", "{name}");
            Records::of(world).tell(
                "write",
                git.join(name),
                &format!("protected .git/{}", name.rsplit('/').next().unwrap()),
            );
        }
        // A switch to other digests would make another list of the one that is there.
        let ran = world
            .run()
            .shell("git config core.repositoryformatversion 1 && git config extensions.objectFormat sha256");
        assert_ne!(ran.code(), 0, "{ran}");
        let work = r#"
            git config user.name n; git config user.email e@example.test
            mkdir .git/rr-cache 2>/dev/null && exit 7; git config rerere.enabled true 2>/dev/null && exit 8
            for i in 1 2 3; do echo $i >> a; git commit -qam $i || exit 1; done
            git bisect start HEAD HEAD~2 && git bisect good && git bisect reset && cp -a . /tmp/copy && cp -a /tmp/copy ./copy && echo fine"#;
        let ran = world.run().shell(work);
        assert!(ran.out().ends_with("fine\n"), "{ran}");
        // An empty one is what git leaves where it remembers nothing, and is copied.
        world.file(".git/MERGE_RR", "");
        world.run().shell("rm -rf copy; cp -a . /tmp/copy && cp -a /tmp/copy ./second").exits(0);
        assert_eq!(fs::read(world.ws.join("second/.git/MERGE_RR")).unwrap(), b"");
    });
}
