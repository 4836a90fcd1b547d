//! Sessions: a sandbox that stays, with a shell in it that keeps its state from one command to the next.

mod background;
mod channel;
mod directory;
mod driver;
mod ending;
mod entry;
mod error;
mod house;
mod live;
mod memory;
mod options;
mod output;
mod processes;
mod run;
mod seat;
mod session;
mod shell;
mod state;
mod tender;
mod walls;

pub use background::{BackgroundChunk, BackgroundId, BackgroundOutput, BackgroundState, BackgroundStream};
pub use error::SessionError;
pub use options::{SessionCommand, SessionInput, SessionOptions};
pub use run::{Canceller, SessionRun};
pub use session::Session;
