//! Storing refusals and finding them again.

use super::database::{self, inode};
use super::filter::{Filter, Hidden, kind_name, signed};
use super::{IgnoreList, Retention, StoreError};
use rusqlite::{Connection, Row, Statement, Transaction, TransactionBehavior, params, params_from_iter};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use stockade_policy::{Violation, ViolationKind};

/// The name of the file in the state directory.
const FILE: &str = "violations.db";

/// Bytes of a command that are kept: it stands in every row, and may be megabytes of shell text.
const LONGEST_COMMAND: usize = 1024;

/// Bytes of any other text. No path is longer.
const LONGEST_TEXT: usize = 8192;

/// How often a store is opened that others are setting aside.
const TRIES: u32 = 5;

/// Refusals of all runs of this user.
///
/// The file is opened for each act and only when there is something to do, so that a store costs nothing
/// until then and may be shared between threads.
#[derive(Clone, Debug)]
pub struct ViolationStore {
    path: PathBuf,
    retention: Retention,
}

/// What became of refusals that were to be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Those that have a row of their own.
    pub stored: u64,
    /// Of these, how many the ignore list hides.
    pub hidden: u64,
    /// Those that were only counted, because their sandbox had too many.
    pub counted: u64,
    /// The store was damaged; it lies here now, and a new one was begun.
    pub set_aside: Option<PathBuf>,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// How many rows.
    pub removed: u64,
    /// The store was damaged; it lies here now, and a new one was begun.
    pub set_aside: Option<PathBuf>,
}

/// How many refusals fit a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that are shown.
    pub shown: u64,
    /// Those the ignore list hides.
    pub hidden: u64,
    /// Those that were only counted.
    pub counted: u64,
}

/// A refusal as it was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredViolation {
    /// The refusal.
    #[serde(flatten)]
    pub violation: Violation,
    /// The ignore list hides it.
    pub hidden: bool,
    /// More than 0 where this row stands for that many refusals of a sandbox that had too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ViolationStore {
    /// The store in a state directory. Nothing is opened or made yet.
    pub fn new(state: &Path) -> Self {
        Self { path: state.join(FILE), retention: Retention::default() }
    }

    /// Keeps more or less than usual.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores the refusals of a run: all of them or, on an error, none.
    pub fn record(&self, violations: &[Violation], ignore: &IgnoreList) -> Result<Recorded, StoreError> {
        self.record_with(violations, 0, ignore)
    }

    /// The same for a run that had `further` refusals nobody kept one by one: they are counted.
    pub fn record_with(
        &self,
        violations: &[Violation],
        further: u64,
        ignore: &IgnoreList,
    ) -> Result<Recorded, StoreError> {
        if violations.is_empty() {
            return Ok(Recorded::default());
        }
        let (mut recorded, set_aside) = self.mending(|| self.record_once(violations, further, ignore))?;
        recorded.set_aside = set_aside;
        Ok(recorded)
    }

    /// Refusals that fit, oldest first.
    pub fn query(&self, filter: &Filter) -> Result<Vec<StoredViolation>, StoreError> {
        let mut found = Vec::new();
        self.visit(filter, |stored| {
            if stored.hidden && filter.hidden == Hidden::Leave {
                return true;
            }
            found.push(stored);
            filter.limit.is_none_or(|limit| found.len() < limit)
        })?;
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        found.reverse();
        Ok(found)
    }

    /// How many fit, whatever the limit, hidden ones too.
    pub fn count(&self, filter: &Filter) -> Result<Counts, StoreError> {
        let mut counts = Counts::default();
        self.visit(filter, |stored| {
            match &stored {
                StoredViolation { more: 1.., .. } => counts.counted += stored.more,
                StoredViolation { hidden: true, .. } => counts.hidden += 1,
                StoredViolation { .. } => counts.shown += 1,
            }
            true
        })?;
        Ok(counts)
    }

    /// Removes everything. A damaged store is set aside.
    pub fn clear(&self) -> Result<Cleared, StoreError> {
        if !self.path.exists() {
            return Ok(Cleared::default());
        }
        let told = |source| StoreError::told(&self.path, source);
        let clear = || {
            let database = database::for_writing(&self.path)?;
            let removed = database.execute("DELETE FROM violations", []).map_err(told)?;
            // Gives the space back to the system, and with it what was written there.
            for tidy in ["PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"] {
                let mut statement = database.prepare(tidy).map_err(told)?;
                let mut steps = statement.query([]).map_err(told)?;
                while steps.next().map_err(told)?.is_some() {}
            }
            Ok(removed as u64)
        };
        self.mending(clear).map(|(removed, set_aside)| Cleared { removed, set_aside })
    }

    /// Does it; when the file turns out to be damaged, sets it aside and does it again.
    fn mending<T>(
        &self,
        act: impl Fn() -> Result<T, StoreError>,
    ) -> Result<(T, Option<PathBuf>), StoreError> {
        let mut aside = None;
        for _ in 0..TRIES {
            let seen = inode(&self.path);
            match act() {
                Err(StoreError::Damaged { .. }) => {
                    aside = database::set_aside(&self.path, seen)?.or(aside);
                }
                // Somebody else set it aside just as we opened it.
                Err(StoreError::Open { .. }) if inode(&self.path) != seen => {}
                result => return Ok((result?, aside)),
            }
        }
        Ok((act()?, aside))
    }

    fn record_once(
        &self,
        violations: &[Violation],
        further: u64,
        ignore: &IgnoreList,
    ) -> Result<Recorded, StoreError> {
        let mut database = database::for_writing(&self.path)?;
        // From the start: a transaction that reads first and then finds another writer would fail at once.
        let write = |database: &mut Connection| {
            let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let recorded = insert(&transaction, (violations, further), ignore, self.retention.sandbox_rows)?;
            self.retention.apply(&transaction)?;
            transaction.commit()?;
            Ok(recorded)
        };
        write(&mut database).map_err(|source| StoreError::told(&self.path, source))
    }

    /// Shows what fits, newest first, until told to stop.
    fn visit(
        &self,
        filter: &Filter,
        mut each: impl FnMut(StoredViolation) -> bool,
    ) -> Result<(), StoreError> {
        let told = |source| StoreError::told(&self.path, source);
        let Some(database) = database::for_reading(&self.path)? else { return Ok(()) };
        let (condition, values) = filter.condition();
        let query = format!(
            "SELECT seq, time, sandbox, command, pid, program, kind, subject, rule, suggestion, hidden, more, reason \
             FROM violations WHERE {condition} ORDER BY id DESC"
        );
        let mut statement = database.prepare(&query).map_err(told)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(told)?;
        while let Some(row) = rows.next().map_err(told)? {
            let stored = stored(row).map_err(told)?;
            if filter.fits(&stored) && !each(stored) {
                break;
            }
        }
        Ok(())
    }
}

