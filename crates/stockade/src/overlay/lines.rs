//! Which lines of two texts belong together.
//!
//! The shortest way from one text to the other, found by walking all ways at once, one more edit at a time (Myers).

/// Edits after which the search is given up; the rest counts as replaced.
const MOST_EDITS: usize = 2000;

/// One step on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A line of both.
    Keep,
    /// A line of the old text only.
    Remove,
    /// A line of the new text only.
    Add,
}

/// The lines of a text, each with its line break.
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The steps from the old lines to the new ones.
pub(super) fn steps(old: &[&[u8]], new: &[&[u8]]) -> Vec<Step> {
    let same_start = old.iter().zip(new).take_while(|(left, right)| left == right).count();
    let (old, new) = (&old[same_start..], &new[same_start..]);
    let same_end = old.iter().rev().zip(new.iter().rev()).take_while(|(left, right)| left == right).count();
    let (old, new) = (&old[..old.len() - same_end], &new[..new.len() - same_end]);
    let mut steps = vec![Step::Keep; same_start];
    let middle = if old.is_empty() || new.is_empty() { None } else { walk(old, new) };
    match middle {
        Some(middle) => steps.extend(middle),
        None => {
            steps.extend(old.iter().map(|_| Step::Remove));
            steps.extend(new.iter().map(|_| Step::Add));
        }
    }
    steps.extend(std::iter::repeat_n(Step::Keep, same_end));
    steps
}

/// How far one got on each diagonal, for each number of edits.
struct Reached(Vec<Vec<usize>>);

impl Reached {
    /// With `edits` edits on the diagonal `old - new == diagonal`.
    fn get(&self, edits: usize, diagonal: isize) -> Option<usize> {
        let at = usize::try_from(diagonal + edits.cast_signed()).ok()?;
        (at % 2 == 0).then(|| self.0.get(edits)?.get(at / 2).copied()).flatten()
    }
}

fn walk(old: &[&[u8]], new: &[&[u8]]) -> Option<Vec<Step>> {
    let goal = old.len().cast_signed() - new.len().cast_signed();
    let mut reached = Reached(Vec::new());
    for edits in 0..=MOST_EDITS.min(old.len() + new.len()) {
        let mut row = Vec::with_capacity(edits + 1);
        for diagonal in (-edits.cast_signed()..=edits.cast_signed()).step_by(2) {
            let start = if edits == 0 { 0 } else { best(&reached, edits, diagonal).0 };
            row.push(slide(old, new, start, diagonal));
        }
        reached.0.push(row);
        if reached.get(edits, goal) == Some(old.len()) {
            return Some(back(&reached, old.len(), new.len(), edits));
        }
    }
    None
}

/// Where a diagonal is entered with one more edit, and by which.
fn best(reached: &Reached, edits: usize, diagonal: isize) -> (usize, Step) {
    let removed = reached.get(edits - 1, diagonal - 1).map(|at| at + 1);
    let added = reached.get(edits - 1, diagonal + 1);
    match (removed, added) {
        (Some(removed), Some(added)) if removed > added => (removed, Step::Remove),
        (_, Some(added)) => (added, Step::Add),
        (Some(removed), None) => (removed, Step::Remove),
        (None, None) => (0, Step::Add),
    }
}

/// Follows equal lines.
fn slide(old: &[&[u8]], new: &[&[u8]], mut at: usize, diagonal: isize) -> usize {
    while let Ok(other) = usize::try_from(at.cast_signed() - diagonal) {
        match (old.get(at), new.get(other)) {
            (Some(left), Some(right)) if left == right => at += 1,
            _ => break,
        }
    }
    at
}

/// The way back from the end.
fn back(reached: &Reached, old: usize, new: usize, edits: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut at, mut diagonal) = (old, old.cast_signed() - new.cast_signed());
    for edits in (1..=edits).rev() {
        let (entered, by) = best(reached, edits, diagonal);
        steps.extend(std::iter::repeat_n(Step::Keep, at.saturating_sub(entered)));
        steps.push(by);
        (at, diagonal) = match by {
            Step::Remove => (entered - 1, diagonal - 1),
            Step::Add | Step::Keep => (entered, diagonal + 1),
        };
    }
    steps.extend(std::iter::repeat_n(Step::Keep, at));
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(old: &str, new: &str) -> (Vec<Step>, usize) {
        let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (split(old.as_bytes()), split(new.as_bytes()));
        let steps = steps(&old, &new);
        let (mut left, mut right) = (old.iter(), new.iter());
        for step in &steps {
            match step {
                Step::Keep => assert_eq!(left.next().unwrap(), right.next().unwrap()),
                Step::Remove => drop(left.next().unwrap()),
                Step::Add => drop(right.next().unwrap()),
            }
        }
        assert!(left.next().is_none() && right.next().is_none());
        let edits = steps.iter().filter(|step| **step != Step::Keep).count();
        (steps, edits)
    }

    #[test]
    fn the_way_leads_from_one_text_to_the_other_and_is_short() {
        for (old, new, edits) in [
            ("", "", 0),
            ("a\n", "a\n", 0),
            ("a\n", "a", 2),
            ("", "a\nb\n", 2),
            ("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 5),
            ("a\nx\nb\n", "a\ny\nb\n", 2),
        ] {
            assert_eq!(go(old, new).1, edits, "{old:?} {new:?}");
        }
    }

    #[test]
    fn random_texts_meet() {
        let mut seed = 7_u64;
        let mut letter = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ["a\n", "b\n", "c\n"][(seed >> 33) as usize % 3]
        };
        for length in 0..40 {
            let old: String = (0..length).map(|_| letter()).collect();
            let new: String = (0..40 - length).map(|_| letter()).collect();
            go(&old, &new);
        }
    }

    #[test]
    fn very_different_texts_are_replaced() {
        let old: String = (0..3000).map(|line| format!("old {line}\n")).collect();
        let new: String = (0..3000).map(|line| format!("new {line}\n")).collect();
        assert_eq!(go(&old, &new).1, 6000);
    }
}
