//! Where allowed names may lead.

use super::{is_allowed, judge, plan, refusal, target};
use crate::gateway::{AddressOwner, Cause, GatewayPlan, NetJudge};
use crate::{Switch, ViolationKind};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn leads(judge: &NetJudge, to: &str, address: &str) -> bool {
    is_allowed(&judge.address(&target(to), address.parse().unwrap(), AddressOwner::Elsewhere))
}

#[test]
fn names_do_not_lead_home() {
    let open = judge(plan(&["a.test", "localhost"], &[]));
    for address in [
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "0.0.0.0",
        "::",
        "169.254.169.254",
        "169.254.7.7",
        "fe80::1",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::169.254.169.254",
        "2001:0:1:2::80ff:fffe",
        "198.18.0.5",
    ] {
        assert!(!leads(&open, "a.test:443", address), "{address}");
    }
    for address in ["93.184.216.34", "192.0.2.1", "10.0.0.1", "100.64.0.1", "fd00::1", "2606:2800:220:1::1"] {
        assert!(leads(&open, "a.test:443", address), "{address}");
    }
    let own =
        open.address(&target("a.test:443"), "93.184.216.34".parse().unwrap(), AddressOwner::ThisMachine);
    let told = refusal(own);
    assert_eq!(
        (told.kind, told.cause, told.askable),
        (ViolationKind::Connect, Cause::Address, Switch::Refused)
    );
    assert_eq!(told.reason, "the name leads to 93.184.216.34, which is this machine's own");
    assert_eq!(told.suggestion.as_deref(), Some("--allow-domain 93.184.216.34:443"));
    let metadata =
        open.address(&target("a.test:80"), "169.254.169.254".parse().unwrap(), AddressOwner::Elsewhere);
    assert_eq!(refusal(metadata).suggestion, None);
}

#[test]
fn a_listed_literal_permits_itself() {
    let listed = judge(plan(&["a.test", "127.0.0.1:5432", "10.0.0.1"], &[]));
    assert!(leads(&listed, "a.test:5432", "127.0.0.1"));
    assert!(leads(&listed, "a.test:5432", "::ffff:127.0.0.1"));
    assert!(!leads(&listed, "a.test:80", "127.0.0.1"));
    assert!(!leads(&listed, "a.test:5432", "64:ff9b::7f00:1"));
    let strict = GatewayPlan {
        private_addresses: Switch::Refused,
        denied_addresses: vec!["10.0.0.0/8".parse().unwrap()],
        ..plan(&["a.test", "10.0.0.1"], &[])
    };
    let strict = judge(strict);
    assert!(leads(&strict, "a.test:80", "10.0.0.1") && leads(&strict, "10.0.0.1:80", "10.0.0.1"));
    assert!(!leads(&strict, "a.test:80", "10.0.0.2"));
}

