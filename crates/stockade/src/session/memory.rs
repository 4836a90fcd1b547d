//! Asking a shell what it would take along.

use super::driver::{self, Said};
use super::handle::{Inner, Session};
use super::processes::directory_of;
use super::seat::Seat;
use std::sync::Arc;
use std::time::Duration;

/// How long an answer is waited for; a shell that waits for orders has it at once.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a shell must have had nothing to do before it is asked: who gives one command after the other
/// is not kept waiting.
const PAUSE: Duration = Duration::from_millis(50);

/// A question that was put to the shell, and has to be listened for.
pub(super) struct Asked(());

/// Asks the shell what it exports and where it is, if it has run something since it was asked last.
pub(super) fn ask(seat: &mut Seat) -> Option<Asked> {
    let shell = seat.shell.as_ref().filter(|_| seat.unasked)?;
    seat.unasked = false;
    shell.channel.say(&driver::question()).is_ok().then_some(Asked(()))
}

impl Inner {
    /// Asks, and notes the answer.
    pub(super) async fn remember(&self, seat: &mut Seat) {
        if let Some(asked) = ask(seat) {
            self.listen(seat, asked).await;
        }
    }

    /// Notes what the shell says to a question.
    pub(super) async fn listen(&self, seat: &mut Seat, _: Asked) {
        let Some(shell) = seat.shell.as_mut() else { return };
        let answer = async {
            loop {
                match Said::read(&shell.channel.next().await?) {
                    Some(Said::State { cwd, exports }) => return Some((cwd, exports)),
                    // Said once more.
                    Some(Said::End { .. } | Said::Spoiled { .. }) => {}
                    _ => return None,
                }
            }
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Some((cwd, exports))) => {
                let cwd = directory_of(shell.pid, cwd);
                let mut common = self.common();
                common.kept.stand_at(cwd);
                common.kept.export(&exports);
            }
            // It may still answer, when nobody expects it any more.
            _ => {
                seat.shell = None;
                seat.untold = Some("the shell did not answer any more".into());
            }
        }
    }
}

impl Session {
    /// Asks the shell whenever it has had nothing to do for a moment: what it exports is known when somebody
    /// kills it.
    pub(super) fn look_after(&self) {
        let (inner, spoke) = (Arc::downgrade(&self.inner), Arc::clone(&self.inner.spoke));
        tokio::spawn(async move {
            loop {
                spoke.notified().await;
                tokio::time::sleep(PAUSE).await;
                let Some(inner) = inner.upgrade() else { return };
                if let Ok(mut seat) = Arc::clone(&inner.seat).try_lock_owned() {
                    inner.remember(&mut seat).await;
                    let walls = inner.common().walls.clone();
                    if let (Some(shell), Some(walls)) = (&mut seat.shell, walls) {
                        shell.let_go(&walls.directory);
                    }
                }
            }
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever looks after it looks, and finds nobody.
        self.spoke.notify_one();
    }
}
