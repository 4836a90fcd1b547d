//! Questions and grants of the library, with real commands in real sandboxes.

#[cfg(test)]
mod callback;
#[cfg(test)]
mod network;
#[cfg(test)]
mod world;
