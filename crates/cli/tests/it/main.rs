//! Attacks and real work, run through the command line in real sandboxes, as root and as an ordinary user.

#[cfg(test)]
mod files;
#[cfg(test)]
mod names;
#[cfg(test)]
mod procfs;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod support;

/// The words of one act of the probe: text, paths, whatever an operating system takes.
macro_rules! act {
    ($($word:expr),+ $(,)?) => { vec![$(::std::ffi::OsString::from($word)),+] };
}
use act;
