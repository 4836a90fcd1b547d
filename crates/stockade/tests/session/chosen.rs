//! Commands without walls, where commands behind walls have moved the shell.

use crate::support::{World, run, sh};
use std::fs;
use std::path::Path;
use stockade::{BareWish, PrepareError, Session, SessionCommand, SessionError, Wiring};

/// A session whose user lets `touch` and wishes run without walls, with a directory that is not the workspace.
async fn session(world: &World) -> Session {
    let settings = world.at("home/.config/stockade/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, r#"{"excludedCommands": ["touch:*"], "allowUnsandboxedCommands": true}"#).unwrap();
    fs::create_dir(world.at("other")).unwrap();
    world.open().await
}

fn is_empty(place: &Path) -> bool {
    fs::read_dir(place).unwrap().next().is_none()
}

/// Tries every kind of command that would run without walls in the shell's directory.
async fn keeps_its_walls(world: &World, session: &Session, why: &str) {
    let ran = sh(session, "touch text").await;
    assert!(ran.captured.outcome.sandboxed, "{}", ran.stderr);
    let id = session.background("touch background").await.unwrap();
    assert!(session.wait_background(id).await.unwrap().outcome.unwrap().sandboxed);
    let beside = session.exec_argv(["touch", "argv"], Wiring::captured()).await.unwrap();
    assert!(beside.wait().await.unwrap().sandboxed);
    let wish = SessionCommand::new("touch wish").bare(BareWish::Bare);
    match session.capture(wish).await {
        Err(SessionError::Prepare(PrepareError::Refused { reason, .. })) => {
            assert!(reason.contains(why), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert!(is_empty(&world.at("other")));
}

#[tokio::test]
async fn a_directory_that_became_a_link_leads_nobody_out() {
    let world = World::new();
    let session = session(&world).await;
    sh(&session, "mkdir q; cd q").await;
    assert!(!sh(&session, "touch here").await.captured.outcome.sandboxed);
    let (work, other) = (world.at("home/work"), world.at("other"));
    let swap = format!("rm -r {0}/q; ln -s {1} {0}/q", work.display(), other.display());
    let id = session.background(swap.as_str()).await.unwrap();
    session.wait_background(id).await.unwrap();
    assert_eq!(fs::read_link(work.join("q")).unwrap(), other);
    keeps_its_walls(&world, &session, "through the link").await;
    // Back in the workspace all is well again.
    sh(&session, &format!("cd {}/sub", work.display())).await;
    let ran = run(&session, SessionCommand::new("touch again")).await;
    assert!(!ran.captured.outcome.sandboxed, "{}", ran.stderr);
    assert!(work.join("sub/again").exists());
}

#[tokio::test]
async fn a_directory_that_is_another_one_now_is_not_the_shells() {
    let world = World::new();
    let session = session(&world).await;
    sh(&session, "mkdir q; cd q").await;
    // Kept, so that its number is not given to the next one.
    let _kept = fs::File::open(world.at("home/work/q")).unwrap();
    fs::remove_dir(world.at("home/work/q")).unwrap();
    fs::create_dir(world.at("home/work/q")).unwrap();
    keeps_its_walls(&world, &session, "not the directory that the session's shell is in").await;
}

#[tokio::test]
async fn nothing_goes_without_walls_where_commands_may_not_write() {
    let world = World::new();
    let session = session(&world).await;
    sh(&session, &format!("cd {}", world.at("other").display())).await;
    assert_eq!(session.cwd(), world.at("other"));
    keeps_its_walls(&world, &session, "commands behind walls chose").await;
    // Nor does a shell that is gone help.
    sh(&session, "kill -9 $$").await;
    keeps_its_walls(&world, &session, "commands behind walls chose").await;
}
