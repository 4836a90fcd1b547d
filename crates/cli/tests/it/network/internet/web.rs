//! Servers in the clear, which remember every connection and every request as it came.

use super::sys;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request that arrived, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) port: u16,
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The value of a header; the empty text when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

#[derive(Default)]
pub(super) struct Memory {
    requests: Mutex<Vec<Request>>,
    connections: Mutex<Vec<SocketAddr>>,
    /// Every byte that came to a silent port.
    raw: Mutex<Vec<u8>>,
    /// Connections that nobody serves.
    held: Mutex<Vec<TcpStream>>,
}

/// What a port does.
#[derive(Clone, Copy)]
pub(super) enum Manner {
    /// HTTP/1.
    Http,
    /// Speaks first, then repeats what it hears.
    Banner,
    /// Listens and says nothing.
    Silent,
    /// Listens, and takes its time.
    Slow,
    /// Takes connections and does nothing with them: there may be thousands.
    Held,
}

/// What one caller sent is kept, then forgotten for the next.
#[derive(Clone, Default)]
pub(super) struct Web {
    memory: Arc<Memory>,
    listeners: Arc<Mutex<Vec<TcpListener>>>,
}

impl Web {
    /// Serves on a port of every address of the calling thread's network.
    pub(super) fn serve(&self, port: u16, manner: Manner) {
        // One socket for both families.
        let listener = TcpListener::bind(("::", port)).unwrap_or_else(|error| panic!("port {port}: {error}"));
        // Whoever falls out of a short queue believes to be connected.
        rustix::net::listen(&listener, 4096).expect("a longer queue");
        self.listeners.lock().expect("the list").push(listener.try_clone().expect("dup"));
        let memory = Arc::clone(&self.memory);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Ok(at) = stream.local_addr() else { continue };
                memory
                    .connections
                    .lock()
                    .expect("the log")
                    .push(SocketAddr::new(at.ip().to_canonical(), port));
                if let Manner::Held = manner {
                    memory.held.lock().expect("the list").push(stream);
                    continue;
                }
                let memory = Arc::clone(&memory);
                thread::spawn(move || match manner {
                    Manner::Http => http(&stream, &memory),
                    Manner::Banner => banner(&stream),
                    Manner::Silent => silent(&stream, &memory, Duration::ZERO),
                    Manner::Slow => silent(&stream, &memory, Duration::from_millis(1)),
                    Manner::Held => {}
                });
            }
        });
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.memory.requests.lock().expect("the log").clone()
    }

    pub(super) fn connections(&self) -> Vec<SocketAddr> {
        self.memory.connections.lock().expect("the log").clone()
    }

    pub(super) fn raw(&self) -> Vec<u8> {
        self.memory.raw.lock().expect("the log").clone()
    }

    pub(super) fn forget(&self) {
        self.memory.requests.lock().expect("the log").clear();
        self.memory.connections.lock().expect("the log").clear();
        self.memory.raw.lock().expect("the log").clear();
        self.memory.held.lock().expect("the list").clear();
    }

    pub(super) fn close(&self) {
        self.listeners.lock().expect("the list").iter().for_each(sys::hang_up);
    }
}

fn banner(mut stream: &TcpStream) {
    if stream.write_all(b"220 the server speaks first\r\n").is_ok() {
        let mut block = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut block) {
            if stream.write_all(&block[..count]).is_err() {
                return;
            }
        }
    }
}

fn silent(mut stream: &TcpStream, memory: &Memory, rest: Duration) {
    let mut block = [0; 16384];
    while let Ok(count @ 1..) = stream.read(&mut block) {
        memory.raw.lock().expect("the log").extend(&block[..count]);
        thread::sleep(rest);
    }
}

fn http(mut stream: &TcpStream, memory: &Memory) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader, stream) {
        memory.requests.lock().expect("the log").push(request.clone());
        if request.header("upgrade") == "websocket" {
            let _ = stream.write_all(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            );
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut block) {
                if stream.write_all(&block[..count]).is_err() {
                    return;
                }
            }
            return;
        }
        if reply(stream, &request).is_err() || request.header("connection") == "close" {
            return;
        }
    }
}

/// One request, or the end.
fn read(reader: &mut BufReader<&TcpStream>, stream: &TcpStream) -> Option<Request> {
    let first = line(reader)?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let port = stream.local_addr().ok()?.port();
    let mut request = Request { port, method, target, headers, body: Vec::new() };
    if request.header("transfer-encoding") == "chunked" {
        loop {
            let size = usize::from_str_radix(line(reader)?.split(';').next()?, 16).ok()?;
            let mut chunk = vec![0; size];
            reader.read_exact(&mut chunk).ok()?;
            request.body.extend(chunk);
            line(reader)?;
            if size == 0 {
                break;
            }
        }
    } else if let Ok(size) = request.header("content-length").parse() {
        request.body = vec![0; size];
        reader.read_exact(&mut request.body).ok()?;
    }
    Some(request)
}

fn line(reader: &mut BufReader<&TcpStream>) -> Option<String> {
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes).ok()?;
    let text = bytes.strip_suffix(b"\r\n")?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn reply(mut stream: &TcpStream, request: &Request) -> std::io::Result<()> {
    // A proxy is asked for the whole address.
    let path = match request.target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => request.target.as_str(),
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let value = query.split_once('=').map_or("", |(_, value)| value);
    let head = |status: &str, more: &str, length: usize| {
        format!("HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\n\r\n")
    };
    match path {
        "/big" => {
            let mebibytes: usize = value.parse().unwrap_or(1);
            stream.write_all(head("200 OK", "", mebibytes << 20).as_bytes())?;
            let block = vec![b'x'; 1 << 20];
            (0..mebibytes).try_for_each(|_| stream.write_all(&block))
        }
        // A drop every now and then, without an end.
        "/drip" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(b"drop\n")?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        "/redirect" => stream.write_all(head("302 Found", &format!("Location: {value}\r\n"), 0).as_bytes()),
        "/cookie" => stream.write_all(head("200 OK", "Set-Cookie: a=b\r\nX-Kept: yes\r\n", 0).as_bytes()),
        "/echo" => {
            stream.write_all(head("200 OK", "", request.body.len()).as_bytes())?;
            stream.write_all(&request.body)
        }
        _ => {
            let text = format!("hello from {}\n", request.header("host"));
            stream.write_all(head("200 OK", "", text.len()).as_bytes())?;
            if request.method == "HEAD" { Ok(()) } else { stream.write_all(text.as_bytes()) }
        }
    }
}
