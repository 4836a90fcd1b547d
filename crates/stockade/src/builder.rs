//! From what the caller knows to a [`Runtime`].

use crate::asking::{ASK_TIMEOUT, Desk, SharedAsker};
use crate::directories::{self, Directories};
use crate::places;
use crate::providers::{Providers, UnknownProvider};
use crate::records::{AuditedAsker, Keeper, Records};
use crate::reload::Reload;
use crate::routing::{Router, SharedRouter};
use crate::runtime::Parts;
use crate::shifts::Shifts;
use crate::workspaces::{Keeping, Workspaces};
use crate::{Asker, GrantError, GrantStore, Overlay, RealFiles, Runtime, TrustStore};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stockade_isolate::Provider;
use stockade_policy::{AuditMode, Flags, Granted, Inputs, Layer, SettingsErrors, SettingsFile, Switch};

/// The provider that means: the best engine of this machine.
const LOCAL: &str = "local";
/// That engine.
const BEST_ENGINE: &str = "native";

/// Collects what a [`Runtime`] is made of.
#[derive(Clone, Debug)]
pub struct Builder {
    cwd: Option<PathBuf>,
    environment: Option<Vec<(OsString, OsString)>>,
    preset: Option<String>,
    standard: StandardSettings,
    settings: Vec<SettingsFile>,
    any_settings: Vec<PathBuf>,
    claude: ClaudeSettings,
    flags: Flags,
    providers: Providers,
    provider: Option<String>,
    engine: Option<String>,
    asker: Option<SharedAsker>,
    router: Option<SharedRouter>,
    ask_timeout: Duration,
    grants: Option<GrantStore>,
    records: Records,
    overlay: Option<PathBuf>,
}

/// Which settings files are read besides those that were named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardSettings {
    /// The project's, the user's and the organisation's.
    All,
    /// Only the organisation's, which nobody can leave out.
    ManagedOnly,
}

/// Whether Claude Code's own settings files are heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaudeSettings {
    /// The project's, the user's and the organisation's are read where they are.
    Read,
    /// None of them is looked at.
    LeftAlone,
}

