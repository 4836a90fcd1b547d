//! Which way out a connection takes.

use crate::gateway::GatewayError;
use crate::http::ParentProxyAddress;
use ipnet::IpNet;
use std::fmt;
use std::path::PathBuf;
use stockade_policy::{DomainPattern, Host, ParentProxy, Target, Upstreams};

/// Where connections are led instead of to their target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    mitm: Option<(PathBuf, Vec<DomainPattern>)>,
    http: Option<ParentProxyAddress>,
    https: Option<ParentProxyAddress>,
    direct: Vec<Exception>,
}

/// The way one connection takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// To the target itself.
    Direct,
    /// Through the proxy behind this socket.
    Socket(&'a PathBuf),
    /// Through the proxy that leads out of this network.
    Parent(&'a ParentProxyAddress),
}

impl fmt::Display for Route<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => out.write_str("no proxy"),
            Self::Socket(socket) => write!(out, "the proxy at {}", socket.display()),
            Self::Parent(proxy) => write!(out, "the proxy {}", proxy.at),
        }
    }
}

/// One entry of `noProxy`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    Everything,
    /// The name itself and everything below it.
    Domain(String, Option<u16>),
    Network(IpNet, Option<u16>),
}

impl Routes {
    /// Reads the settings; what cannot be read is an error, never a direct way.
    pub(crate) fn new(upstreams: &Upstreams) -> Result<Self, GatewayError> {
        let mitm = match &upstreams.mitm_proxy {
            Some(proxy) => {
                let domains = proxy.domains.iter().map(|domain| {
                    let what = "mitmProxy.domains";
                    DomainPattern::parse_denied(domain)
                        .map_err(|_| GatewayError::Route { what, text: domain.clone() })
                });
                Some((PathBuf::from(&proxy.socket_path), domains.collect::<Result<_, _>>()?))
            }
            None => None,
        };
        let ParentProxy { http, https, no_proxy } = upstreams.parent_proxy.clone().unwrap_or_default();
        let direct = no_proxy.as_deref().unwrap_or_default().split([',', ' ']).filter_map(Exception::parse);
        Ok(Self {
            mitm,
            http: address("parentProxy.http", http)?,
            https: address("parentProxy.https", https)?,
            direct: direct.collect(),
        })
    }

    /// The way to a target.
    pub(crate) fn to(&self, target: &Target) -> Route<'_> {
        // Each proxy is for its own scheme; what is neither goes like a tunnel.
        let parent = match target.port {
            80 => self.http.as_ref().or(self.https.as_ref()),
            _ => self.https.as_ref().or(self.http.as_ref()),
        };
        self.through(target, parent)
    }

    /// The way of a request without TLS, which a proxy is asked for instead of for a tunnel.
    pub(crate) fn of_request(&self, target: &Target) -> Route<'_> {
        self.through(target, self.http.as_ref().or(self.https.as_ref()))
    }

    fn through<'a>(&'a self, target: &Target, parent: Option<&'a ParentProxyAddress>) -> Route<'a> {
        if let Some((socket, domains)) = &self.mitm
            && domains.iter().any(|domain| {
                target.host.fits(&domain.host) && domain.port.is_none_or(|port| port == target.port)
            })
        {
            return Route::Socket(socket);
        }
        match parent {
            // Loopback is this machine: the proxy's would be another.
            Some(_) if target.host.is_loopback() => Route::Direct,
            Some(proxy) if !self.direct.iter().any(|exception| exception.is_about(target)) => {
                Route::Parent(proxy)
            }
            _ => Route::Direct,
        }
    }
}

fn address(what: &'static str, url: Option<String>) -> Result<Option<ParentProxyAddress>, GatewayError> {
    let Some(url) = url.filter(|url| !url.trim().is_empty()) else { return Ok(None) };
    // Nothing of a URL that may hold a password is repeated, except what follows the last of it.
    let text = || url.rsplit('@').next().unwrap_or_default().to_owned();
    ParentProxyAddress::parse(&url).map(Some).map_err(|_| GatewayError::Route { what, text: text() })
}

