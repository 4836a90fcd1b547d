//! `stockade violations`.

use crate::args::{ViolationsArgs, format_moment};
use crate::voice::Voice;
use crate::{print, refuse};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use stockade::{
    Cleared, Counts, Directories, Filter, Hidden, StoreError, StoredViolation, SubjectPattern,
    ViolationStore, home, visible,
};

/// Lists what was refused, in this run of the machine's life and in earlier ones.
pub(crate) fn main(args: ViolationsArgs) -> ExitCode {
    let store = ViolationStore::new(&state());
    let result = if args.clear { clear(&store) } else { list(&store, args) };
    result.unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

/// Where the records are kept.
pub(crate) fn state() -> PathBuf {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    Directories::new(&environment, home(&environment).as_deref()).state
}

fn clear(store: &ViolationStore) -> Result<ExitCode, StoreError> {
    let Cleared { removed, set_aside } = store.clear()?;
    if let Some(aside) = set_aside {
        Voice::NORMAL.warning(format!("the store was damaged; it lies in {} now", aside.display()));
    }
    Ok(print::text(&match removed {
        1 => "1 refusal was forgotten\n".to_owned(),
        removed => format!("{removed} refusals were forgotten\n"),
    }))
}

fn list(store: &ViolationStore, args: ViolationsArgs) -> Result<ExitCode, StoreError> {
    let json = args.json;
    let filter = filter(args);
    let found = store.query(&filter)?;
    if json {
        return Ok(print::json(&found));
    }
    let counts = store.count(&filter)?;
    Ok(print::text(&(table(&found) + &summary(&found, counts, filter.hidden))))
}

fn filter(args: ViolationsArgs) -> Filter {
    Filter {
        since: args.since,
        until: args.until,
        kinds: args.kind,
        subject: args.path.as_deref().map(|path| SubjectPattern::new(&anchored(path))),
        sandbox: args.sandbox,
        program: args.program.as_deref().map(SubjectPattern::new),
        text: args.text,
        limit: Some(args.limit),
        hidden: if args.all { Hidden::Include } else { Hidden::Leave },
    }
}

/// `./x` and `../x` are meant from here, as elsewhere; a plain name holds at any depth.
fn anchored(path: &str) -> String {
    if path != "." && path != ".." && !path.starts_with("./") && !path.starts_with("../") {
        return path.to_owned();
    }
    let mut from = std::env::current_dir().unwrap_or_default();
    for name in Path::new(path) {
        match name.to_str() {
            Some(".") => {}
            Some("..") => {
                from.pop();
            }
            _ => from.push(name),
        }
    }
    from.to_string_lossy().into_owned()
}

fn table(found: &[StoredViolation]) -> String {
    let head = ["TIME", "SANDBOX", "KIND", "PROGRAM", "SUBJECT"].map(str::to_owned);
    let rows: Vec<[String; 5]> = found.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut widths = [0; 4];
    for row in std::iter::once(&head).chain(&rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let [time, sandbox, kind, program] = widths;
    let lines = std::iter::once(&head)
        .chain(&rows)
        .map(|[a, b, c, d, e]| format!("{a:time$}  {b:sandbox$}  {c:kind$}  {d:program$}  {e}\n"));
    lines.collect()
}

/// Every text here may come from inside a sandbox: nothing of it acts on the terminal.
fn row(stored: &StoredViolation) -> [String; 5] {
    let StoredViolation { violation, hidden, .. } = stored;
    let kind = serde_json::to_value(violation.kind).unwrap_or_default();
    let program = match &violation.program {
        Some(program) => format!("{}({})", visible(program), violation.pid),
        None => "-".into(),
    };
    let mut subject = visible(&violation.subject).into_owned();
    let why = violation.rule.as_ref().map(ToString::to_string).unwrap_or_else(|| violation.reason.clone());
    if !why.is_empty() {
        subject.push_str(&format!("  [{}]", visible(&why)));
    }
    if *hidden {
        subject.push_str("  (ignored)");
    }
    [
        format_moment(violation.time),
        visible(&violation.sandbox).into_owned(),
        kind.as_str().unwrap_or_default().to_owned(),
        program,
        subject,
    ]
}

fn summary(found: &[StoredViolation], counts: Counts, hidden: Hidden) -> String {
    let mut text = String::new();
    if found.is_empty() {
        text.push_str("nothing that fits was refused\n");
    }
    let (fitting, ignored) = match hidden {
        Hidden::Include => (counts.shown + counts.hidden, 0),
        Hidden::Leave => (counts.shown, counts.hidden),
    };
    let listed = found.iter().filter(|stored| stored.more == 0).count() as u64;
    if fitting > listed {
        text.push_str(&format!("{} older ones fit, too; --limit N shows more\n", fitting - listed));
    }
    if ignored > 0 {
        text.push_str(&format!("{ignored} more are ignored by the settings; --all shows them\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(subject: &str, hidden: bool) -> StoredViolation {
        serde_json::from_value(serde_json::json!({
            "seq": 1, "time": 0, "sandbox": "b1", "command": "c", "pid": 12, "program": "/bin/touch",
            "kind": "write", "subject": subject, "hidden": hidden,
        }))
        .unwrap()
    }

    #[test]
    fn names_do_not_act_on_the_terminal() {
        let text = table(&[stored("/a\u{1b}[2J\nforged", false), stored("/b", true)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("TIME ") && lines[0].ends_with("PROGRAM         SUBJECT"), "{text}");
        assert!(lines[1].ends_with("b1       write  /bin/touch(12)  /a\\u{1b}[2J\\nforged"), "{text}");
        assert!(lines[2].ends_with("  /b  (ignored)"), "{text}");
    }

    #[test]
    fn what_is_not_shown_is_said() {
        let counts = |shown, hidden| Counts { shown, hidden, counted: 0 };
        let both = [stored("/a", false), stored("/b", true)];
        let nothing = "nothing that fits was refused\n";
        let ignored = "2 more are ignored by the settings; --all shows them\n";
        let older = "3 older ones fit, too; --limit N shows more\n";
        assert_eq!(summary(&[], counts(0, 0), Hidden::Leave), nothing);
        assert_eq!(summary(&[], counts(0, 2), Hidden::Leave), format!("{nothing}{ignored}"));
        assert_eq!(summary(&both[..1], counts(4, 0), Hidden::Leave), older);
        assert_eq!(summary(&both[..1], counts(4, 2), Hidden::Leave), format!("{older}{ignored}"));
        assert_eq!(summary(&both, counts(1, 1), Hidden::Include), "");
        assert_eq!(summary(&both, counts(3, 2), Hidden::Include), older);
    }

    #[test]
    fn paths_from_here_are_made_whole() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(anchored("./a/*"), here.join("a/*").to_str().unwrap());
        assert_eq!(anchored("."), here.to_str().unwrap());
        assert_eq!(anchored("../a"), here.parent().unwrap().join("a").to_str().unwrap());
        for same in ["/a", "*.env", "a/b", ".env", "..x"] {
            assert_eq!(anchored(same), same);
        }
    }
}
