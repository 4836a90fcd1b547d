//! Promises with a number in them.

/// A promise, and what was measured for it. Printed, never asserted: a busy machine is not a defect.
#[derive(Clone, Debug)]
pub struct Promise {
    /// What is promised.
    pub text: String,
    /// The most it may be.
    pub limit: f64,
    /// What it was; `None` if it could not be measured here.
    pub measured: Option<f64>,
}

impl Promise {
    /// `held`, `NOT HELD` or `not measured`.
    pub fn verdict(&self) -> &'static str {
        match self.measured {
            Some(measured) if measured <= self.limit => "held",
            Some(_) => "NOT HELD",
            None => "not measured",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_answers() {
        let verdict = |measured| Promise { text: "x".into(), limit: 2.0, measured }.verdict();
        assert_eq!(verdict(Some(2.0)), "held");
        assert_eq!(verdict(Some(2.1)), "NOT HELD");
        assert_eq!(verdict(Some(f64::NAN)), "NOT HELD");
        assert_eq!(verdict(None), "not measured");
    }
}
