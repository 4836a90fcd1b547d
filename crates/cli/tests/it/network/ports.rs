//! Ports that lead in, and ports of this machine that lead out.

use super::internet::{OWN, online};
use super::{Home, allowing, connections, reported};
use crate::support::eventually;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const SERVER: &str = "mkdir -p www && echo from inside > www/page && cd www && echo up && \
                      exec python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1";

/// What a server on our own loopback says.
fn fetch(address: SocketAddr) -> Result<String, String> {
    let get = || {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /page HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        std::io::Result::Ok(text)
    };
    match get() {
        Ok(text) if text.ends_with("from inside\n") => Ok(text),
        Ok(text) => Err(format!("it said {text:?}")),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_port_inside_is_published() {
    online(|_, world| {
        let live = world.run().with("--publish", "18000:8000").opts(["-c", SERVER]).start_words();
        live.first_output(Duration::from_secs(30));
        eventually(Duration::from_secs(20), || fetch(SocketAddr::from(([127, 0, 0, 1], 18000))).map(|_| ()));
        // On the loopback alone.
        let own = SocketAddr::new(OWN.parse().unwrap(), 18000);
        assert!(TcpStream::connect_timeout(&own, Duration::from_secs(1)).is_err());
        drop(live);
        eventually(Duration::from_secs(10), || {
            match TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], 18000))) {
                Ok(_) => Err("the port is still open".into()),
                Err(_) => Ok(()),
            }
        });
    });
}

/// With 0 any free port is taken, and said.
#[test]
fn a_free_port_is_chosen_and_told() {
    online(|_, world| {
        let live = world.run().with("--publish", "0:8000").opts(["-c", SERVER]).start_words();
        let mut said = String::new();
        let mut port = None;
        eventually(Duration::from_secs(20), || {
            said +=
                &String::from_utf8_lossy(&live.next_error(Duration::from_millis(100)).unwrap_or_default());
            let found = said
                .lines()
                .find(|line| line.contains("8000"))
                .and_then(|line| line.split_once("127.0.0.1:"));
            let number: String = found
                .into_iter()
                .flat_map(|(_, rest)| rest.chars())
                .take_while(char::is_ascii_digit)
                .collect();
            port = number.parse::<u16>().ok();
            port.map(|_| ()).ok_or_else(|| format!("nobody told the port: {said:?}"))
        });
        let address = SocketAddr::from(([127, 0, 0, 1], port.expect("a port")));
        eventually(Duration::from_secs(20), || fetch(address).map(|_| ()));
    });
}

#[test]
fn a_taken_port_is_an_error_beforehand() {
    online(|_, world| {
        let _taken = Home::open(18001);
        let ran = world.run().with("--publish", "18001:8000").program(["touch", "ran"]);
        ran.refused_to_start(&["18001"]);
        assert!(!world.ws.join("ran").exists());
    });
}

#[test]
fn chosen_ports_of_this_machine_can_be_reached() {
    online(|_, world| {
        let (wanted, other) = (Home::open(5432), Home::open(5433));
        let curl = |words: &[&str], url: &str| {
            let run = words.iter().fold(world.run(), |run, word| run.opt(word));
            reported(world, run).curl(&[url])
        };
        curl(&["--forward-port", "5432"], "http://127.0.0.1:5432/").gives("HOME\n");
        curl(&["--forward-port", "5432"], "http://localhost:5432/").gives("HOME\n");
        let events = world.base.join("events.jsonl");
        let told = ["--forward-port", "15432:5432", "--events", events.to_str().unwrap()];
        curl(&told, "http://127.0.0.1:15432/").gives("HOME\n");
        let record = &connections(&events)[0];
        assert_eq!(record["rule"]["text"], "--forward-port 15432:5432", "{record:#}");
        curl(&["--forward-port", "5432", "--allow-domain", "allow.test"], "http://127.0.0.1:5432/")
            .gives("HOME\n");
        let hits = wanted.hits();
        for words in [
            &[][..],
            &["--allow-domain", "allow.test"],
            &["--forward-port", "5433"],
            &["--forward-port", "15432:5432"],
        ] {
            curl(words, "http://127.0.0.1:5432/").fails_quickly();
        }
        curl(&["--forward-port", "5432"], "http://127.0.0.1:5433/").fails_quickly();
        assert_eq!((wanted.hits(), other.hits()), (hits, 0));
    });
}

#[test]
fn ports_that_are_none() {
    online(|_, world| {
        for option in ["--publish", "--forward-port"] {
            for wrong in ["", "0", "x", "65536", "1:2:3", "+1", "80:", ":80"] {
                let ran = world.run().with(option, wrong).program(["true"]);
                ran.refused_to_start(&[option]);
            }
        }
        let judged =
            allowing(world, &["allow.test"]).with("--publish", "18002:8000").curl(&["http://allow.test/"]);
        judged.gives("hello from allow.test\n");
    });
}
