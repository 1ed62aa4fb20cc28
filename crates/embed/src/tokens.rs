//! Texts as models are given them.

/// A text as a model is given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// Its ids.
    pub ids: Vec<u32>,
    /// How many of them, from the first, the model attends to.
    pub attended: usize,
    /// Whether it does not attend to those that are 0.
    pub skips_zero: bool,
}

impl Tokens {
    /// Ids all of which the model attends to.
    #[must_use]
    pub fn all(ids: Vec<u32>) -> Tokens {
        Tokens { attended: ids.len(), ids, skips_zero: false }
    }

    /// Whether the model attends to the id at a place; to none behind the last.
    #[must_use]
    pub fn attends(&self, at: usize) -> bool {
        at < self.attended && self.ids.get(at).is_some_and(|id| *id > 0 || !self.skips_zero)
    }

    /// How many ids it attends to.
    #[must_use]
    pub fn count(&self) -> usize {
        (0..self.ids.len()).filter(|at| self.attends(*at)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::Tokens;

    #[test]
    fn ids_are_attended_to() {
        let all = Tokens::all(vec![5, 0, 6]);
        let (some, words) =
            (Tokens { attended: 2, ..all.clone() }, Tokens { skips_zero: true, ..all.clone() });
        for (label, tokens, expected) in [
            ("all", all, [true, true, true, false]),
            ("the first two", some, [true, true, false, false]),
            ("those above 0", words, [true, false, true, false]),
        ] {
            assert_eq!([0, 1, 2, 3].map(|at| tokens.attends(at)), expected, "{label}");
            assert_eq!(tokens.count(), expected.iter().filter(|e| **e).count(), "{label}");
        }
    }
}
