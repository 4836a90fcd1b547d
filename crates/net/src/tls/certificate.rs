//! Reading what has to be known about the certificate of an authority, straight from its DER.
//!
//! Only what signing in its name needs: subject, key identifier, time, and whether it may sign at all.
//! Whether a signature made with it is good is then tried out, not deduced.

use super::cursor::Cursor;
use rcgen::{DistinguishedName, DnType, DnValue};

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0c;
const PRINTABLE: u8 = 0x13;
const IA5: u8 = 0x16;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

const KEY_IDENTIFIER: &[u8] = &[0x55, 0x1d, 0x0e];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

/// What an authority's certificate says.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) subject: DistinguishedName,
    /// Seconds since 1970.
    pub(super) not_before: u64,
    /// Seconds since 1970.
    pub(super) not_after: u64,
    /// The public key as the certificate has it.
    pub(super) public_key: Vec<u8>,
    pub(super) key_identifier: Option<Vec<u8>>,
    pub(super) role: Role,
}

/// Whether a certificate may sign others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Authority,
    Leaf,
}

/// Reads a certificate; the error says what is in the way.
pub(super) fn facts(der: &[u8]) -> Result<Facts, &'static str> {
    let broken = "it is not an X.509 certificate";
    let mut signed = element(&mut Cursor::new(der), SEQUENCE).ok_or(broken)?;
    let mut inner = element(&mut signed, SEQUENCE).ok_or(broken)?;
    element(&mut inner, VERSION).ok_or("it is older than version 3")?;
    element(&mut inner, INTEGER).ok_or(broken)?;
    element(&mut inner, SEQUENCE).ok_or(broken)?;
    element(&mut inner, SEQUENCE).ok_or(broken)?;
    let mut validity = element(&mut inner, SEQUENCE).ok_or(broken)?;
    let not_before = time(&mut validity).ok_or(broken)?;
    let not_after = time(&mut validity).ok_or(broken)?;
    let subject = element(&mut inner, SEQUENCE).ok_or(broken)?;
    let subject = name(subject).ok_or("its subject is not a plain list of different text attributes")?;
    let mut key = element(&mut inner, SEQUENCE).ok_or(broken)?;
    element(&mut key, SEQUENCE).ok_or(broken)?;
    let public_key = element(&mut key, BIT_STRING).ok_or(broken)?.rest().get(1..).ok_or(broken)?.to_vec();
    let mut found =
        Facts { subject, not_before, not_after, public_key, key_identifier: None, role: Role::Leaf };
    if let Some(mut outer) = element(&mut inner, EXTENSIONS) {
        let mut list = element(&mut outer, SEQUENCE).ok_or(broken)?;
        while !list.is_empty() {
            extension(&mut list, &mut found).ok_or(broken)?;
        }
    }
    Ok(found)
}

fn extension(list: &mut Cursor<'_>, found: &mut Facts) -> Option<()> {
    let mut one = element(list, SEQUENCE)?;
    let kind = element(&mut one, OBJECT)?;
    element(&mut one, BOOLEAN);
    let mut content = element(&mut one, OCTET_STRING)?;
    match kind.rest() {
        KEY_IDENTIFIER => found.key_identifier = Some(element(&mut content, OCTET_STRING)?.rest().to_vec()),
        BASIC_CONSTRAINTS => {
            let mut constraints = element(&mut content, SEQUENCE)?;
            let authority = element(&mut constraints, BOOLEAN);
            if authority.is_some_and(|value| value.rest() == [0xff]) {
                found.role = Role::Authority;
            }
        }
        _ => {}
    }
    Some(())
}

/// The content of the next element if it is of this kind; nothing is read if it is not.
fn element<'a>(from: &mut Cursor<'a>, tag: u8) -> Option<Cursor<'a>> {
    let mut ahead = *from;
    if ahead.byte()? != tag {
        return None;
    }
    let length = match ahead.byte()? {
        short @ 0..=0x7f => usize::from(short),
        long @ 0x81..=0x84 => ahead.number(usize::from(long - 0x80))?,
        _ => return None,
    };
    let content = ahead.take(length)?;
    *from = ahead;
    Some(Cursor::new(content))
}

