//! Sandboxes whose network leads to a gateway, driven through the provider's door.
//!
//! The program inside is this test itself: with `INSIDE` in its environment the test `inside::act` does what
//! that names and prints what came of it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of a test may fail the test")]

mod doors;
mod endings;
mod files;
mod inside;
mod support;
mod telling;
mod user;