impl Exception {
    /// `example.org`, `.example.org`, `*.example.org`, `10.0.0.0/8`, `*`, each with a port if need be.
    ///
    /// What cannot be read is passed over: then the proxy is used, which is the narrower way.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "*" {
            return Some(Self::Everything);
        }
        if let Ok(network) = text.parse::<IpNet>() {
            return Some(Self::Network(network, None));
        }
        let bare = text.strip_prefix("*.").or_else(|| text.strip_prefix('.')).unwrap_or(text);
        let (host, port) = match Host::parse(bare.as_bytes()) {
            Ok(host) => (host, None),
            Err(_) => {
                Target::parse(bare.as_bytes(), None).map(|target| (target.host, Some(target.port))).ok()?
            }
        };
        Some(match host {
            Host::Name(name) => Self::Domain(name, port),
            Host::Address(address) => Self::Network(IpNet::from(address), port),
        })
    }

    fn is_about(&self, target: &Target) -> bool {
        let on = |port: &Option<u16>| port.is_none_or(|port| port == target.port);
        match (self, &target.host) {
            (Self::Everything, _) => true,
            (Self::Domain(domain, port), Host::Name(name)) => {
                let above = name.strip_suffix(domain.as_str());
                on(port) && above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            (Self::Network(network, port), Host::Address(address)) => on(port) && network.contains(address),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade_policy::MitmProxy;

    fn target(text: &str) -> Target {
        Target::parse(text.as_bytes(), None).unwrap()
    }

    fn parent(no_proxy: &str) -> Routes {
        let proxy = ParentProxy {
            http: Some("http://plain.test:1".into()),
            https: Some("http://u:p@tunnel.test:2".into()),
            no_proxy: Some(no_proxy.into()),
        };
        Routes::new(&Upstreams { parent_proxy: Some(proxy), ..Upstreams::default() }).unwrap()
    }

    #[test]
    fn what_goes_directly() {
        let routes = parent("a.test, .b.test,*.c.test,10.0.0.0/8,192.0.2.1,d.test:81,[2001:db8::1],???");
        for direct in [
            "a.test:443",
            "x.a.test:80",
            "b.test:1",
            "x.b.test:1",
            "y.c.test:1",
            "10.9.9.9:1",
            "192.0.2.1:443",
            "d.test:81",
            "[2001:db8::1]:1",
        ] {
            assert_eq!(routes.to(&target(direct)), Route::Direct, "{direct}");
        }
        for led in ["xa.test:443", "a.test.evil.test:443", "11.0.0.1:1", "192.0.2.2:443", "d.test:82"] {
            assert!(matches!(routes.to(&target(led)), Route::Parent(_)), "{led}");
        }
        assert_eq!(parent("*").to(&target("x.test:443")), Route::Direct);
    }

    /// What is listed as loopback is this machine, and the proxy's is another.
    #[test]
    fn this_machine_is_never_reached_through_a_proxy_elsewhere() {
        let routes = parent("");
        for own in ["127.0.0.1:9001", "127.8.8.8:80", "localhost:9001", "a.localhost:80", "[::1]:443"] {
            assert_eq!(routes.to(&target(own)), Route::Direct, "{own}");
            assert_eq!(routes.of_request(&target(own)), Route::Direct, "{own}");
        }
        for other in ["128.0.0.1:80", "xlocalhost:80", "localhost.test:80"] {
            assert!(matches!(routes.to(&target(other)), Route::Parent(_)), "{other}");
        }
        // Whoever lists it for a socket means it.
        let proxy = MitmProxy { socket_path: "/run/mitm".into(), domains: vec!["127.0.0.1".into()] };
        let routes = Routes::new(&Upstreams { mitm_proxy: Some(proxy), ..Upstreams::default() }).unwrap();
        assert!(matches!(routes.to(&target("127.0.0.1:1")), Route::Socket(_)));
    }

    #[test]
    fn each_scheme_has_its_proxy() {
        let routes = parent("");
        let name = |route: Route<'_>| match route {
            Route::Parent(proxy) => proxy.at.to_string(),
            other => format!("{other:?}"),
        };
        let led = |text| name(routes.to(&target(text)));
        assert_eq!(led("x.test:80"), "plain.test:1");
        assert_eq!(led("x.test:443"), "tunnel.test:2");
        assert_eq!(led("x.test:22"), "tunnel.test:2");
        assert_eq!(name(routes.of_request(&target("x.test:8080"))), "plain.test:1");
        assert_eq!(parent("x.test").of_request(&target("x.test:8080")), Route::Direct);
    }

    #[test]
    fn some_domains_go_through_a_socket() {
        let proxy = MitmProxy { socket_path: "/run/mitm".into(), domains: vec!["*.m.test".into()] };
        let routes = Routes::new(&Upstreams { mitm_proxy: Some(proxy), ..Upstreams::default() }).unwrap();
        assert_eq!(routes.to(&target("x.m.test:443")), Route::Socket(&PathBuf::from("/run/mitm")));
        assert_eq!(routes.of_request(&target("x.m.test:80")), Route::Socket(&PathBuf::from("/run/mitm")));
        assert_eq!(routes.to(&target("m.test:443")), Route::Direct);
    }

    #[test]
    fn a_proxy_that_cannot_be_read_is_an_error_without_its_password() {
        let proxy = ParentProxy { https: Some("socks5://me:secret@x.test".into()), ..ParentProxy::default() };
        let error =
            Routes::new(&Upstreams { parent_proxy: Some(proxy), ..Upstreams::default() }).unwrap_err();
        assert!(!error.to_string().contains("secret") && error.to_string().contains("x.test"), "{error}");
    }
}
