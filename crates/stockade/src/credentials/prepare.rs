//! From the secrets of a plan to what the command sees, and what the gateway knows.

use super::CredentialError;
use super::mask::{Masking, mask};
use super::pairs::pairs;
use super::read::read;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stockade_net::{AwsPair, Secret, StandIn, StandInError, Vault, VaultEntry};
use stockade_policy::{AwsPairPlan, CredentialPlan, CredentialSource, DomainPattern, GatewayPlan, Plan};

/// What the command sees instead of secrets, and who knows what they are.
#[derive(Default)]
pub(crate) struct Masked {
    /// What stand-ins stand for; nothing when nothing is hidden.
    pub(crate) vault: Option<Arc<Vault>>,
    /// Variables and what they have to be.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Files and what reading them has to give.
    pub(crate) contents: Vec<(PathBuf, Vec<u8>)>,
    /// What the command must not get at all: variables unset, files unreadable.
    pub(crate) withheld: Vec<CredentialSource>,
    /// What the person should know. No value is in it.
    pub(crate) warnings: Vec<String>,
}

/// Makes up stand-ins for the secrets of a plan. What is not there needs none: a variable the plan does not
/// hand to the command, or a file that does not exist.
pub(crate) fn prepare(plan: &Plan, environment: &[(OsString, OsString)]) -> Result<Masked, CredentialError> {
    let Some(gateway) = plan.network.gateway() else { return Ok(Masked::default()) };
    let Gathered { mut masked, entries, pairs } = gather(plan, gateway, environment)?;
    if !entries.is_empty() || !pairs.is_empty() {
        let vault = Vault::new(entries, pairs, gateway.plaintext_credentials);
        masked.vault = Some(Arc::new(vault.passing(gateway.unsignable)));
    }
    Ok(masked)
}

/// Everything but the vault, and what goes into it.
pub(super) struct Gathered {
    pub(super) masked: Masked,
    pub(super) entries: Vec<VaultEntry>,
    pub(super) pairs: Vec<AwsPair>,
}

pub(super) fn gather(
    plan: &Plan,
    gateway: &GatewayPlan,
    environment: &[(OsString, OsString)],
) -> Result<Gathered, CredentialError> {
    let mut work = Work { plan, gateway, environment, masked: Masked::default(), entries: Vec::new() };
    let mut found = Vec::new();
    for pair in pairs(gateway) {
        found.extend(work.pair(&pair)?);
    }
    for credential in &gateway.credentials {
        match &credential.source {
            CredentialSource::Variable(name) => work.variable(name, credential)?,
            CredentialSource::File(path) => work.file(path, credential)?,
        }
    }
    let Work { mut masked, entries, .. } = work;
    let withheld = &masked.withheld;
    masked.variables.retain(|(name, _)| !is_withheld_variable(withheld, name));
    masked.contents.retain(|(path, _)| !withheld.contains(&CredentialSource::File(path.clone())));
    masked.warnings.extend(too_short(&entries, &found));
    Ok(Gathered { masked, entries, pairs: found })
}

/// What is said of values that will be seen where a host sends them back.
fn too_short(entries: &[VaultEntry], pairs: &[AwsPair]) -> Vec<String> {
    // What is signed with is sent to nobody.
    let of_pairs = pairs.iter().flat_map(|pair| [&pair.key_id].into_iter().chain(&pair.session_token));
    let mut names: Vec<&str> = Vec::new();
    for entry in entries.iter().chain(of_pairs).filter(|entry| entry.is_sent_uncovered()) {
        if !names.contains(&entry.name.as_str()) {
            names.push(&entry.name);
        }
    }
    let told = |name: &&str| format!("{name}: too short to be covered; a host that sends it back shows it");
    names.iter().map(told).collect()
}

fn is_withheld_variable(withheld: &[CredentialSource], name: &OsString) -> bool {
    withheld
        .iter()
        .any(|source| matches!(source, CredentialSource::Variable(other) if name == other.as_str()))
}

struct Work<'a> {
    plan: &'a Plan,
    gateway: &'a GatewayPlan,
    environment: &'a [(OsString, OsString)],
    masked: Masked,
    entries: Vec<VaultEntry>,
}

