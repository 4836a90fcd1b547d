//! I01, I03-I06, I08: unix sockets by path.

use super::records::{Records, all_fine, all_refused, reported};
use crate::act;
use crate::support::{World, each_caller};
use std::fs;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A host's service.
fn service(world: &World, path: impl AsRef<Path>) -> (PathBuf, UnixListener) {
    let path = world.ws.join(path);
    world.dir(path.parent().unwrap());
    let listener = UnixListener::bind(&path).unwrap();
    world.give(&path);
    listener.set_nonblocking(true).unwrap();
    (path, listener)
}

#[track_caller]
fn nobody_came(listener: &UnixListener) {
    assert!(listener.accept().is_err(), "somebody reached the host's socket");
}

fn connect(path: &Path) -> Vec<std::ffi::OsString> {
    act!["connect-unix", path, "stream"]
}

#[test]
fn i04_a_hosts_socket_in_every_spelling() {
    each_caller(|world| {
        let (path, listener) = service(world, world.outside.join("s/host.sock"));
        let (own, own_listener) = service(world, "agent.sock");
        let linked = world.link(&path, "link.sock");
        let through = world.link(path.parent().unwrap(), "dir");
        let root = PathBuf::from(format!("/proc/self/root{}", path.display()));
        let dotted = path.parent().unwrap().join(".././s//host.sock");
        let answers = reported(world).batch([
            connect(&path),
            connect(&linked),
            connect(&through.join("host.sock")),
            connect(&root),
            connect(&dotted),
            connect(&own),
            act!["connect-unix", &path, "seqpacket"],
            act!["connect-unix", &path, "stream-cloexec"],
        ]);
        all_refused(&answers);
        nobody_came(&listener);
        nobody_came(&own_listener);
        let records = Records::of(world);
        records.tell("unix", &path, "").tell("unix", &own, "").only_about(&[path.clone(), own.clone()]);
        let count = records.all().iter().filter(|record| Path::new(&record.subject) == path).count();
        assert_eq!(count, 7, "{:#?}", records.all());
        // The control: listed one by one, through the same spellings.
        let answers = world.run().with("--allow-unix", &path).batch([
            connect(&path),
            connect(&linked),
            connect(&through.join("host.sock")),
            connect(&dotted),
        ]);
        all_fine(&answers);
    });
}

#[test]
fn listed_directories() {
    each_caller(|world| {
        let (listed, _one) = service(world, world.outside.join("dir/a.sock"));
        let (beside, two) = service(world, world.outside.join("dirb/b.sock"));
        let (docker, three) = service(world, world.outside.join("dir/.docker/run/docker.sock"));
        let answers = reported(world).with("--allow-unix", world.outside.join("dir")).batch([
            connect(&listed),
            connect(&beside),
            connect(&docker),
        ]);
        answers[0].ok();
        all_refused(&answers[1..]);
        nobody_came(&two);
        nobody_came(&three);
        let records = Records::of(world);
        records.only_about(&[beside.clone(), docker.clone()]);
        // Somebody who names it gets it.
        world.run().with("--allow-unix", &docker).probe(connect(&docker)).ok();
    });
}

/// A service's file gets a name in a listed directory.
#[test]
fn i04_a_hosts_socket_moved_or_linked_to_a_listed_place() {
    each_caller(|world| {
        let (path, listener) = service(world, "host.sock");
        world.dir("open");
        let answers = reported(world).with("--allow-unix", world.ws.join("open")).batch([
            act!["link", &path, world.ws.join("open/l.sock")],
            connect(&world.ws.join("open/l.sock")),
            act!["symlink", &path, world.ws.join("open/s.sock")],
            connect(&world.ws.join("open/s.sock")),
            act!["rename", &path, world.ws.join("open/r.sock")],
            connect(&world.ws.join("open/r.sock")),
        ]);
        for at in [1, 3, 5] {
            assert!(!answers[at].succeeded(), "{}{}", answers[at].asked(), answers[at].ran());
        }
        nobody_came(&listener);
    });
}

