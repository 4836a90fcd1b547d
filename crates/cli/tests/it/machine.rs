//! The I rows: calls, sockets, processes and privileges.

use crate::act;
use crate::support::{Caller, binaries, each_caller, skip};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Command, Stdio};

/// Calls the wall refuses by name, and what they answer.
const REFUSED: [(&str, &[&str]); 41] = [
    ("io_uring_setup", &["EPERM"]),
    ("io_uring_enter", &["EPERM"]),
    ("io_uring_register", &["EPERM"]),
    ("bpf", &["EPERM"]),
    ("perf_event_open", &["EPERM"]),
    ("userfaultfd", &["EPERM"]),
    ("userfaultfd_user", &["EPERM"]),
    ("keyctl", &["EPERM"]),
    ("add_key", &["EPERM"]),
    ("request_key", &["EPERM"]),
    ("kexec_load", &["EPERM"]),
    ("kexec_file_load", &["EPERM"]),
    ("umount2", &["EPERM"]),
    ("fsopen", &["EPERM"]),
    ("fsconfig", &["EPERM"]),
    ("fsmount", &["EPERM"]),
    ("fspick", &["EPERM"]),
    ("open_tree", &["EPERM"]),
    ("move_mount", &["EPERM"]),
    ("mount_setattr", &["EPERM"]),
    ("pivot_root", &["EPERM"]),
    ("chroot", &["EPERM"]),
    ("init_module", &["EPERM"]),
    ("finit_module", &["EPERM"]),
    ("delete_module", &["EPERM"]),
    ("swapon", &["EPERM"]),
    ("swapoff", &["EPERM"]),
    ("reboot", &["EPERM"]),
    ("sethostname", &["EPERM"]),
    ("setdomainname", &["EPERM"]),
    ("acct", &["EPERM"]),
    ("quotactl", &["EPERM"]),
    ("fanotify_init", &["EPERM"]),
    ("syslog", &["EPERM"]),
    ("vhangup", &["EPERM"]),
    ("kcmp", &["EPERM"]),
    ("setns", &["EPERM"]),
    ("iopl", &["EPERM"]),
    ("ioperm", &["EPERM"]),
    ("clock_settime", &["EPERM"]),
    ("settimeofday", &["EPERM"]),
];

/// These answer something else than EPERM to root without walls, so the refusal is the wall's.
const HARMLESS_OUTSIDE: [&str; 12] = [
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "bpf",
    "userfaultfd",
    "keyctl",
    "fsconfig",
    "fsmount",
    "fsopen",
    "quotactl",
    "setns",
    "finit_module",
];

fn act_of(call: &str) -> Vec<std::ffi::OsString> {
    match call {
        "clock_settime" | "settimeofday" => act![call],
        other => act!["call", other],
    }
}

/// I11, I13
#[test]
fn i13_calls_no_command_needs() {
    each_caller(|world| {
        let names: Vec<&(&str, &[&str])> = REFUSED
            .iter()
            .filter(|(name, _)| cfg!(target_arch = "x86_64") || !["iopl", "ioperm"].contains(name))
            .collect();
        let answers = world.run().batch(names.iter().map(|(name, _)| act_of(name)));
        for ((_, expected), answer) in names.iter().zip(&answers) {
            answer.errno(expected);
        }
        if world.caller == Caller::Root {
            for name in HARMLESS_OUTSIDE {
                let line = world.outside_probe(act_of(name)).line().to_string();
                assert_ne!(line, "errno EPERM", "{name} is refused without walls too: no proof");
            }
        }
    });
}

/// I12
#[test]
fn i12_new_namespaces() {
    each_caller(|world| {
        let over = world.dir("over");
        let mut acts = Vec::new();
        for how in ["unshare", "clone"] {
            for flags in ["user", "user,mount", "mount", "pid", "net", "ipc", "uts", "cgroup", "user,pid,net"]
            {
                acts.push(act!["nest", how, flags, &over]);
            }
        }
        acts.push(act!["nest", "unshare", "time", &over]);
        for answer in world.run().batch(acts) {
            answer.errno(&["EPERM"]);
        }
        world.probe(act!["nest", "clone3", "user,mount", &over]).errno(&["ENOSYS"]);
        world.probe(act!["nest", "clone3", "none", &over]).errno(&["ENOSYS"]);
        // An ordinary child works, and cannot mount either.
        assert_eq!(world.probe(act!["nest", "clone", "none", &over]).value("mount"), "EPERM");
        world.probe(act!["mount", &over]).errno(&["EPERM"]);
        world.probe(["remount", "/"]).errno(&["EPERM"]);
        for namespace in ["user", "mnt", "pid", "net"] {
            world.probe(["setns", &format!("/proc/self/ns/{namespace}")]).errno(&["EPERM"]);
        }
    });
}

