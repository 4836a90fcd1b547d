//! The stub resolver of a sandbox.
//!
//! It answers for every name server, because the kernel leads port 53 of any address here, and it is not one
//! itself: no query is ever passed on. What leaves the machine is at most the question whether an *allowed*
//! name exists, put to the host's own resolver. The answer inside is always an address of a private pool, so
//! that the gateway knows the name when the connection comes.
//!
//! **A refused name does not exist** (NXDOMAIN), although REFUSED would be the truer word. To the C library of
//! musl REFUSED is no answer at all: it waits for another one until its time is up, five seconds later. The GNU
//! C library, Java on top of it, and Go take it for a server that is out of order, ask the next one and then
//! all of them again, and report a temporary failure in the end, which makes programs retry; so does c-ares
//! unless it is told otherwise. NXDOMAIN ends the lookup in all of them: the suffixes of a search list are all
//! that is still tried, each answered here within a millisecond. Askers that understand extended errors
//! (`dig`) are told that the name is blocked, and why.
//!
//! **Only addresses are answered.** HTTPS, SVCB, SRV, MX, TXT and all other kinds exist for no name: NOERROR
//! without data for those that are allowed. Zone transfers and classes other than the internet's are refused.
//!
//! Everything is bounded: pool, lookups, TCP clients, what is told of refused names.

#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod hush;
mod names;
mod query;
mod reply;
mod resolve;
mod reverse;
mod room;
mod stream;
mod sys;
#[cfg(test)]
mod tests;
mod udp;
mod ward;
mod wire;

pub(crate) use names::Names;
pub(crate) use stream::serve_stream;
pub(crate) use sys::is_no_such_name;
pub(crate) use udp::serve_udp;
