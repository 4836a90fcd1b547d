//! Addresses of repositories.

/// Transports that git brings along. Any other scheme is the name of a program.
const SCHEMES: [&[u8]; 7] = [b"https", b"http", b"ssh", b"git", b"file", b"git+ssh", b"ssh+git"];

/// Whether an address leads to a repository and to no program. Remotes' names pass, too: git takes a name it
/// does not know for an address.
pub(super) fn check_url(url: &[u8]) -> Result<(), String> {
    let refuse = |reason: &str| Err(reason.to_owned());
    if url.is_empty() {
        return refuse("the address is empty");
    }
    if url.iter().any(u8::is_ascii_control) || url.starts_with(b" ") || url.ends_with(b" ") {
        return refuse("the address holds a control character, or white space at an end");
    }
    if url.starts_with(b"-") || contains(url, b"--upload-pack") || contains(url, b"--receive-pack") {
        return refuse("the address would be taken for an option");
    }
    // Git looks for `helper::` only at the beginning; brackets are IPv6 addresses, slashes make a path.
    if let Some((before, _)) = cut(url, b"::")
        && !before.iter().any(|byte| matches!(byte, b'/' | b'['))
    {
        return refuse("the address names a helper, which git would run");
    }
    if let Some((scheme, rest)) = cut(url, b"://")
        && !scheme.contains(&b'/')
    {
        if !SCHEMES.contains(&scheme) {
            return refuse("only https, http, ssh, git and file addresses are allowed: others run helpers");
        }
        if hides_control(rest) {
            return refuse("the address hides a control character");
        }
        let host = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
        return check_host(host);
    }
    let first = url.split(|byte| *byte == b'/').next().unwrap_or_default();
    if first.contains(&b':') {
        if contains(url, b":-") {
            return refuse("the path behind the host would be taken for an option");
        }
        return check_host(first);
    }
    Ok(())
}

/// ssh gets the host as an argument, with brackets taken off and %-signs resolved.
fn check_host(host: &[u8]) -> Result<(), String> {
    let option = |part: &[u8]| {
        let part = part.strip_prefix(b"[").unwrap_or(part);
        part.starts_with(b"-") || part.get(..3).is_some_and(|part| part.eq_ignore_ascii_case(b"%2d"))
    };
    if host.split(|byte| *byte == b'@').any(option) {
        return Err("the host would be taken for an option".to_owned());
    }
    Ok(())
}

/// %00 to %1f and %7f: a line end would become part of what git asks password helpers.
fn hides_control(text: &[u8]) -> bool {
    text.windows(3).any(|part| {
        part[0] == b'%' && (matches!(part[1], b'0' | b'1') || part[1..].eq_ignore_ascii_case(b"7f"))
    })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    cut(text, part).is_some()
}

fn cut<'a>(text: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let start = text.windows(at.len()).position(|window| window == at)?;
    Some((&text[..start], &text[start + at.len()..]))
}
