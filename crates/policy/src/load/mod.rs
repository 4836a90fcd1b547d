//! From inputs to a [`Policy`]: read every file, put the layers on top of each other, add what is built in.

mod builtin;
mod claude;
mod commands;
mod credentials;
mod gateway;
mod grants;
mod layer;
mod leads;
mod named;
mod native;
mod network;
mod permissions;
mod protection;
mod reach;
mod records;
mod requests;
mod revise;
mod simple;
mod srt;
mod told;
mod workspace;
mod worktree;

pub(crate) use leads::git_directories;

use crate::command::CommandRules;
use crate::environment::EnvironmentRules;
use crate::inputs::{Inputs, Presence, SettingsFile, Shape};
use crate::named_trees::NamedTrees;
use crate::network::NetworkRules;
use crate::pattern::{self, Pattern, PatternError, Reading, Surroundings};
use crate::policy::{Manner, Policy, WorkspaceGrant};
use crate::presets;
use crate::rules::Book;
use crate::settings::claude::ClaudeSettings;
use crate::settings::credentials::Credentials;
use crate::settings::native::{Caches, ReadScope, RequireLayers, Settings, Temporary};
use crate::settings::read::{self, UnknownKeys};
use crate::settings::simple::SimpleSettings;
use crate::settings::srt::SrtSettings;
use crate::settings::{PathEntry, SettingsError, SettingsErrors, nearest};
use crate::{
    AuditMode, Files, Layer, Limits, Notice, NoticeWeight, Origin, RuleRef, Switch, Trust, ViolationRules,
};
use layer::Voice;
use protection::Switches;
pub(crate) use revise::revise;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

/// The preset's name when srt's settings took the place of presets.
pub(crate) const SRT: &str = "srt";

/// What every layer writes to.
struct Draft {
    policy: Policy,
    errors: Vec<SettingsError>,
    protection: Switches,
    variables: Vec<(OsString, OsString)>,
    home_as_given: Option<PathBuf>,
    warned_about_workspace: bool,
    /// The walls are switched off by a preset, or by a setting.
    bare_by_preset: Option<RuleRef>,
    bare_by_setting: Option<RuleRef>,
    /// How many rules about requests, from the first, come from layers that may only tighten.
    tight_requests: usize,
    /// The managed file whose hosts are all that may be reached.
    managed_domains_only: Option<Voice>,
    /// Looked at when every host is known.
    credentials: Vec<(Credentials, Voice)>,
}

enum Parsed {
    Native(Box<Settings>),
    Srt(Box<SrtSettings>, Vec<String>),
    Claude(Box<ClaudeSettings>, Vec<String>),
    Simple(Box<SimpleSettings>),
}

pub(crate) fn load(inputs: Inputs, files: &dyn Files) -> Result<Policy, SettingsErrors> {
    let mut errors = Vec::new();
    let mut parsed = Vec::new();
    let mut left_out = Vec::new();
    for file in &inputs.settings {
        match read_file(file, files) {
            Ok(Some(settings)) => parsed.push((file, settings)),
            Ok(None) => {}
            Err(wrong) if file.presence == Presence::OrDefaults && file.shape == Shape::Simple => {
                left_out.extend(wrong);
            }
            Err(wrong) => errors.extend(wrong),
        }
    }
    // Layers are put on in their own order, whatever order the files came in.
    parsed.sort_by_key(|(file, _)| file.layer);
    let of_srt = inputs.settings.iter().any(|file| file.shape == Shape::Srt);
    let manner = if of_srt { Manner::Srt } else { Manner::Native };
    let mut draft = match Draft::new(&inputs, manner, files) {
        Ok(draft) => draft,
        Err(error) => {
            errors.push(error);
            return Err(SettingsErrors(errors));
        }
    };
    draft.errors = errors;
    for error in left_out {
        let said = error.to_string();
        let what = said.lines().next().unwrap_or_default();
        draft.warn(format!("{what}; the file is left out, and the defaults hold"));
    }
    draft.tell_defaults();
    if manner == Manner::Native {
        draft.apply_preset(&inputs, &parsed);
    }
    for (file, settings) in parsed {
        let source = draft.policy.book.source(file.layer, file.path.display().to_string());
        let voice = Voice::of_file(source, file);
        draft.policy.files.push(file.clone());
        match settings {
            Parsed::Native(settings) => draft.apply_native(*settings, voice),
            Parsed::Srt(settings, ignored) => draft.apply_srt(*settings, &ignored, voice),
            Parsed::Claude(settings, ignored) => draft.apply_claude(*settings, &ignored, voice, file),
            Parsed::Simple(settings) => draft.apply_simple(*settings, voice),
        }
        draft.tell(voice);
    }
    draft.apply_flags(&inputs);
    let options = draft.flag("options of the command line");
    draft.tell(options);
    draft.apply_grants(&inputs.flags.grants);
    draft.apply_credentials(files);
    draft.keep_managed_domains();
    draft.finish_network();
    draft.tell_settled();
    draft.open_main_repository(files);
    draft.add_builtin(files);
    draft.protect_settings(&inputs.settings, files);
    draft.protect_named();
    draft.policy.bare = draft.bare_by_setting.take().or(draft.bare_by_preset.take());
    draft.finish_commands(files);
    if draft.errors.is_empty() { Ok(draft.policy) } else { Err(SettingsErrors(draft.errors)) }
}

