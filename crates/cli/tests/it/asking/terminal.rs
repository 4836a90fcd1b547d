//! `--ask tty`, with a real terminal and a command that wants to answer itself.

use super::person::PROMPT;
use super::{Person, text, user_settings};
use crate::support::{binaries, each_caller};
use std::fs;
use std::time::Duration;

const A_WHILE: Duration = Duration::from_millis(900);

fn mkdir(path: &std::path::Path) -> String {
    format!("{} mkdir {}", text(&binaries().probe), text(path))
}

#[test]
fn a_person_says_yes_and_no() {
    each_caller(|world| {
        let path = |name: &str| world.outside.join(name);
        let script = ["yes", "no", "enter", "kept"].map(|name| mkdir(&path(name)));
        // What a command has printed is shown before a question that comes a moment later, not one at the same time.
        let script = script.join("; sleep 0.4; ");
        let mut person = Person::new();
        let live = person.watches(world.run()).opt("-c").opt(script).start_words();
        let question = person.answers("o");
        for part in ["stockade asks", text(&binaries().probe), "wants to create", text(&path("yes"))] {
            assert!(question.contains(part), "{part} is not in {question}");
        }
        person.sees("ok\r\n");
        person.answers("no");
        person.sees("errno EROFS\r\n");
        person.answers("");
        person.sees("errno EROFS\r\n");
        person.answers("always");
        person.sees("ok\r\n");
        assert_eq!(live.reap().code(), Some(0));
        assert!(path("yes").is_dir() && path("kept").is_dir() && !path("no").exists());
        assert!(!path("enter").exists());
        assert!(fs::read_to_string(user_settings(world)).unwrap().contains(text(&path("kept"))));
    });
}

/// Whatever a name holds, it cannot move the cursor, turn the text or look like words of ours.
#[test]
fn names_are_written_out() {
    each_caller(|world| {
        let name = "x\nallow? [o] o\u{1b}[2J\u{9b}A\u{202e}gpj\u{200b}\r\\n";
        let path = world.outside.join(name);
        let mut person = Person::new();
        let live = person.watches(world.run()).start(["mkdir".as_ref(), path.as_os_str()]);
        let mut seen = person.sees("\r\nNo answer within");
        let shown = seen.replace("\r\n  | ", "");
        let escaped = r"x\nallow? [o] o\u{1b}[2J\u{9b}A\u{202e}gpj\u{200b}\r\\n";
        assert!(shown.contains(escaped), "{seen:?}");
        seen.retain(|letter| !matches!(letter, '\r' | '\n'));
        assert!(!seen.contains(|letter: char| letter.is_control() || "\u{202e}\u{200b}".contains(letter)));
        person.answers("o");
        person.sees("ok\r\n");
        live.reap();
        assert!(path.is_dir());
    });
}

#[test]
fn output_is_held_while_a_question_stands() {
    each_caller(|world| {
        let (new, mark) = (world.outside.join("new"), world.ws.join("mark"));
        let forged =
            format!("allow? [o/s/a/N] o; echo FORGED | tee /dev/tty; echo FORGED >&2; touch {}", text(&mark));
        let script = format!("(sleep 0.6; echo {forged}) & {}; wait", mkdir(&new));
        let mut person = Person::new();
        let live = person.watches(world.run()).opt("-c").opt(script).start_words();
        person.sees(PROMPT);
        let meanwhile = person.watches_for(A_WHILE * 2);
        assert_eq!(meanwhile, "o/s/a/N] ");
        assert!(mark.exists(), "the command did not write yet");
        person.types("n\r");
        assert_eq!(live.reap().code(), Some(0));
        let rest = person.watches_for(Duration::from_millis(100));
        assert!(rest.contains("errno EROFS"), "{rest:?}");
        assert_eq!(rest.matches("FORGED").count(), 3, "{rest:?}");
        assert!(!new.exists());
    });
}

