//! The kernel's packet filter, told to lead every connection of this network to one port.

use super::netlink::{self, Messages};
use rustix::io::Errno;
use rustix::net::netlink::NETFILTER;

const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const CREATE: u16 = libc::NLM_F_CREATE as u16;
const ACKNOWLEDGE: u16 = libc::NLM_F_ACK as u16;
const TABLES: u16 = libc::NFNL_SUBSYS_NFTABLES as u16;

/// The only register needed.
const REGISTER: u32 = 1;
const TABLE: &[u8] = b"stockade\0";
const CHAIN: &[u8] = b"out\0";

/// Numbers of the kernel's `nf_tables.h`, each within its own group.
mod number {
    pub(super) const TABLE_NAME: u16 = 1;
    pub(super) const CHAIN_TABLE: u16 = 1;
    pub(super) const CHAIN_NAME: u16 = 3;
    pub(super) const CHAIN_HOOK: u16 = 4;
    pub(super) const CHAIN_TYPE: u16 = 7;
    pub(super) const HOOK_NUMBER: u16 = 1;
    pub(super) const HOOK_PRIORITY: u16 = 2;
    pub(super) const RULE_TABLE: u16 = 1;
    pub(super) const RULE_CHAIN: u16 = 2;
    pub(super) const RULE_EXPRESSIONS: u16 = 4;
    pub(super) const LIST_ELEMENT: u16 = 1;
    pub(super) const EXPRESSION_NAME: u16 = 1;
    pub(super) const EXPRESSION_DATA: u16 = 2;
    pub(super) const META_REGISTER: u16 = 1;
    pub(super) const META_KEY: u16 = 2;
    pub(super) const COMPARE_REGISTER: u16 = 1;
    pub(super) const COMPARE_HOW: u16 = 2;
    pub(super) const COMPARE_WITH: u16 = 3;
    pub(super) const PAYLOAD_REGISTER: u16 = 1;
    pub(super) const PAYLOAD_BASE: u16 = 2;
    pub(super) const PAYLOAD_OFFSET: u16 = 3;
    pub(super) const PAYLOAD_LENGTH: u16 = 4;
    pub(super) const IMMEDIATE_REGISTER: u16 = 1;
    pub(super) const IMMEDIATE_DATA: u16 = 2;
    pub(super) const DATA_VALUE: u16 = 1;
    pub(super) const REDIRECT_PORT: u16 = 1;
}

/// Which internet protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    fn number(self) -> u8 {
        match self {
            Self::V4 => libc::NFPROTO_IPV4 as u8,
            Self::V6 => libc::NFPROTO_IPV6 as u8,
        }
    }

    /// Where the destination's telling bytes stand in the packet, and what they are for loopback: the first
    /// of 127.0.0.0/8, all of ::1.
    fn loopback(self) -> (u32, &'static [u8]) {
        match self {
            Self::V4 => (16, &[127]),
            Self::V6 => (24, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        }
    }
}

/// How two values are compared.
#[derive(Clone, Copy)]
enum Compare {
    Equal = 0,
    Different = 1,
}

/// Leads every TCP connection made in the current network namespace to `port` of its own loopback, except
/// those to loopback itself. All or nothing.
pub(super) fn redirect_connections(families: &[Family], port: u16) -> Result<(), Errno> {
    let mut batch = Messages::new();
    let [high, low] = TABLES.to_be_bytes();
    let edge = [0, 0, high, low];
    batch.message(BATCH_BEGIN, 0, &edge, |_| {});
    for family in families {
        redirect(&mut batch, *family, port);
    }
    batch.message(BATCH_END, 0, &edge, |_| {});
    batch.send(&netlink::open(Some(NETFILTER))?)
}

fn redirect(batch: &mut Messages, family: Family, port: u16) {
    const LOCAL_OUT: u32 = 3;
    const DESTINATION_TRANSLATION: i32 = -100;
    let header = [family.number(), 0, 0, 0];
    let kind = |message: i32| TABLES << 8 | message as u16;
    batch.message(kind(libc::NFT_MSG_NEWTABLE), CREATE, &header, |table| {
        table.attribute(number::TABLE_NAME, TABLE);
    });
    batch.message(kind(libc::NFT_MSG_NEWCHAIN), CREATE, &header, |chain| {
        chain.attribute(number::CHAIN_TABLE, TABLE);
        chain.attribute(number::CHAIN_NAME, CHAIN);
        chain.nest(number::CHAIN_HOOK, |hook| {
            hook.attribute(number::HOOK_NUMBER, &LOCAL_OUT.to_be_bytes());
            hook.attribute(number::HOOK_PRIORITY, &DESTINATION_TRANSLATION.to_be_bytes());
        });
        chain.attribute(number::CHAIN_TYPE, b"nat\0");
    });
    let (offset, loopback) = family.loopback();
    batch.message(kind(libc::NFT_MSG_NEWRULE), CREATE | ACKNOWLEDGE, &header, |rule| {
        rule.attribute(number::RULE_TABLE, TABLE);
        rule.attribute(number::RULE_CHAIN, CHAIN);
        rule.nest(number::RULE_EXPRESSIONS, |rule| {
            expression(rule, b"meta\0", |meta| {
                meta.attribute(number::META_REGISTER, &REGISTER.to_be_bytes());
                meta.attribute(number::META_KEY, &(libc::NFT_META_L4PROTO as u32).to_be_bytes());
            });
            compare(rule, Compare::Equal, &[libc::IPPROTO_TCP as u8]);
            expression(rule, b"payload\0", |payload| {
                const NETWORK_HEADER: u32 = 1;
                payload.attribute(number::PAYLOAD_REGISTER, &REGISTER.to_be_bytes());
                payload.attribute(number::PAYLOAD_BASE, &NETWORK_HEADER.to_be_bytes());
                payload.attribute(number::PAYLOAD_OFFSET, &offset.to_be_bytes());
                payload.attribute(number::PAYLOAD_LENGTH, &(loopback.len() as u32).to_be_bytes());
            });
            compare(rule, Compare::Different, loopback);
            expression(rule, b"immediate\0", |immediate| {
                immediate.attribute(number::IMMEDIATE_REGISTER, &REGISTER.to_be_bytes());
                immediate.nest(number::IMMEDIATE_DATA, |data| {
                    data.attribute(number::DATA_VALUE, &port.to_be_bytes());
                });
            });
            expression(rule, b"redir\0", |redirect| {
                redirect.attribute(number::REDIRECT_PORT, &REGISTER.to_be_bytes());
            });
        });
    });
}

fn expression(rule: &mut Messages, name: &[u8], body: impl FnOnce(&mut Messages)) {
    rule.nest(number::LIST_ELEMENT, |element| {
        element.attribute(number::EXPRESSION_NAME, name);
        element.nest(number::EXPRESSION_DATA, body);
    });
}

/// Goes on with the rule only if the register compares so.
fn compare(rule: &mut Messages, how: Compare, with: &[u8]) {
    expression(rule, b"cmp\0", |compare| {
        compare.attribute(number::COMPARE_REGISTER, &REGISTER.to_be_bytes());
        compare.attribute(number::COMPARE_HOW, &(how as u32).to_be_bytes());
        compare.nest(number::COMPARE_WITH, |data| data.attribute(number::DATA_VALUE, with));
    });
}
