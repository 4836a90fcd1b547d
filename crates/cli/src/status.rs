//! Exit statuses.

use std::process::ExitCode;

/// Stockade itself failed or refused to start; the command did not run.
pub(crate) const REFUSED: u8 = 125;

/// A usage error of a subcommand that runs nothing.
pub(crate) const USAGE: u8 = 2;

/// A command's status as ours. What does not fit is a failure, never 0.
pub(crate) fn of_command(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade::Exit;

    #[test]
    fn statuses_are_those_of_a_shell() {
        for (exit, expected) in [
            (Exit::Code { code: 0 }, 0),
            (Exit::Code { code: 42 }, 42),
            (Exit::Signal { signal: 11 }, 139),
            (Exit::TimedOut, 137),
            (Exit::Cancelled { signal: 1 }, 129),
            (Exit::Cancelled { signal: 2 }, 130),
            (Exit::Cancelled { signal: 15 }, 143),
            (Exit::NotStarted { errno: 2 }, 127),
            (Exit::NotStarted { errno: 13 }, 126),
        ] {
            assert_eq!(exit.status(), expected, "{exit:?}");
            assert_eq!(of_command(exit.status()), ExitCode::from(u8::try_from(expected).unwrap()));
        }
    }

    #[test]
    fn odd_codes_are_failures() {
        assert_eq!(of_command(-1), ExitCode::from(255));
        assert_eq!(of_command(256), ExitCode::from(255));
    }
}
