//! Why TLS to a host that is looked into was refused.

use crate::gateway;
use rustls::AlertDescription;
use stockade_policy::{Cause, Host, NetRefusal, Target, ViolationKind};

fn refusal(target: &Target, cause: Cause, reason: String) -> NetRefusal {
    gateway::refusal(target, cause, reason, None)
}

/// All places are taken.
pub(super) fn too_many(target: &Target, most: u32) -> NetRefusal {
    let reason = format!("{most} connections are looked into already, which is tlsTerminate.maxTunnels");
    NetRefusal { kind: ViolationKind::Limit, ..refusal(target, Cause::Limit, reason) }
}

/// The client wants another host inside TLS than the one it connected to.
pub(super) fn other_name(target: &Target, sni: Option<&Host>) -> NetRefusal {
    let reason = match sni {
        Some(name) => format!("TLS asks for {name} on a connection to {}", target.host),
        None => format!("TLS names no host on a connection to {}; it must name that one", target.host),
    };
    refusal(target, Cause::Mismatch, reason)
}

/// Several names, or one that is none.
pub(super) fn bad_name(target: &Target, shown: &str) -> NetRefusal {
    refusal(target, Cause::Mismatch, format!("TLS asks for {shown:?}, which is not one host name"))
}

/// Something else than a ClientHello.
pub(super) fn not_tls(target: &Target) -> NetRefusal {
    refusal(target, Cause::Grammar, "the first message is no TLS ClientHello".to_owned())
}

/// Something else than HTTP inside.
pub(super) fn not_http(target: &Target) -> NetRefusal {
    let reason = "what is said inside TLS is not HTTP, and requests to this host are looked into".to_owned();
    let suggestion = Some(format!("list {} in tlsTerminate.excludeDomains", target.host));
    NetRefusal { suggestion, ..refusal(target, Cause::Protocol, reason) }
}

/// HTTP inside, where it can no longer be looked into.
pub(super) fn late_http(target: &Target) -> NetRefusal {
    let reason = "a request came inside TLS when it was too late to look into it".to_owned();
    refusal(target, Cause::Protocol, reason)
}

/// The client does not know our authority.
pub(super) fn distrusted(target: &Target) -> NetRefusal {
    let reason = "the program does not trust the sandbox's certificate authority: it ignores SSL_CERT_FILE, \
                  NODE_EXTRA_CA_CERTS, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, GIT_SSL_CAINFO and the like, which \
                  name the certificates to trust"
        .to_owned();
    let suggestion = Some(format!(
        "give it the file that SSL_CERT_FILE names, or list {} in tlsTerminate.excludeDomains",
        target.host
    ));
    NetRefusal { suggestion, ..refusal(target, Cause::Protocol, reason) }
}

/// Whether a client ends a handshake with this because it does not trust whom it met.
pub(super) fn is_distrust(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate
    )
}
