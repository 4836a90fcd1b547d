//! From what the caller knows to a [`Runtime`].

use crate::asking::{ASK_TIMEOUT, Desk, SharedAsker};
use crate::directories::{self, Directories, MANAGED_SETTINGS, PROJECT_SETTINGS};
use crate::network::Reload;
use crate::providers::{Providers, UnknownProvider};
use crate::records::{AuditedAsker, Keeper, Records};
use crate::runtime::Parts;
use crate::{Asker, GrantError, GrantStore, RealFiles, Runtime};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stockade_isolate::Provider;
use stockade_policy::{
    AuditMode, Flags, Inputs, Layer, Policy, Presence, SettingsErrors, SettingsFile, Shape, Switch,
};

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
    flags: Flags,
    providers: Providers,
    provider: Option<String>,
    engine: Option<String>,
    asker: Option<SharedAsker>,
    ask_timeout: Duration,
    grants: Option<GrantStore>,
    records: Records,
}

/// Which settings files are read besides those that were named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardSettings {
    /// The project's, the user's and the organisation's.
    All,
    /// Only the organisation's, which nobody can leave out.
    ManagedOnly,
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
            flags: Flags::default(),
            providers: Providers::standard(),
            provider: None,
            engine: None,
            asker: None,
            ask_timeout: ASK_TIMEOUT,
            grants: None,
            records: Records::Standard,
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

    /// Reads the settings.
    pub fn build(self) -> Result<Runtime, BuildError> {
        let cwd = working_directory(self.cwd)?;
        let environment = self.environment.unwrap_or_else(|| std::env::vars_os().collect());
        let home = directories::home(&environment);
        let directories = Directories::new(&environment, home.as_deref());
        let optional =
            |path, layer| SettingsFile { path, layer, shape: Shape::Native, presence: Presence::Optional };
        let mut settings = self.settings;
        if self.standard == StandardSettings::All {
            settings.push(optional(cwd.join(PROJECT_SETTINGS), Layer::Project));
            settings.push(optional(directories.user_settings(), Layer::User));
        }
        settings.push(optional(MANAGED_SETTINGS.into(), Layer::Managed));
        // The sort is stable: files of one layer keep their order.
        settings.sort_by_key(|file| file.layer);
        let grants = self.grants.unwrap_or_else(|| GrantStore::new(&directories));
        let mut flags = self.flags;
        if self.standard == StandardSettings::All {
            flags.grants.extend(grants.lasting()?);
        }
        flags.asking = if self.asker.is_some() { Switch::Allowed } else { Switch::Refused };
        let set = flags.env_set.clone();
        let mut own = directories.own_paths(&cwd);
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
        let reload = Reload(Arc::new(inputs.clone()));
        let policy = Policy::load(inputs, &RealFiles)?;
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
        Ok(Runtime::new(Parts { policy, provider, cwd, environment, set, grants, desk, keeper, reload }))
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
