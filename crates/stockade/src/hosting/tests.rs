//! Hosts and clients in one process.
