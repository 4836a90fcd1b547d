//! scratch
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use stockade_net::{Gateway, GatewayOptions, Door, DoorKind, Witness, NetRecord, BoxFuture};
use stockade_policy::*;
const SIZE: usize = 200 << 20;
struct W;
impl Witness for W {
    fn refused(&self, r: &NetRefusal) { eprintln!("refused {r:?}"); }
    fn ask(&self, _: &NetRefusal) -> BoxFuture<'_, Reply> { Box::pin(async { Reply::Deny }) }
    fn record(&self, _: NetRecord) {}
}
fn origin() -> SocketAddr {
    let l = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = l.local_addr().unwrap();
    thread::spawn(move || { let block = vec![7u8; 256 << 10]; let block = Arc::new(block);
        for s in l.incoming() { let mut s = s.unwrap(); let block = block.clone(); thread::spawn(move || {
            s.set_nodelay(true).unwrap();
            let mut b = [0; 4096];
            loop {
                let n = match s.read(&mut b) { Ok(0) | Err(_) => return, Ok(n) => n };
                let t = String::from_utf8_lossy(&b[..n]).to_string();
                if t.contains("/small") { s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap(); continue; }
                s.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes()).unwrap();
                let mut left = SIZE; while left > 0 { let k = left.min(block.len()); if s.write_all(&block[..k]).is_err() { return }; left -= k; }
            }
        }); } });
    a
}
fn relay(to: SocketAddr) -> SocketAddr {
    let l = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = l.local_addr().unwrap();
    thread::spawn(move || for s in l.incoming() { let s = s.unwrap(); s.set_nodelay(true).unwrap();
        let u = TcpStream::connect(to).unwrap(); u.set_nodelay(true).unwrap();
        for (mut f, mut t) in [(s.try_clone().unwrap(), u.try_clone().unwrap()), (u, s)] {
            thread::Builder::new().name("relay".into()).spawn(move || { let mut b = vec![0; 256 << 10]; loop { match f.read(&mut b) { Ok(0) | Err(_) => break, Ok(n) => if t.write_all(&b[..n]).is_err() { break } } } let _ = t.shutdown(std::net::Shutdown::Write); let c = cpu_self(); RELAY.fetch_add((c * 1e6) as u64, std::sync::atomic::Ordering::SeqCst); }).unwrap();
        } });
    a
}
fn gateway() -> SocketAddr {
    let l = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = l.local_addr().unwrap();
    let strip = std::env::args().any(|a| a == "strip");
    thread::Builder::new().name("gateway".into()).spawn(move || {
        let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        rt.block_on(async move {
            let origin = Origin { layer: Layer::Flag, source: "x".into(), key: String::new() };
            let rule = DomainRule { pattern: DomainPattern::parse_allowed("127.0.0.1").unwrap(), reason: None, limits: NetLimits::default(), rule: RuleRef { text: "x".into(), origin } };
            let plan = GatewayPlan { allowed: vec![rule], strip_response_headers: if strip { vec!["x".into()] } else { vec![] }, ..GatewayPlan::default() };
            let _g = Gateway::open(GatewayOptions { plan: Arc::new(plan), doors: vec![Door { kind: DoorKind::Http, socket: l.into() }], inward: None, witness: Arc::new(W), termination: None, vault: None }).unwrap();
            std::future::pending::<()>().await
        });
    }).unwrap();
    a
}
fn connect(at: SocketAddr, connect: Option<SocketAddr>) -> TcpStream {
    let mut s = TcpStream::connect(at).unwrap();
    s.set_nodelay(true).unwrap();
    if let Some(o) = connect {
        s.write_all(format!("CONNECT {o} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut h = vec![]; let mut b = [0; 1]; while !h.ends_with(b"\r\n\r\n") { s.read_exact(&mut b).unwrap(); h.push(b[0]); }
    }
    s
}
fn down(mut s: TcpStream, url: &str) -> f64 {
    let t = Instant::now();
    s.write_all(format!("GET {url} HTTP/1.1\r\nHost: {}\r\n\r\n", HOST.get().unwrap()).as_bytes()).unwrap();
    let mut b = vec![0; 256 << 10]; let mut got = 0; let mut head = None;
    loop {
        let n = s.read(&mut b).unwrap(); assert!(n > 0, "ended after {got}");
        got += n;
        if head.is_none() { let h = b[..n].windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4; assert!(b.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&b[..h])); head = Some(h); }
        if got >= SIZE + head.unwrap() { break }
    }
    SIZE as f64 / t.elapsed().as_secs_f64() / (1 << 20) as f64
}
fn small(s: &mut TcpStream, url: &str) -> f64 {
    let t = Instant::now();
    s.write_all(format!("GET {url} HTTP/1.1\r\nHost: {}\r\n\r\n", HOST.get().unwrap()).as_bytes()).unwrap();
    let mut h = vec![]; let mut b = [0; 512]; while !h.ends_with(b"ok") { let n = s.read(&mut b).unwrap(); h.extend_from_slice(&b[..n]); }
    t.elapsed().as_secs_f64() * 1e6
}
static RELAY: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
fn stat(path: &str) -> f64 { let t = std::fs::read_to_string(path).unwrap(); t.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9 }
fn cpu_self() -> f64 { stat("/proc/thread-self/schedstat") }
fn cpu_of(name: &str) -> f64 { std::fs::read_dir("/proc/self/task").unwrap().filter_map(|e| { let p = e.unwrap().path(); let c = std::fs::read_to_string(p.join("comm")).ok()?; (c.trim() == name).then(|| stat(p.join("schedstat").to_str().unwrap())) }).sum() }
static HOST: std::sync::OnceLock<String> = std::sync::OnceLock::new();
fn median(v: &mut Vec<f64>) -> f64 { v.sort_by(f64::total_cmp); v[v.len() / 2] }
fn main() {
    let o = origin(); HOST.set(o.to_string()).unwrap();
    let r = relay(o); let g = gateway(); thread::sleep(std::time::Duration::from_millis(200));
    let url = format!("http://{o}/big");
    let (mut d, mut re, mut p, mut c) = (vec![], vec![], vec![], vec![]); let (mut pc, mut cc) = (vec![], vec![]);
    for _ in 0..7 {
        d.push(down(connect(o, None), "/big"));
        re.push(down(connect(r, None), "/big"));
        let g0 = cpu_of("gateway");
        p.push(down(connect(g, None), &url));
        let g1 = cpu_of("gateway");
        c.push(down(connect(g, Some(o)), "/big"));
        let g2 = cpu_of("gateway");
        pc.push(g1 - g0); cc.push(g2 - g1);
    }
    thread::sleep(std::time::Duration::from_millis(300));
    let rc = RELAY.load(std::sync::atomic::Ordering::SeqCst) as f64 / 1e6 / 7.0;
    let (pc, cc) = (median(&mut pc), median(&mut cc));
    println!("cpu s per 200 MiB: relay {rc:.3} proxy {pc:.3} ({:.2} of relay's speed) connect {cc:.3} ({:.2})", rc / pc, rc / cc);
    let (d, re, p, c) = (median(&mut d), median(&mut re), median(&mut p), median(&mut c));
    println!("MiB/s: direct {d:.0} relay {re:.0} proxy {p:.0} ({:.2} of relay) connect {c:.0} ({:.2} of relay)", p / re, c / re);
    let url = format!("http://{o}/small");
    for (what, at, via, url) in [("direct", o, None, "/small"), ("relay", r, None, "/small"), ("proxy", g, None, url.as_str()), ("connect", g, Some(o), "/small")] {
        let mut s = connect(at, via);
        let mut kept: Vec<f64> = (0..1000).map(|_| small(&mut s, url)).collect();
        let mut new: Vec<f64> = (0..300).map(|_| { let t = Instant::now(); let mut s = connect(at, via); small(&mut s, url); t.elapsed().as_secs_f64() * 1e6 }).collect();
        println!("{what}: kept p50 {:.0} us, p99 {:.0}; new p50 {:.0} us p99 {:.0}", median(&mut kept), kept[990], median(&mut new), new[296]);
    }
}
