//! Requests out of TLS that was looked into.
