//! An internet of our own: the caller on one side of a wire, names and servers on the other. It needs
//! nothing from outside, touches nothing of the host, and is gone with the thread that made it.

mod authority;
mod land;
mod services;
mod sys;
mod web;
mod wire;
mod zone;

pub(crate) use authority::{NEW as NEW_CERTIFICATE, authority};
pub(crate) use land::{OTHER_RESOLVER, OWN, RESOLVER};
pub(crate) use services::SshKeys;
pub(crate) use web::Request;
pub(crate) use wire::Wire;
pub(crate) use zone::Query;

use crate::support::{Caller, World, is_root, skip};
use land::Far;
use serde_json::Value;
use services::Server;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::net::{SocketAddr, UdpSocket};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use web::{Manner, Web};
use zone::Zone;

/// The port it came to, and what it held.
type Datagram = (u16, Vec<u8>);

/// The rest of the world, seen from the caller's side.
pub(crate) struct Internet {
    zone: Zone,
    web: Web,
    /// How much of the TLS server's log is forgotten.
    forgotten: Cell<usize>,
    keys: OnceCell<SshKeys>,
    datagrams: Arc<Mutex<Vec<Datagram>>>,
    /// Ports that are served already: a test's body comes here once for each caller.
    taken: RefCell<HashSet<(&'static str, u16)>>,
    servers: RefCell<Vec<Server>>,
    /// Dropped before the files its servers use.
    far: Far,
    files: TempDir,
}

const BASE: &str = "/var/tmp";
const PREFIX: &str = "stockade-it-net-";

/// Removes files of runs that were killed; their networks and servers ended with them.
fn sweep() {
    for entry in std::fs::read_dir(BASE).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if rest
            .and_then(|rest| rest.split_once('-'))
            .is_some_and(|(pid, _)| !Path::new("/proc").join(pid).exists())
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Runs a test's body for each caller, in a network of its own.
pub(crate) fn online<F: Fn(&Internet, &World) + Sync>(body: F) {
    let name = std::any::type_name_of_val(&body).trim_end_matches("::{{closure}}").to_string();
    if !is_root() {
        return skip(&name, "a private internet is made by root only");
    }
    // A thread of its own: whatever it and its children do happens in the new network.
    let done = thread::scope(|scope| {
        let own = thread::Builder::new().name(name.clone());
        let thread = own.spawn_scoped(scope, || {
            let net = match Internet::open() {
                Ok(net) => net,
                Err(error) => return skip(&name, &format!("no private internet can be made: {error}")),
            };
            for caller in [Caller::Root, Caller::User] {
                body(&net, &World::new(caller));
                net.forget();
            }
        });
        thread.expect("a thread").join()
    });
    if let Err(panic) = done {
        resume_unwind(panic);
    }
}

impl Internet {
    fn open() -> std::io::Result<Self> {
        sweep();
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let files = tempfile::Builder::new().prefix(&prefix).tempdir_in(BASE)?;
        std::fs::set_permissions(files.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let far = land::settle(files.path())?;
        let web = Web::default();
        let there = web.clone();
        let zone = far.run(move || {
            there.serve(80, Manner::Http);
            there.serve(8080, Manner::Http);
            Zone::open()
        });
        Ok(Self {
            zone,
            web,
            forgotten: Cell::new(0),
            keys: OnceCell::new(),
            datagrams: Arc::default(),
            taken: RefCell::default(),
            servers: RefCell::default(),
            far,
            files,
        })
    }

    /// Forgets what was heard so far.
    pub(crate) fn forget(&self) {
        self.zone.forget();
        self.web.forget();
        self.datagrams.lock().expect("the log").clear();
        self.forgotten.set(services::secured_so_far(self.files.path()));
    }

    /// Questions that came to a name server.
    pub(crate) fn queries(&self) -> Vec<Query> {
        self.zone.queries()
    }

    /// Names that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.queries().into_iter().map(|query| query.name).collect()
    }

    /// Requests in the clear that arrived.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.web.requests()
    }

    /// Method and target of every request in the clear.
    pub(crate) fn served(&self) -> Vec<String> {
        self.requests().iter().map(|request| format!("{} {}", request.method, request.target)).collect()
    }

    /// Connections to our own servers: the addresses they came to.
    pub(crate) fn connections(&self) -> Vec<SocketAddr> {
        self.web.connections()
    }

    /// Bytes that came to silent ports.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.web.raw()
    }

