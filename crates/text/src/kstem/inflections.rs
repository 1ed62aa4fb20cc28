//! Endings of number and time.

use super::dictionary::Known;
use super::{Stemming, has_vowel, is_consonant, undoubled};

impl Stemming {
    /// `-s`, `-es`, `-ies`
    pub(super) fn plural(&mut self) {
        if let Some(stem) = self.before("ies") {
            self.is_any(&stem, &["ie", "y"]);
        } else if let Some(stem) = self.before("es") {
            // Words in `-sse` are rare, those in `-ss` are not.
            let may_end_with_e = stem.len() > 1 && !stem.ends_with(b"ss");
            if may_end_with_e && self.is_word(&stem, "e") || self.is_word(&stem, "") {
                return;
            }
            self.set(&stem, "e");
            if !may_end_with_e {
                self.look();
            }
        } else if self.word.len() > 3 && self.before("ous").is_none() {
            let stem = self.before("s").filter(|stem| !stem.ends_with(b"s"));
            if let Some(stem) = stem {
                self.is_word(&stem, "");
            }
        }
    }

    /// `-ed`, `-ied`, of words of more than four letters: `fled` has none.
    pub(super) fn past(&mut self) {
        if self.word.len() <= 4 {
            return;
        }
        if let Some(stem) = self.before("ied") {
            self.is_any(&stem, &["ie", "y"]);
            return;
        }
        // What has no vowel is an acronym.
        let Some(stem) = self.before("ed").filter(|stem| has_vowel(stem)) else { return };
        if self.is_form_with_e(&stem) || self.is_word(&stem, "") || self.is_undoubled(&stem) {
            return;
        }
        match stem.starts_with(b"un") {
            true => self.set(&stem, "ed"),
            false => self.set(&stem, "e"),
        }
    }

    /// `-ing`, of words of more than five letters: `thing` has none.
    pub(super) fn participle(&mut self) {
        if self.word.len() <= 5 {
            return;
        }
        let Some(stem) = self.before("ing").filter(|stem| has_vowel(stem)) else { return };
        if self.is_form_with_e(&stem) || self.is_word(&stem, "") || self.is_undoubled(&stem) {
            return;
        }
        let last = stem.len() - 1;
        let ends_with_two = last > 0 && is_consonant(&stem, last) && is_consonant(&stem, last - 1);
        self.set(&stem, if ends_with_two { "" } else { "e" });
    }

    /// Whether a stem with an `e` is a word that has such forms.
    fn is_form_with_e(&mut self, stem: &[u8]) -> bool {
        self.set(stem, "e");
        let found = self.dictionary.find(&self.word);
        self.found = found.filter(|known| *known != Known::Exception);
        self.found.is_some()
    }

    /// Whether a stem ends with a consonant twice. It loses one if that leaves a word, else none: `backfilled`, `backfill`.
    fn is_undoubled(&mut self, stem: &[u8]) -> bool {
        let Some(shorter) = undoubled(stem) else { return false };
        if !self.is_word(shorter, "") {
            self.set(stem, "");
        }
        true
    }
}
