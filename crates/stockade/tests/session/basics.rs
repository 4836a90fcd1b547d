//! What a shell keeps from one command to the next, and what commands give back.

use crate::support::{World, sh};

#[tokio::test]
async fn state_is_kept() {
    let world = World::new();
    let session = world.open().await;
    let ran =
        sh(&session, "cd sub; x=1; export Y=2; f() { echo f $x; }; echo out; echo err >&2; false").await;
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code), ("out\n", "err\n", 1));
    let ran = sh(&session, "f; echo $Y; pwd").await;
    assert_eq!(ran.stdout, format!("f 1\n2\n{}\n", world.at("home/work/sub").display()));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.captured.outcome.sandboxed);
    session.close().await;
    assert!(world.left().is_empty(), "{:?}", world.left());
}
