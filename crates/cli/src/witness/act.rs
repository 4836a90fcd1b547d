//! What is tried: a forbidden act, and a harmless one of the same kind that must work.

use super::sys;
use crate::sys::duplicate;
use rustix::net::{AddressFamily, Protocol, SocketType, netlink, socket};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use stockade::WallLayer;

/// A variable that must not cross the wall.
pub(crate) const SECRET: &str = "STOCKADE_WITNESS_SECRET";

/// What the witness finds on its standard input.
pub(crate) const INPUT: &str = "witness input\n";

/// What is there for the witness to try.
pub(crate) struct Scene {
    /// A directory beside the workspace, readable: `open`, `masked`, `socket`.
    pub(crate) outside: PathBuf,
    /// A port on the host's loopback that somebody listens on.
    pub(crate) port: u16,
    /// A descriptor the launcher holds and did not name.
    pub(crate) descriptor: i32,
    /// The file `open`, handed in for reading.
    pub(crate) named: i32,
}

macro_rules! acts {
    ($($variant:ident $name:literal $layer:ident $what:literal;)+) => {
        /// One thing to try.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Act { $($variant),+ }

        impl Act {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The wall that has to hold.
            pub(crate) fn layer(self) -> WallLayer {
                match self { $(Self::$variant => WallLayer::$layer),+ }
            }

            /// The act in words.
            pub(crate) fn what(self) -> &'static str {
                match self { $(Self::$variant => $what),+ }
            }
        }
    };
}

acts! {
    ReadMasked "read-masked" MountNamespace "read a masked file";
    WriteOutside "write-outside" MountNamespace "write a file outside the workspace";
    CreateInRoot "create-in-root" MountNamespace "create a file in /";
    WriteProcSys "write-proc-sys" MountNamespace "open /proc/sys for writing";
    TraceInit "trace-init" PidNamespace "trace process 1";
    Network "network" NetworkNamespace "reach the host's loopback or any network";
    // The private /dev is writable as far as its mount goes: only the second wall refuses.
    CreateInDev "create-in-dev" Landlock "create a file in the private /dev";
    CreateProtected "create-protected" Broker "make a protected name that does not exist";
    UnixSocket "unix-socket" Broker "connect to a unix socket of the host";
    IoUring "io-uring" Seccomp "set up io_uring";
    UserNamespace "user-namespace" Seccomp "make a user namespace";
    Keyring "keyring" Seccomp "use the kernel's keyrings";
    Bpf "bpf" Seccomp "load bpf";
    Vsock "vsock" Seccomp "open a vsock socket";
    Packet "packet" Seccomp "open a packet socket";
    Netlink "netlink" Seccomp "open a netlink socket other than route";
    ReopenNamed "reopen-named" Launcher "write to a file handed in for reading";
    ReopenInput "reopen-input" Launcher "open standard input for writing";
    Descriptor "descriptor" Launcher "use a descriptor of the launcher's";
    Variable "variable" Launcher "read a secret variable of the caller's";
}

