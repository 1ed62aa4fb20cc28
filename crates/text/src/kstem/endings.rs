//! Endings that make another word of one. Some are so frequent that they are taken off whatever is left; after the others a word must be.

use super::{Stemming, undoubled};

impl Stemming {
    /// `-ity`, of which `-ability`, `-ivity` and `-ality` always become `-able`, `-ive` and `-al`.
    pub(super) fn ity(&mut self) {
        let Some(stem) = self.before("ity") else { return };
        if self.is_any(&stem, &["", "e"]) {
            return;
        }
        if let Some(short) = stem.strip_suffix(b"il") {
            self.is_word(short, "le");
        } else if stem.ends_with(b"iv") {
            self.is_word(&stem, "e");
        } else if stem.ends_with(b"al") {
            self.is_word(&stem, "");
        } else if !self.is_word(&stem, "ity") {
            self.set(&stem, "");
        }
    }

    /// `-ness`, always.
    pub(super) fn ness(&mut self) {
        let Some(stem) = self.before("ness") else { return };
        match stem.strip_suffix(b"i") {
            Some(short) => self.is_word(short, "y"),
            None => self.is_word(&stem, ""),
        };
    }

    /// `-ion`, `-ition`, `-ation`, `-ication`, and `-ization`, which always becomes `-ize`.
    pub(super) fn ion(&mut self) {
        let Some(stem) = self.before("ion") else { return };
        if let Some(stem) = self.before("ization") {
            self.is_word(&stem, "ize");
            return;
        }
        if let Some(short) = self.before("ition") {
            if self.is_word(&short, "e") {
                return;
            }
        } else if let Some(short) = self.before("ation")
            && self.is_any(&short, &["ate", "e", ""])
        {
            return;
        }
        self.set(&stem, "ion");
        if let Some(short) = self.before("ication")
            && self.is_word(&short, "y")
        {
            return;
        }
        if !self.is_any(&stem, &["e", ""]) {
            self.set(&stem, "ion");
        }
    }

    /// `-er`, `-or`, `-ier`, `-eer`, and `-izer`, which always becomes `-ize`.
    pub(super) fn er_and_or(&mut self) {
        if let Some(stem) = self.before("izer") {
            self.is_word(&stem, "ize");
            return;
        }
        let found = ["er", "or"].into_iter().find_map(|e| self.before(e).map(|stem| (stem, e)));
        let Some((stem, ending)) = found else { return };
        if let Some(shorter) = undoubled(&stem)
            && self.is_word(shorter, "")
        {
            return;
        }
        // `-ior` counts as `-ier` here.
        let mut vowel = &ending[..1];
        if let Some(short) = stem.strip_suffix(b"i") {
            if self.is_word(short, "y") {
                return;
            }
            vowel = "e";
        }
        if let Some(short) = stem.strip_suffix(b"e")
            && self.is_word(short, "")
        {
            return;
        }
        if !self.is_any(&stem, &[vowel, "", "e"]) {
            self.set(&stem, ending);
        }
    }

    /// `-ly`, of which `-ally` and `-ably` always become `-al` and `-able`; it is taken off what is known in no other form.
    pub(super) fn ly(&mut self) {
        let Some(stem) = self.before("ly") else { return };
        if self.is_any(&stem, &["le", ""]) || stem.ends_with(b"al") {
            return;
        }
        if stem.ends_with(b"ab") {
            self.set(&stem, "le");
            return;
        }
        if let Some(short) = stem.strip_suffix(b"i")
            && self.is_word(short, "y")
        {
            return;
        }
        self.set(&stem, "");
    }

    /// `-al`, `-ial`, and `-ical`, which becomes `-ic` where nothing else is known.
    pub(super) fn al(&mut self) {
        if self.word.len() < 4 {
            return;
        }
        let Some(stem) = self.before("al") else { return };
        if self.is_word(&stem, "") {
            return;
        }
        if let Some(shorter) = undoubled(&stem)
            && self.is_word(shorter, "")
        {
            return;
        }
        if self.is_any(&stem, &["e", "um"]) {
            return;
        }
        if let Some(short) = stem.strip_suffix(b"ic") {
            self.is_any(short, &["", "y", "ic"]);
        } else if let Some(short) = stem.strip_suffix(b"i") {
            self.is_any(short, &["", "ial"]);
        } else {
            self.set(&stem, "al");
        }
    }

    /// `-ive`, `-ative`, and `-ive` for `-ion`.
    pub(super) fn ive(&mut self) {
        let Some(stem) = self.before("ive") else { return };
        if self.is_any(&stem, &["", "e"]) {
            return;
        }
        if let Some(short) = stem.strip_suffix(b"at")
            && self.is_any(short, &["e", ""])
        {
            return;
        }
        if !self.is_word(&stem, "ion") {
            self.set(&stem, "ive");
        }
    }

    /// `-ize`
    pub(super) fn ize(&mut self) {
        let Some(stem) = self.before("ize") else { return };
        if self.is_word(&stem, "") {
            return;
        }
        if let Some(shorter) = undoubled(&stem)
            && self.is_word(shorter, "")
        {
            return;
        }
        if !self.is_word(&stem, "e") {
            self.set(&stem, "ize");
        }
    }

    /// `-ment`
    pub(super) fn ment(&mut self) {
        let Some(stem) = self.before("ment") else { return };
        if !self.is_word(&stem, "") {
            self.set(&stem, "ment");
        }
    }

    /// `-able`, `-ible`
    pub(super) fn ble(&mut self) {
        let Some(stem) = self.before("ble") else { return };
        let [short @ .., b'a' | b'i'] = &stem[..] else { return };
        if self.is_word(short, "") {
            return;
        }
        if let Some(shorter) = undoubled(short)
            && self.is_word(shorter, "")
        {
            return;
        }
        if !self.is_any(short, &["e", "ate"]) {
            self.set(&stem, "ble");
        }
    }

    /// `-ism`, always.
    pub(super) fn ism(&mut self) {
        if let Some(stem) = self.before("ism") {
            self.is_word(&stem, "");
        }
    }

    /// `-ic`: the only ending that may grow, to `-ical`.
    pub(super) fn ic(&mut self) {
        let Some(stem) = self.before("ic") else { return };
        if !self.is_any(&stem, &["ical", "y", "e", ""]) {
            self.set(&stem, "ic");
        }
    }

    /// `-ancy`, `-ency`, which become `-ance` and `-ence` where `-ant` and `-ent` are not known.
    pub(super) fn ncy(&mut self) {
        let Some(stem) = self.before("ncy") else { return };
        if stem.ends_with(b"a") || stem.ends_with(b"e") {
            self.is_any(&stem, &["nt", "nce"]);
        }
    }

    /// `-ance`, `-ence`
    pub(super) fn nce(&mut self) {
        let Some(stem) = self.before("nce") else { return };
        let [short @ .., b'a' | b'e'] = &stem[..] else { return };
        if !self.is_any(short, &["e", ""]) {
            self.set(&stem, "nce");
        }
    }
}
