//! The library people embed.
