//! Keys whose values are commands.

use super::lead::LeadKind;
use super::parse::Parts;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What parts a shell's words from each other, or is no part of a path in one.
const BETWEEN: &[u8] = b"\"'`;|&(){}<>=";

/// The command that a key has git run, if it is one that does.
pub(super) fn command_of<'a>(parts: &Parts<'_>, value: &'a [u8]) -> Option<&'a [u8]> {
    let Parts { section, subsection, key } = *parts;
    // Without the mark the value is a command of git's own.
    let marked = value.strip_prefix(b"!");
    let runs = match (section, subsection, key) {
        (b"alias", _, _) | (b"submodule", Some(_), b"update") => return marked,
        (
            b"core",
            None,
            b"fsmonitor"
            | b"sshcommand"
            | b"editor"
            | b"pager"
            | b"askpass"
            | b"gitproxy"
            | b"alternaterefscommand",
        )
        | (b"sequence", None, b"editor")
        | (b"gpg", _, b"program")
        | (b"gpg", Some(_), b"defaultkeycommand")
        | (b"credential", _, b"helper")
        | (b"filter", Some(_), b"clean" | b"smudge" | b"process")
        | (b"diff", None, b"external")
        | (b"diff", Some(_), b"command" | b"textconv")
        | (b"merge", Some(_), b"driver")
        | (b"mergetool" | b"difftool" | b"guitool" | b"browser" | b"man", Some(_), b"cmd" | b"path")
        | (b"pager", None, _)
        | (b"interactive", None, b"difffilter")
        | (b"trailer" | b"tar", Some(_), b"command" | b"cmd")
        | (b"uploadpack", None, b"packobjectshook")
        | (b"remote", Some(_), b"uploadpack" | b"receivepack")
        | (b"sendemail", _, b"smtpserver" | b"sendmailcmd" | b"tocmd" | b"cccmd" | b"headercmd") => true,
        _ => false,
    };
    runs.then(|| marked.unwrap_or(value))
}

/// The words of a command that may be files. What a shell would make of it is not worked out: a word too many does
/// no harm, because only files where commands may write count.
pub(super) fn words(command: &[u8]) -> Vec<(PathBuf, LeadKind)> {
    let between = |byte: &u8| byte.is_ascii_whitespace() || BETWEEN.contains(byte);
    let words = command.split(between).filter(|word| !word.is_empty());
    let words = words.enumerate().filter_map(|(at, word)| {
        let slash = word.contains(&b'/');
        let spelled = [b"/".as_slice(), b"./", b"../", b"~/"].iter().any(|start| word.starts_with(start));
        let kind = match at {
            // The search path says what it is.
            0 if !slash => return None,
            0 => LeadKind::Run,
            _ if spelled => LeadKind::Run,
            _ => LeadKind::RunIfThere,
        };
        Some((Path::new(OsStr::from_bytes(word)).to_owned(), kind))
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::super::lead::{LeadKind, git_config_leads};

    fn named(text: &str) -> Vec<(String, LeadKind)> {
        let leads = git_config_leads(text.as_bytes()).unwrap();
        leads.into_iter().map(|lead| (lead.path.display().to_string(), lead.kind)).collect()
    }

    #[test]
    fn commands_name_their_files() {
        let run = |path: &str| (path.to_owned(), LeadKind::Run);
        let perhaps = |path: &str| (path.to_owned(), LeadKind::RunIfThere);
        for (text, expected) in [
            ("[core]\nfsmonitor = ./watch\n", vec![run("./watch")]),
            ("[core]\nfsmonitor = true\n", vec![]),
            ("[core]\neditor = vim\n", vec![]),
            ("[alias]\nx = !sh x.sh\n", vec![perhaps("x.sh")]),
            ("[alias]\nx = \"!f() { ./x; }; f\"\n", vec![run("./x"), perhaps("f")]),
            ("[alias]\nx = log ./x\n", vec![]),
            ("[filter \"a\"]\nclean = tools/clean %f\n", vec![run("tools/clean"), perhaps("%f")]),
            (
                "[filter \"a\"]\nsmudge = \\\"/ws/.venv/bin/python\\\" -m x\n",
                vec![run("/ws/.venv/bin/python"), perhaps("-m"), perhaps("x")],
            ),
            ("[diff \"a\"]\ntextconv = sed s/a/b/\n", vec![perhaps("s/a/b/")]),
            ("[gpg]\nprogram = bin/gpg\n", vec![run("bin/gpg")]),
            ("[credential \"https://a\"]\nhelper = !./x\n", vec![run("./x")]),
            ("[user]\nname = ./x\n", vec![]),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }
}
