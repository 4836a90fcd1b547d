//! Options whose wall does not exist yet. They are known, and refused: an option that asks for
//! protection must never be dropped in silence.

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Not available yet (refused)")]
pub(crate) struct AbsentArgs {
    /// A host that may be reached
    #[arg(long, value_name = "HOST")]
    allow_domain: Vec<String>,
    /// Bytes of memory
    #[arg(long, value_name = "BYTES")]
    memory: Option<String>,
    /// Processors, with fractions
    #[arg(long, value_name = "N")]
    cpus: Option<String>,
    /// Processes and threads
    #[arg(long, value_name = "N")]
    pids: Option<String>,
    /// Keep changes in an overlay for review
    #[arg(long)]
    overlay: bool,
    /// Make a port inside reachable from outside
    #[arg(long, value_name = "PORT")]
    publish: Vec<String>,
    /// Make a port outside reachable from inside
    #[arg(long, value_name = "PORT")]
    forward_port: Vec<String>,
}

impl AbsentArgs {
    /// The first of them that was given, and the layer it needs.
    pub(crate) fn first(&self) -> Option<(&'static str, &'static str)> {
        [
            ("--allow-domain", "gateway", !self.allow_domain.is_empty()),
            ("--memory", "cgroup", self.memory.is_some()),
            ("--cpus", "cgroup", self.cpus.is_some()),
            ("--pids", "cgroup", self.pids.is_some()),
            ("--overlay", "overlay", self.overlay),
            ("--publish", "gateway", !self.publish.is_empty()),
            ("--forward-port", "gateway", !self.forward_port.is_empty()),
        ]
        .into_iter()
        .find_map(|(option, layer, given)| given.then_some((option, layer)))
    }
}
