use super::*;
use crate::ask::text::tests::sample;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinHandle;

/// The program on the other side.
struct Program {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
}

fn pair() -> (Program, Arc<DescriptorAsker>) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let (from, to) = UnixStream::from_std(theirs).unwrap().into_split();
    let asker = DescriptorAsker::new("descriptor 9".into(), ours.try_clone().unwrap().into(), ours.into());
    (Program { from: BufReader::new(from), to }, Arc::new(asker))
}

impl Program {
    async fn hears(&mut self) -> Value {
        let mut line = String::new();
        let reading = self.from.read_line(&mut line);
        tokio::time::timeout(Duration::from_secs(10), reading).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The number of the next question.
    async fn is_asked(&mut self) -> u64 {
        let heard = self.hears().await;
        assert_eq!(heard["type"], "ask", "{heard}");
        heard["id"].as_u64().unwrap()
    }

    /// Says a line in which 1 stands for this number.
    async fn says_of(&mut self, id: u64, line: &str) {
        self.says(&line.replace("\"id\":1,", &format!("\"id\":{id},"))).await;
    }

    async fn says(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

fn ask(asker: &Arc<DescriptorAsker>, question: Question) -> JoinHandle<Reply> {
    let asker = Arc::clone(asker);
    tokio::spawn(async move { asker.ask(question).await })
}

#[tokio::test]
async fn a_question_says_everything() {
    let (mut program, asker) = pair();
    let answer = ask(&asker, sample("/a\n\u{202e}{\"id\":1}"));
    let mut heard = program.hears().await;
    let timeout = heard["timeoutMs"].take().as_u64().unwrap();
    let id = heard["id"].as_u64().unwrap();
    assert!((50_000..=61_000).contains(&timeout), "{timeout}");
    assert_eq!(
        heard,
        json!({
            "type": "ask",
            "id": id,
            "sandbox": "s1",
            "kind": "read",
            "subject": "/a\n\u{202e}{\"id\":1}",
            "display": "/a\\n\\u{202e}{\"id\":1}",
            "program": "/usr/bin/ssh",
            "pid": 7,
            "command": "git push",
            "rule": {
                "text": "denyRead ~/.ssh",
                "origin": {"layer": "builtIn", "source": "default deny-read list"},
            },
            "reason": "reading it is denied",
            "suggestion": "--allow-read /home/a/.ssh/id",
            "options": ["once", "session", "until", "always", "deny"],
            "timeoutMs": null,
        })
    );
    program.says_of(id, r#"{"id":1,"answer":"always"}"#).await;
    assert_eq!(answer.await.unwrap(), Reply::Always);
}

#[tokio::test]
async fn answers_may_come_in_any_order() {
    let (mut program, asker) = pair();
    let (mut waiting, mut ids) = (Vec::new(), Vec::new());
    for id in 1..=3 {
        waiting.push(ask(&asker, Question { id, ..sample("/a") }));
        ids.push(program.is_asked().await);
    }
    let (third, first) = (json!({"id": ids[2], "answer": "once"}), json!({"id": ids[0], "answer": "deny"}));
    program.says(&format!("{third}\n{first}")).await;
    program.says_of(ids[1], r#"{"id":1,"answer":"until","until":9000000000000}"#).await;
    let mut replies = Vec::new();
    for answer in waiting {
        replies.push(answer.await.unwrap());
    }
    assert_eq!(replies, [Reply::Deny, Reply::Until { until: 9_000_000_000_000 }, Reply::Once]);
}

#[tokio::test]
async fn forged_lines_are_errors_and_the_question_stays() {
    let (mut program, asker) = pair();
    let answer = ask(&asker, sample("/a"));
    let asked = program.is_asked().await;
    for (line, id) in [
        ("nonsense".to_owned(), Value::Null),
        (r#"{"id":77,"answer":"once"}"#.to_owned(), json!(77)),
        (r#"{"id":1,"answer":"allow"}"#.to_owned(), json!(asked)),
        (r#"{"id":1,"answer":"deny","answer":"once"}"#.to_owned(), json!(asked)),
        (r#"{"id":1,"answer":"until","until":1}"#.to_owned(), json!(asked)),
        (format!("{{\"id\":1,\"answer\":\"once\",\"x\":\"{}\"}}", "x".repeat(LONGEST)), Value::Null),
        ("\u{0}".to_owned(), Value::Null),
    ] {
        program.says_of(asked, &line).await;
        let heard = program.hears().await;
        assert_eq!((&heard["type"], &heard["id"]), (&json!("error"), &id), "{heard}");
        assert!(heard["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(!answer.is_finished());
    }
    program.says("").await;
    program.says_of(asked, r#"{"id":1,"answer":"session"}"#).await;
    assert_eq!(answer.await.unwrap(), Reply::Session);
    // Answered is answered.
    program.says_of(asked, r#"{"id":1,"answer":"always"}"#).await;
    assert_eq!(program.hears().await["type"], "error");
}

#[tokio::test]
async fn what_was_not_offered_is_not_taken() {
    let (mut program, asker) = pair();
    let answer = ask(&asker, Question { settings: None, ..sample("/a") });
    let heard = program.hears().await;
    assert_eq!(heard["options"], json!(["once", "session", "deny"]));
    let id = heard["id"].as_u64().unwrap();
    for line in [r#"{"id":1,"answer":"always"}"#, r#"{"id":1,"answer":"until","until":9000000000000}"#] {
        program.says_of(id, line).await;
        assert_eq!(program.hears().await["type"], "error");
    }
    program.says_of(id, r#"{"id":1,"answer":"once"}"#).await;
    assert_eq!(answer.await.unwrap(), Reply::Once);
}

#[tokio::test]
async fn a_withdrawn_question_is_told() {
    let (mut program, asker) = pair();
    let answer = ask(&asker, sample("/a"));
    let id = program.is_asked().await;
    answer.abort();
    assert_eq!(program.hears().await, json!({"type": "expired", "id": id}));
    program.says_of(id, r#"{"id":1,"answer":"once"}"#).await;
    assert_eq!(program.hears().await["type"], "error");
}

#[tokio::test]
async fn the_end_of_the_input_is_a_no_from_then_on() {
    let (mut program, asker) = pair();
    let answer = ask(&asker, sample("/a"));
    let id = program.is_asked().await;
    // A last line without its end is not an answer.
    program.to.write_all(format!("{{\"id\":{id},\"answer\":\"once\"}}").as_bytes()).await.unwrap();
    drop(program.to);
    assert_eq!(answer.await.unwrap(), Reply::Deny);
    let later = ask(&asker, Question { id: 2, ..sample("/b") });
    assert_eq!(later.await.unwrap(), Reply::Deny);
}

#[tokio::test]
async fn a_program_that_never_reads_is_not_waited_for() {
    let (mut program, asker) = pair();
    let answer = ask(&asker, sample("/a"));
    let id = program.is_asked().await;
    for _ in 0..4000 {
        program.says("nonsense").await;
    }
    program.says_of(id, r#"{"id":1,"answer":"once"}"#).await;
    assert_eq!(answer.await.unwrap(), Reply::Once);
}

/// An answer that was meant for another question, of this run or of one before it, must not fit by its number.
/// That is the number by which everybody knows the question.
#[tokio::test]
async fn what_was_said_before_the_question_does_not_count() {
    const NUMBER: u64 = 4_203_519_774_813_261;
    let (mut program, asker) = pair();
    for id in [0, 1, NUMBER] {
        program.says_of(id, r#"{"id":1,"answer":"always"}"#).await;
    }
    let first = ask(&asker, Question { id: 871_625_023_947_718, ..sample("/a") });
    assert_eq!(program.is_asked().await, 871_625_023_947_718);
    for _ in 0..3 {
        let heard = program.hears().await;
        assert_eq!(heard["message"], "no such question is open", "{heard}");
    }
    let next = ask(&asker, Question { id: NUMBER, ..sample("/b") });
    assert_eq!(program.is_asked().await, NUMBER);
    program.says_of(NUMBER + 1, r#"{"id":1,"answer":"always"}"#).await;
    assert_eq!(program.hears().await["type"], "error");
    assert!(!first.is_finished() && !next.is_finished());
    for id in [871_625_023_947_718, NUMBER] {
        program.says_of(id, r#"{"id":1,"answer":"once"}"#).await;
    }
    assert_eq!((first.await.unwrap(), next.await.unwrap()), (Reply::Once, Reply::Once));
}
