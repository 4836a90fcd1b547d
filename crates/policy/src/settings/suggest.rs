//! The nearest known name to a mistyped one.

/// The candidate that is close enough to be meant, if there is one.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len().max(name.len()) / 3).max(1))
        // Of two equally near ones, the one that was not typed to its end.
        .min_by_key(|(distance, candidate)| (*distance, !candidate.starts_with(name)))
        .map(|(_, candidate)| candidate)
}

/// Edits between two words; neighbours swapped count as one.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut this = vec![row + 1];
        for (column, to) in right.iter().enumerate() {
            let mut cost =
                (last[column] + usize::from(from != to)).min(last[column + 1] + 1).min(this[column] + 1);
            if row > 0 && column > 0 && left[row - 1] == *to && right[column - 1] == *from {
                cost = cost.min(before_last[column - 1] + 1);
            }
            this.push(cost);
        }
        before_last = std::mem::replace(&mut last, this);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let known = ["denyRead", "denyWrite", "allowRead", "allowWrite"];
        assert_eq!(nearest("denyread", known), Some("denyRead"));
        assert_eq!(nearest("dneyWrite", known), Some("denyWrite"));
        assert_eq!(nearest("allow_write", known), Some("allowWrite"));
        assert_eq!(nearest("colour", known), None);
    }
}