fn read_file(file: &SettingsFile, files: &dyn Files) -> Result<Option<Parsed>, Vec<SettingsError>> {
    let path = &file.path;
    let bytes = match files.read(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            if let Some((link, target)) = named::leads_nowhere(path, files) {
                return Err(vec![SettingsError::LeadsNowhere { path: path.clone(), link, target }]);
            }
            return match file.presence {
                Presence::Optional | Presence::OrDefaults => Ok(None),
                Presence::Named => Err(vec![SettingsError::Missing { path: path.clone() }]),
            };
        }
        Err(source) => return Err(vec![SettingsError::Unreadable { path: path.clone(), source }]),
    };
    parse(file, &bytes).map(Some)
}

fn parse(file: &SettingsFile, bytes: &[u8]) -> Result<Parsed, Vec<SettingsError>> {
    let path = &file.path;
    Ok(match file.shape {
        Shape::Native => {
            Parsed::Native(Box::new(read::parse::<Settings>(path, bytes, UnknownKeys::Refused)?.settings))
        }
        Shape::Srt => {
            let read = read::parse::<SrtSettings>(path, bytes, UnknownKeys::IgnoredExcept("credentials"))?;
            Parsed::Srt(Box::new(read.settings), read.ignored)
        }
        Shape::Claude => {
            let read = read::parse::<ClaudeSettings>(path, bytes, UnknownKeys::Ignored)?;
            Parsed::Claude(Box::new(read.settings), read.ignored)
        }
        Shape::Simple => Parsed::Simple(Box::new(
            read::parse::<SimpleSettings>(path, bytes, UnknownKeys::Refused)?.settings,
        )),
    })
}

