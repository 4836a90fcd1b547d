//! Overlays of the library, with real commands in real sandboxes.

#[cfg(test)]
mod model;
#[cfg(test)]
mod library;
