//! Two networks with a wire between them: ours, and the rest of the world.

use super::sys;
use crate::support::Caller;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// Our own address on the wire.
pub(crate) const OWN: &str = "203.0.113.1";
/// The resolver of `/etc/resolv.conf`.
pub(crate) const RESOLVER: &str = "203.0.113.53";
/// Another resolver, which nobody is told about.
pub(crate) const OTHER_RESOLVER: &str = "203.0.113.54";
/// The account that servers run under.
pub(crate) const SERVANT: u32 = 61_235;

/// Every address of the rest of the world.
const FAR: &[&str] = &[
    "203.0.113.10/24",
    "203.0.113.11/24",
    "203.0.113.12/24",
    "203.0.113.13/24",
    "203.0.113.14/24",
    "203.0.113.15/24",
    "203.0.113.53/24",
    "203.0.113.54/24",
    "203.0.113.254/24",
    "10.77.0.10/32",
    "100.64.0.10/32",
    "169.254.169.254/32",
    "2001:db8::10/64",
    "2001:db8::11/64",
    "2001:db8::12/64",
    "2001:db8::13/64",
    "2001:db8::53/64",
    "2001:db8::254/64",
    "fd77::10/128",
];

type Act = Box<dyn FnOnce() + Send>;

/// The rest of the world: a thread there that does what it is told.
pub(super) struct Far {
    acts: Option<Sender<Act>>,
    thread: Option<JoinHandle<()>>,
}

impl Far {
    /// Does something over there.
    pub(super) fn run<T: Send + 'static>(&self, act: impl FnOnce() -> T + Send + 'static) -> T {
        let (send, receive) = mpsc::channel();
        let act: Act = Box::new(move || {
            let _ = send.send(act());
        });
        self.acts.as_ref().expect("alive").send(act).expect("the far thread");
        receive.recv().expect("an act over there failed")
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Programs started over there end with the thread.
        drop(self.acts.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Leaves the host and wires the calling thread's new network to the rest of the world.
pub(super) fn settle(files: &Path) -> io::Result<Far> {
    let (acts, orders) = mpsc::channel::<Act>();
    let thread = thread::Builder::new().name("far".into()).spawn(move || {
        for act in orders {
            act();
        }
    })?;
    let far = Far { acts: Some(acts), thread: Some(thread) };
    let place = far.run(|| sys::leave_the_host().and_then(|()| File::open("/proc/thread-self/ns/net")))?;
    sys::leave_the_host()?;
    let there = format!("/proc/{}/fd/{}", std::process::id(), place.as_raw_fd());
    ip(&format!(
        "link set lo up\n\
         link add near type veth peer name far netns {there}\n\
         address add {OWN}/24 dev near\n\
         address add 2001:db8::1/64 dev near nodad\n\
         link set near up\n"
    ))?;
    let addresses: String = FAR
        .iter()
        .map(|address| {
            let quick = if address.contains(':') { " nodad" } else { "" };
            format!("address add {address} dev far{quick}\n")
        })
        .collect();
    far.run(move || ip(&format!("link set lo up\n{addresses}link set far up\n")))?;
    ip("route add default via 203.0.113.254\nroute add ::/0 via 2001:db8::254\n")?;
    far.run(|| ip(&format!("route add default via {OWN}\nroute add ::/0 via 2001:db8::1\n")))?;
    furnish_near(files)?;
    let files = files.to_path_buf();
    far.run(move || furnish_far(&files))?;
    Ok(far)
}

fn ip(lines: &str) -> io::Result<()> {
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child.stdin.take().expect("piped").write_all(lines.as_bytes())?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// Our side resolves over there, and knows its callers by name.
fn furnish_near(files: &Path) -> io::Result<()> {
    let (user, group) = Caller::User.ids();
    let own = fs::read_to_string("/etc/passwd")?;
    let name = fs::read_to_string("/proc/sys/kernel/hostname")?;
    for (place, content) in [
        ("/etc/resolv.conf", format!("nameserver {RESOLVER}\n")),
        ("/etc/hosts", format!("127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {name}")),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
        ("/etc/passwd", format!("{own}tester:x:{user}:{group}::/nonexistent:/bin/sh\n")),
    ] {
        cover(files, "near", place, &content)?;
    }
    // Distributions and administrators put files here, owned by root.
    let dropped = Path::new("/etc/ssh/ssh_config.d");
    if dropped.is_dir() {
        sys::empty(dropped)?;
        fs::write(dropped.join("50-site.conf"), "Host *\n    SendEnv LANG\n")?;
    }
    Ok(())
}

/// The other side has an account to serve under.
fn furnish_far(files: &Path) -> io::Result<()> {
    let own = fs::read_to_string("/etc/passwd")?;
    let line = format!("servant:x:{SERVANT}:{SERVANT}::/nonexistent:/bin/sh\n");
    cover(files, "far", "/etc/passwd", &format!("{own}{line}"))?;
    // Servers keep their locks below /run; the host's own stay apart.
    sys::empty(Path::new("/run"))?;
    fs::create_dir("/run/sshd")
}

fn cover(files: &Path, side: &str, place: &str, content: &str) -> io::Result<()> {
    let copy: PathBuf = files.join(format!("{side}{}", place.replace('/', "-")));
    fs::write(&copy, content)?;
    sys::cover(&copy, Path::new(place))
}
