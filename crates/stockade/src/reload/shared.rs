//! The policy in force, and the way to the next one.

use super::change::{Change, News, rejections};
use super::linked::Linked;
use super::reading::Reading;
use super::stamp::{Memory, Stamps, is_settled};
use crate::trust::{Standing, TrustStore};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stockade_policy::{Inputs, Policy, SettingsErrors, SettingsFile, Switch};

/// How long a look may be put off because a file seems to be on its way.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many changes are remembered for those who have not heard of them.
const REMEMBERED: usize = 64;

/// What is wrong with settings that are in use. The policy from before may be the very one that somebody wanted
/// to take back, so that nothing runs without walls until it is known what they want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) file: PathBuf,
    pub(crate) error: String,
}

/// Whether a file that is wrong may be looked at again in a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Left,
    Spent,
}

/// What the policy is made of, and the one in force. Copies share everything.
#[derive(Clone, Debug)]
pub(crate) struct Reload(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    inputs: Inputs,
    trust: TrustStore,
    /// The settings files and the list of trusted ones.
    watched: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    policy: Arc<Policy>,
    /// What the files held at the last look.
    reading: Arc<Reading>,
    /// What they held when the policy in force was made from them.
    accepted: Arc<Reading>,
    linked: Linked,
    /// Files whose change was not taken because of their other names.
    doubted: Vec<PathBuf>,
    stamps: Option<Stamps>,
    /// The files that are wrong, while the policy from before holds.
    wrong: Vec<PathBuf>,
    /// What is wrong with them.
    fault: Option<Fault>,
    /// Since when a file seems to be on its way.
    unsettled: Option<Instant>,
    news: VecDeque<Arc<News>>,
    /// How many news there were before the first of these.
    forgotten: u64,
    /// How many news somebody has heard.
    heard: u64,
}

impl Reload {
    /// Reads the settings for the first time.
    pub(crate) fn begin(inputs: Inputs, trust: TrustStore) -> Result<Self, SettingsErrors> {
        let mut watched: Vec<PathBuf> = inputs.settings.iter().map(|file| file.path.clone()).collect();
        watched.push(trust.path());
        // Before the reading: what is saved in between is then found at the next look.
        let (stamps, memory) = Stamps::of(&watched);
        let reading = Reading::take(&inputs, &trust);
        let policy = Arc::new(reading.load(&inputs)?);
        let reading = Arc::new(reading);
        let mut linked = Linked::default();
        linked.note(&watched);
        let state = State {
            policy,
            accepted: Arc::clone(&reading),
            reading,
            linked,
            doubted: Vec::new(),
            stamps: (memory == Memory::Lasting).then_some(stamps),
            wrong: Vec::new(),
            fault: None,
            unsettled: None,
            news: VecDeque::new(),
            forgotten: 0,
            heard: 0,
        };
        Ok(Self(Arc::new(Shared { inputs, trust, watched, state: Mutex::new(state) })))
    }

