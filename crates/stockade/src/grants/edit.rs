//! Changing one entry of a settings file and nothing else in it.

use super::grant::List;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};

/// What a new settings file begins with.
pub(super) const EMPTY: &str = "{}\n";

/// Letters that mean something in a path entry.
const MEANINGFUL: [char; 6] = ['*', '?', '[', '{', '\\', '$'];

/// What became of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// The new text.
    Changed(String),
    /// It said so already.
    Same,
}

/// Adds a path to a list. The error says what is wrong with the text.
pub(super) fn add(text: &str, list: List, path: &str) -> Result<Edited, String> {
    let (mark, root) = parse(text)?;
    let (section, key) = list.key();
    let object = root.object_value().ok_or_else(|| "the settings are not an object".to_owned())?;
    let section_object =
        object.object_value_or_create(section).ok_or_else(|| format!("{section} is not an object"))?;
    let entries =
        section_object.array_value_or_create(key).ok_or_else(|| format!("{section}.{key} is not a list"))?;
    if find(&entries, list, path).is_some() {
        return Ok(Edited::Same);
    }
    entries.append(entry(list, path));
    Ok(Edited::Changed(format!("{mark}{root}")))
}

/// Takes a path out of a list.
pub(super) fn remove(text: &str, list: List, path: &str) -> Result<Edited, String> {
    let (mark, root) = parse(text)?;
    let (section, key) = list.key();
    let found = root
        .object_value()
        .and_then(|object| object.object_value(section))
        .and_then(|object: CstObject| object.array_value(key))
        .and_then(|entries| find(&entries, list, path));
    match found {
        Some(node) => {
            node.remove();
            Ok(Edited::Changed(format!("{mark}{root}")))
        }
        None => Ok(Edited::Same),
    }
}

/// Reads what the settings reader takes, and no more: editing must not hide a mistake. A byte-order mark
/// is put back in its place.
fn parse(text: &str) -> Result<(&str, CstRootNode), String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let (mark, text) = text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
    let root = CstRootNode::parse(text, &options).map_err(|error| format!("it does not parse: {error}"))?;
    Ok((mark, root))
}

fn entry(list: List, path: &str) -> CstInputValue {
    match spelling(list, path) {
        Spelling::Text(text) => text.into(),
        Spelling::Literal => CstInputValue::Object(vec![
            ("path".to_owned(), path.into()),
            ("literal".to_owned(), CstInputValue::Bool(true)),
        ]),
    }
}

/// How a list names a path.
enum Spelling {
    Text(String),
    Literal,
}

/// Sockets are listed as text only, in which a backslash takes a letter's meaning away; the brackets of a
/// host's address mean what they are.
fn spelling(list: List, path: &str) -> Spelling {
    match list != List::Domain && path.contains(MEANINGFUL) {
        false => Spelling::Text(path.to_owned()),
        true if list == List::Unix => Spelling::Text(
            path.chars()
                .flat_map(|letter| MEANINGFUL.contains(&letter).then_some('\\').into_iter().chain([letter]))
                .collect(),
        ),
        true => Spelling::Literal,
    }
}

fn find(entries: &CstArray, list: List, path: &str) -> Option<CstNode> {
    entries.elements().into_iter().find(|node| names(node, list, path))
}

