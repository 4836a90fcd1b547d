//! Permission rules: a tool, and what it may be used on.

/// `Edit(/src/**)`, `WebFetch(domain:example.org)`, `Bash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permission<'a> {
    pub(crate) tool: &'a str,
    /// What stands in the brackets; absent where the rule is about every use of the tool.
    pub(crate) subject: Option<&'a str>,
}

impl<'a> Permission<'a> {
    /// Reads a rule; the error says what is wrong with it.
    pub(crate) fn parse(text: &'a str) -> Result<Self, &'static str> {
        let text = text.trim();
        let (tool, subject) = match text.split_once('(') {
            Some((tool, rest)) => {
                let subject = rest.strip_suffix(')').ok_or("the bracket is not closed")?;
                (tool, Some(subject))
            }
            None if text.contains(')') => return Err("the bracket is not opened"),
            None => (text, None),
        };
        if tool.is_empty() {
            return Err("it does not begin with the name of a tool");
        }
        match subject {
            Some("") => Err("there is nothing in the brackets"),
            // One star for everything is the same as saying nothing.
            Some("*" | "**") => Ok(Self { tool, subject: None }),
            subject => Ok(Self { tool, subject }),
        }
    }

    /// The same rule as whoever denies something may have meant it: denying too much is the safe mistake.
    pub(crate) fn meant(self) -> Self {
        const TOOLS: [&str; 7] = ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "WebFetch", "Bash"];
        let written = self.tool.trim();
        let tool = TOOLS.into_iter().find(|tool| tool.eq_ignore_ascii_case(written)).unwrap_or(written);
        Self { tool, subject: self.subject.map(str::trim).filter(|subject| !subject.is_empty()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Permission;

    #[test]
    fn a_tool_and_its_subject() {
        for (text, tool, subject) in [
            ("Bash", "Bash", None),
            ("Read(./.env)", "Read", Some("./.env")),
            ("Edit(/src/(odd)/x)", "Edit", Some("/src/(odd)/x")),
            ("WebFetch(domain:example.org)", "WebFetch", Some("domain:example.org")),
            ("Bash(*)", "Bash", None),
            ("mcp__github__*", "mcp__github__*", None),
        ] {
            assert_eq!(Permission::parse(text), Ok(Permission { tool, subject }), "{text}");
        }
        for text in ["read(x)", "Read (x)", "READ( x )"] {
            let meant = Permission::parse(text).map(Permission::meant);
            assert_eq!(meant, Ok(Permission { tool: "Read", subject: Some("x") }), "{text}");
        }
        for text in ["", "(x)", "Read(", "Read(x", "Read)", "Read()"] {
            assert!(Permission::parse(text).is_err(), "{text}");
        }
    }
}
