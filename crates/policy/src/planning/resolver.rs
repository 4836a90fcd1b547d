//! Cutting off what answers names past the gateway's own resolver.

use super::mounts::Layout;
use crate::{Files, MaskLook, Mount, MountKind};
use std::net::{IpAddr, Ipv4Addr};
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
const HOSTS: &str = "/etc/hosts";
const OWN_NAME: &str = "/etc/hostname";
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
    lay_hosts(layout, files);
}

/// The host's table of names would answer before the resolver is asked, and nobody would know which name a connection
/// is for. The gateway looks there itself, for names that are allowed.
fn lay_hosts(layout: &mut Layout, files: &dyn Files) {
    let Ok(path) = files.resolve(Path::new(HOSTS)) else { return };
    let Ok(table) = files.read(&path) else { return };
    let own = files.read(Path::new(OWN_NAME)).unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let local = local_names(&table, String::from_utf8_lossy(&own).trim());
    if local.len() != table.lines().count() && layout.shows(&path) {
        let kind = MountKind::Content { data: (local.join("\n") + "\n").into(), mode: 0o444 };
        layout.cover(Mount { path, kind, rule: None });
    }
}

/// The lines about this machine itself, and those about nobody.
fn local_names<'t>(table: &'t str, own: &str) -> Vec<&'t str> {
    let is_local = |line: &&str| {
        let entry = line.split('#').next().unwrap_or_default();
        let mut words = entry.split_ascii_whitespace();
        match words.next().map(str::parse::<IpAddr>) {
            None => true,
            Some(Ok(address)) if address.is_loopback() || address.is_unspecified() => true,
            Some(Ok(address)) if address.is_multicast() => true,
            Some(_) => !own.is_empty() && words.any(|name| name == own),
        }
    };
    table.lines().filter(is_local).collect()
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

#[cfg(test)]
mod tests {
    use super::local_names;

    #[test]
    fn other_machines_are_left_to_the_resolver() {
        let table = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n\n# others\nff02::1 ip6-allnodes\n\
                     0.0.0.0 tracker.test\n10.0.0.7 db.test db # ours\n172.17.0.2 me\nnonsense x\n";
        let expected = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n\n# others\nff02::1 ip6-allnodes\n\
                        0.0.0.0 tracker.test\n172.17.0.2 me";
        assert_eq!(local_names(table, "me").join("\n"), expected);
    }
}