impl Work<'_> {
    /// The value of a variable that the command gets.
    fn value(&self, name: &str) -> Option<Vec<u8>> {
        let crosses = self.plan.environment.iter().any(|variable| variable.name == name);
        let found = self.environment.iter().find(|(variable, _)| crosses && variable == name);
        found.map(|(_, value)| value.as_bytes().to_vec()).filter(|value| !value.trim_ascii().is_empty())
    }

    /// A pair whose keys are both there.
    fn pair(&mut self, pair: &AwsPairPlan) -> Result<Option<AwsPair>, CredentialError> {
        let Some((id, key)) = self.value(&pair.access_key_id).zip(self.value(&pair.secret_access_key)) else {
            return Ok(None);
        };
        let token = pair.session_token.as_ref().and_then(|name| Some((name, self.value(name)?)));
        let id_stand_in = StandIn::mint_key_id(id.trim_ascii())?;
        Ok(Some(AwsPair {
            key_id: self.member(&pair.access_key_id, &id, Ok(id_stand_in))?,
            secret: self.member(&pair.secret_access_key, &key, StandIn::mint())?,
            session_token: token
                .map(|(name, token)| self.member(name, &token, StandIn::mint()))
                .transpose()?,
        }))
    }

    fn member(
        &mut self,
        name: &str,
        value: &[u8],
        stand_in: Result<StandIn, StandInError>,
    ) -> Result<VaultEntry, CredentialError> {
        let stand_in = stand_in?;
        self.masked.variables.push((name.into(), stand_in.as_str().into()));
        let real = Secret::new(value.trim_ascii().to_vec());
        Ok(VaultEntry { name: name.to_owned(), stand_in, real, hosts: self.hosts_of(name) })
    }

    fn hosts_of(&self, name: &str) -> Vec<DomainPattern> {
        let source = CredentialSource::Variable(name.to_owned());
        let of = self.gateway.credentials.iter().find(|credential| credential.source == source);
        of.map(|credential| credential.inject_hosts.clone()).unwrap_or_default()
    }

    fn variable(&mut self, name: &str, credential: &CredentialPlan) -> Result<(), CredentialError> {
        // Members of a pair are seen to already.
        let done = self.masked.variables.iter().any(|(known, _)| known == name);
        let Some(value) = self.value(name).filter(|_| !done) else { return Ok(()) };
        let seen = self.hide(name, credential, &value)?.unwrap_or(value);
        self.masked.variables.push((name.into(), OsString::from_vec(seen)));
        Ok(())
    }

    fn file(&mut self, path: &Path, credential: &CredentialPlan) -> Result<(), CredentialError> {
        let name = path.display().to_string();
        let known = self.masked.contents.iter().position(|(known, _)| known == path);
        let content = match known {
            // Several rules may each hide a part of one file.
            Some(known) => self.masked.contents[known].1.clone(),
            None => match read(path) {
                Ok(content) => content,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => {
                    let told = format!("{name} cannot be masked ({error}); the command cannot read it");
                    self.masked.warnings.push(told);
                    self.masked.withheld.push(credential.source.clone());
                    return Ok(());
                }
            },
        };
        if content.trim_ascii().is_empty() {
            return Ok(());
        }
        let Some(seen) = self.hide(&name, credential, &content)? else { return Ok(()) };
        match known {
            Some(known) => self.masked.contents[known].1 = seen,
            None => self.masked.contents.push((path.to_owned(), seen)),
        }
        Ok(())
    }

    /// What is seen instead of a value; nothing when it stays what it is, or is withheld.
    fn hide(
        &mut self,
        name: &str,
        credential: &CredentialPlan,
        value: &[u8],
    ) -> Result<Option<Vec<u8>>, CredentialError> {
        let what = match mask(name, credential, value)? {
            Masking::Hidden { seen, entries, told } => {
                self.masked.warnings.extend(told.map(|told| format!("{name}: {told}")));
                self.entries.extend(entries);
                return Ok(Some(seen));
            }
            Masking::NotFound(what) => what,
        };
        let rule = Box::new(credential.rule.clone());
        let outcome = match credential.on_no_match.as_deref() {
            Some("error") => return Err(CredentialError::NoMatch { name: name.to_owned(), what, rule }),
            Some("deny") => {
                self.masked.withheld.push(credential.source.clone());
                "the command does not get it"
            }
            _ => "the command sees it as it is",
        };
        self.masked.warnings.push(format!("{name}: {what}; {outcome}"));
        Ok(None)
    }
}
