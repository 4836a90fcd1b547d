//! Cutting off what answers names past the gateway's own resolver.

use super::mounts::Layout;
use crate::{Files, MaskLook, Mount, MountKind};
use std::net::Ipv4Addr;
use std::path::Path;

/// Services that look up names for whoever reaches their socket: the C library asks them before it reads
/// /etc/resolv.conf. Single sockets where the directory also holds what /etc/resolv.conf may be a link to.
const ANSWERERS: [&str; 5] = [
    "/run/nscd",
    "/var/run/nscd",
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/systemd/resolve/io.systemd.Resolve.Monitor",
    "/run/avahi-daemon/socket",
];
const CONFIGURATION: &str = "/etc/resolv.conf";
/// Any address would do: all of them lead to the gateway's resolver.
const OURS: &str = "nameserver 127.0.0.1\n";

/// Hides services that answer names, and gives programs a resolver they can find.
pub(super) fn lay(layout: &mut Layout, files: &dyn Files) {
    for answerer in ANSWERERS {
        let Ok(path) = files.resolve(Path::new(answerer)) else { continue };
        let Ok(identity) = files.look(&path) else { continue };
        if layout.shows(&path) {
            let kind = MountKind::Mask { identity, look: MaskLook::Unreadable };
            layout.cover(Mount { path, kind, rule: None });
        }
    }
    lay_configuration(layout, files);
}

/// A configuration without a server that can be reached inside is replaced.
///
/// Only one that is there: nothing can be laid over a name that does not exist, and programs that find none
/// (or a link that leads nowhere inside) ask 127.0.0.1, which is answered like every other address.
fn lay_configuration(layout: &mut Layout, files: &dyn Files) {
    let Ok(path) = files.resolve(Path::new(CONFIGURATION)) else { return };
    let usable = files.read(&path).is_ok_and(|text| names_a_server(&String::from_utf8_lossy(&text)));
    if !usable && layout.shows(&path) {
        let kind = MountKind::Content { data: OURS.into(), mode: 0o444 };
        layout.cover(Mount { path, kind, rule: None });
    }
}

/// IPv6 servers do not count: link-local ones name an interface that is not there inside, and a kernel may be
/// without the whole family.
fn names_a_server(configuration: &str) -> bool {
    configuration.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        words.next() == Some("nameserver")
            && words.next().is_some_and(|address| address.parse::<Ipv4Addr>().is_ok())
    })
}
