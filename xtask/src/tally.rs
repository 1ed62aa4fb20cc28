//! Counting what passed, over cargo, Python and our own steps.

use std::fmt;

/// Tests that passed, failed and were skipped.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that did not run, each with its reason printed.
    pub skipped: usize,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Adds one step of our own.
    pub fn step(&mut self, passed: bool) {
        self.add(if passed {
            Tally { passed: 1, ..Tally::default() }
        } else {
            Tally { failed: 1, ..Tally::default() }
        });
    }

    /// Reads a closing line of libtest (`test result: ok. 3 passed; 0 failed; 1 ignored; ...`) or of
    /// `stead conformance` and the Python runner (`3 passed, 0 failed, 1 skipped`).
    pub fn parse(line: &str) -> Option<Tally> {
        let counts = match line.strip_prefix("test result: ") {
            Some(rest) => rest.split_once(". ")?.1,
            None => line,
        };
        let mut found = Tally::default();
        let mut words = 0;
        for part in counts.split([',', ';']) {
            let mut pair = part.split_whitespace();
            let (count, word) = (pair.next()?, pair.next());
            match (count.parse::<usize>(), word) {
                (Ok(n), Some("passed")) => found.passed = n,
                (Ok(n), Some("failed")) => found.failed = n,
                (Ok(n), Some("skipped" | "ignored")) => found.skipped = n,
                _ => continue,
            }
            words += 1;
        }
        (words == 3).then_some(found)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_read() {
        let some = |passed, failed, skipped| Some(Tally { passed, failed, skipped });
        let cases = [
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                some(3, 0, 1),
            ),
            (
                "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out",
                some(2, 4, 0),
            ),
            ("9 passed, 8 failed, 7 skipped", some(9, 8, 7)),
            ("9 passed, 8 failed, 7 skipped (atol 1e-5)", some(9, 8, 7)),
            ("test tally::works ... ok", None),
            ("", None),
            ("3 passed", None),
        ];
        for (line, expected) in cases {
            assert_eq!(Tally::parse(line), expected, "{line}");
        }
    }
}
