//! Commands that the program runs itself, before any rule is asked: here `/todo`, an agent's list of things to
//! do. Everything else goes to the sandbox.

use std::sync::{Arc, Mutex};
use stockade::{CommandLine, Manager, Request, Routed, Runtime, Taken, ToolInput};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let list = Arc::new(Mutex::new(Vec::<String>::new()));
    let router = move |request: &Request| {
        let CommandLine::Shell(text) = &request.command else { return Routed::Native };
        let Some(entry) = text.to_str().and_then(|text| text.strip_prefix("/todo ")) else {
            return Routed::Native;
        };
        let (list, entry) = (Arc::clone(&list), entry.to_owned());
        Routed::taken(async move {
            let Ok(mut list) = list.lock() else { return Taken { code: 1, ..Taken::default() } };
            list.push(entry);
            Taken { stdout: format!("{} to do\n", list.len()).into_bytes(), ..Taken::default() }
        })
    };

    let manager = Manager::new(Runtime::builder().router(router));
    for command in ["/todo write tests", "/todo run them", "echo from the sandbox; touch /usr/mine"] {
        let result = manager.execute(ToolInput::new(command)).await?;
        print!("{} ({}): {}", command, result.kind, result.stdout);
    }
    manager.shutdown().await;
    Ok(())
}