fn insert(
    transaction: &Transaction<'_>,
    (violations, further): (&[Violation], u64),
    ignore: &IgnoreList,
    sandbox_rows: u32,
) -> rusqlite::Result<Recorded> {
    let mut recorded = Recorded::default();
    let mut taken: HashMap<&str, u32> = HashMap::new();
    let mut surplus: HashMap<&str, (&Violation, u64)> = HashMap::new();
    let mut insert = transaction.prepare(INSERT)?;
    let mut count = transaction.prepare("SELECT count(*) FROM violations WHERE sandbox = ?1 AND more = 0")?;
    for violation in violations {
        let sandbox = violation.sandbox.as_str();
        let taken = match taken.entry(sandbox) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(count.query_row(params![sandbox], |row| row.get(0))?)
            }
        };
        if *taken >= sandbox_rows {
            surplus.entry(sandbox).or_insert((violation, 0)).1 += 1;
            recorded.counted += 1;
            continue;
        }
        *taken += 1;
        let hidden = ignore.hides(violation);
        add(&mut insert, violation, hidden, 0)?;
        recorded.stored += 1;
        recorded.hidden += u64::from(hidden);
    }
    if let Some(last) = violations.last().filter(|_| further > 0) {
        surplus.entry(last.sandbox.as_str()).or_insert((last, 0)).1 += further;
        recorded.counted += further;
    }
    for (sandbox, (first, number)) in surplus {
        let grow = "UPDATE violations SET more = more + ?2 WHERE sandbox = ?1 AND more > 0";
        if transaction.execute(grow, params![sandbox, signed(number)])? == 0 {
            let row = Violation {
                pid: 0,
                program: None,
                kind: ViolationKind::Limit,
                subject: String::new(),
                reason: String::new(),
                rule: None,
                suggestion: None,
                ..first.clone()
            };
            add(&mut insert, &row, false, number)?;
        }
    }
    Ok(recorded)
}

const INSERT: &str = "INSERT INTO violations \
    (seq, time, sandbox, command, pid, program, kind, subject, rule, suggestion, hidden, more, reason) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

fn add(insert: &mut Statement<'_>, violation: &Violation, hidden: bool, more: u64) -> rusqlite::Result<()> {
    let rule = violation.rule.as_ref().and_then(|rule| serde_json::to_string(rule).ok());
    insert.execute(params![
        signed(violation.seq),
        signed(violation.time),
        violation.sandbox,
        cut(&violation.command, LONGEST_COMMAND),
        violation.pid,
        violation.program.as_deref().map(|program| cut(program, LONGEST_TEXT)),
        kind_name(violation.kind),
        cut(&violation.subject, LONGEST_TEXT),
        // Half a rule could not be read again; one that long is left out.
        rule.filter(|rule| rule.len() <= LONGEST_TEXT),
        violation.suggestion.as_deref().map(|suggestion| cut(suggestion, LONGEST_TEXT)),
        hidden,
        signed(more),
        cut(&violation.reason, LONGEST_TEXT),
    ])?;
    Ok(())
}

/// The beginning of a text that is too long.
fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredViolation> {
    let unsigned = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    let unknown = |column: usize, error: serde_json::Error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    };
    let kind: String = row.get(6)?;
    let kind = serde_json::from_value(kind.into()).map_err(|error| unknown(6, error))?;
    let rule: Option<String> = row.get(8)?;
    let rule = rule.map(|rule| serde_json::from_str(&rule)).transpose();
    let more = unsigned(11)?;
    let subject = match more {
        0 => row.get(7)?,
        more => format!("{more} further refusals of this sandbox, not listed one by one"),
    };
    Ok(StoredViolation {
        violation: Violation {
            seq: unsigned(0)?,
            time: unsigned(1)?,
            sandbox: row.get(2)?,
            command: row.get(3)?,
            pid: row.get(4)?,
            program: row.get(5)?,
            kind,
            subject,
            rule: rule.map_err(|error| unknown(8, error))?,
            suggestion: row.get(9)?,
            reason: row.get(12)?,
        },
        hidden: row.get(10)?,
        more,
    })
}
