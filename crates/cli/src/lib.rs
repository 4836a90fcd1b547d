//! The `stockade` command line. Thin: it reads arguments, lets the library work, and says how it went.

mod args;
mod ask;
mod audit;
mod check;
mod config;
mod descriptor;
mod doctor;
mod explain;
mod grants;
mod overlay;
mod plan;
mod presets;
mod print;
mod reactor;
mod run;
mod session;
mod srt;
mod status;
mod stderr;
mod sys;
#[cfg(target_arch = "x86_64")]
mod sys_copy;
mod sys_memory;
mod violations;
mod voice;
mod witness;

use args::{Act, Cli, RunArgs, RunOnly};
use clap::{CommandFactory, Parser};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
pub use sys_memory::Memory;
use voice::Voice;

/// The whole command line as clap sees it, for manual pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program this process was started as.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if called_as_srt(words.first()) {
        return srt::main(words.into_iter().skip(1).collect());
    }
    match words.get(1).and_then(|word| word.to_str()) {
        // Their options are not clap's to understand.
        Some("srt") => return srt::main(words.into_iter().skip(2).collect()),
        Some("__host") => return session::host::main(words.into_iter().skip(2)),
        Some("__witness") => return witness::main(words.into_iter().skip(2)),
        _ => {}
    }
    if words.get(1).is_some_and(|word| word == "run") {
        if let Some(args) = RunArgs::plain(&words[2..]) {
            return run::main(args);
        }
        return match RunOnly::try_parse_from(words.into_iter().skip(1)) {
            Ok(only) => run::main(only.args),
            Err(error) => misread(&error, status::REFUSED),
        };
    }
    let runs = words.get(1).is_some_and(|word| word == "exec" || word == "shell");
    match Cli::try_parse_from(words) {
        Ok(cli) => perform(cli.command),
        Err(error) => misread(&error, if runs { status::REFUSED } else { status::USAGE }),
    }
}

/// Help and version are asked for and come on stdout; everything else is a mistake.
fn misread(error: &clap::Error, status: u8) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return print::text(&text);
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text).replace('\n', "\n  ").replace("\n  \n", "\n\n");
    Voice::NORMAL.error(text);
    ExitCode::from(status)
}

fn perform(act: Option<Act>) -> ExitCode {
    match act {
        None => print::text(&command().render_help().to_string()),
        Some(Act::Run(args)) => run::main(*args),
        Some(Act::Plan(args)) => plan::main(*args),
        Some(Act::Check(args)) => check::main(*args),
        Some(Act::Explain(args)) => explain::main(*args),
        Some(Act::Presets { name }) => presets::main(name.as_deref()),
        Some(Act::Schema) => print::json(&stockade::schema()),
        Some(Act::Doctor { json }) => {
            doctor::main(if json { doctor::Form::Json } else { doctor::Form::Text })
        }
        Some(Act::Grants { json, act }) => {
            grants::main(act, if json { grants::Form::Json } else { grants::Form::Text })
        }
        Some(Act::Violations(args)) => violations::main(*args),
        Some(Act::Audit { act }) => audit::main(act),
        Some(Act::Config { act }) => config::main(act),
        Some(Act::Diff(args)) => overlay::diff(args),
        Some(Act::Apply(args)) => overlay::apply(args),
        Some(Act::Discard(args)) => overlay::discard(args),
        Some(Act::Overlays { json }) => {
            overlay::list(if json { overlay::Form::Json } else { overlay::Form::Text })
        }
        Some(Act::Shell(args)) => session::shell::main(*args),
        Some(Act::Exec(args)) => session::exec::main(*args),
        Some(Act::Sessions { json, act }) => {
            session::list::main(act, if json { session::list::Form::Json } else { session::list::Form::Text })
        }
        Some(Act::Host { words }) => session::host::main(words.into_iter()),
        Some(Act::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), "stockade", &mut script);
            print::bytes(&script)
        }
        Some(Act::Srt { words }) => srt::main(words),
        Some(Act::Witness { words }) => witness::main(words.into_iter()),
    }
}

fn called_as_srt(name: Option<&OsString>) -> bool {
    name.and_then(|name| Path::new(name).file_name()) == Some(OsStr::new("srt"))
}

/// Says why nothing was run.
fn refuse(voice: Voice, why: impl std::fmt::Display) -> ExitCode {
    voice.error(why);
    ExitCode::from(status::REFUSED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn srt_is_known_by_its_name() {
        for (name, expected) in [("srt", true), ("/usr/bin/srt", true), ("stockade", false), ("srt2", false)]
        {
            assert_eq!(called_as_srt(Some(&name.into())), expected, "{name}");
        }
        assert!(!called_as_srt(None));
    }
}