impl Draft {
    fn new(inputs: &Inputs, manner: Manner, files: &dyn Files) -> Result<Self, SettingsError> {
        let cannot = |source| SettingsError::WorkingDirectory { path: inputs.cwd.clone(), source };
        let workspace = files.resolve(&inputs.cwd).map_err(cannot)?;
        if files.look(&workspace).map_err(cannot)?.kind != crate::FileKind::Directory {
            return Err(cannot(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        let home = inputs.home.as_ref().map(|home| files.resolve(home).unwrap_or_else(|_| home.clone()));
        let policy = Policy {
            preset: SRT.to_owned(),
            manner,
            cwd: inputs.cwd.clone(),
            workspace,
            workspace_grant: WorkspaceGrant::Given,
            home,
            own: inputs.own.clone(),
            book: Book::new(),
            file_rules: Switch::Allowed,
            read_scope: ReadScope::All,
            temporary: Temporary::Host,
            caches: Caches::Temporary,
            environment: EnvironmentRules::new(manner),
            network: NetworkRules::default(),
            limits: Limits::default(),
            limits_asked: None,
            require_layers: RequireLayers::Needed,
            // srt's users do not expect a log.
            audit: match manner {
                Manner::Native => AuditMode::On,
                Manner::Srt => AuditMode::Off,
            },
            violations: ViolationRules::default(),
            trace_reads: inputs.flags.trace_reads,
            asking: inputs.flags.asking,
            nested_user_namespaces: Switch::Refused,
            provider: "local".to_owned(),
            engine: None,
            bare: None,
            bare_wishes: None,
            commands: CommandRules::new(commands::platform(files)),
            named_trees: NamedTrees::default(),
            notices: Vec::new(),
            files: Vec::new(),
            told: Vec::new(),
        };
        let mut draft = Self {
            policy,
            errors: Vec::new(),
            protection: Switches::default(),
            variables: inputs.environment.clone(),
            home_as_given: inputs.home.clone(),
            warned_about_workspace: false,
            bare_by_preset: None,
            bare_by_setting: None,
            tight_requests: 0,
            managed_domains_only: None,
            credentials: Vec::new(),
        };
        draft.judge_workspace();
        Ok(draft)
    }

    /// The strongest voice that may choose a preset chooses it.
    fn apply_preset(&mut self, inputs: &Inputs, parsed: &[(&SettingsFile, Parsed)]) {
        let mut chosen = (presets::DEFAULT.to_owned(), None);
        for (file, settings) in parsed {
            let Parsed::Native(settings) = settings else { continue };
            let Some(name) = &settings.preset else { continue };
            let origin = Origin {
                layer: file.layer,
                source: file.path.display().to_string(),
                key: "preset".to_owned(),
            };
            let trusted = file.trust == Trust::Trusted && name != presets::UNRESTRICTED;
            if file.layer == Layer::Project && !trusted {
                self.warn(format!("{origin} ({name}) is ignored: a project cannot choose the preset"));
                continue;
            }
            if file.layer == Layer::Managed && name == presets::UNRESTRICTED {
                self.warn(format!("{origin} ({name}) is ignored: managed settings may only tighten"));
                continue;
            }
            if file.layer != Layer::Managed && inputs.preset.is_some() {
                continue;
            }
            chosen = (name.clone(), Some(origin));
        }
        let by_flag = Origin { layer: Layer::Flag, source: "--preset".to_owned(), key: String::new() };
        match (&inputs.preset, &chosen.1) {
            (Some(name), Some(Origin { layer: Layer::Managed, .. })) if *name != chosen.0 => {
                self.warn(format!("--preset {name} is ignored: managed settings choose {}", chosen.0));
            }
            (Some(name), None) => chosen = (name.clone(), Some(by_flag)),
            _ => {}
        }
        let walls_are_managed = parsed.iter().any(|(file, settings)| {
            file.layer == Layer::Managed
                && matches!(settings, Parsed::Native(settings) if settings.enabled == Some(true))
        });
        if walls_are_managed && chosen.0 == presets::UNRESTRICTED {
            self.warn("the preset unrestricted is ignored: managed settings want walls".to_owned());
            chosen = (presets::DEFAULT.to_owned(), None);
        }
        let (name, origin) = chosen;
        let Some((known, settings)) = presets::find(&name) else {
            self.errors.push(unknown_preset(&name, origin));
            return;
        };
        let source = self.policy.book.source(Layer::Preset, known);
        self.policy.preset = known.to_owned();
        let voice = Voice::new(source, Layer::Preset);
        self.apply_native(settings, voice);
        if known == presets::UNRESTRICTED
            && let Some(origin) = origin
        {
            self.bare_by_preset = Some(RuleRef { text: format!("preset {known}"), origin });
        }
        self.tell(voice);
    }

    /// The caller's value of a variable.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// What an entry means for this caller.
    fn patterns(&self, entry: &PathEntry, reading: Reading) -> Result<Vec<Pattern>, PatternError> {
        let variable = |name: &str| self.variable(name);
        let home = self.home_as_given.as_deref();
        pattern::parse(entry, reading, &Surroundings { cwd: &self.policy.cwd, home, variable: &variable })
    }

    fn warn(&mut self, text: String) {
        self.policy.notices.push(Notice { text, weight: NoticeWeight::Warning });
    }

    fn detail(&mut self, text: String) {
        self.policy.notices.push(Notice { text, weight: NoticeWeight::Detail });
    }
}

fn unknown_preset(name: &str, origin: Option<Origin>) -> SettingsError {
    let known = presets::names().collect::<Vec<_>>().join(", ");
    let reason = format!("there is no preset {name:?}");
    let hint = match nearest(name, presets::names()) {
        Some(meant) => format!("did you mean {meant}? known: {known}"),
        None => format!("known: {known}"),
    };
    match origin {
        Some(Origin { layer, source, key }) if layer != Layer::Flag || !key.is_empty() => {
            SettingsError::Invalid { source_name: source, key, reason, hint }
        }
        _ => SettingsError::Flag { flag: "--preset".to_owned(), reason, hint },
    }
}