impl Act {
    /// Must succeed.
    pub(super) fn control(self, scene: &Scene) -> io::Result<()> {
        match self {
            Self::ReadMasked => fs::read(scene.outside.join("open")).map(drop),
            Self::WriteOutside => fs::write("witness-file", "x"),
            Self::CreateInRoot => fs::create_dir("witness-directory"),
            Self::WriteProcSys => fs::read("/proc/self/status").map(drop),
            Self::TraceInit => Ok(rustix::process::test_kill_process(rustix::process::getpid())?),
            Self::Network => own_loopback(),
            Self::CreateInDev => File::create_new("/dev/shm/stockade-witness").map(drop),
            Self::CreateProtected => fs::create_dir("witness-unprotected"),
            Self::ReopenNamed => File::open(by_number(scene.named)).map(drop),
            Self::ReopenInput => read_input(),
            Self::UnixSocket => own_socket(),
            Self::IoUring => {
                Ok(rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).map(drop)?)
            }
            Self::UserNamespace => in_a_thread(),
            Self::Keyring | Self::Bpf => {
                Ok(rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).map(drop)?)
            }
            Self::Vsock => open(AddressFamily::INET, SocketType::STREAM, None),
            Self::Packet => open(AddressFamily::INET, SocketType::DGRAM, None),
            // Protocol 0 is route.
            Self::Netlink => open(AddressFamily::NETLINK, SocketType::RAW, None),
            Self::Descriptor => duplicate(1).map(drop),
            Self::Variable => variable("PATH"),
        }
    }

    /// Must fail.
    pub(super) fn forbidden(self, scene: &Scene) -> io::Result<()> {
        match self {
            Self::ReadMasked => fs::read(scene.outside.join("masked")).map(drop),
            Self::WriteOutside => OpenOptions::new().append(true).open(scene.outside.join("open")).map(drop),
            Self::CreateInRoot => create_in_root(),
            // Opened, never written: were the wall missing, this must do no harm.
            Self::WriteProcSys => {
                OpenOptions::new().write(true).open("/proc/sys/kernel/core_pattern").map(drop)
            }
            Self::TraceInit => sys::trace(1),
            Self::Network => beyond(scene.port),
            Self::CreateInDev => File::create_new("/dev/stockade-witness").map(drop),
            Self::CreateProtected => fs::create_dir(".vscode"),
            Self::ReopenNamed => reopen(scene.named),
            Self::ReopenInput => reopen(0),
            Self::UnixSocket => UnixStream::connect(scene.outside.join("socket")).map(drop),
            Self::IoUring => sys::io_uring(),
            Self::UserNamespace => sys::new_user_namespace(),
            Self::Keyring => sys::session_keyring(),
            Self::Bpf => sys::bpf(),
            Self::Vsock => open(AddressFamily::VSOCK, SocketType::STREAM, None),
            Self::Packet => open(AddressFamily::PACKET, SocketType::RAW, None),
            Self::Netlink => open(AddressFamily::NETLINK, SocketType::RAW, Some(netlink::KOBJECT_UEVENT)),
            Self::Descriptor => duplicate(scene.descriptor).map(drop),
            Self::Variable => variable(SECRET),
        }
    }
}

fn open(family: AddressFamily, kind: SocketType, protocol: Option<Protocol>) -> io::Result<()> {
    Ok(socket(family, kind, protocol).map(drop)?)
}

fn variable(name: &str) -> io::Result<()> {
    std::env::var_os(name).map(drop).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not there"))
}

fn in_a_thread() -> io::Result<()> {
    let thread = std::thread::Builder::new().spawn(|| {})?;
    thread.join().map_err(|_| io::Error::other("the thread ended badly"))
}

fn create_in_root() -> io::Result<()> {
    let path = "/stockade-witness";
    File::create_new(path)?;
    // The wall did not hold: at least leave nothing behind.
    fs::remove_file(path)
}

fn read_input() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    if text == INPUT { Ok(()) } else { Err(io::Error::other(format!("read {text:?}"))) }
}

fn by_number(descriptor: i32) -> String {
    format!("/proc/self/fd/{descriptor}")
}

fn reopen(descriptor: i32) -> io::Result<()> {
    let again = OpenOptions::new().write(true).open(by_number(descriptor))?;
    if again.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("a pipe, not the file"));
    }
    Ok(())
}

fn own_socket() -> io::Result<()> {
    let place = Path::new("/dev/shm/stockade-witness-socket");
    let _listener = UnixListener::bind(place)?;
    UnixStream::connect(place).map(drop)
}

fn own_loopback() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    TcpStream::connect(listener.local_addr()?).map(drop)
}

fn beyond(port: u16) -> io::Result<()> {
    let host = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpStream::connect_timeout(&host, Duration::from_secs(1)) {
        Ok(_) => Ok(()),
        // Connecting a datagram socket sends nothing; it only asks whether there is a way. The address
        // is set aside for documentation.
        Err(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.connect("192.0.2.1:9"),
    }
}
