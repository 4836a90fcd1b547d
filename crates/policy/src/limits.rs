//! What a command may use up.

use serde::{Deserialize, Serialize};

/// Limits; an absent one does not limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_memory: Option<u64>,
    /// Per cent of one core; 250 is two and a half cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cpu: Option<f64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<u64>,
    /// Bytes in one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_size: Option<u64>,
    /// Open descriptors in one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_descriptors: Option<u64>,
    /// Milliseconds until everything is killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_execution_time: Option<u64>,
    /// Bytes of output passed on; the rest is drained and dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
}
