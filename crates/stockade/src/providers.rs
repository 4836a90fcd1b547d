//! Providers by name.

use std::fmt;
use std::sync::Arc;
use stockade_isolate::Provider;

/// The kinds of sandboxes this process can make.
#[derive(Clone, Default)]
pub struct Providers {
    known: Vec<Arc<dyn Provider>>,
}

impl Providers {
    /// None at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Those that come with Stockade on this system.
    pub fn standard() -> Self {
        let mut providers = Self::empty();
        providers.register(Arc::new(stockade_isolate::NativeProvider::new()));
        providers
    }

    /// Adds one; a provider of the same kind is replaced.
    pub fn register(&mut self, provider: Arc<dyn Provider>) {
        self.known.retain(|known| known.kind() != provider.kind());
        self.known.push(provider);
    }

    /// The provider of this kind.
    pub fn get(&self, kind: &str) -> Result<Arc<dyn Provider>, UnknownProvider> {
        self.known.iter().find(|known| known.kind() == kind).cloned().ok_or_else(|| UnknownProvider {
            asked: kind.to_owned(),
            available: self.list().into_iter().map(str::to_owned).collect(),
        })
    }

    /// The kinds there are, in the order they were registered.
    pub fn list(&self) -> Vec<&'static str> {
        self.known.iter().map(|known| known.kind()).collect()
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Providers").field(&self.list()).finish()
    }
}

/// A provider was asked for that nobody registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown sandbox provider: \"{asked}\". Available: [{}]", available.join(", "))]
pub struct UnknownProvider {
    /// The kind that was asked for.
    pub asked: String,
    /// The kinds there are.
    pub available: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_are_answered_with_the_known_ones() {
        let providers = Providers::standard();
        assert_eq!(providers.list(), ["native"]);
        assert_eq!(providers.get("native").unwrap().kind(), "native");
        let error = providers.get("x").err().unwrap();
        assert_eq!(error.to_string(), r#"Unknown sandbox provider: "x". Available: [native]"#);
    }

    #[test]
    fn registering_a_kind_again_replaces_it() {
        let mut providers = Providers::standard();
        providers.register(Arc::new(stockade_isolate::NativeProvider::new()));
        assert_eq!(providers.list(), ["native"]);
    }
}