#[test]
fn i13_personality() {
    each_caller(|world| {
        const NO_RANDOMISATION: &str = "0x40000";
        world.probe(["personality", NO_RANDOMISATION]).errno(&["EPERM"]);
        world.probe(["personality", "0x0008"]).errno(&["EPERM"]);
        world.probe(["personality", "0xffffffff"]).ok();
    });
}

/// Calls in another tongue kill the caller.
#[test]
#[cfg(target_arch = "x86_64")]
fn foreign_call_conventions_kill() {
    each_caller(|world| {
        const SIGSYS: i32 = 31;
        let probe = binaries().probe.to_str().unwrap();
        world.run().program([probe, "x32"]).exits(128 + SIGSYS);
        if world.outside_probe(["int80"]).succeeded() {
            world.run().program([probe, "int80"]).exits(128 + SIGSYS);
        } else {
            skip("machine::foreign_call_conventions_kill (int80)", "the kernel has no 32-bit calls");
        }
    });
}

/// I17
#[test]
fn i17_socket_families() {
    each_caller(|world| {
        let refused = [
            "unix dgram 0",
            "unix raw 0",
            "vsock stream 0",
            "alg seqpacket 0",
            "packet raw 3",
            "packet dgram 0",
            "xdp raw 0",
            "bluetooth raw 1",
            "can raw 1",
            "tipc stream 0",
            "rds seqpacket 0",
            "key raw 2",
            "inet raw 1",
            "inet raw 255",
            "inet6 raw 58",
            "inet stream 132",
            "netlink raw 4",
            "netlink raw 6",
            "netlink raw 9",
            "netlink raw 12",
            "netlink raw 15",
            "netlink raw 16",
        ];
        let words = |act: &str, line: &str| {
            std::iter::once(act).chain(line.split(' ')).map(std::ffi::OsString::from).collect::<Vec<_>>()
        };
        for answer in world.run().batch(refused.iter().map(|line| words("socket", line))) {
            answer.errno(&["EPERM"]);
        }
        // High bits in a register hide nothing.
        let high = ["unix dgram 0", "vsock stream 0", "packet raw 3", "netlink raw 16", "inet raw 1"];
        for answer in world.run().batch(high.iter().map(|line| words("socket-high", line))) {
            answer.errno(&["EPERM"]);
        }
        let fine = [
            "inet stream 0",
            "inet dgram 0",
            "inet6 stream 6",
            "inet6 dgram 17",
            "netlink raw 0",
            "inet stream-cloexec 0",
            "unix stream 0",
            "unix seqpacket 0",
            "unix stream-cloexec 0",
        ];
        for answer in world.run().batch(fine.iter().map(|line| words("socket", line))) {
            answer.ok();
        }
    });
}

