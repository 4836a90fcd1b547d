//! Checking the whole chain.

use super::files::{Line, Lines, Snapshot};
use super::flaw::{Finding, Flaw};
use super::head::{Found, Head};
use super::line::{self, Hash, Link, Parts, digest};
use super::read::AuditRecord;
use super::{AuditError, AuditEvent, AuditLog, Unfinished};
use std::path::PathBuf;

/// The result of [`AuditLog::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Lines that were checked.
    pub lines: u64,
    /// Files they stand in.
    pub files: u64,
    /// What is wrong, in order. Gaps that a writer noted are all listed; after anything else nothing can be
    /// said about what follows, so it is the last.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

impl AuditLog {
    /// Checks every line of every file, and that the first and the last one are there. Writers may go on.
    pub fn verify(&self) -> Result<Verified, AuditError> {
        let snapshot = Snapshot::take(&self.path, &self.head)?;
        let mut walk = Walk {
            head: snapshot.head,
            last: None,
            unfinished: None,
            torn: None,
            at: (self.path.clone(), 0),
            verified: Verified::default(),
        };
        if let Some(finding) = walk.run(snapshot.files)? {
            walk.verified.findings.push(finding);
        }
        Ok(walk.verified)
    }
}

struct Walk {
    head: Found,
    last: Option<Link>,
    /// A line without an end that the next one has to account for, and its place.
    unfinished: Option<(Unfinished, (PathBuf, u64))>,
    /// Where a file ends in the middle of a line.
    torn: Option<(PathBuf, u64)>,
    /// The line that is looked at.
    at: (PathBuf, u64),
    verified: Verified,
}

impl Walk {
    /// Gives the flaw that makes going on pointless.
    fn run(&mut self, files: Vec<Lines>) -> Result<Option<Finding>, AuditError> {
        for mut lines in files {
            if let Some(at) = self.torn.take() {
                self.at = at;
                return Ok(Some(self.finding(Flaw::Unfinished)));
            }
            self.verified.files += 1;
            self.at = (lines.path.clone(), 0);
            while let Some(line) = lines.next()? {
                self.at.1 = lines.number;
                if let Err(flaw) = self.step(&line) {
                    return Ok(Some(self.finding(flaw)));
                }
            }
            // An unfinished line is noted in the file it stands in.
            if let Some((_, at)) = self.unfinished.take() {
                self.at = at;
                return Ok(Some(self.finding(Flaw::Unreadable)));
            }
        }
        let end = self.end();
        self.at.1 += 1;
        Ok(end.err().map(|flaw| self.finding(flaw)))
    }

    fn finding(&self, flaw: Flaw) -> Finding {
        Finding { file: self.at.0.clone(), line: self.at.1, flaw }
    }

    fn step(&mut self, line: &Line) -> Result<(), Flaw> {
        let line = match line {
            Line::Whole(line) => line,
            // A writer that is killed leaves half a line, which nobody was told about. What was told about
            // is in the head.
            Line::Unfinished(_) => {
                self.torn = Some(self.at.clone());
                return Ok(());
            }
            Line::TooLong => return Err(Flaw::Unreadable),
        };
        let Some(parts) = line::read(line) else {
            if self.unfinished.is_some() {
                return Err(self.blame_unfinished());
            }
            let sha256 = digest(&[line]).to_string();
            self.unfinished = Some((Unfinished { bytes: line.len() as u64, sha256 }, self.at.clone()));
            return Ok(());
        };
        let gap = gap(line);
        let noted = match &gap {
            Some(AuditEvent::Gap { unfinished, .. }) => unfinished.as_ref(),
            _ => None,
        };
        if self.unfinished.as_ref().is_some_and(|(found, _)| noted != Some(found)) {
            return Err(self.blame_unfinished());
        }
        self.unfinished = None;
        self.chain(&parts, gap.as_ref())?;
        self.verified.lines += 1;
        self.last = Some(parts.link);
        if let Some(AuditEvent::Gap { note, .. }) = gap {
            let finding = self.finding(Flaw::Gap { note });
            self.verified.findings.push(finding);
        }
        Ok(())
    }

    /// The flaw is in the line that came before.
    fn blame_unfinished(&mut self) -> Flaw {
        if let Some((_, at)) = self.unfinished.take() {
            self.at = at;
        }
        Flaw::Unreadable
    }

    fn chain(&self, parts: &Parts, gap: Option<&AuditEvent>) -> Result<(), Flaw> {
        let seq = parts.link.seq;
        if parts.computed != parts.link.hash {
            return Err(Flaw::Changed { seq });
        }
        let skipped = match gap {
            Some(AuditEvent::Gap { lost: Some(lost), .. }) => Some(lost.to + 1),
            _ => None,
        };
        let (expected, prev) = match self.last {
            Some(last) => (last.seq + 1, Some(last.hash)),
            None => match self.head {
                // Older lines may have been let go; which, only the head can tell.
                Found::Head(Head { first, .. }) if seq > first && skipped.is_none() => {
                    return Err(Flaw::Missing { from: first, to: seq - 1 });
                }
                _ => (seq, (seq == 1).then_some(Hash::NONE)),
            },
        };
        if seq != skipped.unwrap_or(expected) {
            return Err(if seq > expected {
                Flaw::Missing { from: expected, to: seq - 1 }
            } else {
                Flaw::OutOfOrder { seq, expected }
            });
        }
        if prev.is_some_and(|prev| prev != parts.prev) {
            return Err(Flaw::Unchained { seq });
        }
        match self.head {
            Found::Head(Head { last, .. }) if last.seq == seq && last.hash != parts.link.hash => {
                Err(Flaw::NotTheHead { seq })
            }
            _ => Ok(()),
        }
    }

    /// Whether the last line is the last that was written.
    fn end(&self) -> Result<(), Flaw> {
        let last = self.last.map_or(0, |link| link.seq);
        match self.head {
            Found::Head(head) if head.last.seq > last => {
                Err(Flaw::CutOff { from: last + 1, to: head.last.seq })
            }
            Found::Head(Head { unwritten: count @ 1.., .. }) => Err(Flaw::Unwritten { count }),
            // Behind by what was written just before somebody was killed.
            Found::Head(_) => Ok(()),
            Found::Nothing if self.last.is_none() => Ok(()),
            Found::Nothing => Err(Flaw::HeadMissing),
            Found::Unreadable => Err(Flaw::HeadUnreadable),
        }
    }
}

/// The event of a gap line. Most lines need not be understood to be checked.
fn gap(line: &[u8]) -> Option<AuditEvent> {
    const MARK: &[u8] = br#","kind":"gap","#;
    line.windows(MARK.len()).any(|window| window == MARK).then_some(())?;
    let record: AuditRecord = serde_json::from_slice(line).ok()?;
    matches!(record.event, AuditEvent::Gap { .. }).then_some(record.event)
}
