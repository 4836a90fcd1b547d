//! N25: everything that is not TCP.

use super::allowing;
use super::internet::online;

#[test]
fn datagrams_go_nowhere() {
    online(|net, world| {
        for port in [443, 4433, 123] {
            net.watch_udp(port);
        }
        world.outside_probe(["send-udp", "203.0.113.10:4433"]).ok();
        let wire = net.wire();
        for target in [
            "203.0.113.10:443",
            "203.0.113.10:4433",
            "203.0.113.1:123",
            "198.18.0.1:443",
            "[2001:db8::10]:443",
        ] {
            let (answer, judged) =
                allowing(world, &["allow.test", "203.0.113.10"]).probe(&["ask-udp", target, "QUIC"]);
            answer.errno(&["ECONNREFUSED", "EPERM", "EACCES", "ENETUNREACH"]);
            assert!(judged.ran.took < super::QUICK, "{}", judged.ran);
        }
        assert_eq!(wire.carried("QUIC"), 0);
        assert_eq!(wire.of_protocol(17), 0);
        // The control: the same datagram without walls.
        assert!(net.datagrams().iter().any(|(port, text)| *port == 4433 && text == b"ATTACK"));
    });
}

#[test]
fn no_other_protocol_is_spoken() {
    online(|net, world| {
        let wire = net.wire();
        for socket in [
            ["socket", "inet", "raw", "1"],
            ["socket", "inet", "raw", "255"],
            ["socket", "inet6", "raw", "58"],
            ["socket", "packet", "raw", "3"],
            ["socket", "inet", "stream", "132"],
            ["socket", "inet", "stream", "262"],
        ] {
            let (answer, _) = allowing(world, &["allow.test"]).probe(&socket);
            answer.errno(&["EPERM", "EACCES", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT"]);
        }
        let judged = allowing(world, &["203.0.113.10"]).shell(
            "python3 - <<'E'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
s.settimeout(1)
s.sendto(b'\\x08\\0\\xf7\\xff\\0\\0\\0\\0', ('203.0.113.10', 0))
s.recv(100)
E",
        );
        judged.fails_quickly();
        assert_eq!(wire.of_protocol(1), 0);
    });
}

#[test]
fn datagrams_inside_are_free() {
    online(|_, world| {
        let text = "import socket
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(('127.0.0.1', 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
b.sendto(b'inside', a.getsockname())
print(a.recv(10).decode())
";
        allowing(world, &["allow.test"]).program(&["python3", "-c", text]).gives("inside\n");
    });
}
