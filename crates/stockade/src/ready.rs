//! What a start needs whatever its plan is, made before there is one.

use std::sync::Arc;
use stockade_isolate::{NativeProvider, Provider};

/// What the next start has ready. Dropping it gives up what no start has taken.
#[must_use = "what is ready is given up when this is dropped"]
pub struct Ready(Arc<dyn Provider>);

impl Ready {
    /// What [`Runtime::get_ready`](crate::Runtime::get_ready) does, before there is a runtime, for the native engine.
    pub fn early() -> Self {
        Self::of(Arc::new(NativeProvider::new()))
    }

    pub(crate) fn of(provider: Arc<dyn Provider>) -> Self {
        provider.get_ready();
        Self(provider)
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.0.stand_down();
    }
}
