//! How much of background commands is kept.

use crate::support::World;
use std::sync::Arc;
use stockade::{
    BackgroundId, BackgroundState, CommandLine, Request, Routed, Runtime, Session, SessionError,
    SessionOptions, Taken,
};

/// Bytes that each command prints.
const PRINTED: usize = 1_000_000;
/// Bytes that all of them may keep.
const KEPT: usize = 16 << 20;

/// A session with commands that cost nothing: `/print` prints a lot, everything else that begins so nothing.
async fn session(world: &World) -> Session {
    let router = |request: &Request| match &request.command {
        CommandLine::Shell(text) if text == "/print" => {
            Routed::taken(async { Taken { stdout: vec![b'x'; PRINTED], ..Taken::default() } })
        }
        CommandLine::Shell(text) if text.as_encoded_bytes().starts_with(b"/") => {
            Routed::taken(async { Taken { stdout: b"a few words".to_vec(), ..Taken::default() } })
        }
        _ => Routed::Native,
    };
    let runtime: Runtime = world.builder().router(router).build().unwrap();
    Session::open(Arc::new(runtime), SessionOptions::default()).await.unwrap()
}

async fn ended(session: &Session, text: &str) -> BackgroundId {
    let id = session.background(text).await.unwrap();
    assert_eq!(session.wait_background(id).await.unwrap().state, BackgroundState::Over);
    id
}

/// Bytes of output that are kept of all.
fn kept(session: &Session) -> usize {
    let of = |id| session.poll(id, 0).unwrap().chunks.iter().map(|chunk| chunk.data.len()).sum::<usize>();
    session.list_background().into_iter().map(|(id, ..)| of(id)).sum()
}

#[tokio::test]
async fn those_that_ended_keep_so_much_together() {
    let world = World::new();
    let session = session(&world).await;
    let running = session.background("echo still here; sleep 1000").await.unwrap();
    let first = ended(&session, "/print").await;
    for _ in 0..40 {
        ended(&session, "/print").await;
    }
    let last = ended(&session, "/print").await;
    assert!((KEPT - 2 * PRINTED..=KEPT).contains(&kept(&session)), "{}", kept(&session));
    let gone = session.poll(first, 0).unwrap();
    assert!(gone.chunks.is_empty() && gone.lost == PRINTED as u64, "{gone:?}");
    assert!(gone.notices.iter().any(|notice| notice.text.contains("was let go")), "{:?}", gone.notices);
    assert_eq!(gone.outcome.unwrap().exit_code, 0);
    let there = session.poll(last, 0).unwrap();
    assert!(there.lost == 0 && there.notices.is_empty() && there.chunks[0].data.len() == PRINTED);
    while session.poll(running, 0).unwrap().chunks.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(session.poll(running, 0).unwrap().state, BackgroundState::Running);
}

#[tokio::test]
async fn the_oldest_are_forgotten() {
    let world = World::new();
    let session = session(&world).await;
    let running = session.background("sleep 1000").await.unwrap();
    let first = ended(&session, "/first").await;
    for _ in 0..256 {
        ended(&session, "/next").await;
    }
    assert_eq!(session.list_background().len(), 257);
    let forgotten = session.poll(first, 0).unwrap_err();
    assert!(matches!(forgotten, SessionError::Forgotten { id } if id == first.0), "{forgotten}");
    assert!(forgotten.to_string().contains("not remembered any more"), "{forgotten}");
    assert!(matches!(session.poll(BackgroundId(9999), 0), Err(SessionError::Unknown { id: 9999 })));
    assert_eq!(session.poll(running, 0).unwrap().state, BackgroundState::Running);
    // What they were called counts, too.
    let long = format!("/{}", "x".repeat(KEPT / 3));
    for _ in 0..4 {
        ended(&session, &long).await;
    }
    assert!(session.list_background().len() <= 4, "{}", session.list_background().len());
}
