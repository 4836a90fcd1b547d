//! Which variables a command gets.

use crate::policy::Manner;
use crate::settings::native::Inherit;
use crate::{Notice, NoticeWeight, ProxyPorts, Variable, data};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Rules about variables, merged.
#[derive(Clone, Debug)]
pub(crate) struct EnvironmentRules {
    manner: Manner,
    pub(crate) inherit: Inherit,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) set: Vec<(String, String)>,
    /// `--pass-env`.
    pub(crate) pass: Vec<String>,
    /// Masked variables: a stand-in is seen instead of the value.
    pub(crate) stand_ins: Vec<String>,
    /// Settings of git behind walls, names and values.
    pub(crate) git_settings: Vec<(&'static str, String)>,
    /// Where TMPDIR points, if not to the usual place.
    pub(crate) temporary: Option<PathBuf>,
}

/// What the plan knows and variables depend on.
pub(crate) struct Setting<'a> {
    /// Where TMPDIR points; absent where it is left alone.
    pub(crate) temporary: Option<&'a Path>,
    /// Where tools keep caches; absent where they are left alone.
    pub(crate) cache: Option<&'a Path>,
    /// Proxies that programs are to use; absent where connections need none.
    pub(crate) proxies: Option<ProxyPorts>,
    /// The certificates to trust, where the gateway looks into TLS.
    pub(crate) bundle: Option<&'a Path>,
    /// No rules at all: everything is inherited.
    pub(crate) bare: bool,
}

/// What goes past proxies, as srt has it: the sandbox's own loopback, and networks that are not the proxy's.
const NOT_PROXIED: &str = "localhost,127.0.0.1,::1,169.254.0.0/16,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16";

/// Where programs look for certificates.
const CERTIFICATES: [&str; 11] = [
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
];

/// The variables, and what to tell about those that did not cross.
pub(crate) struct Chosen {
    pub(crate) variables: Vec<Variable>,
    pub(crate) notices: Vec<Notice>,
}

impl EnvironmentRules {
    pub(crate) fn new(manner: Manner) -> Self {
        Self {
            manner,
            inherit: if manner == Manner::Srt { Inherit::All } else { Inherit::Allowlist },
            allow: Vec::new(),
            deny: Vec::new(),
            set: Vec::new(),
            pass: Vec::new(),
            stand_ins: Vec::new(),
            git_settings: Vec::new(),
            temporary: None,
        }
    }

    /// Chooses from the caller's environment.
    pub(crate) fn choose(&self, callers: &[(OsString, OsString)], setting: &Setting) -> Chosen {
        let lists = data::environment();
        let mut variables = Vec::with_capacity(callers.len());
        let (mut dropped, mut refused) = (Vec::new(), Vec::new());
        for (name, value) in callers {
            let bytes = name.as_encoded_bytes();
            let asked = any(&self.pass, bytes) || any(&self.allow, bytes);
            let never = self.manner == Manner::Native && !setting.bare && any(&lists.never, bytes);
            if never && asked {
                refused.push(name.to_string_lossy().into_owned());
            }
            let crosses = !never
                && !any(&self.deny, bytes)
                && (asked
                    || setting.bare
                    || match (self.inherit, self.manner) {
                        (Inherit::All, Manner::Srt) => true,
                        (Inherit::All, Manner::Native) => !any(&lists.secrets, bytes),
                        (Inherit::Allowlist, _) => any(&lists.allow, bytes),
                        (Inherit::None, _) => false,
                    });
            let masked = !setting.bare && self.stand_ins.iter().any(|masked| *name == **masked);
            if masked && !never && !any(&self.deny, bytes) {
                let stand_in = format!("fake_value_{}", name.to_string_lossy()).into();
                variables.push(Variable { name: name.clone(), value: stand_in });
            } else if crosses {
                variables.push(Variable { name: name.clone(), value: value.clone() });
            } else {
                dropped.push(name.to_string_lossy().into_owned());
            }
        }
        self.add_ours(&mut variables, setting);
        let mut notices = Vec::new();
        if !refused.is_empty() {
            let text = format!(
                "never taken from the caller, because they load or run other code: {}",
                refused.join(", ")
            );
            notices.push(Notice { text, weight: NoticeWeight::Warning });
        }
        if !dropped.is_empty() {
            dropped.sort_unstable();
            let text = format!(
                "variables that do not cross: {}; --pass-env NAME lets one through",
                dropped.join(", ")
            );
            notices.push(Notice { text, weight: NoticeWeight::Detail });
        }
        Chosen { variables, notices }
    }