/// What was bound inside is free, also after a rename; what the host makes later is not, even if its file
/// gets a number of the same kind.
#[test]
fn own_sockets_are_free_and_numbers_used_again_are_not() {
    each_caller(|world| {
        world.dir("s");
        let script = "import socket, os, sys\n\
            s = socket.socket(socket.AF_UNIX); s.bind('s/own'); s.listen(9)\n\
            socket.socket(socket.AF_UNIX).connect('s/own')\n\
            os.rename('s/own', 's/moved'); socket.socket(socket.AF_UNIX).connect('s/moved')\n\
            t = socket.socket(socket.AF_UNIX); t.bind('/tmp/own'); t.listen(9)\n\
            socket.socket(socket.AF_UNIX).connect('/tmp/own')\n\
            for i in range(100):\n    \
                q = socket.socket(socket.AF_UNIX); q.bind('s/%d' % i); q.close()\n\
            for i in range(100): os.unlink('s/%d' % i)\n\
            print('ready', flush=True); sys.stdin.readline()\n\
            n = 0\n\
            for i in range(100):\n    \
                try: socket.socket(socket.AF_UNIX).connect(sys.argv[1] + '/%d' % i); n += 1\n    \
                except PermissionError: pass\n\
            print('reached', n)\n";
        let (reader, mut writer) = std::io::pipe().unwrap();
        let live = world
            .run()
            .input_from(reader)
            .opts(["--", "/usr/bin/python3", "-c", script])
            .opt(&world.outside)
            .start_words();
        live.first_output(Duration::from_secs(20));
        let services: Vec<UnixListener> =
            (0..100).map(|number| service(world, world.outside.join(number.to_string())).1).collect();
        std::io::Write::write_all(&mut writer, b"go\n").unwrap();
        let ran = live.finish(Duration::from_secs(60));
        ran.exits(0);
        services.iter().for_each(nobody_came);
        assert!(ran.out().contains("reached 0"), "{ran}");
    });
}

#[test]
fn i05_i06_datagrams_and_names_without_a_path() {
    each_caller(|world| {
        let path = world.outside.join("log");
        let host = UnixDatagram::bind(&path).unwrap();
        world.give(&path);
        host.set_nonblocking(true).unwrap();
        let answers = reported(world).batch([
            act!["connect-unix", &path, "dgram"],
            act!["pair-sendto", &path, "dgram"],
            act!["pair-sendto", &path, "stream"],
            act!["pair-sendto-abstract", "x", "dgram"],
            act!["connect-abstract", "stockade-nobody", "stream"],
            act!["connect-abstract", "stockade-nobody", "seqpacket"],
        ]);
        let refused = answers.iter().filter(|answer| !answer.succeeded()).count();
        assert_eq!(refused, answers.len(), "{}", answers[0].ran());
        assert!(host.recv(&mut [0; 9]).is_err(), "a datagram arrived");
        Records::of(world).tell("unix", "@stockade-nobody", "");
        // Pairs that reach nobody else work.
        all_fine(&world.run().batch([act!["pair", "unix", "stream"], act!["pair", "unix", "seqpacket"]]));
    });
}

/// A connection that has to wait keeps nobody else waiting.
#[test]
fn a_full_backlog_stops_nobody() {
    each_caller(|world| {
        let script = "import socket, threading, os, time\n\
            s = socket.socket(socket.AF_UNIX); s.bind('full'); s.listen(0)\n\
            def go():\n    \
                c = socket.socket(socket.AF_UNIX); c.connect('full')\n\
            for i in range(20): threading.Thread(target=go, daemon=True).start()\n\
            time.sleep(0.3); t = time.time()\n\
            for i in range(200): open('f%d' % i, 'w').close()\n\
            c = socket.socket(socket.AF_UNIX); c.setblocking(False)\n\
            try: c.connect('full'); print('connected')\n\
            except BlockingIOError: print('full')\n\
            print('fast' if time.time() - t < 5 else 'slow', flush=True); os._exit(0)\n";
        let ran = world.run().patience(Duration::from_secs(30)).program(["/usr/bin/python3", "-c", script]);
        ran.exits(0);
        assert_eq!(ran.out(), "full\nfast\n", "{ran}");
    });
}

/// Sockets where everybody's helpers listen.
#[test]
fn i01_i03_i08_agents_of_the_host() {
    each_caller(|world| {
        let places = [
            "gnupg/S.gpg-agent",
            "ssh-x/agent.1",
            "tmux-0/default",
            "docker.sock",
            "bus",
            "podman/podman.sock",
        ];
        let services: Vec<_> =
            places.iter().map(|name| service(world, world.outside.join("run").join(name))).collect();
        let run = || {
            let at = |name: &str| world.outside.join("run").join(name);
            reported(world)
                .var("SSH_AUTH_SOCK", at("ssh-x/agent.1"))
                .var("DOCKER_HOST", format!("unix://{}", at("docker.sock").display()))
                .var("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", at("bus").display()))
        };
        all_refused(&run().batch(services.iter().map(|(path, _)| connect(path))));
        for (path, listener) in &services {
            nobody_came(listener);
            Records::of(world).tell("unix", path, "");
        }
        fs::remove_file(&services[0].0).unwrap();
        run().probe(connect(&services[0].0)).errno(&["ENOENT"]);
    });
}
