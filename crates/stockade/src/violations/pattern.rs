//! Which subjects are meant.

use stockade_policy::Glob;

/// A path or glob (`*`, `**`, `?`, `[a-z]`) and everything below what it matches.
///
/// With a leading slash it holds from the root directory, without one at any depth. Subjects that are not
/// paths, such as `example.com:443`, are one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectPattern {
    glob: Glob,
}

impl SubjectPattern {
    /// The pattern as it is written. Every text is one.
    pub fn new(text: &str) -> Self {
        // What is below a match is matched anyway; a trailing `**` only says that the place itself is not.
        let below = text.strip_suffix("/**").map(|place| format!("{place}/*"));
        let text = below.as_deref().unwrap_or(text);
        Self {
            glob: if text.starts_with('/') {
                Glob::relative(text)
            } else {
                Glob::relative(&format!("**/{text}"))
            },
        }
    }

    /// Whether it is this subject, or the subject lies below.
    pub fn matches(&self, subject: &str) -> bool {
        let names: Vec<&[u8]> =
            subject.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect();
        (1..=names.len()).any(|length| self.glob.matches(names[..length].iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_hold_for_what_is_below() {
        for (pattern, subject, expected) in [
            ("/etc", "/etc", true),
            ("/etc", "/etc/shadow", true),
            ("/etc", "/etcetera", false),
            ("/etc/", "/etc/shadow", true),
            ("etc", "/etc/shadow", true),
            ("/shadow", "/etc/shadow", false),
            ("shadow", "/etc/shadow", true),
            ("*.env", "/work/deep/a.env", true),
            ("/work/**/.env", "/work/a/b/.env", true),
            ("/work/**/.env", "/work/.env", true),
            ("/work/**", "/work/a/b", true),
            ("/work/**", "/work", false),
            ("**/hooks/*", "/r/.git/hooks/pre-commit", true),
            ("id_?sa", "/home/a/.ssh/id_rsa", true),
            ("id_[de]sa", "/home/a/.ssh/id_rsa", false),
            ("*.example.com:443", "api.example.com:443", true),
            ("*.example.com:443", "api.example.com:80", false),
            ("mount", "mount", true),
            ("", "/etc", false),
            ("/", "/etc", false),
        ] {
            assert_eq!(SubjectPattern::new(pattern).matches(subject), expected, "{pattern} {subject}");
        }
    }
}