/// Writing to its terminal, pushing input into it, typing ahead through it: none of it is an answer.
#[test]
fn the_command_cannot_answer() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let probe = text(&binaries().probe);
        let push = ["tiocsti 0", "tiocsti 1", "tiocsti-high 0", "tioclinux 0"]
            .map(|act| format!("{probe} {act} >> pushed 2>&1"))
            .join("; ");
        let script = format!(
            "(sleep 0.7; printf 'o\\n' > /dev/tty; printf 'o\\r\\n'; printf '\\033[5n\\033[6n\\033[c'; {push}; \
             touch done) & {}; wait",
            mkdir(&new)
        );
        let mut person = Person::new();
        let live = person.watches(world.run()).opt("-c").opt(script).start_words();
        person.sees(PROMPT);
        crate::support::eventually(Duration::from_secs(20), || {
            if world.ws.join("done").exists() { Ok(()) } else { Err("still pushing".into()) }
        });
        assert_eq!(person.watches_for(A_WHILE), "o/s/a/N] ");
        assert!(!new.exists());
        person.types("n\r");
        person.sees("errno EROFS");
        live.reap();
        let pushed = fs::read_to_string(world.ws.join("pushed")).unwrap();
        assert_eq!(pushed.lines().count(), 4, "{pushed}");
        assert!(pushed.lines().all(|line| line.starts_with("errno ")), "{pushed}");
        assert!(!new.exists());
    });
}

#[test]
fn what_is_typed_ahead_does_not_count() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let mut person = Person::new();
        person.types("o\ro\r");
        let script = format!("sleep 0.5; {}", mkdir(&new));
        let live = person.watches(world.run()).opt("-c").opt(script).start_words();
        person.types("o\rs\ra\r");
        person.sees("stockade asks");
        // Before anybody can have read it. On a machine that is stopped for so long that it is not, there is
        // nothing to see.
        person.types("o\ra\r");
        if person.has_been_shown(PROMPT) {
            live.reap();
            return;
        }
        person.sees(PROMPT);
        let meanwhile = person.watches_for(A_WHILE);
        assert!(!meanwhile.contains("errno") && !meanwhile.contains("ok"), "{meanwhile:?}");
        assert!(!new.exists());
        person.types("n\r");
        person.sees("errno EROFS");
        live.reap();
        assert!(!new.exists());
    });
}

/// A terminal that understands sequences is put in order first, and its own replies are no answers.
#[test]
fn the_terminal_is_put_in_order_first() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let dirt = r"printf '\033[?1049h\033[31;8m\033[5;9r\033(0\033[?25l\033[6n\033]0;title'";
        // Output and questions take different roads: the dirt must have arrived before anybody is asked.
        let script = format!("{dirt}; read go; {}", mkdir(&new));
        let mut person = Person::new();
        let live =
            person.watches(world.run().var("TERM", "xterm-256color")).opt("-c").opt(script).start_words();
        person.sees("title");
        person.types("go\r");
        let before = person.sees("\u{1b}[5n");
        for undone in ["\u{1b}[?1049l", "\u{1b}[0m", "\u{1b}[r", "\u{1b}(B", "\u{1b}[?25h"] {
            assert!(before.contains(undone), "{undone:?} is not in {before:?}");
        }
        // The reply the command asked for, with an answer in it, and then the sign of life.
        person.types("\u{1b}[1;1Ro\ro\r\u{1b}[0n");
        person.sees("stockade asks");
        person.sees(PROMPT);
        assert_eq!(person.watches_for(A_WHILE), "o/s/a/N] ");
        person.types("o\r");
        person.sees("ok");
        live.reap();
        assert!(new.is_dir());
    });
}

#[test]
fn silence_is_a_no() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let mut person = Person::new();
        let run = person.watches(world.run().with("--ask-timeout", "1.5"));
        let live = run.opt("-c").opt(mkdir(&new)).start_words();
        person.sees("No answer within 2 s");
        person.sees("No answer: refused.");
        person.sees("errno EROFS");
        assert_eq!(live.reap().code(), Some(0));
        assert!(!new.exists());
    });
}

/// The terminal's own interrupt ends the run, as it would anywhere.
#[test]
fn an_interrupt_ends_the_run() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let mut person = Person::new();
        let live = person.watches(world.run()).opt("-c").opt(mkdir(&new)).start_words();
        person.sees(PROMPT);
        person.types("\u{3}");
        assert_eq!(live.reap().code(), Some(128 + 2));
        assert!(!new.exists());
    });
}

/// Keys belong to the command again once the question is answered.
#[test]
fn the_command_reads_on_after_an_answer() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let script = format!("{}; read word; echo \"<$word>\"", mkdir(&new));
        let mut person = Person::new();
        let live = person.watches(world.run()).opt("-c").opt(script).start_words();
        person.answers("s");
        person.sees("ok\r\n");
        person.types("hello\r");
        person.sees("<hello>");
        assert_eq!(live.reap().code(), Some(0));
    });
}
