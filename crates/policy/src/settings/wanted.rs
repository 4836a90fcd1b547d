//! What to write in the place of a value that does not fit.

/// The hint to a parser's message about a value.
pub(super) fn hint(message: &str) -> String {
    if let Some(name) = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
        return format!("add {name}");
    }
    let wanted = message.rsplit_once("expected ").map_or("", |(_, wanted)| wanted);
    match wanted {
        "a boolean" => "write true or false",
        "a string" | "string or map" => "write text in quotes",
        "a sequence" => "write a list in square brackets",
        "a map" | "an object" => "write an object in curly brackets",
        "u8" => "write a whole number from 0 to 255",
        "u16" => "write a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "write a whole number, 0 or more",
        _ => "`stockade schema` prints what is understood",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn the_hint_says_what_to_write() {
        for (message, expected) in [
            ("invalid type: string \"yes\", expected a boolean", "write true or false"),
            ("invalid value: integer `70000`, expected u16", "write a whole number from 0 to 65535"),
            ("missing field `pattern`", "add pattern"),
            ("something else", "`stockade schema` prints what is understood"),
        ] {
            assert_eq!(hint(message), expected, "{message}");
        }
    }
}
