//! Opening things after the start: answers to requests, and what the program itself wants open.

use super::allowed::{Access, Allowed, needs_answers};
use super::carried::Carried;
use super::error::ManagerError;
use super::handle::Manager;
use super::pending::Pending;
use super::perform::perform;
use super::permission::{Answered, PermissionAnswer, PermissionRequest};
use super::shared::give;
use crate::grants::Given;
use crate::{Grant, GrantError, RealFiles, Runtime, Session};
use std::path::Path;
use stockade_policy::{Files, Reply, ViolationKind};

/// Told with the result of a command that was allowed something once.
const APART: &str = "this command ran in a sandbox of its own, which was opened for it and is gone: it had an empty \
                     /tmp, and no background commands";

impl Manager {
    /// Does what a person said to a request. Each request is answered once; when following the answer fails,
    /// it can be answered again.
    pub async fn answer(
        &self,
        request: &PermissionRequest,
        answer: PermissionAnswer,
    ) -> Result<Answered, ManagerError> {
        let unknown = || ManagerError::UnknownRequest { id: request.id.clone() };
        let pending = self.shared.state().waiting.take(&request.id).ok_or_else(unknown)?;
        let followed = self.follow(pending.clone(), answer).await;
        if followed.is_err() {
            self.shared.state().waiting.add(pending);
        }
        followed
    }

    /// The requests that nobody has answered, oldest first.
    pub fn requests(&self) -> Vec<PermissionRequest> {
        self.shared.state().waiting.requests()
    }

    /// Lets commands read and change a path and all that is below it, from the next command on and until this
    /// manager is gone. What is denied below it, protected, or the organisation's stays so.
    pub async fn add_runtime_whitelist(&self, path: impl AsRef<Path>) -> Result<Grant, ManagerError> {
        self.allow(Access::Write(path.as_ref().to_owned())).await
    }

    /// Opens something for the commands of this manager, from the next command on and until it is gone.
    pub async fn allow(&self, access: Access) -> Result<Grant, ManagerError> {
        let access = self.resolved(access)?;
        self.open(access.given(), Reply::Session).await
    }

    /// Takes a permission back.
    pub async fn revoke(&self, id: &str) -> Result<(), ManagerError> {
        let grants = self.shared.runtime()?.grants().clone();
        let known =
            self.shared.state().allowed.iter().position(|allowed| allowed.ids.iter().any(|own| own == id));
        let ids = match known {
            Some(at) => self.shared.state().allowed.remove(at).ids,
            None => vec![id.to_owned()],
        };
        let revoked = take_back(&grants, ids).await;
        self.shared.renew()?;
        self.settle().await?;
        revoked
    }

    async fn follow(&self, pending: Pending, answer: PermissionAnswer) -> Result<Answered, ManagerError> {
        let Pending { request, given, input, mut once } = pending;
        if !request.options.contains(&answer) {
            let options = serde_json::to_string(&request.options).unwrap_or_default();
            return Err(ManagerError::NotOffered { options });
        }
        match answer {
            PermissionAnswer::Deny => Ok(Answered::Denied { text: request.denial() }),
            PermissionAnswer::AllowSession => Ok(Answered::Granted(self.open(given, Reply::Session).await?)),
            PermissionAnswer::AllowPermanent => Ok(Answered::Granted(self.open(given, Reply::Always).await?)),
            PermissionAnswer::AllowOnce => {
                // Goes to the audit log; nothing is kept of it.
                self.shared.runtime()?.grants().give(&given, Reply::Once)?;
                once.push(given);
                let _turn = self.shared.turn.lock().await;
                let session = self.shared.session().await?;
                let before = Carried::from(&session).await?;
                let options = before.options(&self.shared.options);
                let apart = Session::open(self.shared.opening(&once)?, options).await?;
                let result = perform(&self.shared, &apart, &input, &once, &mut |_| {}).await;
                let after = Carried::from(&apart).await;
                apart.close().await;
                let mut result = result?;
                result.notices.insert(0, APART.to_owned());
                // Where it went and what it exported is part of what it did.
                if let Some(text) = after?.since(&before) {
                    session.run(text).await?;
                }
                Ok(Answered::Ran(Box::new(result)))
            }
        }
    }

