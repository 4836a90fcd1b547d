//! Modes and attributes of what the host made during a run: no mount is over it, only its name protects it.

use super::records::{Records, reported};
use crate::support::each_caller;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

/// Every way to change the mode of a file; prints those that worked.
const WAYS: &str = r#"
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
target, mode = sys.argv[1], 0o755
name = target.encode()
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), "")
def opened(): return os.open(target, os.O_RDONLY)
def only_named(): return os.open(target, os.O_PATH)
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in
    [(1, 7, 0xffffffff), (4, 5, 0xffffffff), (0x20, 5, 0xffffffff)])
ways = {
    "chmod": lambda: os.chmod(target, mode),
    "fchmod": lambda: os.fchmod(opened(), mode),
    "through /proc": lambda: os.chmod("/proc/self/fd/%d" % opened(), mode),
    "through a place in /proc": lambda: os.chmod("/proc/self/fd/%d" % only_named(), mode),
    "fchmodat": lambda: os.chmod(os.path.basename(target), mode,
        dir_fd=os.open(os.path.dirname(target), os.O_PATH)),
    "fchmodat2": lambda: call(452, -100, name, mode, 0),
    "fchmodat2 without a name": lambda: call(452, opened(), b"", mode, 0x1000),
    "access list": lambda: os.setxattr(target, "system.posix_acl_access", acl),
    "access list of an open file": lambda: os.setxattr(opened(), "system.posix_acl_access", acl),
    "setxattrat": lambda: call(463, -100, name, 0, b"system.posix_acl_access", struct.pack("<QII",
        ctypes.addressof(ctypes.create_string_buffer(acl)), len(acl), 0), 16),
}
for way, act in ways.items():
    try: act()
    except OSError as error: print(way, errno.errorcode[error.errno])
    else: print(way, "done")
"#;

#[test]
fn f23_a_hook_of_the_hosts_does_not_come_to_life() {
    each_caller(|world| {
        let script = world.file("ways.py", WAYS);
        let hook = world.ws.join("late/.git/hooks/pre-commit");
        let text = format!(
            "echo ready; while ! [ -e go ]; do sleep 0.05; done
             python3 '{}' '{}'; echo --; python3 '{0}' \"$PWD/free\"",
            script.display(),
            hook.display()
        );
        let live = reported(world).opts(["--", "sh", "-c"]).opt(text).start_words();
        live.first_output(Duration::from_secs(20));
        let late = world.ws.join("late");
        assert!(Command::new("git").args(["init", "-q"]).arg(&late).status().unwrap().success());
        for file in [&hook, &world.ws.join("free")] {
            fs::write(file, "#!/bin/sh\n").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        world.give_all(&late);
        world.give_all(&world.ws.join("free"));
        world.file("go", "");
        let ran = live.finish(Duration::from_secs(100));
        ran.exits(0);
        let said = ran.out();
        let (refused, free) = said.split_once("--\n").expect("both scripts");
        assert!(!refused.contains("done"), "{ran}");
        assert_eq!(refused.matches("EACCES").count(), 9, "{ran}");
        assert_eq!(free.matches("done").count(), 9, "{ran}");
        assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o644);
        Records::of(world).tell("write", &hook, "protected .git/hooks");
    });
}

/// As the kernel has it: what a call does not take it does not take here either.
const ODD: &str = r#"
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
open("m", "w").close(); os.chmod("m", 0o600); os.mkdir("d"); os.symlink("d", "l")
named, opened = os.open("m", os.O_PATH), os.open("m", os.O_RDONLY)
def call(*arguments): return errno.errorcode[ctypes.get_errno()] if libc.syscall(*arguments) < 0 else "done"
print(call(91, named, 0o777))
print(call(190, named, b"user.a", b"b", 1, 0))
print(call(452, -100, b"/proc/self/fd/%d" % opened, 0o777, 0x100))
print(call(452, -100, b"m", 0o777, 0x400))
print(call(189, b"/proc/self/fd/%d" % opened, b"user.a", b"b", 1, 0))
print(oct(os.stat("m").st_mode & 0o777))
print(call(452, -100, b"", 0o755, 0x1000), call(90, b"/proc/self/cwd", 0o755), call(452, -100, b"l/", 0o700, 0x100))
"#;

#[test]
fn odd_calls_fail_as_without_walls() {
    each_caller(|world| {
        let ran = world.run().opts(["--", "python3", "-c", ODD]).go();
        let expected = "EBADF\nEBADF\nENOTSUP\nEINVAL\nEPERM\n0o600\ndone done done\n";
        assert_eq!(ran.out(), expected, "{ran}");
    });
}

/// Marks of overlayfs, which a later run that holds changes back would obey.
#[test]
fn marks_of_overlays_are_not_set() {
    const MARK: &str = r#"
import errno, os
open("m", "w").close()
for name in ["user.overlay.whiteout", "user.overlay.opaque", "user.other"]:
    try: os.setxattr("m", name, b"y")
    except OSError as error: print(errno.errorcode[error.errno])
    else: print("done")
"#;
    each_caller(|world| {
        let ran = world.run().opts(["--", "python3", "-c", MARK]).go();
        assert_eq!(ran.out(), "EPERM\nEPERM\ndone\n", "{ran}");
    });
}
