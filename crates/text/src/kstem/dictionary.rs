//! The words that KStem knows.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

/// Words a line; see the notice beside them for where they are from.
const WORDS: &str = include_str!("../../data/kstem/words.txt");
const NOUNS: &str = include_str!("../../data/kstem/nouns.txt");
const EXCEPTIONS: &str = include_str!("../../data/kstem/exceptions.txt");
/// A word and its stem a line.
const ROOTS: &str = include_str!("../../data/kstem/roots.txt");

/// What is known of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It is its own stem.
    Word,
    /// The same, and what looks like a form of it with an `e` less mostly is none: `caste` and `casting`.
    Exception,
    /// It has this stem.
    Root(&'static str),
}

/// A table of hashes with open addressing: it is made when the first English word comes, in about a millisecond, which a map of the
/// standard library would take five times as long for.
pub(super) struct Dictionary {
    /// Numbers of entries, from 1; 0 where there is none. A power of two, twice as many as there are words.
    slots: Vec<u16>,
    entries: Vec<(&'static str, Known)>,
    state: FixedState,
}

static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(Dictionary::new);

impl Dictionary {
    /// The one that there is.
    pub(super) fn get() -> &'static Dictionary {
        &DICTIONARY
    }

    fn new() -> Dictionary {
        let own = |words: &'static str, known| words.lines().map(move |word| (word, known));
        let roots = ROOTS
            .lines()
            .filter_map(|line| line.split_once(' ').map(|(word, root)| (word, Known::Root(root))));
        let words = own(WORDS, Known::Word).chain(own(NOUNS, Known::Word));
        let entries: Vec<_> = words.chain(own(EXCEPTIONS, Known::Exception)).chain(roots).collect();
        let size = (2 * entries.len()).next_power_of_two();
        let state = FixedState::default();
        let mut slots = vec![0_u16; size];
        for (number, (word, _)) in entries.iter().enumerate() {
            let mut at = state.hash_one(word.as_bytes()) as usize % size;
            while slots[at] != 0 {
                at = (at + 1) % size;
            }
            slots[at] = number as u16 + 1;
        }
        debug_assert!(entries.len() < usize::from(u16::MAX), "numbers of entries fit");
        Dictionary { slots, entries, state }
    }

    /// What is known of a word.
    pub(super) fn find(&self, word: &[u8]) -> Option<Known> {
        let size = self.slots.len();
        let mut at = self.state.hash_one(word) as usize % size;
        loop {
            let number = usize::from(self.slots[at]).checked_sub(1)?;
            let (known, what) = self.entries[number];
            if known.as_bytes() == word {
                return Some(what);
            }
            at = (at + 1) % size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dictionary, Known};

    #[test]
    fn words_are_known_once() {
        let dictionary = Dictionary::get();
        for (word, known) in &dictionary.entries {
            assert_eq!(dictionary.find(word.as_bytes()), Some(*known), "{word}");
            assert!(
                word.bytes()
                    .all(|letter| letter.is_ascii_lowercase() || letter == b'-' || letter == b'\''),
                "{word}"
            );
        }
        assert_eq!(dictionary.entries.len(), 27_994);
        for (word, expected) in [
            ("sea", Some(Known::Word)),
            ("italian", Some(Known::Root("italy"))),
            ("caste", Some(Known::Exception)),
            ("seas", None),
            ("", None),
        ] {
            assert_eq!(dictionary.find(word.as_bytes()), expected, "{word}");
        }
    }
}
