//! What is wrong with a server's TLS, in words for whoever wanted to reach it.

use rustls::{AlertDescription, CertificateError, Error};
use std::error::Error as AnyError;
use std::io;

/// What would mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// To trust another authority.
    Authority,
    /// Nothing on this side.
    Nothing,
}

/// Why a certificate is not trusted.
pub(super) fn distrust(why: &CertificateError) -> (&'static str, Remedy) {
    use CertificateError as Why;
    match why {
        Why::UnknownIssuer => ("nobody whom this machine trusts has signed it", Remedy::Authority),
        Why::NotValidForName | Why::NotValidForNameContext { .. } => {
            ("it is for another name", Remedy::Nothing)
        }
        Why::Expired | Why::ExpiredContext { .. } => ("it has expired", Remedy::Nothing),
        Why::NotValidYet | Why::NotValidYetContext { .. } => ("it is not valid yet", Remedy::Nothing),
        Why::Revoked => ("it was revoked", Remedy::Nothing),
        // An authority of the same name may have signed it, which is another one.
        Why::BadSignature => ("nobody whom this machine trusts has signed it so", Remedy::Authority),
        Why::BadEncoding => ("it cannot be read", Remedy::Nothing),
        Why::InvalidPurpose | Why::InvalidPurposeContext { .. } => {
            ("it is not one for servers", Remedy::Nothing)
        }
        // One that signed itself and says that it is an authority is among these.
        _ => ("it is not one that can be checked", Remedy::Authority),
    }
}

/// Why there is no TLS, or no more of it.
pub(crate) fn failure(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => of_library(error),
        None => match error.kind() {
            io::ErrorKind::UnexpectedEof => "it closed the connection before the end".to_owned(),
            _ => error.to_string(),
        },
    }
}

/// The same for an error somewhere below another.
pub(crate) fn cause(error: &(dyn AnyError + 'static)) -> Option<String> {
    let cause = error.source()?;
    let below = cause.downcast_ref::<io::Error>();
    let below = below.or_else(|| cause.downcast_ref::<h2::Error>().and_then(h2::Error::get_io));
    Some(below.map_or_else(|| cause.to_string(), failure))
}

fn of_library(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => format!("its certificate is not trusted: {}", distrust(why).0),
        Error::InvalidMessage(_) => "what it says is not TLS".to_owned(),
        Error::AlertReceived(alert) => alerted(*alert),
        Error::PeerIncompatible(_) => "it speaks neither TLS 1.2 nor 1.3 in a way that is safe".to_owned(),
        Error::NoApplicationProtocol => "it speaks no protocol that was offered".to_owned(),
        Error::PeerMisbehaved(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::DecryptError => "it breaks the rules of TLS".to_owned(),
        _ => "TLS came to nothing".to_owned(),
    }
}

fn alerted(alert: AlertDescription) -> String {
    let words = match alert {
        AlertDescription::ProtocolVersion => "it speaks neither TLS 1.2 nor 1.3",
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            "it agrees to no way of encrypting, or wants a certificate from the client"
        }
        AlertDescription::UnrecognisedName => "it does not know that name",
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::AccessDenied => "it wants a certificate from the client",
        AlertDescription::NoApplicationProtocol => "it speaks no protocol that was offered",
        AlertDescription::InternalError => "it failed by itself",
        AlertDescription::CloseNotify => "it closed the connection before the end",
        other => return format!("it refuses with TLS alert {}", u8::from(other)),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_words_of_the_library_are_shown() {
        let early = io::Error::new(io::ErrorKind::UnexpectedEof, "close_notify: https://library.test");
        assert_eq!(failure(&early), "it closed the connection before the end");
        for error in [
            Error::AlertReceived(AlertDescription::HandshakeFailure),
            Error::AlertReceived(AlertDescription::ProtocolVersion),
            Error::AlertReceived(AlertDescription::Unknown(77)),
            Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
            Error::InvalidCertificate(CertificateError::Expired),
            Error::General("Inside".to_owned()),
        ] {
            let words = failure(&io::Error::new(io::ErrorKind::InvalidData, error));
            let plain = words.replace("TLS", "");
            assert!(!plain.chars().any(char::is_uppercase) && !words.contains("://"), "{words}");
        }
        assert_eq!(distrust(&CertificateError::NotValidForName).1, Remedy::Nothing);
        assert_eq!(distrust(&CertificateError::UnknownIssuer).1, Remedy::Authority);
    }
}
