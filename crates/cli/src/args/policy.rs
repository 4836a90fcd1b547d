//! Options that shape the policy.

use super::units::{milliseconds, size, variable};
use std::path::PathBuf;
use stockade::{BuildError, Builder, ClaudeSettings, Flags, Limits, Runtime, Switch};

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyArgs {
    /// A settings file on top of the user's and the project's: Stockade's, srt's, Claude Code's or sandbox.json
    #[arg(long, value_name = "FILE")]
    settings: Vec<PathBuf>,
    /// Hear Claude Code's settings files, too: the project's, yours and the organisation's
    #[arg(long)]
    claude: bool,
    /// The policy to start from (see `stockade presets`)
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// The directory to work in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// A path that may be written
    #[arg(long, value_name = "PATH")]
    allow_write: Vec<String>,
    /// A path that may be read although a rule denies it
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<String>,
    /// A path that must not be read
    #[arg(long, value_name = "PATH")]
    deny_read: Vec<String>,
    /// A path that must not be written
    #[arg(long, value_name = "PATH")]
    deny_write: Vec<String>,
    /// A unix socket that may be reached, or a directory of them
    #[arg(long, value_name = "PATH")]
    allow_unix: Vec<String>,
    /// A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7
    #[arg(long, value_name = "HOST")]
    allow_domain: Vec<String>,
    /// A host that must not be reached, whatever else allows it
    #[arg(long, value_name = "HOST")]
    deny_domain: Vec<String>,
    /// Make a port inside reachable on this machine's loopback: PORT or HOSTPORT:PORT
    #[arg(long, value_name = "PORT")]
    publish: Vec<String>,
    /// Make a port of this machine's loopback reachable inside: PORT or PORT:HOSTPORT
    #[arg(long, value_name = "PORT")]
    forward_port: Vec<String>,
    /// Record every refused read, too, at some cost in time
    #[arg(long, value_name = "WHAT", value_enum)]
    trace: Option<Traced>,
    /// Set a variable
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Let a variable of the caller through
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Kill everything after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds)]
    timeout: Option<u64>,
    /// The largest file that may be written
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_file: Option<u64>,
    /// Pass on this much output and drop the rest
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_output: Option<u64>,
}

/// What is recorded besides what needs no extra work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Traced {
    Reads,
}

impl PolicyArgs {
    /// The directory to work in.
    pub(crate) fn directory(&self) -> PathBuf {
        self.cwd.clone().unwrap_or_else(|| ".".into())
    }

    /// A runtime with this policy, and whatever else `more` asks for.
    pub(crate) fn runtime(self, more: impl FnOnce(Builder) -> Builder) -> Result<Runtime, BuildError> {
        let mut builder = Runtime::builder().flags(Flags {
            allow_write: self.allow_write,
            allow_read: self.allow_read,
            deny_read: self.deny_read,
            deny_write: self.deny_write,
            allow_unix: self.allow_unix,
            allow_domains: self.allow_domain,
            deny_domains: self.deny_domain,
            publish: self.publish,
            forward_ports: self.forward_port,
            trace_reads: match self.trace {
                Some(Traced::Reads) => Switch::Allowed,
                None => Switch::Refused,
            },
            env_set: self.env,
            env_pass: self.pass_env,
            limits: Limits {
                max_file_size: self.max_file,
                max_execution_time: self.timeout,
                max_output: self.max_output,
                ..Limits::default()
            },
            ..Flags::default()
        });
        if let Some(cwd) = self.cwd {
            builder = builder.cwd(cwd);
        }
        if let Some(preset) = self.preset {
            builder = builder.preset(preset);
        }
        for path in self.settings {
            builder = builder.settings_file(std::path::absolute(&path).unwrap_or(path));
        }
        if self.claude {
            builder = builder.claude_settings(ClaudeSettings::Read);
        }
        more(builder).build()
    }
}