/// A runtime could not be made; nothing was run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The working directory cannot be used.
    #[error("cannot use the working directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The working directory was named through a link that a command could have planted.
    #[error(
        "cannot use the working directory {}: it leads through a link in {}, which a command could have planted, to {}\nhint: name that directory itself",
        path.display(), workspace.display(), real.display()
    )]
    Misled {
        /// The directory as it was named.
        path: PathBuf,
        /// The workspace of earlier commands in which the link is.
        workspace: PathBuf,
        /// Where it leads.
        real: PathBuf,
    },
    /// Settings are not usable.
    #[error(transparent)]
    Settings(#[from] SettingsErrors),
    /// Grants that were given earlier cannot be read.
    #[error(transparent)]
    Grants(#[from] GrantError),
    /// Records have no place, or not a usable one.
    #[error("records cannot be kept in {}: the path is not absolute", path.display())]
    RecordPlace {
        /// The directory that was named.
        path: PathBuf,
    },
    /// The settings want a log that this runtime does not keep.
    #[error(
        "the settings require an audit log, and this runtime keeps no records\nhint: give it a place for them, or set audit to on"
    )]
    NoAudit,
    /// Nobody registered the provider that was asked for.
    #[error(transparent)]
    Provider(#[from] UnknownProvider),
    /// There is no such engine.
    #[error("Unknown engine: \"{asked}\". Available: [{available}]")]
    Engine {
        /// The engine that was asked for.
        asked: String,
        /// Those there are.
        available: String,
    },
    /// An engine was named for a provider that has none.
    #[error("the provider {provider} has no engine {engine}\nhint: engines belong to the provider local")]
    EngineElsewhere {
        /// The engine.
        engine: String,
        /// The provider.
        provider: String,
    },
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            cwd: None,
            environment: None,
            preset: None,
            standard: StandardSettings::All,
            settings: Vec::new(),
            any_settings: Vec::new(),
            claude: ClaudeSettings::LeftAlone,
            flags: Flags::default(),
            providers: Providers::standard(),
            provider: None,
            engine: None,
            asker: None,
            router: None,
            ask_timeout: ASK_TIMEOUT,
            grants: None,
            records: Records::Standard,
            overlay: None,
        }
    }

    /// The working directory; this process's own when not given.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// The environment the policy chooses from; this process's own when not given.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment = Some(variables.into_iter().collect());
        self
    }

    /// The preset, over what the settings say.
    pub fn preset(mut self, name: impl Into<String>) -> Self {
        self.preset = Some(name.into());
        self
    }

    /// Adds a settings file. Files of one layer count in the order they are added.
    pub fn settings(mut self, file: SettingsFile) -> Self {
        self.settings.push(file);
        self
    }

    /// Adds a settings file as an option of the command line would; its keys tell whose format it has.
    pub fn settings_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.any_settings.push(path.into());
        self
    }

    /// Whether Claude Code's settings files are heard, too. They are put into the layers they come from.
    pub fn claude_settings(mut self, claude: ClaudeSettings) -> Self {
        self.claude = claude;
        self
    }

    /// Which settings files are read besides those.
    pub fn standard_settings(mut self, standard: StandardSettings) -> Self {
        self.standard = standard;
        self
    }

    /// What a command line would say on top of the settings.
    pub fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    /// Adds a provider of sandboxes.
    pub fn register(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.register(provider);
        self
    }

    /// The kind of provider to use, over what the settings say; `local` is the best engine there is.
    pub fn provider(mut self, kind: impl Into<String>) -> Self {
        self.provider = Some(kind.into());
        self
    }

    /// The engine of the local provider to use, over what the settings say.
    pub fn engine(mut self, name: impl Into<String>) -> Self {
        self.engine = Some(name.into());
        self
    }

    /// Who is asked while a command waits. Without one, what a rule refuses is refused at once.
    pub fn asker(mut self, asker: impl Asker + 'static) -> Self {
        self.asker = Some(SharedAsker(Arc::new(asker)));
        self
    }

    /// Who takes commands of their own before the policy is asked.
    pub fn router(mut self, router: impl Router + 'static) -> Self {
        self.router = Some(SharedRouter(Arc::new(router)));
        self
    }

    /// How long an answer is waited for before it is a no; two minutes when not given.
    pub fn ask_timeout(mut self, timeout: Duration) -> Self {
        self.ask_timeout = timeout;
        self
    }

    /// Shares grants with other runtimes; the runtime has a store of its own when not given.
    pub fn grants(mut self, grants: GrantStore) -> Self {
        self.grants = Some(grants);
        self
    }

    /// Where refusals and the audit log are kept; in the user's state directory when not given.
    pub fn records(mut self, records: Records) -> Self {
        self.records = records;
        self
    }

    /// Holds changes to the workspace back in this overlay. It was made for the working directory, and serves one
    /// sandbox at a time.
    pub fn overlay(mut self, overlay: &Overlay) -> Self {
        self.overlay = Some(overlay.directory().to_owned());
        self
    }

    /// Adds permissions that were given earlier.
    pub(crate) fn granted(mut self, granted: impl IntoIterator<Item = Granted>) -> Self {
        self.flags.grants.extend(granted);
        self
    }

    /// Puts somebody before whoever is asked, or in their place where there is nobody.
    pub(crate) fn asked_first(
        mut self,
        first: impl FnOnce(Option<Arc<dyn Asker>>) -> Arc<dyn Asker>,
    ) -> Self {
        let then = self.asker.map(|asker| asker.0);
        self.asker = Some(SharedAsker(first(then)));
        self
    }

    /// Reads the settings.
    pub fn build(self) -> Result<Runtime, BuildError> {
        let named = self.cwd.is_some();
        let cwd = working_directory(self.cwd)?;
        let environment = self.environment.unwrap_or_else(|| std::env::vars_os().collect());
        let home = directories::home(&environment);
        let directories = Directories::new(&environment, home.as_deref());
        let mut settings = self.settings;
        for path in self.any_settings {
            settings.push(SettingsFile::detected(path, Layer::Flag, &RealFiles)?);
        }
        if self.standard == StandardSettings::All {
            settings.extend(places::project_settings(&cwd, home.as_deref()));
            settings.push(places::user_settings(&directories));
        }
        settings.push(places::managed_settings());
        if self.claude == ClaudeSettings::Read {
            settings.extend(places::claude_settings(&cwd, home.as_deref()));
        }
        // The sort is stable: files of one layer keep their order.
        settings.sort_by_key(|file| file.layer);
        let grants = self.grants.unwrap_or_else(|| GrantStore::new(&directories));
        let mut flags = self.flags;
        if self.standard == StandardSettings::All {
            flags.grants.extend(grants.lasting()?);
        }
        flags.asking = if self.asker.is_some() { Switch::Allowed } else { Switch::Refused };
        let set = flags.env_set.clone();
        let trust = TrustStore::new(&directories);
        let mut own = directories.own_paths(&cwd);
        own.overlay = self.overlay;
        let keeping = if self.records == Records::Nowhere { Keeping::AsFound } else { Keeping::Make };
        let (workspaces, shifts) =
            (Workspaces::new(&directories, keeping), Shifts::new(&directories, keeping));
        own.worked_in = workspaces.known();
        let place = match self.records {
            Records::Standard => Some(directories.state),
            Records::In(path) if !path.is_absolute() => return Err(BuildError::RecordPlace { path }),
            Records::In(path) => {
                own.records = Some(path.clone());
                Some(path)
            }
            Records::Nowhere => None,
        };
        let inputs = Inputs {
            cwd: cwd.clone(),
            home,
            environment: environment.clone(),
            own,
            preset: self.preset,
            settings,
            flags,
        };
        let reload = Reload::begin(inputs, trust)?;
        let policy = reload.policy();
        // The caller's own directory is a fact; one that is named may lead elsewhere than its name says.
        if let Some(workspace) = policy.led_out_of(&RealFiles).filter(|_| named) {
            return Err(BuildError::Misled { path: cwd, real: policy.workspace().to_owned(), workspace });
        }
        if place.is_none() && policy.audit() == AuditMode::Required {
            return Err(BuildError::NoAudit);
        }
        let keeper = Arc::new(Keeper::new(place.as_deref(), &policy));
        if let Some(journal) = keeper.journal() {
            grants.log_to(Arc::clone(journal));
        }
        let kind = self.provider.as_deref().unwrap_or(policy.provider());
        let engine = self.engine.as_deref().or(policy.engine());
        let provider = choose(&self.providers, kind, engine)?;
        let asker = self.asker.map(|asker| match keeper.journal() {
            Some(journal) => SharedAsker(Arc::new(AuditedAsker::new(asker.0, Arc::clone(journal)))),
            None => asker,
        });
        let desk = asker.map(|asker| Arc::new(Desk::new(asker, grants.clone(), self.ask_timeout)));
        Ok(Runtime::new(Parts {
            reload,
            provider,
            cwd,
            environment,
            set,
            grants,
            desk,
            keeper,
            router: self.router,
            workspaces,
            shifts,
        }))
    }
}

