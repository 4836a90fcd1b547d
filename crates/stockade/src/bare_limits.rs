//! What a run without walls can still hold: only what this process itself watches.

use stockade_policy::{Enforcement, LayerState, Limits, WallLayer};

/// Reports each limit of the plan as held or missing, so that none is dropped in silence.
pub(crate) fn enforcement(limits: &Limits) -> Enforcement {
    let mut enforcement = Enforcement::default();
    if limits.max_execution_time.is_some() || limits.max_output.is_some() {
        enforcement.set(WallLayer::Launcher, LayerState::Enforced { detail: String::new() });
    }
    let missing = |names: &[(&str, bool)]| {
        let names: Vec<&str> = names.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| LayerState::Missing {
            reason: format!("runs without walls do not hold {}", names.join(", ")),
        })
    };
    let process = missing(&[
        ("maxFileSize", limits.max_file_size.is_some()),
        ("maxFileDescriptors", limits.max_file_descriptors.is_some()),
    ]);
    let group = missing(&[
        ("maxMemory", limits.max_memory.is_some()),
        ("maxCpu", limits.max_cpu.is_some()),
        ("maxProcesses", limits.max_processes.is_some()),
    ]);
    for (layer, state) in [(WallLayer::ProcessLimits, process), (WallLayer::Cgroup, group)] {
        if let Some(state) = state {
            enforcement.set(layer, state);
        }
    }
    enforcement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_not_held_are_named() {
        let limits =
            Limits { max_memory: Some(1), max_processes: Some(1), max_output: Some(1), ..Limits::default() };
        let seen = enforcement(&limits);
        assert!(matches!(seen.state(WallLayer::Launcher), Some(LayerState::Enforced { .. })));
        assert_eq!(seen.state(WallLayer::ProcessLimits), None);
        let Some(LayerState::Missing { reason }) = seen.state(WallLayer::Cgroup) else { panic!("{seen:?}") };
        assert_eq!(reason, "runs without walls do not hold maxMemory, maxProcesses");
    }

    #[test]
    fn no_limits_no_report() {
        assert_eq!(enforcement(&Limits::default()), Enforcement::default());
    }
}
