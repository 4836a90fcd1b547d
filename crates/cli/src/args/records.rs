//! Options of `stockade violations` and `stockade audit`.

use clap::Subcommand;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use stockade::{AuditKind, ViolationKind};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A moment is a time ago (30m, 2h, 7d), a day (2026-11-15) or a day and a time (2026-11-15T09:30, with Z or an
offset such as +01:00 where it is not meant as local time).

Examples:
  stockade violations --since 2h
  stockade violations --kind write,create --path ~/.config
  stockade violations --path '**/.env' --json")]
pub(crate) struct ViolationsArgs {
    /// Only from this moment on
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) since: Option<u64>,
    /// Only before this moment
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) until: Option<u64>,
    /// Only acts of these kinds: read, write, create, unlink, rename, exec, connect, resolve, unix, syscall,
    /// limit
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = violation_kind)]
    pub(crate) kind: Vec<ViolationKind>,
    /// Only this path, host or glob, and what is below
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: Option<String>,
    /// Only this sandbox; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) sandbox: Option<String>,
    /// Only this program: a path, a name or a glob
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Option<String>,
    /// Only where the subject, the command or the rule contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: usize,
    /// Those that the settings ignore, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Print them as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Forget all of them
    #[arg(long, exclusive = true)]
    pub(crate) clear: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditAct {
    /// Check that no line was changed, moved or removed
    ///
    /// Follows the chain through all files. Exit status 0 when it is sound, 1 when not.
    Verify {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what was decided
    Show(AuditShowArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuditShowArgs {
    /// Only from this moment on, such as 2h or 2026-11-15
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) since: Option<u64>,
    /// Only before this moment
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) until: Option<u64>,
    /// Only these kinds: start, refusal, ask, answer, grant, revoke, bareRun, end, gap
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = audit_kind)]
    pub(crate) kind: Vec<AuditKind>,
    /// Print the lines as they stand in the log
    #[arg(long)]
    pub(crate) json: bool,
}

/// A moment as a person says it, in milliseconds since 1970.
fn moment(text: &str) -> Result<u64, String> {
    moment_from(text, &Zoned::now())
}

fn moment_from(text: &str, now: &Zoned) -> Result<u64, String> {
    let ago = || {
        // `5` alone could be anything; `in 2h` has not happened yet.
        let span: Span = text.strip_suffix(" ago").unwrap_or(text).parse().ok()?;
        (!span.is_negative()).then(|| now.checked_sub(span).ok().map(|then| then.timestamp()))?
    };
    let exact = || text.parse::<Timestamp>().ok();
    let local = || {
        let day: DateTime = text.parse().ok()?;
        day.to_zoned(now.time_zone().clone()).ok().map(|then| then.timestamp())
    };
    let found = exact().or_else(local).or_else(ago);
    let milliseconds = found.map(Timestamp::as_millisecond).and_then(|number| u64::try_from(number).ok());
    milliseconds
        .ok_or_else(|| format!("`{text}` is not a moment: write 2h, 7d, 2026-11-15 or 2026-11-15T09:30"))
}

/// A moment in local time, as `--since` takes it.
pub(crate) fn format_moment(milliseconds: u64) -> String {
    format_moment_in(milliseconds, TimeZone::system())
}

fn format_moment_in(milliseconds: u64, zone: TimeZone) -> String {
    let moment = i64::try_from(milliseconds).ok().and_then(|number| Timestamp::from_millisecond(number).ok());
    // Later than the calendar goes.
    moment.map_or_else(
        || milliseconds.to_string(),
        |moment| moment.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
    )
}

fn violation_kind(text: &str) -> Result<ViolationKind, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        format!(
            "`{text}` is none of read, write, create, unlink, rename, exec, connect, resolve, unix, syscall, limit"
        )
    })
}

fn audit_kind(text: &str) -> Result<AuditKind, String> {
    AuditKind::ALL
        .into_iter()
        .find(|kind| kind.name() == text)
        .ok_or_else(|| format!("`{text}` is none of {}", AuditKind::ALL.map(AuditKind::name).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUNDAY: u64 = 1_794_736_800_000;

    fn now() -> Zoned {
        "2026-11-15T12:00:00+02:00[+02:00]".parse().unwrap()
    }

    #[test]
    fn moments_are_understood() {
        const HOUR: u64 = 3_600_000;
        for (text, expected) in [
            ("2026-11-15T12:00+02:00", SUNDAY),
            ("2026-11-15T10:00:00Z", SUNDAY),
            ("2026-11-15T12:00", SUNDAY),
            ("2026-11-15 12:00:00", SUNDAY),
            ("2026-11-15", SUNDAY - 12 * HOUR),
            ("2h", SUNDAY - 2 * HOUR),
            ("2h ago", SUNDAY - 2 * HOUR),
            ("90m", SUNDAY - 3 * HOUR / 2),
            ("1h 30m", SUNDAY - 3 * HOUR / 2),
            ("7d", SUNDAY - 7 * 24 * HOUR),
            ("1w", SUNDAY - 7 * 24 * HOUR),
        ] {
            assert_eq!(moment_from(text, &now()), Ok(expected), "{text}");
        }
        for wrong in ["", "5", "-2h", "soon", "2026-13-01", "2h later", "9999y"] {
            assert!(moment_from(wrong, &now()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_shown_can_be_asked_for() {
        let shown = format_moment_in(SUNDAY, now().time_zone().clone());
        assert_eq!(shown, "2026-11-15T12:00:00+02:00");
        assert_eq!(moment_from(&shown, &now()), Ok(SUNDAY));
        assert_eq!(format_moment_in(SUNDAY, TimeZone::UTC), "2026-11-15T10:00:00+00:00");
        assert_eq!(format_moment_in(u64::MAX, TimeZone::UTC), u64::MAX.to_string());
    }

    #[test]
    fn kinds_are_those_of_the_records() {
        assert_eq!(violation_kind("unlink"), Ok(ViolationKind::Unlink));
        assert!(violation_kind("Unlink").is_err());
        assert_eq!(audit_kind("bareRun"), Ok(AuditKind::BareRun));
        assert!(audit_kind("").unwrap_err().contains("start, refusal"));
    }
}