/// I04, I05, I06, I08, and with them I01 and I03, whose servers are all reached this way.
#[test]
fn i04_sockets_of_the_host() {
    each_caller(|world| {
        let path = world.outside.join("s.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let inside = world.ws.join("w.sock");
        let listener_inside = UnixListener::bind(&inside).unwrap();
        let datagrams = world.outside.join("d.sock");
        let receiver = UnixDatagram::bind(&datagrams).unwrap();
        let name = format!("stockade-it-{}-{:?}", std::process::id(), world.caller);
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for socket in [&path, &inside, &datagrams] {
            world.give(socket);
        }
        listener.set_nonblocking(true).unwrap();
        listener_inside.set_nonblocking(true).unwrap();
        receiver.set_nonblocking(true).unwrap();
        hidden.set_nonblocking(true).unwrap();

        for answer in world
            .run()
            .batch([act!["connect-unix", &path, "stream"], act!["connect-unix", &inside, "stream"]])
        {
            answer.errno(&["EACCES"]);
        }
        for answer in world.run().batch([
            act!["connect-unix", &datagrams, "dgram"],
            act!["connect-abstract", &name, "stream"],
            act!["pair-sendto", &datagrams, "dgram"],
            act!["pair-sendto", &datagrams, "dgram-cloexec"],
            act!["pair", "unix", "dgram"],
            act!["pair", "unix", "raw"],
        ]) {
            answer.errno(&["EPERM"]);
        }
        // The pairs that are left cannot be turned towards a path.
        for answer in world
            .run()
            .batch([act!["pair-sendto", &datagrams, "stream"], act!["pair-sendto", &datagrams, "seqpacket"]])
        {
            assert!(answer.line() != "errno EPERM", "stream pairs should exist{}", answer.ran());
        }
        assert!(listener.accept().is_err(), "somebody connected");
        assert!(listener_inside.accept().is_err(), "somebody connected");
        assert!(hidden.accept().is_err(), "somebody connected");
        assert!(receiver.recv(&mut [0; 16]).is_err(), "something was sent");

        for answer in world.run().batch([act!["pair", "unix", "stream"], act!["pair", "unix", "seqpacket"]]) {
            answer.ok();
        }
        // Without walls it is all possible.
        world.outside_probe(act!["connect-unix", &path, "stream"]).ok();
        world.outside_probe(act!["connect-abstract", &name, "stream"]).ok();
        world.outside_probe(act!["pair-sendto", &datagrams, "dgram"]).ok();
    });
}

/// The host's network is not there; the sandbox's own is.
#[test]
fn network_of_its_own() {
    each_caller(|world| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().to_string();
        world.outside_probe(["connect-tcp", &here]).ok();
        world.probe(["connect-tcp", &here]).errno(&["ECONNREFUSED"]);
        for place in ["192.0.2.1:80", "169.254.169.254:80", "10.0.0.1:22", "[2001:db8::1]:80"] {
            world.probe(["connect-tcp", place]).errno(&["ENETUNREACH", "EHOSTUNREACH"]);
            world.probe(["send-udp", place]).errno(&["ENETUNREACH", "EHOSTUNREACH"]);
        }
        assert_eq!(world.probe(["loopback4"]).ok(), "hello");
        let six = world.outside_probe(["loopback6"]);
        if six.succeeded() {
            assert_eq!(world.probe(["loopback6"]).ok(), "hello");
        } else {
            skip("machine::network_of_its_own (IPv6)", "the host has none");
        }
    });
}

/// I15
#[test]
fn i15_processes_outside_are_out_of_reach() {
    each_caller(|world| {
        let mut victim = Command::new("sleep").arg("300").stdin(Stdio::null()).spawn().unwrap();
        let pid = victim.id().to_string();
        let launcher = std::process::id().to_string();
        for target in [&pid, &launcher] {
            for answer in world.run().batch([
                act!["kill", target, "0"],
                act!["kill", target, "9"],
                act!["ptrace-attach", target],
                act!["ptrace-seize", target],
                act!["pidfd-open", target],
            ]) {
                answer.errno(&["ESRCH"]);
            }
            for answer in world.run().batch([
                act!["vm-read", target],
                act!["vm-write", target],
                act!["pidfd-getfd", target, "0"],
            ]) {
                answer.errno(&["EPERM", "ESRCH"]);
            }
        }
        assert!(victim.try_wait().unwrap().is_none(), "the victim died");
        victim.kill().unwrap();
        victim.wait().unwrap();
    });
}

/// I13: the first process is ours and cannot be touched from inside.
#[test]
fn i13_the_first_process() {
    each_caller(|world| {
        for answer in world.run().batch([
            act!["ptrace-attach", "1"],
            act!["ptrace-seize", "1"],
            act!["vm-read", "1"],
            act!["vm-write", "1"],
            act!["pidfd-getfd", "1", "0"],
        ]) {
            answer.errno(&["EPERM", "EACCES"]);
        }
        // It does not hear signals from inside: the sandbox goes on.
        for signal in ["9", "15", "2", "19", "11"] {
            let ran = world.run().shell(&format!("kill -{signal} 1; sleep 0.02; exit 9"));
            ran.exits(9);
        }
        // Everybody else dies, the one who asks does not: the kernel leaves it out.
        world.run().shell("sleep 60 & kill -9 -1; exit 9").exits(9);
        world.run().shell("sleep 5 & kill $!; wait; exit 0").exits(0);
    });
}

#[test]
fn no_privileges() {
    each_caller(|world| {
        let status = world.probe(["status"]);
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(status.value(set), "0000000000000000", "{set}{}", status.ran());
        }
        assert_eq!(status.value("NoNewPrivs"), "1", "{}", status.ran());
        assert_eq!(status.value("Seccomp"), "2", "{}", status.ran());
        let (user, group) = world.caller.ids();
        let ids = world.probe(["ids"]);
        assert_eq!(ids.value("uid"), user.to_string(), "{}", ids.ran());
        assert_eq!(ids.value("gid"), group.to_string(), "{}", ids.ran());
    });
}