/// A name in a form that is written out again byte for byte.
fn name(mut list: Cursor<'_>) -> Option<DistinguishedName> {
    let mut found = DistinguishedName::new();
    while !list.is_empty() {
        let mut set = element(&mut list, SET)?;
        let mut pair = element(&mut set, SEQUENCE)?;
        let kind = DnType::CustomDnType(object(element(&mut pair, OBJECT)?)?);
        let text = |content: Cursor<'_>| String::from_utf8(content.rest().to_vec()).ok();
        let value = if let Some(content) = element(&mut pair, UTF8) {
            DnValue::Utf8String(text(content)?)
        } else if let Some(content) = element(&mut pair, PRINTABLE) {
            DnValue::PrintableString(text(content)?.try_into().ok()?)
        } else {
            DnValue::Ia5String(text(element(&mut pair, IA5)?)?.try_into().ok()?)
        };
        // Two attributes of one kind would become one when written.
        if !set.is_empty() || found.get(&kind).is_some() {
            return None;
        }
        found.push(kind, value);
    }
    Some(found)
}

fn object(mut content: Cursor<'_>) -> Option<Vec<u64>> {
    let mut arcs = Vec::new();
    while !content.is_empty() {
        let mut arc: u64 = 0;
        loop {
            let byte = content.byte()?;
            arc = arc.checked_mul(128)? + u64::from(byte & 0x7f);
            if byte < 0x80 {
                break;
            }
        }
        if arcs.is_empty() {
            let first = (arc / 40).min(2);
            arcs.extend([first, arc - 40 * first]);
        } else {
            arcs.push(arc);
        }
    }
    Some(arcs)
}

fn time(from: &mut Cursor<'_>) -> Option<u64> {
    let two = |digits: &mut Cursor<'_>| {
        let pair = digits.take(2)?;
        let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        Some(digit(pair[0])? * 10 + digit(pair[1])?)
    };
    let (mut digits, year) = match element(from, UTC_TIME) {
        Some(mut digits) => {
            let year = two(&mut digits)?;
            (digits, if year < 50 { 2000 + year } else { 1900 + year })
        }
        None => {
            let mut digits = element(from, GENERALIZED_TIME)?;
            let year = two(&mut digits)? * 100 + two(&mut digits)?;
            (digits, year)
        }
    };
    let (month, day) = (two(&mut digits)?, two(&mut digits)?);
    let (hour, minute, second) = (two(&mut digits)?, two(&mut digits)?, two(&mut digits)?);
    if digits.rest() != b"Z" || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Before 1970 is as good as 1970: long ago.
    let days = days_since_1970(year, month, day).unwrap_or(0);
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Counted in years that begin in March, so that the odd day comes last.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted() {
        assert_eq!(days_since_1970(1970, 1, 1), Some(0));
        assert_eq!(days_since_1970(2000, 2, 29), Some(11_016));
        assert_eq!(days_since_1970(2026, 11, 16), Some(20_773));
        assert_eq!(days_since_1970(1969, 12, 31), None);
    }

    #[test]
    fn both_kinds_of_time_are_read() {
        let utc = b"\x17\x0d261116000000Z";
        let generalized = b"\x18\x0f20261116000000Z";
        assert_eq!(time(&mut Cursor::new(utc)), Some(20_773 * 86_400));
        assert_eq!(time(&mut Cursor::new(generalized)), Some(20_773 * 86_400));
        assert_eq!(time(&mut Cursor::new(b"\x17\x0d261316000000Z")), None);
    }

    #[test]
    fn objects_are_split_into_their_arcs() {
        let arcs = |bytes: &[u8]| object(Cursor::new(bytes));
        assert_eq!(arcs(&[0x55, 0x04, 0x03]), Some(vec![2, 5, 4, 3]));
        assert_eq!(arcs(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d]), Some(vec![1, 2, 840, 113_549]));
        assert_eq!(arcs(&[0x88, 0x37]), Some(vec![2, 999]));
    }

    #[test]
    fn no_prefix_of_a_certificate_is_one() {
        let key = rcgen::KeyPair::generate().unwrap();
        let made = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        assert!(facts(made.der()).is_ok());
        for end in 0..made.der().len() {
            assert!(facts(&made.der()[..end]).is_err(), "{end}");
        }
    }
}