    /// Datagrams that came to watched ports.
    pub(crate) fn datagrams(&self) -> Vec<Datagram> {
        self.datagrams.lock().expect("the log").clone()
    }

    /// HTTP on one more port.
    pub(crate) fn http(&self, port: u16) {
        self.serve(port, Manner::Http);
    }

    /// A server that speaks first and repeats what it hears.
    pub(crate) fn banner(&self, port: u16) {
        self.serve(port, Manner::Banner);
    }

    /// A server that only listens.
    pub(crate) fn silent(&self, port: u16) {
        self.serve(port, Manner::Silent);
    }

    /// A server that only listens, and not quickly.
    pub(crate) fn slow(&self, port: u16) {
        self.serve(port, Manner::Slow);
    }

    /// A server for thousands of connections that nothing happens on.
    pub(crate) fn held(&self, port: u16) {
        self.serve(port, Manner::Held);
    }

    /// Whether nobody has come for this port before.
    fn is_new(&self, kind: &'static str, port: u16) -> bool {
        self.taken.borrow_mut().insert((kind, port))
    }

    fn serve(&self, port: u16, manner: Manner) {
        if !self.is_new("tcp", port) {
            return;
        }
        let web = self.web.clone();
        self.far.run(move || web.serve(port, manner));
    }

    /// Notices datagrams to a port.
    pub(crate) fn watch_udp(&self, port: u16) {
        if !self.is_new("udp", port) {
            return;
        }
        let log = Arc::clone(&self.datagrams);
        let far = self.far.run(move || UdpSocket::bind(("::", port)).expect("udp"));
        far.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out");
        thread::spawn(move || {
            let mut block = [0; 4096];
            // Nobody but us holds the log once the internet is gone.
            while Arc::strong_count(&log) > 1 {
                if let Ok((count, _)) = far.recv_from(&mut block) {
                    log.lock().expect("the log").push((port, block[..count].to_vec()));
                }
            }
        });
    }

    /// Hears every packet from now on.
    pub(crate) fn wire(&self) -> Wire {
        self.far.run(Wire::tap)
    }

    fn files(&self) -> PathBuf {
        self.files.path().to_path_buf()
    }

    /// Makes sure that HTTPS is served on port 443.
    pub(crate) fn secure(&self) -> &Self {
        self.start(443, services::secure);
        self
    }

    /// Requests over TLS that arrived.
    pub(crate) fn secured(&self) -> Vec<Value> {
        services::secured(self.files.path(), self.forgotten.get())
    }

    /// A repository `project.git` for both git servers; its place.
    pub(crate) fn repository(&self) -> PathBuf {
        let place = self.files().join("repositories/project.git");
        if !place.exists() {
            services::repository(self.files.path());
        }
        place
    }

    /// An ssh server on port 22.
    pub(crate) fn ssh(&self) -> &SshKeys {
        self.keys.get_or_init(|| {
            let files = self.files();
            let (keys, server) = self.far.run(move || services::ssh(&files));
            self.servers.borrow_mut().push(server);
            keys
        })
    }

    /// Redis on port 6379.
    pub(crate) fn redis(&self) {
        self.start(6379, services::redis);
    }

    /// PostgreSQL on port 5432.
    pub(crate) fn postgres(&self) {
        self.start(5432, services::postgres);
    }

    fn start(&self, port: u16, server: fn(&Path) -> Server) {
        if self.is_new("tcp", port) {
            let files = self.files();
            self.servers.borrow_mut().push(self.far.run(move || server(&files)));
        }
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        self.web.close();
    }
}
