//! A policy told in plain data: every rule and value, with who said it.

use crate::inputs::{Shape, Trust};
use crate::policy::Policy;
use crate::{Layer, Notice, Origin, RuleRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Everything a policy says, in the order in which it was put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The preset the policy started from; `srt` where srt's settings took the place of presets.
    pub preset: String,
    /// The working directory without links.
    pub workspace: PathBuf,
    /// The settings files that were there, weakest first.
    pub files: Vec<DescribedFile>,
    /// Entries of lists, weakest layer first, what is built in last.
    pub rules: Vec<DescribedRule>,
    /// Everything else: switches, numbers, names.
    pub values: Vec<DescribedValue>,
    /// What the person should know about the settings.
    pub notices: Vec<Notice>,
}

/// A settings file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Who speaks in it.
    pub layer: Layer,
    /// Whose format it has.
    pub shape: Shape,
    /// Whether a project's file may loosen.
    pub trust: Trust,
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedRule {
    /// The list: `allowWrite`, `deniedDomains`.
    pub list: String,
    /// The entry as written.
    pub entry: String,
    /// Where it was written.
    pub origin: Origin,
}

/// A single value, or an entry of a list that is no rule about a file or a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedValue {
    /// The key in Stockade's own shape: `filesystem.readScope`.
    pub key: String,
    /// What holds.
    pub value: Value,
    /// Who said so; built in where nobody did.
    pub origin: Origin,
}

impl Policy {
    /// The whole policy in plain data.
    pub fn describe(&self) -> Description {
        let network = &self.network;
        let files = self.files.iter().map(|file| DescribedFile {
            path: file.path.clone(),
            layer: file.layer,
            shape: file.shape,
            trust: file.trust,
        });
        let about_files = self.book.iter().map(|(id, _)| self.book.quote(id));
        let hosts = network.allowed.iter().chain(&network.denied).map(|rule| rule.rule.clone());
        let requests = network.requests.iter().map(|rule| rule.rule.clone());
        let sockets = network.unix_sockets.iter().map(|rule| rule.rule.clone());
        let secrets = network.credentials.iter().map(|secret| secret.rule.clone());
        let excluded = self.commands.excluded.iter().map(|rule| rule.rule.clone());
        let platforms = self.commands.elsewhere.clone();
        let mut rules: Vec<DescribedRule> = about_files
            .chain(hosts)
            .chain(requests)
            .chain(sockets)
            .chain(secrets)
            .chain(excluded)
            .chain(platforms)
            .map(described)
            .collect();
        rules.extend(
            self.commands.deny.iter().map(|rule| DescribedRule {
                list: "commands.deny".to_owned(),
                ..described(rule.rule.clone())
            }),
        );
        rules.extend(
            (self.commands.ask.iter().map(|rule| &rule.rule))
                .chain(&self.commands.ask_about_all)
                .map(|rule| DescribedRule { list: "permissions.ask".to_owned(), ..described(rule.clone()) }),
        );
        // The sort is stable: within one layer the order stays.
        rules.sort_by_key(|rule| (rule.origin.layer == Layer::BuiltIn, rule.origin.layer));
        Description {
            preset: self.preset.clone(),
            workspace: self.workspace.clone(),
            files: files.collect(),
            rules,
            values: self.told.clone(),
            notices: self.notices.clone(),
        }
    }
}

/// A rule's text begins with the words of its list.
fn described(rule: RuleRef) -> DescribedRule {
    let (list, entry) = match rule.text.split_once(' ') {
        Some(("system", rest)) | Some(("own", rest)) if rest.starts_with("directory ") => {
            let words = rule.text.len() - rest.len() + "directory".len();
            (rule.text[..words].to_owned(), rest["directory ".len()..].to_owned())
        }
        Some((list, entry)) => (list.to_owned(), entry.to_owned()),
        None => (rule.text.clone(), String::new()),
    };
    DescribedRule { list, entry, origin: rule.origin }
}
