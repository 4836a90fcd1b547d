//! What is done inside.

use std::fmt::Display;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

fn say(text: impl Display) {
    println!("> {text}");
}

#[test]
fn act() {
    let Ok(act) = std::env::var("INSIDE") else { return };
    let (act, argument) = act.split_once(' ').unwrap_or((&act, ""));
    match act {
        "connect" => connect(argument),
        "own-loopback" => own_loopback(),
        "ask-name-server" => ask_name_server(argument),
        "datagram" => datagram(argument),
        "serve" => serve(),
        "sleep" => std::thread::sleep(Duration::from_secs(600)),
        other => panic!("{other}"),
    }
}

/// Connects and says what it is told there.
fn connect(address: &str) {
    let mut stream = match TcpStream::connect(address) {
        Ok(stream) => stream,
        Err(error) => {
            say(format!("{:?}", error.kind()));
            std::process::exit(7);
        }
    };
    let mut told = String::new();
    match stream.read_to_string(&mut told) {
        Ok(_) => say(told),
        Err(error) => {
            say(format!("{:?}", error.kind()));
            std::process::exit(8);
        }
    }
}

fn own_loopback() {
    for address in ["127.0.0.1:0", "127.9.9.9:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut to, _) = listener.accept().unwrap();
        from.write_all(b"x").unwrap();
        to.read_exact(&mut [0]).unwrap();
        say(address);
    }
}

/// Only what comes back from the very address that was asked is heard.
fn ask_name_server(address: &str) {
    let socket = UdpSocket::bind(if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" }).unwrap();
    socket.connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    socket.send(b"question").unwrap();
    let mut answer = [0; 64];
    match socket.recv(&mut answer) {
        Ok(length) => say(String::from_utf8_lossy(&answer[..length])),
        Err(error) => say(format!("{:?}", error.kind())),
    }
}

fn datagram(address: &str) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let started = Instant::now();
    let sent = socket.connect(address).and_then(|()| socket.send(b"x"));
    let error = sent.and_then(|_| {
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        socket.recv(&mut [0])
    });
    assert!(started.elapsed() < Duration::from_secs(2));
    match error {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nobody said no"),
        Err(error) => say(format!("{:?}", error.kind())),
        Ok(_) => panic!("an answer"),
    }
}

fn serve() {
    let listener = TcpListener::bind("127.0.0.1:8123").unwrap();
    say("ready");
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(b"from inside").unwrap();
}