    fn add_ours(&self, variables: &mut Vec<Variable>, setting: &Setting) {
        if let Some(temporary) = setting.temporary {
            put(variables, "TMPDIR", temporary.as_os_str());
        }
        if let Some(cache) = setting.cache {
            let cache = cache.to_string_lossy();
            for (name, value) in data::caches().variables {
                // Somebody who asks for a variable by name wants the caller's value.
                if !any(&self.pass, name.as_bytes()) && !any(&self.allow, name.as_bytes()) {
                    put(variables, name, OsStr::new(&value.replace("{cache}", &cache)));
                }
            }
        }
        if self.manner == Manner::Srt {
            put(variables, "SANDBOX_RUNTIME", OsStr::new("1"));
        }
        if !setting.bare {
            self.add_git_settings(variables);
        }
        if let Some(proxies) = setting.proxies {
            add_proxies(variables, proxies);
        }
        if let Some(bundle) = setting.bundle {
            for name in CERTIFICATES {
                put(variables, name, bundle.as_os_str());
            }
        }
        for (name, value) in &self.set {
            put(variables, name, OsStr::new(value));
        }
    }

    /// Git reads numbered pairs; those the caller set stay in front.
    fn add_git_settings(&self, variables: &mut Vec<Variable>) {
        if self.git_settings.is_empty() {
            return;
        }
        let count = variables.iter().find(|variable| variable.name == "GIT_CONFIG_COUNT");
        let first: usize = count.and_then(|count| count.value.to_str()?.parse().ok()).unwrap_or(0);
        for (offset, (key, value)) in self.git_settings.iter().enumerate() {
            let number = first + offset;
            put(variables, &format!("GIT_CONFIG_KEY_{number}"), OsStr::new(key));
            put(variables, &format!("GIT_CONFIG_VALUE_{number}"), OsStr::new(value));
        }
        put(variables, "GIT_CONFIG_COUNT", OsStr::new(&(first + self.git_settings.len()).to_string()));
    }
}

/// The variables that lead programs to the proxies inside.
fn add_proxies(variables: &mut Vec<Variable>, ports: ProxyPorts) {
    let http = format!("http://localhost:{}", ports.http);
    let socks = format!("socks5h://localhost:{}", ports.socks);
    for (name, value) in [
        ("HTTP_PROXY", http.as_str()),
        ("HTTPS_PROXY", &http),
        ("ALL_PROXY", &socks),
        ("GRPC_PROXY", &socks),
        ("FTP_PROXY", &socks),
        ("NO_PROXY", NOT_PROXIED),
    ] {
        put(variables, name, OsStr::new(value));
        put(variables, &name.to_ascii_lowercase(), OsStr::new(value));
    }
    // Node looks at the variables only when it is told to.
    put(variables, "NODE_USE_ENV_PROXY", OsStr::new("1"));
    // ssh knows no proxies; it is led to the gateway like everything else, unless told to take a detour.
    put(variables, "GIT_SSH_COMMAND", OsStr::new("ssh -o ProxyCommand=none"));
}

fn put(variables: &mut Vec<Variable>, name: &str, value: &OsStr) {
    match variables.iter_mut().find(|variable| variable.name == name) {
        Some(variable) => variable.value = value.to_owned(),
        None => variables.push(Variable { name: name.into(), value: value.to_owned() }),
    }
}

fn any(patterns: &[impl AsRef<str>], name: &[u8]) -> bool {
    patterns.iter().any(|pattern| fits(pattern.as_ref().as_bytes(), name))
}

/// Whether a name fits a pattern with a `*` at its beginning, its end, or both.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.strip_prefix(b"*"), pattern.strip_suffix(b"*")) {
        (None, None) => pattern == name,
        (None, Some(start)) => name.starts_with(start),
        (Some(end), None) => name.ends_with(end),
        (Some(_), Some(_)) => {
            let inner = pattern.get(1..pattern.len().saturating_sub(1)).unwrap_or_default();
            inner.is_empty() || name.windows(inner.len()).any(|window| window == inner)
        }
    }
}

/// Whether this can be a variable's name in every shell.
pub(crate) fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The same, with a `*` at either end.
pub(crate) fn is_name_pattern(pattern: &str) -> bool {
    let inner = pattern.strip_prefix('*').unwrap_or(pattern);
    let inner = inner.strip_suffix('*').unwrap_or(inner);
    is_identifier(inner)
        || (pattern != inner && inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}