fn names(node: &CstNode, list: List, path: &str) -> bool {
    let says = |node: Option<CstNode>, wanted: &str| {
        node.and_then(|node| node.as_string_lit())
            .and_then(|text| text.decoded_value().ok())
            .is_some_and(|text| text == wanted)
    };
    let spelling = spelling(list, path);
    match (node.as_object(), &spelling) {
        (None, Spelling::Text(text)) => says(Some(node.clone()), text),
        (None, Spelling::Literal) => false,
        (Some(object), spelling) => {
            let value = |name| object.get(name).and_then(|property| property.value());
            let literal =
                value("literal").and_then(|node| node.as_boolean_lit()).is_some_and(|node| node.value());
            says(value("path"), path) && (literal || matches!(spelling, Spelling::Text(_)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(result: Result<Edited, String>) -> String {
        match result {
            Ok(Edited::Changed(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    const COMMENTED: &str = r#"// mine
{
    "preset": "default", // the usual one
    "filesystem": {
        /* keys
           for deploying */
        "allowRead": [
            "~/.ssh/id_deploy", // needed by git
        ],
    },
}
"#;

    #[test]
    fn comments_and_layout_stay() {
        let cases = [
            (EMPTY, List::Write, "/a", "{\n  \"filesystem\": {\n    \"allowWrite\": [\"/a\"]\n  }\n}\n"),
            (
                "{\"filesystem\":{\"allowRead\":[\"/a\"]}}",
                List::Read,
                "/b",
                "{\"filesystem\":{\"allowRead\":[\"/a\", \"/b\"]}}",
            ),
            (
                "{ // c\n  \"network\": {}\n}",
                List::Unix,
                "/run/[s]",
                "{ // c\n  \"network\": {\n    \"allowUnixSockets\": [\"/run/\\\\[s]\"]\n  }\n}",
            ),
            (
                "{\"network\":{\"allowedDomains\":[]}}",
                List::Domain,
                "[2001:db8::1]:443",
                "{\"network\":{\"allowedDomains\":[\"[2001:db8::1]:443\"]}}",
            ),
            (
                "\u{feff}{}",
                List::Read,
                "/b",
                "\u{feff}{\n  \"filesystem\": {\n    \"allowRead\": [\"/b\"]\n  }\n}",
            ),
        ];
        for (before, list, path, after) in cases {
            assert_eq!(changed(add(before, list, path)), after, "{before}");
        }
        let after = changed(add(COMMENTED, List::Read, "/srv/data"));
        assert_eq!(
            after,
            COMMENTED.replace("// needed by git\n", "// needed by git\n            \"/srv/data\",\n")
        );
    }

    #[test]
    fn what_was_added_can_be_taken_out_again() {
        for path in ["/srv/data", "/srv/[1]*", "/srv/\"quoted\"\n"] {
            for before in [COMMENTED, "{\"filesystem\": {\"allowRead\": [\"/a\"]}}"] {
                let added = changed(add(before, List::Read, path));
                assert_eq!(add(&added, List::Read, path), Ok(Edited::Same));
                // An object takes a line of its own, and leaves its line end behind in a list that had none.
                let left: String = changed(remove(&added, List::Read, path)).split_whitespace().collect();
                assert_eq!(left, before.split_whitespace().collect::<String>(), "{path}");
            }
        }
        assert_eq!(remove(COMMENTED, List::Read, "/other"), Ok(Edited::Same));
        assert_eq!(remove(COMMENTED, List::Write, "/other"), Ok(Edited::Same));
    }

    #[test]
    fn names_with_meaning_are_literal() {
        let text = changed(add(EMPTY, List::Read, "/a/*.key"));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!([{"path": "/a/*.key", "literal": true}]);
        assert_eq!(value["filesystem"]["allowRead"], expected);
        // The pattern of the same letters is another entry.
        let pattern = r#"{"filesystem": {"allowRead": ["/a/*.key"]}}"#;
        assert!(matches!(add(pattern, List::Read, "/a/*.key"), Ok(Edited::Changed(_))));
        assert_eq!(remove(pattern, List::Read, "/a/*.key"), Ok(Edited::Same));
    }

    #[test]
    fn what_does_not_parse_is_left_alone() {
        for text in [
            "",
            "[]",
            "{",
            "{'a': 1}",
            "{a: 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"filesystem\": 1}",
            "{\"filesystem\": {\"allowRead\": {}}}",
        ] {
            assert!(add(text, List::Read, "/a").is_err(), "{text}");
        }
    }
}