    /// The policy in force.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.state().policy)
    }

    /// The policy that the files make now; the one from before where they are wrong, and what is wrong.
    pub(crate) fn newest(&self) -> (Arc<Policy>, Option<Fault>) {
        // Whether an editor is at work cannot be waited for: the command that asks runs now.
        self.look_with(Patience::Spent);
        let state = self.state();
        (Arc::clone(&state.policy), state.fault.clone())
    }

    /// The files a policy is made from, and how they stand to what was trusted.
    pub(crate) fn files(&self) -> Vec<(SettingsFile, Standing)> {
        let state = self.state();
        let standings = state.reading.standings().map(|(_, standing)| standing);
        self.0.inputs.settings.iter().cloned().zip(standings).collect()
    }

    /// Whether somebody changes the lists of hosts by hand, and does not want them changed back.
    pub(crate) fn has_live_network(&self) -> bool {
        self.0.inputs.flags.live_network == Switch::Allowed
    }

    /// Looks at the files, and takes what changed. What is wrong only for a moment does not count.
    pub(crate) fn look(&self) {
        self.look_with(Patience::Left);
    }

    fn look_with(&self, patience: Patience) {
        let (stamps, memory) = Stamps::of(&self.0.watched);
        let mut state = self.state();
        if state.stamps.as_ref() == Some(&stamps) {
            return;
        }
        state.linked.note(&self.0.watched);
        let reading = Arc::new(Reading::take(&self.0.inputs, &self.0.trust));
        let cleared = state.cleared();
        if reading != state.reading || !cleared.is_empty() {
            let loaded = reading.load(&self.0.inputs);
            let mut changed = reading.changed_since(&state.reading);
            if changed.is_empty() {
                changed = cleared;
            }
            if changed.is_empty() {
                changed.push(self.0.trust.path());
            }
            // What a removed file gave must not outlive it; what is wrong changes nothing in any case.
            if loaded.is_err() && patience == Patience::Left && state.puts_off(&changed) {
                return;
            }
            let doubtful = state.doubtful(&reading);
            state.doubted = doubtful.iter().map(|(path, _)| path.clone()).collect();
            match loaded {
                Ok(policy) if doubtful.is_empty() => {
                    state.take(Arc::new(policy), changed);
                    state.accepted = Arc::clone(&reading);
                }
                Ok(_) => state.reject(doubtful),
                Err(errors) => state.reject(rejections(&errors, &changed)),
            }
            state.reading = reading;
        }
        state.unsettled = None;
        state.stamps = (memory == Memory::Lasting).then_some(stamps);
    }

    /// The news that nobody has heard, and the place after them.
    pub(super) fn unheard(&self) -> (Vec<Arc<News>>, u64) {
        let place = self.state().heard;
        self.news_from(place)
    }

    /// The news from a place on, and the place after them.
    pub(super) fn news_from(&self, place: u64) -> (Vec<Arc<News>>, u64) {
        let mut state = self.state();
        let skipped = usize::try_from(place.saturating_sub(state.forgotten)).unwrap_or(usize::MAX);
        let news = state.news.iter().skip(skipped).cloned().collect();
        let end = state.forgotten + state.news.len() as u64;
        state.heard = end;
        (news, end)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is done under this lock that could leave it half changed.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether these files, which are wrong, are better looked at again in a moment: an editor may be at work.
    fn puts_off(&mut self, changed: &[PathBuf]) -> bool {
        if changed.iter().all(|path| is_settled(path)) {
            return false;
        }
        self.unsettled.get_or_insert_with(Instant::now).elapsed() < PATIENCE
    }

    fn take(&mut self, policy: Arc<Policy>, files: Vec<PathBuf>) {
        let mended = std::mem::take(&mut self.wrong);
        self.fault = None;
        let change = Change::between(&self.policy, &policy, files, mended);
        self.policy = policy;
        self.tell(News::Changed(change));
    }

    /// Doubted files in whose place there is another one now, whatever it says.
    fn cleared(&self) -> Vec<PathBuf> {
        self.doubted.iter().filter(|path| self.linked.doubt(path).is_none()).cloned().collect()
    }

    /// Files that say something else than the policy in force, perhaps by a command's hand.
    fn doubtful(&self, reading: &Reading) -> Vec<(PathBuf, String)> {
        let changed = reading.changed_since(&self.accepted).into_iter();
        changed.filter_map(|path| self.linked.doubt(&path).map(|why| (path, why))).collect()
    }

    fn reject(&mut self, rejected: Vec<(PathBuf, String)>) {
        // What belongs to no file is wrong all the same.
        let (file, error) = rejected.first().cloned().unwrap_or_default();
        self.fault = Some(Fault { file, error });
        for (file, error) in rejected {
            if !self.wrong.contains(&file) {
                self.wrong.push(file.clone());
            }
            self.tell(News::Rejected { file, error });
        }
    }

    fn tell(&mut self, news: News) {
        self.news.push_back(Arc::new(news));
        if self.news.len() > REMEMBERED {
            self.news.pop_front();
            self.forgotten += 1;
        }
    }
}
