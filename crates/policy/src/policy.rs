//! The policy: every rule of every layer, merged, before any command is looked at.

use crate::command::CommandRules;
use crate::describe::DescribedValue;
use crate::environment::EnvironmentRules;
use crate::inputs::{Inputs, OwnPaths, SettingsFile};
use crate::named_trees::NamedTrees;
use crate::network::NetworkRules;
use crate::rules::Book;
use crate::settings::SettingsErrors;
use crate::settings::native::{Caches, ReadScope, RequireLayers, Temporary};
use crate::{AuditMode, Files, GatewayPlan, Limits, Notice, RuleRef, Switch, ViolationRules};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What commands may do, and where each rule came from.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) preset: String,
    pub(crate) manner: Manner,
    /// As the caller spelled it.
    pub(crate) cwd: PathBuf,
    /// The same without links.
    pub(crate) workspace: PathBuf,
    pub(crate) workspace_grant: WorkspaceGrant,
    pub(crate) home: Option<PathBuf>,
    pub(crate) own: OwnPaths,
    pub(crate) book: Book,
    /// srt's `filesystem.disabled` refuses to have any.
    pub(crate) file_rules: Switch,
    pub(crate) read_scope: ReadScope,
    pub(crate) temporary: Temporary,
    pub(crate) caches: Caches,
    pub(crate) environment: EnvironmentRules,
    pub(crate) network: NetworkRules,
    pub(crate) limits: Limits,
    /// Who, other than a preset, set a limit that needs a cgroup.
    pub(crate) limits_asked: Option<RuleRef>,
    pub(crate) require_layers: RequireLayers,
    pub(crate) audit: AuditMode,
    pub(crate) violations: ViolationRules,
    /// Whether every open for reading is held.
    pub(crate) trace_reads: Switch,
    /// Whether somebody can be asked while a call waits.
    pub(crate) asking: Switch,
    pub(crate) nested_user_namespaces: Switch,
    pub(crate) provider: String,
    pub(crate) engine: Option<String>,
    /// The setting that switches walls off, if one does.
    pub(crate) bare: Option<RuleRef>,
    /// The setting that lets callers ask for no walls, if one does.
    pub(crate) bare_wishes: Option<RuleRef>,
    pub(crate) commands: CommandRules,
    /// Work trees that only settings of git directories tell of.
    pub(crate) named_trees: NamedTrees,
    pub(crate) notices: Vec<Notice>,
    /// The settings files that were there, weakest first.
    pub(crate) files: Vec<SettingsFile>,
    /// Single values, and who said them.
    pub(crate) told: Vec<DescribedValue>,
}

/// How rules are read, and what stands without being said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Stockade's own: presets, the default deny-read list, private places.
    Native,
    /// srt's: only what its settings say.
    Srt,
}

/// Whether the working directory is a place where work may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkspaceGrant {
    Given,
    /// The root, the home directory, a directory of the system.
    Refused,
}

impl Policy {
    /// Reads and merges all layers. Everything that is wrong is told at once.
    pub fn load(inputs: Inputs, files: &dyn Files) -> Result<Self, SettingsErrors> {
        crate::load::load(inputs, files)
    }

    /// What a running gateway judges by after its lists of hosts were replaced by those of this text, which has
    /// the shape of the settings the policy was made from. Everything but lists of hosts is left as it is.
    pub fn with_network(&self, settings: &str) -> Result<Arc<GatewayPlan>, SettingsErrors> {
        crate::load::revise(self, settings).map(|revised| Arc::new(revised.network_plan()))
    }

    /// The preset the policy started from; `srt` where srt's settings took the place of presets.
    pub fn preset(&self) -> &str {
        &self.preset
    }

    /// The directory that takes the changes to the workspace, where they are held back.
    pub fn overlay(&self) -> Option<&Path> {
        self.own.overlay.as_deref()
    }

    /// What the person should know about the settings.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Adds something the person should know.
    pub fn add_notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// What may be reached.
    pub fn network(&self) -> &NetworkRules {
        &self.network
    }

    /// Whether it matters to a decision that walls cannot be built: only then is it worth trying beforehand.
    pub fn minds_missing_walls(&self) -> bool {
        self.commands.fallback.is_some()
    }

    /// Whether a request gets walls unless its command is listed: nothing else takes them down.
    pub fn walls_unless_listed(&self, request: &crate::Request) -> bool {
        self.without_walls(request).is_none()
    }

    /// The kind of sandbox the settings want.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The engine of the local provider the settings want, if they name one.
    pub fn engine(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    /// Whether decisions belong in the audit log.
    pub fn audit(&self) -> AuditMode {
        self.audit
    }

    /// Which refusals are hidden, and how long refusals are kept.
    pub fn violations(&self) -> &ViolationRules {
        &self.violations
    }
}
