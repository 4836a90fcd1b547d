//! A server in the background: its output is read piece by piece while other commands run beside it.

use stockade::{BackgroundState, Manager, Runtime, ToolInput};
use tokio::time::{Duration, sleep};

/// What an agent would start: it waits for work and says what it does.
const SERVER: &str =
    "echo ready; until test -e job; do sleep 0.05; done; echo working on $(cat job); sleep 60";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let manager = Manager::new(Runtime::builder());
    let started = manager.execute(ToolInput::background(SERVER)).await?;
    let id = started.background_id.ok_or("it was refused")?;

    let mut seen = 0;
    let mut said = String::new();
    while !said.contains("working") {
        // Only what has not been read yet; `lost` would tell how much was printed and not kept.
        let output = manager.poll(&id, seen)?;
        for chunk in &output.chunks {
            said.push_str(&String::from_utf8_lossy(&chunk.data));
        }
        seen = output.next_seq;
        if said.contains("ready") {
            manager.execute(ToolInput::new("echo the first job > job")).await?;
        }
        sleep(Duration::from_millis(20)).await;
    }
    print!("{said}");

    manager.kill(&id)?;
    let end = manager.wait(&id).await?;
    let code = end.outcome.map(|outcome| outcome.exit_code);
    println!("over: {}, exit code {code:?}", end.state == BackgroundState::Over);
    manager.shutdown().await;
    Ok(())
}