#[test]
fn private_networks_follow_the_switch() {
    let closed = judge(GatewayPlan { private_addresses: Switch::Refused, ..plan(&["a.test"], &[]) });
    for address in
        ["10.0.0.1", "192.168.0.1", "172.20.0.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "2002:a00:1::"]
    {
        assert!(!leads(&closed, "a.test:443", address), "{address}");
    }
    assert!(leads(&closed, "a.test:443", "93.184.216.34"));
    // What is allowed because it is public must be, whatever the switch says.
    let public = judge(GatewayPlan { public_hosts: Switch::Allowed, ..plan(&["listed.test"], &[]) });
    assert!(!leads(&public, "a.test:443", "10.0.0.1") && leads(&public, "listed.test:443", "10.0.0.1"));
    let own = public.address(
        &target("93.184.216.34:80"),
        "93.184.216.34".parse().unwrap(),
        AddressOwner::ThisMachine,
    );
    assert!(!is_allowed(&own));
}

#[test]
fn denied_addresses_are_denied_in_every_form() {
    let given = GatewayPlan {
        denied_addresses: vec!["203.0.113.0/24".parse().unwrap(), "2001:db8:bad::/48".parse().unwrap()],
        ..plan(&["a.test", "[64:ff9b::c633:6401]"], &["198.51.100.1", "192.0.2.9:22"])
    };
    let judge = judge(given);
    for (to, address, expected) in [
        ("a.test:443", "203.0.113.7", false),
        ("a.test:443", "::ffff:203.0.113.7", false),
        ("a.test:443", "64:ff9b::203.0.113.7", false),
        ("a.test:443", "2001:db8:bad::1", false),
        ("a.test:443", "2001:db8:600d::1", true),
        ("a.test:443", "198.51.100.1", false),
        ("a.test:443", "2002:c633:6401::", false),
        ("a.test:22", "192.0.2.9", false),
        ("a.test:443", "192.0.2.9", true),
        // A denied literal in other clothes stays denied, although that spelling is listed.
        ("[64:ff9b::c633:6401]:443", "64:ff9b::c633:6401", false),
    ] {
        assert_eq!(leads(&judge, to, address), expected, "{to} {address}");
    }
}

#[test]
fn localhost_is_loopback_only() {
    let listed = judge(plan(&["localhost", "*.test"], &[]));
    assert!(leads(&listed, "localhost:80", "127.0.0.1") && leads(&listed, "localhost:80", "::1"));
    assert!(!leads(&listed, "localhost:80", "93.184.216.34") && !leads(&listed, "localhost:80", "10.0.0.1"));
    let unlisted = judge(plan(&["a.test"], &[]));
    assert!(!leads(&unlisted, "localhost:80", "127.0.0.1"));
}

proptest! {
    /// What an address is refused for, its clothes are refused for, too.
    #[test]
    fn clothes_change_nothing(bits: u32, host: u64, private: bool) {
        let plain = Ipv4Addr::from(bits);
        let switch = if private { Switch::Allowed } else { Switch::Refused };
        let judge = judge(GatewayPlan { private_addresses: switch, ..plan(&["a.test"], &[]) });
        let to = target("a.test:443");
        let allowed = |address: IpAddr| is_allowed(&judge.address(&to, address, AddressOwner::Elsewhere));
        let [a, b] = [(bits >> 16) as u16, bits as u16];
        let low = [(host >> 48) as u16, (host >> 32) as u16, (host >> 16) as u16, host as u16];
        for clothed in [
            plain.to_ipv6_mapped(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
            Ipv6Addr::new(0x64, 0xff9b, 1, low[0], low[1], low[2], a, b),
            Ipv6Addr::new(0x2002, a, b, low[3], low[0], low[1], low[2], low[3]),
            Ipv6Addr::new(0x2001, 0, 0x5db8, 0xd822, low[0], low[1], !a, !b),
            Ipv6Addr::new(0x2001, 0, a, b, low[0], low[1], 0xa247, 0x27dd),
            Ipv6Addr::new(0x2606, low[0], low[1], low[2], 0x200, 0x5efe, a, b),
        ] {
            prop_assert_eq!(allowed(clothed.into()), allowed(plain.into()), "{} {}", clothed, plain);
        }
    }

    /// The standard library's own words about addresses.
    #[test]
    fn the_usual_words_hold(bits: u32, high: u128) {
        let judge = judge(GatewayPlan { private_addresses: Switch::Refused, ..plan(&["a.test"], &[]) });
        let to = target("a.test:443");
        let v4 = Ipv4Addr::from(bits);
        let v6 = Ipv6Addr::from(high);
        let never_v4 = v4.is_loopback() || v4.is_unspecified() || v4.is_link_local() || v4.is_multicast()
            || v4.is_broadcast() || v4.is_private();
        let never_v6 = v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() || v6.is_unique_local()
            || v6.is_unicast_link_local();
        for (address, never) in [(IpAddr::V4(v4), never_v4), (IpAddr::V6(v6), never_v6)] {
            let allowed = is_allowed(&judge.address(&to, address, AddressOwner::Elsewhere));
            prop_assert!(!(never && allowed), "{}", address);
            let own = is_allowed(&judge.address(&to, address, AddressOwner::ThisMachine));
            prop_assert!(!own, "{}", address);
        }
    }
}
