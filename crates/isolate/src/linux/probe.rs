//! What this machine's kernel offers, and what to do where it does not.

use super::doors::TRANSPARENT_PORT;
use super::script::MIN_LANDLOCK_ABI;
use super::sys::{self, Reach, Side};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::fs;
use stockade_policy::{LayerState, WallLayer};

/// One wall as the machine offers it.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// Which wall.
    pub layer: WallLayer,
    /// Whether it would stand.
    pub state: LayerState,
    /// What would mend it, where it would not.
    pub hint: Option<String>,
}

pub(crate) const USER_NAMESPACE_HINT: &str = "run `stockade doctor`: user namespaces may be restricted by AppArmor, a sysctl or the container this runs in";
pub(crate) const PROC_HINT: &str = "a container that masks parts of /proc keeps others from mounting one; start it with its /proc unmasked (docker: --security-opt systempaths=unconfined)";

pub(crate) const REDIRECT_HINT: &str = "the kernel needs nf_tables with redirection (modules nf_tables, nft_redir, nft_nat, nf_conntrack): `modprobe nft_redir` as root, or a kernel with CONFIG_NFT_REDIR";

/// The remedy for user namespaces that are refused, from what the machine says about itself.
pub(crate) fn namespace_hint() -> String {
    let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor restricts user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for stockade that allows userns".into();
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "`sysctl kernel.unprivileged_userns_clone=1` lets ordinary users make user namespaces".into();
    }
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return "`sysctl user.max_user_namespaces=15000` lets users make user namespaces".into();
    }
    if fs::metadata("/.dockerenv").is_ok() || fs::metadata("/run/.containerenv").is_ok() {
        return "this runs in a container whose seccomp profile refuses namespaces: start it with a profile that allows clone and unshare (docker: --security-opt seccomp=unconfined)".into();
    }
    "the kernel needs CONFIG_USER_NS and the other namespaces; a seccomp filter or limit above this process may refuse them".into()
}

/// Asks the kernel what it offers. For some of it the kernel has to be tried: a process in namespaces of its
/// own does that, and ends.
pub fn probe() -> Vec<ProbeResult> {
    let mut results = Vec::new();
    for (layer, file) in [
        (WallLayer::UserNamespace, "user"),
        (WallLayer::MountNamespace, "mnt"),
        (WallLayer::PidNamespace, "pid"),
        (WallLayer::IpcNamespace, "ipc"),
        (WallLayer::UtsNamespace, "uts"),
        (WallLayer::CgroupNamespace, "cgroup"),
        (WallLayer::NetworkNamespace, "net"),
    ] {
        results.push(match fs::symlink_metadata(format!("/proc/self/ns/{file}")) {
            Ok(_) => enforced(layer, String::new()),
            Err(error) => missing(layer, format!("/proc/self/ns/{file}: {error}"), namespace_hint()),
        });
    }
    let landlock = sys::landlock_abi();
    results.push(if landlock >= MIN_LANDLOCK_ABI {
        enforced(WallLayer::Landlock, format!("ABI {landlock}"))
    } else {
        missing(WallLayer::Landlock, landlock_reason(landlock), LANDLOCK_HINT.into())
    });
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    results.push(if actions.contains("errno") {
        enforced(WallLayer::Seccomp, actions.trim().into())
    } else {
        missing(
            WallLayer::Seccomp,
            "no seccomp filters".into(),
            "the kernel needs CONFIG_SECCOMP_FILTER".into(),
        )
    });
    let gateway = gateway();
    // Whoever may not make one has no use for a kernel that could.
    if let Err(refused) = &gateway
        && let Some(users) = results.iter_mut().find(|result| result.layer == WallLayer::UserNamespace)
    {
        *users = missing(WallLayer::UserNamespace, format!("refused ({refused})"), namespace_hint());
    }
    results.push(gateway.unwrap_or_else(|errno| {
        missing(WallLayer::Gateway, format!("no network of its own ({errno})"), namespace_hint())
    }));
    results.push(enforced(WallLayer::Privileges, String::new()));
    results.push(enforced(WallLayer::ProcessLimits, String::new()));
    results
}

/// Whether connections can be led to a gateway; an error where there are no namespaces to try it in.
fn gateway() -> Result<ProbeResult, Errno> {
    let absent = |reason: String, hint: &str| missing(WallLayer::Gateway, reason, hint.into());
    let probe = match sys::clone_init(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)? {
        Side::Init => try_redirect(),
        Side::Launcher { pidfd, .. } => pidfd,
    };
    Ok(match sys::exit_status(probe.as_fd()) {
        Some(0) => enforced(WallLayer::Gateway, "nft redirect, IPv4 and IPv6".into()),
        Some(ONLY_V4) => enforced(WallLayer::Gateway, "nft redirect, IPv4 only".into()),
        Some(errno) => {
            let error = std::io::Error::from_raw_os_error(errno);
            absent(format!("connections cannot be led to it ({error})"), REDIRECT_HINT)
        }
        None => absent("the attempt ended without an answer".into(), REDIRECT_HINT),
    })
}

/// No error number is so high.
const ONLY_V4: i32 = 255;

/// In a process of its own, a copy of one thread of a program that may have many: tries, and ends with the
/// error number.
fn try_redirect() -> ! {
    sys::block_all_signals();
    let tried = sys::raise_loopback().and_then(|()| sys::lead_everything_to(TRANSPARENT_PORT));
    sys::exit_now(match tried {
        Ok(Reach::Both) => 0,
        Ok(Reach::V4) => ONLY_V4,
        Err(errno) => errno.raw_os_error(),
    })
}

pub(crate) const LANDLOCK_HINT: &str = "the kernel needs CONFIG_SECURITY_LANDLOCK, version 5.19 or later, and `landlock` among its lsm= parameters";

pub(crate) fn landlock_reason(abi: u32) -> String {
    if abi == 0 {
        "the kernel does not offer it".into()
    } else {
        format!("ABI {abi} is too old, {MIN_LANDLOCK_ABI} is needed")
    }
}

fn enforced(layer: WallLayer, detail: String) -> ProbeResult {
    ProbeResult { layer, state: LayerState::Enforced { detail }, hint: None }
}

fn missing(layer: WallLayer, reason: String, hint: String) -> ProbeResult {
    ProbeResult { layer, state: LayerState::Missing { reason }, hint: Some(hint) }
}
