//! Settings files followed beside one running command.

use super::Reload;
use super::change::{Change, News};
use crate::network::NetworkHandle;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stockade_policy::{Event, GatewayPlan, Policy};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(500);
/// Events that wait for whoever reads those of the run.
const MOST_WAITING: usize = 256;

/// Follows settings files until it is dropped.
#[derive(Debug)]
pub(crate) struct Following {
    task: JoinHandle<()>,
    told: mpsc::Receiver<Event>,
    looker: Looker,
}

/// Tells what a [`Following`] would tell next, to whoever cannot wait. Each of both tells only what the other one
/// has not.
#[derive(Clone, Debug)]
pub(crate) struct Looker(Arc<Mutex<Course>>);

impl Looker {
    /// What is known already. The files are not looked at.
    pub(crate) fn news(&self) -> Vec<Event> {
        // The worst that can be left behind is news told twice.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).news()
    }
}

impl Reload {
    /// What nobody has heard was found when the next command was prepared: all of it holds for it.
    pub(crate) fn unheard_events(&self) -> Vec<Event> {
        self.unheard().0.iter().map(|news| found_before(news)).collect()
    }
}

fn found_before(news: &News) -> Event {
    match news {
        News::Changed(change) => {
            let applied = change.hosts.iter().chain(&change.rest).cloned().collect();
            reloaded(change, applied, Vec::new())
        }
        News::Rejected { file, error } => rejected(file, error),
    }
}

/// The gateway of a run, and the plan it was opened with.
pub(crate) type Doorway = (GatewayPlan, NetworkHandle);

impl Following {
    /// Begins to follow them. A run that has a gateway hands it over, so that lists of hosts reach it.
    pub(crate) fn begin(reload: &Reload, network: Option<Doorway>) -> Self {
        let (tell, told) = mpsc::channel(MOST_WAITING);
        let network = network.filter(|_| !reload.has_live_network());
        let (news, place) = reload.unheard();
        for news in news {
            // Nobody has to read them.
            let _ = tell.try_send(found_before(&news));
        }
        let course = Course { policy: None, reload: reload.clone(), network, place };
        let looker = Looker(Arc::new(Mutex::new(course)));
        let task = tokio::spawn(follow(reload.clone(), looker.clone(), tell));
        Self { task, told, looker }
    }

    /// Another way to hear what comes next.
    pub(crate) fn looker(&self) -> Looker {
        self.looker.clone()
    }

    /// An event that is there already.
    pub(crate) fn waiting(&mut self) -> Option<Event> {
        self.told.try_recv().ok()
    }

    /// The next event. Never ends; may be dropped and called again.
    pub(crate) async fn next(&mut self) -> Event {
        match self.told.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(reload: Reload, looker: Looker, tell: mpsc::Sender<Event>) {
    loop {
        tokio::time::sleep(EVERY).await;
        reload.look();
        for event in looker.news() {
            let _ = tell.try_send(event);
        }
    }
}

#[derive(Debug)]
struct Course {
    reload: Reload,
    /// The policy whose lists of hosts hold, if it is not the one from the start.
    policy: Option<Arc<Policy>>,
    network: Option<Doorway>,
    /// The next news to hear.
    place: u64,
}

impl Course {
    fn news(&mut self) -> Vec<Event> {
        let open = self.follow_hosts();
        let (news, end) = self.reload.news_from(self.place);
        self.place = end;
        let tell = |news: &Arc<News>| match &**news {
            News::Changed(change) => {
                let (mut applied, mut later) = (change.hosts.clone(), change.rest.clone());
                if open == Hosts::Fixed {
                    later.splice(0..0, applied.drain(..));
                }
                reloaded(change, applied, later)
            }
            News::Rejected { file, error } => rejected(file, error),
        };
        news.iter().map(tell).collect()
    }

    /// Gives the gateway the lists of hosts that hold now. Routes, ports, limits and everything else stay as
    /// they were: they are more than who may be reached.
    fn follow_hosts(&mut self) -> Hosts {
        let Some((started, handle)) = &self.network else { return Hosts::Fixed };
        let now = self.reload.policy();
        if self.policy.as_ref().is_some_and(|policy| Arc::ptr_eq(&now, policy)) {
            return Hosts::Following;
        }
        let GatewayPlan { allowed, denied, requests, .. } = now.network_plan();
        let plan = GatewayPlan { allowed, denied, requests, ..started.clone() };
        let changed = handle.change(Arc::new(plan));
        self.policy = Some(now);
        if changed.is_ok() { Hosts::Following } else { Hosts::Fixed }
    }
}

/// Whether the lists of hosts of a run change with the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hosts {
    Following,
    Fixed,
}

fn reloaded(change: &Change, applied: Vec<String>, later: Vec<String>) -> Event {
    Event::SettingsReloaded {
        files: change.files.clone(),
        mended: change.mended.clone(),
        applied,
        later,
        notices: change.notices.clone(),
    }
}

fn rejected(file: &std::path::Path, error: &str) -> Event {
    Event::SettingsRejected { file: file.to_owned(), error: error.to_owned() }
}
