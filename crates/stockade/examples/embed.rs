//! An agent's commands in one sandbox; a person lifts a refusal, and the work goes on.
//! Usage: embed FILE, with a file outside of the working directory.

use stockade::{Manager, PermissionAnswer, Runtime, ToolInput};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: embed FILE")?;

    // Nothing is made yet: the sandbox comes with the first command, and stays.
    let manager = Manager::new(Runtime::builder());
    manager.execute(ToolInput::new("mkdir -p src; cd src; export NAME=world")).await?;

    // Commands may change the working directory and nothing else: the result says what was refused and why.
    let call = ToolInput::new(format!("echo hello, $NAME, from $PWD >> '{file}'"));
    let result = manager.execute(call.clone()).await?;
    let request = result.permission_request.ok_or("nothing was refused")?;
    println!("refused: {:?} {}: {}", request.operation, request.display, request.reason);

    // Ask your user. This yes holds for this manager; AllowOnce, AllowPermanent and Deny are the others.
    manager.answer(&request, PermissionAnswer::AllowSession).await?;

    // The same call works now, and the shell still knows where it was.
    let result = manager.execute(call).await?;
    println!("exit code {}, in a sandbox: {}", result.exit_code, result.sandboxed);
    print!("{}", std::fs::read_to_string(&file)?);

    manager.shutdown().await;
    Ok(())
}
