//! Attacks and real work, run through the command line in real sandboxes, as root and as an ordinary user.

#[cfg(test)]
mod absent;
#[cfg(test)]
mod asking;
#[cfg(test)]
mod broker;
#[cfg(test)]
mod check;
#[cfg(test)]
mod config;
#[cfg(test)]
mod descriptors;
#[cfg(test)]
mod edges;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod files;
#[cfg(test)]
mod input;
#[cfg(test)]
mod interface;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod model;
#[cfg(test)]
mod names;
#[cfg(test)]
mod network;
#[cfg(test)]
mod overlay;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod procfs;
#[cfg(test)]
mod protected;
#[cfg(test)]
mod records;
#[cfg(test)]
mod review;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod srt;
#[cfg(test)]
mod support;
#[cfg(test)]
mod swapping;
#[cfg(test)]
mod unread;
#[cfg(test)]
mod work;
#[cfg(test)]
mod worktree;

/// The words of one act of the probe: text, paths, whatever an operating system takes.
macro_rules! act {
    ($($word:expr),+ $(,)?) => { vec![$(::std::ffi::OsString::from($word)),+] };
}
use act;
