use super::*;
use crate::ask::text::tests::sample;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// The other side of a terminal: what a person sees and types.
struct Person {
    from: Inlet,
    to: Outlet,
    seen: String,
}

fn terminal(manner: Manner) -> (Person, Arc<TtyAsker>) {
    let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&outer).unwrap();
    unlockpt(&outer).unwrap();
    let name = ptsname(&outer, Vec::new()).unwrap();
    let inner = move || Ok(rustix::fs::open(name.as_c_str(), OPENED, Mode::empty())?);
    // A terminal nobody has open hangs up on the person.
    let kept = inner().unwrap();
    let open: Open = Box::new(move || {
        let _ = &kept;
        inner()
    });
    let asker = TtyAsker { stage: Stage::default(), open, manner };
    let person = Person {
        from: Inlet::new(outer.try_clone().unwrap()).unwrap(),
        to: Outlet::unshared(outer).unwrap(),
        seen: String::new(),
    };
    (person, Arc::new(asker))
}

impl Person {
    async fn sees(&mut self, wanted: &str) {
        let mut buffer = [0; 4096];
        let reading = async {
            while !self.seen.contains(wanted) {
                let count = self.from.read(&mut buffer).await.unwrap();
                self.seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        };
        let result = tokio::time::timeout(Duration::from_secs(10), reading).await;
        assert!(result.is_ok(), "{wanted:?} is not in {:?}", self.seen);
    }

    async fn types(&mut self, keys: &str) {
        self.to.write_all(keys.as_bytes()).await.unwrap();
    }
}

fn ask(asker: &Arc<TtyAsker>, question: Question) -> JoinHandle<Reply> {
    let asker = Arc::clone(asker);
    tokio::spawn(async move { asker.ask(question).await })
}

#[tokio::test]
async fn answers_are_letters_or_words() {
    for (typed, expected) in [
        ("o\r", Reply::Once),
        ("Once\r", Reply::Once),
        ("s\r", Reply::Session),
        (" always \r", Reply::Always),
        ("n\r", Reply::Deny),
        ("\r", Reply::Deny),
        ("\x04", Reply::Deny),
    ] {
        let (mut person, asker) = terminal(Manner::Plain);
        let answer = ask(&asker, sample("/home/a/.ssh/id"));
        person.sees("allow? [o/s/a/N] ").await;
        assert!(person.seen.contains("  | /home/a/.ssh/id\r\n"), "{}", person.seen);
        person.types(typed).await;
        assert_eq!(answer.await.unwrap(), expected, "{typed:?}");
        assert!(!asker.stage.is_asking());
    }
}

#[tokio::test]
async fn what_is_typed_before_the_prompt_does_not_count() {
    let (mut person, asker) = terminal(Manner::Plain);
    person.types("a\ra\r").await;
    let answer = ask(&asker, sample("/a"));
    person.sees("No answer within").await;
    person.types("a\ralways\ra").await;
    person.sees("allow? ").await;
    person.types("n\r").await;
    assert_eq!(answer.await.unwrap(), Reply::Deny);
    assert!(!person.seen.contains("not one of"), "{}", person.seen);
}

#[tokio::test]
async fn anything_else_is_asked_again() {
    let (mut person, asker) = terminal(Manner::Plain);
    let answer = ask(&asker, Question { settings: None, ..sample("/a") });
    person.sees("allow? ").await;
    // The second line of a paste is not an answer to the repeated prompt.
    person.types("\x1b]la\r").await;
    person.types("o\r").await;
    person.sees("not one of the answers").await;
    person.seen.clear();
    person.sees("allow? [o/s/N] ").await;
    person.types("a\r").await;
    person.sees("not one of the answers").await;
    person.seen.clear();
    person.sees("allow? ").await;
    person.types("s\r").await;
    assert_eq!(answer.await.unwrap(), Reply::Session);
}

#[tokio::test]
async fn the_terminal_is_reset_first_and_its_own_answers_are_skipped() {
    let (mut person, asker) = terminal(Manner::Sequences);
    let answer = ask(&asker, sample("/a"));
    person.sees(FENCE).await;
    assert!(person.seen.contains(RESET.trim_end_matches("\r\n\x1b[2K")), "{:?}", person.seen);
    for undone in ["\x1b[?1049l", "\x1b[0m", "\x1b[?25h", "\x1b[r", "\x1b(B", "\x1b[?7h"] {
        assert!(person.seen.contains(undone), "{undone:?}");
    }
    assert!(!person.seen.contains("stockade asks"));
    // What the command made the terminal say, then the sign of life.
    person.types("\x1b[3;1Ra\ra\r\x1b[0n").await;
    person.sees("allow? ").await;
    person.types("o\r").await;
    assert_eq!(answer.await.unwrap(), Reply::Once);
}

#[tokio::test]
async fn modes_come_back_also_when_the_question_is_withdrawn() {
    let (mut person, asker) = terminal(Manner::Plain);
    let terminal = (asker.open)().unwrap();
    let mut raw = rustix::termios::tcgetattr(&terminal).unwrap();
    raw.make_raw();
    rustix::termios::tcsetattr(&terminal, rustix::termios::OptionalActions::Now, &raw).unwrap();
    let local = || rustix::termios::tcgetattr(&terminal).unwrap().local_modes;
    let before = local();
    let answer = ask(&asker, sample("/a"));
    person.sees("allow? ").await;
    assert_ne!(local(), before);
    answer.abort();
    assert!(answer.await.is_err());
    assert_eq!(local(), before);
    person.sees("No answer: refused.\r\n").await;
    assert!(!asker.stage.is_asking());
}

#[tokio::test]
async fn questions_come_one_after_the_other() {
    let (mut person, asker) = terminal(Manner::Plain);
    let first = ask(&asker, sample("/first"));
    person.sees("allow? ").await;
    let second = ask(&asker, sample("/second"));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!person.seen.contains("/second"));
    person.seen.clear();
    // Keys for the first question are not keys for the second.
    person.types("o\ra\r").await;
    assert_eq!(first.await.unwrap(), Reply::Once);
    person.sees("/second").await;
    person.sees("allow? ").await;
    person.types("n\r").await;
    assert_eq!(second.await.unwrap(), Reply::Deny);
}
