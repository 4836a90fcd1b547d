//! Doors for the fuzz targets: what reads bytes from inside, with what must hold whatever they are.
//!
//! Each function panics where something does not hold.

pub use crate::dns::fuzzing::dns;
pub use crate::http::fuzzing::http_head;
pub use crate::socks::fuzzing::socks;
pub use crate::tls::fuzzing::client_hello;