#[test]
fn every_namespace_is_its_own() {
    each_caller(|world| {
        for name in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
            let path = format!("/proc/self/ns/{name}");
            let (inside, outside) =
                (world.probe(["readlink", &path]), world.outside_probe(["readlink", &path]));
            assert_ne!(inside.ok(), outside.ok(), "{name} is shared{}", inside.ran());
        }
    });
}

/// Root without capabilities is bound by the mode of files like anybody else.
#[test]
fn modes_bind_a_root_caller() {
    each_caller(|world| {
        let file = world.file("locked", "SECRET");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        world.probe(act!["read", &file]).errno(&["EACCES"]);
        world.probe(act!["chmod", &file, "0o600"]).ok();
        assert_eq!(world.probe(act!["read", &file]).ok(), "SECRET");
    });
}

#[test]
fn a_session_of_its_own() {
    each_caller(|world| {
        let ids = world.probe(["ids"]);
        assert_ne!(ids.value("pid"), "1", "{}", ids.ran());
        assert_eq!(ids.value("sid"), ids.value("pid"), "not the leader of a session of its own{}", ids.ran());
        // A process of the caller's group is not among those a group signal reaches.
        world.run().shell("kill -TERM 0").exits(143);
    });
}

/// I26
#[test]
fn i26_no_core_dumps() {
    each_caller(|world| {
        let limit = world.probe(["limit", "core"]);
        assert_eq!(limit.value("hard"), "1", "{}", limit.ran());
        let answer = world.probe(["core"]);
        assert_eq!(answer.value("signal"), "6", "{}", answer.ran());
        assert_eq!(answer.value("core"), "false", "{}", answer.ran());
        let left: Vec<_> =
            std::fs::read_dir(&world.ws).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
    });
}

/// I19, as far as mounts judge: a name that flips between use and use.
#[test]
fn i19_flipping_names() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        let fine = world.file("fine", "fine");
        let kept = world.file(world.outside.join("kept"), "host");
        let answer = world.run().with("--deny-read", &secret).probe(act![
            "race-read",
            world.ws.join("flip"),
            &fine,
            &secret,
            "100000"
        ]);
        assert_eq!(answer.value("secret"), "0", "{}", answer.ran());
        assert_ne!(answer.value("allowed"), "0", "the race never met the allowed file{}", answer.ran());
        assert_ne!(answer.value("refused"), "0", "the race never met the refused file{}", answer.ran());
        let answer = world.probe(act!["race-write", world.ws.join("flip2"), &fine, &kept, "50000"]);
        assert_ne!(answer.value("refused"), "0", "the race never met the refused file{}", answer.ran());
        assert_eq!(std::fs::read(&kept).unwrap(), b"host");
    });
}

/// I25, the part that needs no limits layer: descriptors and file sizes.
#[test]
fn i25_limits_of_a_process() {
    each_caller(|world| {
        let ran =
            world.run().opts(["--max-file", "65536"]).shell("head -c 1000000 /dev/zero > big; wc -c < big");
        assert_eq!(std::fs::metadata(world.ws.join("big")).unwrap().len(), 65536, "{ran}");
        let limit = world.run().opts(["--max-file", "65536"]).probe(["limit", "fsize"]);
        assert_eq!(limit.value("hard"), "65536", "{}", limit.ran());
        assert_eq!(world.probe(["limit", "fsize"]).value("soft"), "none");
    });
}

/// I01
#[test]
fn i01_schedulers_and_session_buses() {
    each_caller(|world| {
        // Where their files lie, nothing can be put.
        for dir in ["/var/spool/cron", "/etc/cron.d", "/etc/systemd/system", "/usr/lib/systemd/system"] {
            if std::path::Path::new(dir).is_dir() {
                world.probe(["create", &format!("{dir}/evil")]).errno(&["EROFS", "EACCES"]);
            }
        }
        let units = world.dir(world.home.join(".config/systemd/user"));
        world.probe(act!["create", units.join("evil.service")]).errno(&["EROFS"]);
        world
            .run()
            .with("--allow-write", &world.home)
            .probe(act!["create", units.join("evil.service")])
            .errno(&["EROFS"]);
    });
}
