//! The caller's terminal in raw mode, and back, whatever happens.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::sync::{Mutex, Once};

/// How the terminal was; `None` while it is as it was.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Raw mode of the terminal on descriptor 0. Ends when dropped.
pub(crate) struct Raw(());

impl Raw {
    /// `None` where descriptor 0 is not a terminal.
    pub(crate) fn enter() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        // A panic aborts the program without dropping anything.
        HOOK.call_once(|| {
            let earlier = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                earlier(panic);
            }));
        });
        if let Ok(mut kept) = BEFORE.lock() {
            kept.get_or_insert_with(|| before.clone());
        }
        let mut raw = before;
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(()))
    }

    /// Once more, after a shell has had the terminal in between.
    pub(crate) fn again(&self) {
        if let Ok(mut modes) = tcgetattr(std::io::stdin()) {
            modes.make_raw();
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &modes);
        }
    }
}

/// Whether a command is being typed to.
pub(crate) fn is_wanted() -> bool {
    BEFORE.lock().is_ok_and(|kept| kept.is_some())
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    // `try_lock`: a panic inside `enter` must not wait for itself.
    if let Ok(mut kept) = BEFORE.try_lock()
        && let Some(before) = kept.take()
    {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
    }
}
