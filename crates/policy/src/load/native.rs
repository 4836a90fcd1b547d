//! Putting a layer in Stockade's own shape on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::environment::is_name_pattern;
use crate::inputs::Inputs;
use crate::pattern::Reading;
use crate::rules::List;
use crate::settings::PathEntry;
use crate::settings::native::{
    Caches, EnvironmentSettings, FilesystemSettings, Inherit, Operation, PathOperations, ReadScope,
    RequireLayers, Settings, Temporary,
};
use crate::{Layer, Limits, RuleRef, Switch};

impl Draft {
    pub(super) fn apply_native(&mut self, settings: Settings, voice: Voice) {
        let loose = voice.may_loosen();
        match settings.enabled {
            Some(true) => self.bare_by_setting = None,
            Some(false) if voice.may_take_down() => {
                self.bare_by_setting = Some(self.quote(voice, "enabled", "false"))
            }
            Some(false) => self.ignore(voice, "enabled", "false"),
            None => {}
        }
        match settings.allow_unsandboxed_commands {
            Some(false) => self.policy.bare_wishes = None,
            Some(true) if loose => {
                self.policy.bare_wishes = Some(self.quote(voice, "allowUnsandboxedCommands", "true"))
            }
            Some(true) => self.ignore(voice, "allowUnsandboxedCommands", "true"),
            None => {}
        }
        self.apply_decisions(&settings, voice);
        self.apply_denied_commands(settings.commands, voice);
        match settings.allow_nested_user_namespaces {
            Some(false) => self.policy.nested_user_namespaces = Switch::Refused,
            Some(true) if loose => self.policy.nested_user_namespaces = Switch::Allowed,
            Some(true) => self.ignore(voice, "allowNestedUserNamespaces", "true"),
            None => {}
        }
        for (key, value) in [("provider", settings.provider), ("engine", settings.engine)] {
            match value {
                Some(value) if value.is_empty() => {
                    self.wrong(voice, key, "cannot be empty", "write local, or remove the key")
                }
                Some(value) if voice.layer == Layer::Project && !loose => self.ignore(voice, key, &value),
                Some(value) if key == "provider" => self.policy.provider = value,
                Some(value) => self.policy.engine = Some(value),
                None => {}
            }
        }
        match settings.require_layers {
            Some(RequireLayers::Needed) if !loose => self.ignore(voice, "requireLayers", "needed"),
            Some(layers) => self.policy.require_layers = layers,
            None => {}
        }
        self.apply_audit(settings.audit, voice);
        self.apply_violations(settings.violations, voice);
        self.apply_filesystem(&settings.filesystem, voice);
        self.apply_network(&settings.network, voice);
        self.credentials.extend(settings.credentials.map(|credentials| (credentials, voice)));
        self.apply_environment(settings.environment, voice);
        self.apply_limits(&settings.limits, voice);
    }

    fn apply_filesystem(&mut self, settings: &FilesystemSettings, voice: Voice) {
        let loose = voice.may_loosen();
        match settings.read_scope {
            Some(ReadScope::All) if !loose => self.ignore(voice, "filesystem.readScope", "all"),
            Some(scope) => self.policy.read_scope = scope,
            None => {}
        }
        match settings.temporary {
            Some(Temporary::Host) if !loose => self.ignore(voice, "filesystem.temporary", "host"),
            Some(temporary) => self.policy.temporary = temporary,
            None => {}
        }
        match settings.caches {
            Some(Caches::Persistent) if !loose => self.ignore(voice, "filesystem.caches", "persistent"),
            Some(caches) => self.policy.caches = caches,
            None => {}
        }
        for (list, key, entries) in [
            (List::AllowRead, "filesystem.allowRead", &settings.allow_read),
            (List::AllowWrite, "filesystem.allowWrite", &settings.allow_write),
            (List::AllowExecute, "filesystem.allowExecute", &settings.allow_execute),
        ] {
            self.add_list(voice, list, key, entries, Reading::Allow);
        }
        for (list, key, entries) in [
            (List::DenyRead, "filesystem.denyRead", &settings.deny_read),
            (List::DenyWrite, "filesystem.denyWrite", &settings.deny_write),
            (List::DenyExecute, "filesystem.denyExecute", &settings.deny_execute),
        ] {
            self.add_list(voice, list, key, entries, Reading::Deny);
        }
        let allow = [List::AllowRead, List::AllowWrite, List::AllowExecute];
        let deny = [List::DenyRead, List::DenyWrite, List::DenyExecute];
        self.add_operations(voice, "filesystem.allowedPaths", &settings.allowed_paths, allow, Reading::Allow);
        self.add_operations(voice, "filesystem.deniedPaths", &settings.denied_paths, deny, Reading::Deny);
        self.apply_protection(&settings.protection, voice);
    }

    fn add_operations(
        &mut self,
        voice: Voice,
        key: &'static str,
        entries: &[PathOperations],
        [read, write, execute]: [List; 3],
        reading: Reading,
    ) {
        for (index, entry) in entries.iter().enumerate() {
            if entry.operations.is_empty() {
                let key = format!("{key}[{index}].operations");
                self.wrong(voice, &key, "cannot be empty", "name read, write or execute");
            }
            let pattern = PathEntry::Pattern(entry.pattern.clone());
            for operation in &entry.operations {
                let list = match operation {
                    Operation::Read => read,
                    Operation::Write => write,
                    Operation::Execute => execute,
                };
                self.add_entry(voice, list, (key, index), &pattern, reading);
            }
        }
    }

