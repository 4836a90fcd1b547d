//! Sessions: a shell that stays, and everything commands do to it.

#[cfg(test)]
mod basics;
#[cfg(test)]
mod cancelling;
#[cfg(test)]
mod chosen;
#[cfg(test)]
mod deciding;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod living;
#[cfg(test)]
mod shelf;
#[cfg(test)]
mod support;
#[cfg(test)]
mod telling;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod user;
#[cfg(test)]
mod volume;
