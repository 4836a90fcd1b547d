//! Settings that change while commands run.
//!
//! A [`Reload`] knows what a policy was made from and holds the one in force. Each look at the settings files
//! costs one call for each of them; where one has changed, everything is read and checked anew, and the policy
//! is replaced as a whole or not at all. Who looks: [`Runtime::prepare`](crate::Runtime::prepare), so that the
//! next command always runs under what the files say, and a [`Following`] beside every command that runs, which
//! hands the lists of hosts to its gateway and tells what happened.
//!
//! While a file is wrong, or one that was named is gone, the policy from before holds with one exception: nothing
//! runs without walls. Perhaps that is what somebody wanted to take back.
//!
//! A file with several names is wrong as soon as it changes: a command could have done it under another one.
//!
//! Files are looked at twice a second instead of being watched through the kernel: a look needs no descriptor
//! that would have to follow every rename and link on the way to the files, and a file that is not there yet
//! is no special case.

mod change;
mod following;
mod linked;
mod reading;
mod shared;
mod stamp;
#[cfg(test)]
mod tests;

pub(crate) use following::{Following, Looker};
pub(crate) use shared::{Fault, Reload};
