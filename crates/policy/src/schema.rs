//! The JSON Schema of Stockade's own settings.

use crate::settings::native::Settings;
use serde_json::Value;

/// The JSON Schema of settings files, for editors.
pub fn schema() -> Value {
    schemars::schema_for!(Settings).to_value()
}