    /// Gives a permission and has the policy made anew with it.
    async fn open(&self, given: Given, reply: Reply) -> Result<Grant, ManagerError> {
        let grants = self.shared.runtime()?.grants().clone();
        let (store, wanted) = (grants.clone(), given.clone());
        let written = tokio::task::spawn_blocking(move || give(&store, &wanted, reply)).await;
        let ids = written.unwrap_or(Err(GrantError::NoPlace.into()))?;
        self.shared.state().allowed.push(Allowed { given: given.clone(), ids: ids.clone() });
        let opened = self.shared.renew().and_then(|runtime| is_open(&runtime, &given));
        if let Err(error) = opened {
            self.shared.state().allowed.retain(|allowed| allowed.ids != ids);
            take_back(&grants, ids).await?;
            self.shared.renew()?;
            return Err(error);
        }
        self.settle().await?;
        let first = ids.first().cloned().unwrap_or_default();
        let found = grants.list()?.into_iter().find(|grant| grant.id == first);
        found.ok_or(ManagerError::Grant(GrantError::Unknown { id: first }))
    }

    /// Builds the sandbox anew, unless a command runs: then the next one does.
    async fn settle(&self) -> Result<(), ManagerError> {
        if self.shared.state().session.is_some()
            && let Ok(_turn) = self.shared.turn.try_lock()
        {
            self.shared.session().await?;
        }
        Ok(())
    }

    fn resolved(&self, access: Access) -> Result<Access, ManagerError> {
        let Some(path) = access.path() else { return Ok(access) };
        let path = self.shared.runtime()?.request(crate::CommandLine::Argv(Vec::new())).cwd.join(path);
        let missing = |source| ManagerError::Missing { path: path.clone(), source };
        // A link that is turned around later opens nothing else.
        let resolved = RealFiles.resolve(&path).map_err(missing)?;
        if resolved.to_str().is_none() {
            return Err(missing(std::io::Error::other("its name is not text")));
        }
        Ok(match access {
            Access::Read(_) => Access::Read(resolved),
            Access::Write(_) => Access::Write(resolved),
            Access::UnixSocket(_) => Access::UnixSocket(resolved),
            other => other,
        })
    }
}

async fn take_back(grants: &crate::GrantStore, ids: Vec<String>) -> Result<(), ManagerError> {
    let grants = grants.clone();
    let revoked = tokio::task::spawn_blocking(move || {
        let mut first = Ok(());
        for id in ids {
            let revoked = grants.revoke(&id).map(drop);
            first = first.and(revoked);
        }
        first
    });
    Ok(revoked.await.unwrap_or(Err(GrantError::NoPlace))?)
}

/// Whether a policy lets commands do what was allowed: a rule that is stronger than any permission may stand.
fn is_open(runtime: &Runtime, given: &Given) -> Result<(), ManagerError> {
    if needs_answers(given.kind) || !matches!(given.kind, ViolationKind::Read | ViolationKind::Write) {
        return Ok(());
    }
    let closed = |reason: String| ManagerError::StaysClosed { subject: given.subject.clone(), reason };
    let explained = runtime.policy().explain(Path::new(&given.subject), &RealFiles);
    let explained = explained.map_err(|error| closed(error.to_string()))?;
    let answer = if given.kind == ViolationKind::Read { explained.read } else { explained.write };
    match answer {
        answer if answer.allowed => Ok(()),
        answer => Err(closed(match answer.rule {
            Some(rule) => format!("{} ({rule})", answer.reason),
            None => answer.reason,
        })),
    }
}
