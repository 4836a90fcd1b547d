//! Stand-ins on roads their secrets must not take.

use std::fmt;
use stockade_policy::Target;

/// A stand-in that was sent and stayed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Whose stand-in it is: a variable or a file.
    pub(crate) name: String,
    /// Where it was sent.
    pub(crate) to: Target,
    /// Why it was not replaced.
    pub(crate) why: Why,
}

/// Why a stand-in was not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The secret is not for this host.
    OtherHost,
    /// The secret is for this host, but the request is not inside TLS.
    Plaintext,
    /// The secret is a key to sign with, which nobody is ever sent.
    SigningKey,
    /// The value would not fit where the stand-in is.
    Unfit,
}

impl fmt::Display for Stray {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, to, why } = self;
        match why {
            Why::OtherHost => {
                write!(out, "the stand-in of {name} was sent to {to}, which is not among its injectHosts")
            }
            Why::Plaintext => {
                write!(out, "the stand-in of {name} was sent to {to} outside TLS, where it is not replaced")
            }
            Why::SigningKey => {
                write!(out, "the stand-in of {name} was sent to {to}, but a key to sign with is never sent")
            }
            Why::Unfit => {
                write!(out, "the stand-in of {name} was sent to {to}, and its value does not fit there")
            }
        }
    }
}