    fn apply_environment(&mut self, settings: EnvironmentSettings, voice: Voice) {
        let loose = voice.may_loosen();
        match settings.inherit {
            Some(Inherit::None) => self.policy.environment.inherit = Inherit::None,
            Some(_) if !loose => self.ignore(voice, "environment.inherit", ""),
            Some(inherit) => self.policy.environment.inherit = inherit,
            None => {}
        }
        for (list, names) in [("allow", &settings.allow), ("deny", &settings.deny)] {
            for (index, name) in names.iter().enumerate() {
                let key = format!("environment.{list}[{index}]");
                if !is_name_pattern(name) {
                    let hint = "letters, digits and _, a * at the beginning or end for several";
                    self.wrong(voice, &key, format!("{name:?} is not a variable name"), hint);
                } else if list == "deny" {
                    self.policy.environment.deny.push(name.clone());
                } else if loose {
                    self.policy.environment.allow.push(name.clone());
                } else {
                    self.ignore(voice, &key, name);
                }
            }
        }
        for (name, value) in settings.set {
            let key = format!("environment.set.{name}");
            if loose {
                self.set_variable(voice, &key, name, value);
            } else {
                self.ignore(voice, &key, "");
            }
        }
    }

    fn set_variable(&mut self, voice: Voice, key: &str, name: String, value: String) {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let reason = format!("{name:?} cannot be a variable");
            return self.wrong(
                voice,
                key,
                reason,
                "a name has no =, and neither name nor value a NUL character",
            );
        }
        self.policy.environment.set.retain(|(known, _)| *known != name);
        self.policy.environment.set.push((name, value));
    }

    fn apply_limits(&mut self, limits: &Limits, voice: Voice) {
        let tighten = !voice.may_loosen();
        let ours = &mut self.policy.limits;
        merge(&mut ours.max_memory, limits.max_memory, tighten);
        merge(&mut ours.max_cpu, limits.max_cpu, tighten);
        merge(&mut ours.max_processes, limits.max_processes, tighten);
        merge(&mut ours.max_file_size, limits.max_file_size, tighten);
        merge(&mut ours.max_file_descriptors, limits.max_file_descriptors, tighten);
        merge(&mut ours.max_execution_time, limits.max_execution_time, tighten);
        merge(&mut ours.max_output, limits.max_output, tighten);
        let heavy = [
            ("limits.maxMemory", limits.max_memory.map(|value| value as f64)),
            ("limits.maxCpu", limits.max_cpu),
            ("limits.maxProcesses", limits.max_processes.map(|value| value as f64)),
        ];
        for (key, value) in heavy {
            let Some(value) = value else { continue };
            if !value.is_finite() || value <= 0.0 {
                let key = if voice.layer == Layer::Flag { "" } else { key };
                self.wrong(voice, key, "must be more than 0", "leave it out for no limit");
            } else if voice.layer != Layer::Preset {
                self.policy.limits_asked = Some(self.quote(voice, key, &value.to_string()));
            }
        }
        if limits.max_execution_time == Some(0) {
            self.wrong(voice, "limits.maxExecutionTime", "must be more than 0", "leave it out for no limit");
        }
    }

    /// Options of the command line, after every file but the organisation's.
    pub(super) fn apply_flags(&mut self, inputs: &Inputs) {
        let flags = &inputs.flags;
        for (flag, list, entries, reading) in [
            ("--allow-read", List::AllowRead, &flags.allow_read, Reading::Allow),
            ("--allow-write", List::AllowWrite, &flags.allow_write, Reading::Allow),
            ("--deny-read", List::DenyRead, &flags.deny_read, Reading::Deny),
            ("--deny-write", List::DenyWrite, &flags.deny_write, Reading::Deny),
        ] {
            if entries.is_empty() {
                continue;
            }
            let voice = self.flag(flag);
            let entries: Vec<PathEntry> =
                entries.iter().map(|text| PathEntry::Pattern(text.clone())).collect();
            self.add_list(voice, list, "", &entries, reading);
        }
        for text in &flags.allow_unix {
            let voice = self.flag("--allow-unix");
            self.add_socket(text, voice, "");
        }
        self.apply_network_flags(flags);
        for name in &flags.env_pass {
            if is_name_pattern(name) {
                self.policy.environment.pass.push(name.clone());
            } else {
                let voice = self.flag("--pass-env");
                self.wrong(voice, "", format!("{name:?} is not a variable name"), "letters, digits and _");
            }
        }
        for (name, value) in &flags.env_set {
            let voice = self.flag("--env");
            self.set_variable(voice, "", name.clone(), value.clone());
        }
        if flags.limits != Limits::default() {
            let voice = self.flag("limit options");
            self.apply_limits(&flags.limits, voice);
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> Voice {
        Voice::new(self.policy.book.source(Layer::Flag, name), Layer::Flag)
    }

    pub(super) fn quote(&self, voice: Voice, key: &str, value: &str) -> RuleRef {
        RuleRef { text: format!("{key} {value}"), origin: self.policy.book.origin(voice.source, key) }
    }
}

/// The later value, or the smaller one where a layer may only tighten.
pub(super) fn merge<T: PartialOrd + Copy>(ours: &mut Option<T>, theirs: Option<T>, tighten: bool) {
    *ours = match (*ours, theirs) {
        (Some(ours), Some(theirs)) if tighten && ours < theirs => Some(ours),
        (ours, theirs) => theirs.or(ours),
    };
}
