//! Making the [`Plan`].

mod broker;
mod gateway;
mod held;
mod kept;
mod layers;
mod mounts;
mod names;
mod overlay;
mod resolver;
mod secrets;
mod settle;
mod sockets;
mod ssh;

use crate::environment::Setting;
use crate::policy::{Manner, Policy};
use crate::rules::{List, Place, RuleId};
use crate::settings::native::{Caches, Temporary};
use crate::survey::{self, Bounds, PlanError, Survey};
use crate::{
    Files, Layer, NetworkPlan, Notice, NoticeWeight, Plan, Request, Switch, SyscallPlan, UnixSockets, presets,
};
use std::path::Path;

/// Providers this version has; `native` is the local one by its own name.
const PROVIDERS: [&str; 2] = ["local", "native"];
const PRIVATE_TMP: &str = "/tmp";
const PRIVATE_CACHE: &str = "/tmp/.cache";
const SRT_TMP: &str = "/dev/shm/tmp";
/// Absent rules, or linked files, named in a notice; the rest is counted.
const NAMED_IN_NOTICE: usize = 3;

impl Policy {
    /// Everything an engine has to build for a request.
    pub fn plan(&self, request: &Request, files: &dyn Files) -> Result<Plan, PlanError> {
        match kept::keeping(self, &request.kept) {
            Some(policy) => policy.plan_for(request, files),
            None => self.plan_for(request, files),
        }
    }

    fn plan_for(&self, request: &Request, files: &dyn Files) -> Result<Plan, PlanError> {
        if !PROVIDERS.contains(&self.provider.as_str()) {
            return Err(PlanError::Provider { name: self.provider.clone(), preset: self.preset.clone() });
        }
        let workspace = if request.cwd == self.cwd {
            self.workspace.clone()
        } else {
            files
                .resolve(&request.cwd)
                .map_err(|source| PlanError::Directory { path: request.cwd.clone(), source })?
        };
        let survey = survey::survey(self, files, Bounds::USUAL)?;
        let mut layout = mounts::lay(self, &survey, files);
        let held = held::lay(self, &mut layout, files)?;
        let bare = self.preset == presets::UNRESTRICTED;
        let (network, needs_gateway) = gateway::network(self);
        if !bare {
            secrets::lay(self, &mut layout);
        }
        if network.gateway().is_some() {
            resolver::lay(&mut layout, files);
            ssh::lay(&mut layout, files);
        }
        let chosen = self.environment.choose(&request.environment, &self.setting(bare, &network));
        let mut notices = self.notices.clone();
        let broker = broker::broker(self, &survey, files);
        let layers = layers::needs(self, broker.as_ref(), &network, needs_gateway);
        let broker = broker.map(|need| need.plan);
        let sockets = broker.as_ref().map(|broker| broker.unix.as_slice()).unwrap_or_default();
        notices.extend(sockets::notices(sockets));
        notices.extend(self.absent_notice(&survey));
        notices.extend(held);
        notices.extend(names::notice(&layout.mounts, files));
        notices.extend(survey.notices);
        notices.extend(chosen.notices);
        Ok(Plan {
            preset: self.preset.clone(),
            workspace,
            root: layout.root,
            mounts: layout.mounts,
            environment: chosen.variables,
            network,
            syscalls: SyscallPlan {
                unix_sockets: match self.network.all_unix_sockets {
                    Switch::Allowed => UnixSockets::All,
                    // srt's users expect none at all.
                    Switch::Refused
                        if broker.is_some() && (self.manner == Manner::Native || !sockets.is_empty()) =>
                    {
                        UnixSockets::Judged
                    }
                    Switch::Refused => UnixSockets::PairsOnly,
                },
                nested_user_namespaces: self.nested_user_namespaces,
            },
            limits: self.limits.clone(),
            broker,
            layers,
            notices,
        })
    }

    fn setting<'a>(&'a self, bare: bool, network: &'a NetworkPlan) -> Setting<'a> {
        let temporary = match (self.manner, self.temporary) {
            (Manner::Srt, _) => Some(self.environment.temporary.as_deref().unwrap_or(Path::new(SRT_TMP))),
            (Manner::Native, Temporary::Private) => Some(Path::new(PRIVATE_TMP)),
            (Manner::Native, Temporary::Host) => None,
        };
        let cache = match (self.manner, self.caches, &self.own.tool_cache) {
            (Manner::Srt, _, _) => None,
            _ if bare => None,
            (_, Caches::Persistent, Some(cache)) => Some(cache.as_path()),
            _ => Some(Path::new(PRIVATE_CACHE)),
        };
        let gateway = network.gateway();
        Setting {
            temporary,
            cache,
            proxies: gateway.and_then(|gateway| gateway.proxies),
            bundle: gateway.and_then(|gateway| gateway.tls.as_ref()).map(|tls| tls.bundle.as_path()),
            bare,
        }
    }

    /// What is not there cannot be given, and whoever listed it should know.
    fn absent_notice(&self, survey: &Survey) -> Option<Notice> {
        let gives = |id: &&RuleId| {
            let list = self.book.get(**id).list;
            matches!(list, List::AllowRead | List::AllowWrite) && self.book.layer(**id) > Layer::BuiltIn
        };
        let absent: Vec<_> = survey.absent.iter().filter(gives).collect();
        let (named, more) = absent.split_at(absent.len().min(NAMED_IN_NOTICE));
        let named: Vec<String> = named.iter().map(|id| self.book.quote(**id).to_string()).collect();
        let and_more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        // What is in a file may be meant for other days; what was typed just now is meant for this one.
        // (What lies in the sandbox's own file systems is not there before the start.)
        let is_private = |id: &RuleId| match &self.book.get(*id).place {
            Place::Literal(path) => ["/dev", "/proc"].iter().any(|one| path.starts_with(one)),
            _ => false,
        };
        let typed = absent.iter().any(|id| self.book.layer(**id) == Layer::Flag && !is_private(id));
        (!absent.is_empty()).then(|| Notice {
            text: format!(
                "{} what is not there yet, to no effect (make it before the start): {}{and_more}",
                if absent.len() == 1 {
                    "1 rule allows".to_owned()
                } else {
                    format!("{} rules allow", absent.len())
                },
                named.join(", ")
            ),
            weight: if typed { NoticeWeight::Warning } else { NoticeWeight::Detail },
        })
    }
}
