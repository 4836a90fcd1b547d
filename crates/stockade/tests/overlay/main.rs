//! Overlays of the library, with real commands in real sandboxes.

#[cfg(test)]
mod library;
#[cfg(test)]
mod model;
