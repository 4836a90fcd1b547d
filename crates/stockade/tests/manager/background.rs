//! Commands that go on while others run.

use crate::world::{each_caller, eventually, processes, run, works};
use std::fs;
use std::time::Duration;
use stockade::{BackgroundOutput, BackgroundState, BackgroundStream, Manager, ManagerError, ToolInput};

async fn start(manager: &Manager, text: impl Into<String>) -> String {
    let started = manager.execute(ToolInput::background(text)).await.unwrap();
    assert!(started.sandboxed && started.exit_code == 0, "{started:?}");
    started.background_id.unwrap()
}

fn text(output: &BackgroundOutput, stream: BackgroundStream) -> String {
    let pieces = output.chunks.iter().filter(|chunk| chunk.stream == stream);
    String::from_utf8(pieces.flat_map(|chunk| chunk.data.clone()).collect()).unwrap()
}

#[test]
fn output_is_read_from_a_place_on() {
    each_caller(async |world| {
        let manager = world.manager();
        works(&run(&manager, "export KEPT=1; mkdir below; cd below").await);
        let id = start(
            &manager,
            "echo $KEPT $PWD; until test -e go; do sleep 0.02; done; echo two; echo err >&2; exit 5",
        )
        .await;
        eventually("it says nothing", || !manager.poll(&id, 0).unwrap().chunks.is_empty()).await;
        let first = manager.poll(&id, 0).unwrap();
        let below = world.at("home/work/below");
        assert_eq!(text(&first, BackgroundStream::Stdout), format!("1 {}\n", below.display()));
        assert_eq!(first.state, BackgroundState::Running);
        assert!(manager.poll(&id, first.next_seq).unwrap().chunks.is_empty());
        assert_eq!(manager.status().background, 1);

        // The shell is free meanwhile.
        works(&run(&manager, "touch go").await);
        let all = manager.wait(&id).await.unwrap();
        assert_eq!(all.state, BackgroundState::Over);
        let rest = manager.poll(&id, first.next_seq).unwrap();
        assert_eq!(text(&rest, BackgroundStream::Stdout), "two\n");
        assert_eq!(text(&rest, BackgroundStream::Stderr), "err\n");
        assert_eq!(rest.outcome.unwrap().exit_code, 5);
        let listed = manager.background();
        assert_eq!(
            (listed.len(), listed[0].id.as_str(), listed[0].state),
            (1, id.as_str(), BackgroundState::Over)
        );
    });
}

#[test]
fn it_can_be_killed_and_ends_in_time() {
    each_caller(async |world| {
        let manager = world.manager();
        let words = format!("sleep 70{}", std::process::id());
        let killed = start(&manager, words.clone()).await;
        let limited = ToolInput { timeout: Some(400), ..ToolInput::background(words.clone()) };
        let limited = manager.execute(limited).await.unwrap().background_id.unwrap();
        let kept = start(&manager, "sleep 1; echo end").await;
        eventually("they did not start", || processes(&words).len() == 2).await;
        manager.kill(&killed).unwrap();
        let end =
            tokio::time::timeout(Duration::from_secs(10), manager.wait(&killed)).await.unwrap().unwrap();
        assert_ne!(end.outcome.unwrap().exit_code, 0);
        let end =
            tokio::time::timeout(Duration::from_secs(10), manager.wait(&limited)).await.unwrap().unwrap();
        assert_ne!(end.outcome.unwrap().exit_code, 0);
        eventually("something is left", || processes(&words).is_empty()).await;
        assert_eq!(text(&manager.wait(&kept).await.unwrap(), BackgroundStream::Stdout), "end\n");
        for id in ["b99", "x", ""] {
            assert!(matches!(manager.poll(id, 0), Err(ManagerError::UnknownCommand { .. })), "{id}");
        }
    });
}

#[test]
fn it_is_behind_walls() {
    each_caller(async |world| {
        let manager = world.manager();
        let id = start(&manager, format!("echo x > {}", world.outside("new").display())).await;
        let outcome = manager.wait(&id).await.unwrap().outcome.unwrap();
        assert!(outcome.blocked && outcome.sandboxed, "{outcome:?}");
        assert!(!world.outside("new").exists());
        let bare = ToolInput { dangerously_disable_sandbox: true, ..ToolInput::background("true") };
        assert!(matches!(manager.execute(bare).await, Err(ManagerError::Input(_))));
    });
}

/// A permission needs a new sandbox; what runs in the old one goes on.
#[test]
fn it_goes_on_when_something_is_opened() {
    each_caller(async |world| {
        let manager = world.manager();
        let file = world.file("file", "");
        works(&run(&manager, "export KEPT=1; mkdir below; cd below").await);
        let id = start(&manager, "until test -e go; do sleep 0.02; done; echo end").await;
        manager.add_runtime_whitelist(&file).await.unwrap();
        assert_eq!(manager.list().len(), 2);
        let done = run(&manager, format!("echo x > {}; echo $KEPT $PWD", file.display())).await;
        assert_eq!(works(&done), format!("1 {}\n", world.at("home/work/below").display()));
        assert!(done.notices.iter().any(|notice| notice.contains("old sandbox")), "{:?}", done.notices);
        assert_eq!(manager.poll(&id, 0).unwrap().state, BackgroundState::Running);
        works(&run(&manager, "touch go").await);
        assert_eq!(text(&manager.wait(&id).await.unwrap(), BackgroundStream::Stdout), "end\n");
        works(&run(&manager, "true").await);
        assert_eq!(manager.list().len(), 1, "the old one is still there");
        assert_eq!(text(&manager.poll(&id, 0).unwrap(), BackgroundStream::Stdout), "end\n");
        assert_eq!(fs::read(&file).unwrap(), b"x\n");
    });
}
