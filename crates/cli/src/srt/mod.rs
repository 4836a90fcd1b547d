//! The front for people who have srt in their scripts: its command line, its settings, its words.

mod args;
mod control;

use crate::descriptor::{Wanted, check};
use crate::print;
use crate::run::{Beside, Job, ReviewWish, TtyWish, perform};
use crate::sys::duplicate;
use crate::voice::{Level, Manner, Voice};
use args::{Said, SrtArgs, parse};
use control::Control;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use stockade::{CommandLine, Flags, Layer, Runtime, SettingsFile, Shape, StandardSettings, Switch};

/// The settings file that is read when none is named.
const DEFAULT_SETTINGS: &str = ".srt-settings.json";

/// srt ends with this whenever it did not run the command.
const FAILED: u8 = 1;

/// Runs one srt command line, given without the program's name.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    match parse(words) {
        Ok(Said::Help) => print::text(args::HELP),
        Ok(Said::Version) => print::text(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Said::Run(args)) => {
            let voice = voice_of(&args);
            run(args, voice).unwrap_or_else(|error| fail(voice, &error))
        }
        Err(error) => fail(Voice { level: Level::Normal, manner: Manner::Srt }, &error.to_string()),
    }
}

fn run(args: SrtArgs, voice: Voice) -> Result<ExitCode, String> {
    // Before anything of ours is opened, which could get that number.
    let control = args.control.map(|number| claimed(number).map(|copy| (number, copy))).transpose()?;
    let settings = settings(args.settings)?;
    voice.detail(match &settings {
        Some(file) => format!("settings: {}", file.path.display()),
        None => "settings: no home directory, built-in defaults".into(),
    });
    let mut builder = Runtime::builder().standard_settings(StandardSettings::ManagedOnly);
    if let Some(settings) = settings {
        builder = builder.settings(settings);
    }
    if control.is_some() {
        builder = builder.flags(Flags { live_network: Switch::Allowed, ..Flags::default() });
    }
    let runtime = builder.build().map_err(|error| error.to_string())?;
    let beside = control.map(|(number, descriptor)| -> Beside {
        let control = Control { number, voice, policy: runtime.policy() };
        Box::new(move |network| Box::pin(control.follow(descriptor, network)))
    });
    Ok(perform(Job {
        runtime,
        command: args.command,
        voice,
        tty: TtyWish::AsCaller,
        stage: None,
        inherit: Vec::new(),
        events: None,
        report: None,
        review: ReviewWish::Glance,
        not_found_hint: None,
        beside,
        refused: FAILED,
    }))
}

/// The file that was named, or the usual one, which may be absent.
fn settings(named: Option<PathBuf>) -> Result<Option<SettingsFile>, String> {
    match named {
        Some(path) => {
            let path = std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(Some(SettingsFile::named(path, Layer::Flag).in_shape(Shape::Srt)))
        }
        None => {
            let environment: Vec<_> = std::env::vars_os().collect();
            let usual = |home: PathBuf| SettingsFile::optional(home.join(DEFAULT_SETTINGS), Layer::User);
            Ok(stockade::home(&environment).map(|home| usual(home).in_shape(Shape::Srt)))
        }
    }
}

fn claimed(number: i32) -> Result<OwnedFd, String> {
    let usable = duplicate(number).and_then(|copy| check(&copy, Wanted::Reading).map(|()| copy));
    usable.map_err(|error| format!("control fd {number} is not usable: {error}"))
}

fn voice_of(args: &SrtArgs) -> Voice {
    let asked = args.debug || std::env::var_os("SRT_DEBUG").is_some_and(|value| !value.is_empty());
    Voice { level: if asked { Level::Verbose } else { Level::Normal }, manner: Manner::Srt }
}

fn fail(voice: Voice, error: &str) -> ExitCode {
    voice.error(error);
    ExitCode::from(FAILED)
}

/// What srt's words after its options come to.
fn command_line(shell: Option<OsString>, words: Vec<OsString>) -> Option<CommandLine> {
    match shell {
        Some(text) => Some(CommandLine::Shell(text)),
        None if words.is_empty() => None,
        None => Some(CommandLine::Argv(words)),
    }
}
