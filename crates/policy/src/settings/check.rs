//! Gathering what is wrong with values whose types are right.

use super::error::SettingsError;

/// The mistakes of one source.
pub(crate) struct Findings {
    source: String,
    pub(crate) errors: Vec<SettingsError>,
}

impl Findings {
    /// For a file, or a preset.
    pub(crate) fn of(source: impl Into<String>) -> Self {
        Self { source: source.into(), errors: Vec::new() }
    }

    /// One more.
    pub(crate) fn add(&mut self, key: impl Into<String>, reason: impl Into<String>, hint: impl Into<String>) {
        self.errors.push(SettingsError::Invalid {
            source_name: self.source.clone(),
            key: key.into(),
            reason: reason.into(),
            hint: hint.into(),
        });
    }
}
