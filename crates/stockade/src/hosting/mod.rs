//! Sessions that outlive the terminal they were made on.
//!
//! A host is a process with one session and a socket in a private directory. Whoever is the same user, and not
//! in a sandbox, may have it run commands; nobody can change the policy that the session was made with.

mod client;
mod command;
mod console;
mod error;
mod host;
mod message;
mod name;
mod note;
mod place;
mod serve;
mod wire;

pub use client::{Attachment, Closed, Parting, RemoteRun, SessionClient};
pub use error::HostError;
pub use host::{Ending, Host, HostOptions, Lifetime};
pub use message::{AttachWish, BackgroundSaid, SaidChunk, SessionStatus, TerminalState};
pub use name::SessionName;
pub use place::{Claim, SessionPlace};
