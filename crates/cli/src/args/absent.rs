//! Options whose wall does not exist yet. They are known, and refused: an option that asks for
//! protection must never be dropped in silence.

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Not available yet (refused)")]
pub(crate) struct AbsentArgs {
    /// Bytes of memory
    #[arg(long, value_name = "BYTES")]
    memory: Option<String>,
    /// Processors, with fractions
    #[arg(long, value_name = "N")]
    cpus: Option<String>,
    /// Processes and threads
    #[arg(long, value_name = "N")]
    pids: Option<String>,
}

impl AbsentArgs {
    /// The first of them that was given, and the layer it needs.
    pub(crate) fn first(&self) -> Option<(&'static str, &'static str)> {
        [
            ("--memory", "cgroup", self.memory.is_some()),
            ("--cpus", "cgroup", self.cpus.is_some()),
            ("--pids", "cgroup", self.pids.is_some()),
        ]
        .into_iter()
        .find_map(|(option, layer, given)| given.then_some((option, layer)))
    }
}
