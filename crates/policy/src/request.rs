//! What somebody wants to run, and whether it may.

use crate::{Identity, RuleRef};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

/// A command somebody wants to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to run.
    pub command: CommandLine,
    /// Where; the workspace unless the policy names another.
    pub cwd: PathBuf,
    /// Who chose that directory.
    pub chosen_by: Chooser,
    /// The caller's environment, from which the policy chooses.
    pub environment: Vec<(OsString, OsString)>,
    /// Run without walls. Honoured only where the settings allow it.
    pub bare: BareWish,
    /// What the caller found out about the walls of this machine.
    pub walls: Walls,
    /// Whether a person has said yes to this very command, where a rule wants to be asked.
    pub consent: Consent,
    /// Files that whoever makes the request writes while the command runs, without links on the way. Commands may
    /// read them at most, wherever they lie.
    pub kept: Vec<PathBuf>,
    /// Who is at work behind walls at this moment, and could change what the command reads. A command that is
    /// listed keeps its walls beside them.
    pub at_work: Vec<AtWork>,
}

/// Commands behind walls that are at work while another one is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtWork {
    /// Whose they are.
    pub who: Worker,
    /// A directory that they may write in, without links on the way.
    pub root: PathBuf,
}

/// Whose commands are at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    /// Other commands, or what they left running, of the session that the request is made in.
    Session,
    /// Commands that the session will be given while this one goes on in the background.
    Later,
    /// Another sandbox.
    Sandbox,
    /// Another sandbox, whose directory is not where it was: it may be anywhere now.
    Moved,
}

/// Who chose the directory of a request. Without walls a command runs where its caller says; where commands behind
/// walls say, only if it is a directory that they may write, and the one it seems to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chooser {
    /// Whoever makes the request.
    #[default]
    Caller,
    /// The commands of a session, which move its shell about.
    Commands {
        /// Where the caller had them begin.
        began: PathBuf,
        /// Where the shell really is.
        footing: Footing,
    },
}

/// The directory that a session's shell is in, whatever has its name outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footing {
    /// This one.
    In(Identity),
    /// None: the shell is gone, and the next one begins where the name leads.
    Nowhere,
    /// The shell is there, and does not let itself be looked at.
    Hidden,
}

/// Whether a person was asked about a command. It answers rules that want somebody to be asked and nothing else:
/// what is denied stays denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// Nobody was.
    #[default]
    Missing,
    /// Somebody was, and said yes.
    Given,
}

/// Whether walls can be built here. Only looked at where the settings let commands run without
/// (`failIfUnavailable` is false): otherwise the engine says so itself when it fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Walls {
    /// They can, or nobody has tried.
    #[default]
    Standing,
    /// Somebody tried, and they cannot.
    Unavailable {
        /// What is missing.
        reason: String,
    },
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, exactly.
    Argv(Vec<OsString>),
    /// Text for `/bin/sh -c` (bash where there is one).
    Shell(OsString),
}

/// Whether the caller asked for no walls (`dangerouslyDisableSandbox`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareWish {
    /// Walls, please.
    Sandboxed,
    /// No walls, if the settings allow that.
    Bare,
}

/// What the policy says to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// Whether a person should say yes before it runs.
    #[serde(rename = "needs_approval")]
    pub approval: Approval,
    /// Why, in one sentence.
    pub reason: String,
    /// The rule that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// The commands the text is made of, in order, with what each alone would get. Empty where the rules did
    /// not need to look at the text: see [`Policy::decide_in_parts`](crate::Policy::decide_in_parts).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartDecision>,
    /// The files and directories that a shell without walls opens, in places where commands behind walls may put
    /// links. Whoever starts it opens them first, and has the shell use what was opened.
    #[serde(skip)]
    pub openings: Vec<Opening>,
    /// The directory that a listed command was judged in, without links on the way. Whoever starts it enters this
    /// one, and not what has taken its name since.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
}

/// A file or directory that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Where in the text its name stands; for a command that is no text, which word it is.
    pub name: Range<usize>,
    /// The file, without links on the way.
    pub path: PathBuf,
    /// What for.
    pub opens: Opens,
}

/// What a shell opens something for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// `< file`
    ForReading,
    /// `> file` and its kin.
    ForWriting,
    /// `cd directory`
    ToEnter,
    /// `nohup command`, which adds to this file where its output would be a terminal. Its name is the program's.
    ForNohup,
}

/// What one command of a text would get if it stood alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartDecision {
    /// The command as written.
    pub text: String,
    /// The answer.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// The rule that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
}

/// Whether a person should say yes before a command runs. A fact for whoever asks people; nothing here waits
/// for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Approval {
    /// It runs without walls, or the settings want to be asked behind walls too.
    Needed,
    /// The walls are enough, or it does not run at all.
    NotNeeded,
}

impl Approval {
    /// The same as yes or no.
    pub fn is_needed(self) -> bool {
        self == Self::Needed
    }
}

impl From<bool> for Approval {
    fn from(needed: bool) -> Self {
        if needed { Self::Needed } else { Self::NotNeeded }
    }
}

impl From<Approval> for bool {
    fn from(approval: Approval) -> Self {
        approval.is_needed()
    }
}

/// The four answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Behind walls.
    Sandbox,
    /// Without walls, because the settings say so.
    Unsandboxed,
    /// Somebody has to be asked first.
    Ask,
    /// Not at all.
    Refuse,
}
