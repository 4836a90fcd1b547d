//! How much is kept.

use super::filter::signed;
use crate::private;
use rusqlite::{Connection, params};

/// What is kept; whatever comes first counts. Applied with every write, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Days.
    pub days: u32,
    /// Rows of all sandboxes together.
    pub rows: u32,
    /// Rows of one sandbox; what it does beyond them is counted in a single row.
    pub sandbox_rows: u32,
    /// Bytes of the file in use: subjects are as long as a command makes them.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { days: 30, rows: 100_000, sandbox_rows: 10_000, bytes: 256 << 20 }
    }
}

impl Retention {
    /// Removes what is too old or too much.
    pub(super) fn apply(&self, database: &Connection) -> rusqlite::Result<()> {
        const DAY: u64 = 24 * 60 * 60 * 1000;
        let oldest = private::now().saturating_sub(u64::from(self.days) * DAY);
        database.execute("DELETE FROM violations WHERE time < ?1", params![signed(oldest)])?;

        // Counting every row with every write would cost more than the write. Ids count up, so their span
        // is at least the number of rows.
        let span = "SELECT coalesce(max(id) - min(id) + 1, 0) FROM violations";
        if database.query_row(span, [], |row| row.get::<_, i64>(0))? > i64::from(self.rows) {
            let surplus = "DELETE FROM violations WHERE id <= \
                           (SELECT id FROM violations ORDER BY id DESC LIMIT 1 OFFSET ?1)";
            database.execute(surplus, params![self.rows])?;
        }
        while self.is_too_large(database)? {
            let oldest = "DELETE FROM violations WHERE id IN (SELECT id FROM violations ORDER BY id \
                          LIMIT (SELECT count(*) / 8 + 1 FROM violations))";
            if database.execute(oldest, [])? == 0 {
                break;
            }
        }
        Ok(())
    }

    fn is_too_large(&self, database: &Connection) -> rusqlite::Result<bool> {
        let ask = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let used = (ask("page_count")? - ask("freelist_count")?) * ask("page_size")?;
        Ok(used > signed(self.bytes))
    }
}
