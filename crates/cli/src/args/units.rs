//! Sizes, times and pairs as people write them.

/// `4096`, `64k`, `10m`, `2g`: powers of 1024.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size: write bytes, or a number with k, m or g");
    let lower = text.to_ascii_lowercase();
    let (number, shift) = match lower.as_bytes().last() {
        Some(b'k') => (&lower[..lower.len() - 1], 10),
        Some(b'm') => (&lower[..lower.len() - 1], 20),
        Some(b'g') => (&lower[..lower.len() - 1], 30),
        _ => (lower.as_str(), 0),
    };
    // `parse` would take a sign.
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("`{text}` is too large"))
}

/// Seconds, with fractions, as milliseconds.
pub(super) fn milliseconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time: write seconds, such as 2 or 0.5");
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(wrong());
    }
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    let milliseconds = (seconds * 1000.0).round();
    if milliseconds < 1.0 {
        return Err(format!("`{text}` is no time at all"));
    }
    // Past 2^53 a float no longer counts in ones; nobody waits 285 000 years.
    if milliseconds > 9e15 {
        return Err(format!("`{text}` is too long"));
    }
    Ok(milliseconds as u64)
}

/// Milliseconds as seconds: `2`, `0.5`, `1.25`.
pub(crate) fn format_seconds(milliseconds: u64) -> String {
    let whole = milliseconds / 1000;
    let rest = format!("{:03}", milliseconds % 1000);
    match rest.trim_end_matches('0') {
        "" => whole.to_string(),
        rest => format!("{whole}.{rest}"),
    }
}

/// `NAME=VALUE`.
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("`{text}` is not NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("10M"), Ok(10 << 20));
        assert_eq!(size("2g"), Ok(2 << 30));
        for wrong in ["", "k", "-1", "+1", "1.5m", "1kb", "ten", " 1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(size("18446744073709551615k"), Err("`18446744073709551615k` is too large".into()));
    }

    #[test]
    fn times() {
        assert_eq!(milliseconds("2"), Ok(2000));
        assert_eq!(milliseconds("0.5"), Ok(500));
        assert_eq!(milliseconds("3600"), Ok(3_600_000));
        for wrong in ["", "0", "0.0001", "-1", "inf", "nan", "1e9", "2s", "99999999999999999"] {
            assert!(milliseconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_shown_as_they_were_written() {
        for (shown, milliseconds) in [("2", 2000), ("0.5", 500), ("1.25", 1250), ("0.001", 1)] {
            assert_eq!(format_seconds(milliseconds), shown);
        }
    }

    #[test]
    fn variables() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(variable("A="), Ok(("A".into(), String::new())));
        assert!(variable("A").is_err());
        assert!(variable("=b").is_err());
    }
}