fn choose(providers: &Providers, kind: &str, engine: Option<&str>) -> Result<Arc<dyn Provider>, BuildError> {
    match engine {
        None if kind == LOCAL => Ok(providers.get(BEST_ENGINE)?),
        None => Ok(providers.get(kind)?),
        Some(engine) if kind == LOCAL || kind == engine => providers.get(engine).map_err(|unknown| {
            BuildError::Engine { asked: unknown.asked, available: unknown.available.join(", ") }
        }),
        Some(engine) => {
            Err(BuildError::EngineElsewhere { engine: engine.to_owned(), provider: kind.to_owned() })
        }
    }
}

fn working_directory(asked: Option<PathBuf>) -> Result<PathBuf, BuildError> {
    let here = std::env::current_dir();
    let path = match (asked, here) {
        (Some(asked), _) if asked.is_absolute() => asked,
        (Some(asked), Ok(here)) => here.join(asked),
        (None, Ok(here)) => here,
        (asked, Err(source)) => {
            return Err(BuildError::Directory { path: asked.unwrap_or_else(|| ".".into()), source });
        }
    };
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Ok(path),
        Ok(_) => Err(BuildError::Directory { path, source: io::ErrorKind::NotADirectory.into() }),
        Err(source) => Err(BuildError::Directory { path, source }),
    }
}
