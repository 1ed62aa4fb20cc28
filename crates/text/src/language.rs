//! Languages that words are stemmed in.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

use crate::kstem;

/// A language, and the stemmer of its words.
#[derive(Clone, Copy)]
pub struct Language {
    stems: Stems,
}

/// What stems words.
#[derive(Clone, Copy)]
enum Stems {
    /// Nothing.
    None,
    /// English words, as Vespa does where nothing else is said.
    KStem,
    Snowball(Stemmer),
}

/// The languages with a stemmer of Snowball by their codes (ISO 639-1), those that Vespa has one for; English has [KStem](kstem). Norwegian has three
/// codes.
const STEMMERS: [(&str, Algorithm); 21] = [
    ("ar", Algorithm::Arabic),
    ("ca", Algorithm::Catalan),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("ga", Algorithm::Irish),
    ("hu", Algorithm::Hungarian),
    ("id", Algorithm::Indonesian),
    ("it", Algorithm::Italian),
    ("nb", Algorithm::Norwegian),
    ("nl", Algorithm::Dutch),
    ("nn", Algorithm::Norwegian),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("tr", Algorithm::Turkish),
];

impl Language {
    /// The language of a text of which nobody says one.
    #[must_use]
    pub fn english() -> Language {
        Language { stems: Stems::KStem }
    }

    /// The language of a tag (RFC 5646), such as `en` or `pt-BR`; one without a stemmer leaves its words as they are.
    #[must_use]
    pub fn of_tag(tag: &str) -> Language {
        let code = tag.split(['-', '_']).next().unwrap_or_default();
        if code.eq_ignore_ascii_case("en") {
            return Language::english();
        }
        let found = STEMMERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(code));
        let snowball = |(_, algorithm): &(_, Algorithm)| Stems::Snowball(Stemmer::new(*algorithm));
        Language { stems: found.map_or(Stems::None, snowball) }
    }

    /// The stem of a word in small letters.
    #[must_use]
    pub fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        match self.stems {
            Stems::None => Cow::Borrowed(word),
            Stems::KStem => kstem::stem(word),
            Stems::Snowball(stemmer) => stemmer.stem(word),
        }
    }
}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.stems {
            Stems::None => f.write_str("Language"),
            Stems::KStem => f.write_str("Language(KStem)"),
            Stems::Snowball(stemmer) => write!(f, "Language({:?})", stemmer.algorithm()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, STEMMERS};

    /// The pairs are from Snowball's own vocabularies (`voc.txt` and `output.txt` of each language), but for English.
    #[test]
    fn words_have_the_stems_of_their_language() {
        for (tag, word, expected) in [
            ("en", "consistencies", "consistency"),
            ("en-US", "jumping", "jump"),
            ("EN", "italians", "italy"),
            ("de", "aufeinanderfolge", "aufeinanderfolg"),
            ("fr", "continuellement", "continuel"),
            ("es", "chicharrones", "chicharron"),
            ("it", "abbandonata", "abbandon"),
            ("nb", "havnedistriktene", "havnedistrikt"),
            ("no_NO", "havnedistriktene", "havnedistrikt"),
            ("sv", "jaktkarlarne", "jaktkarl"),
            (
                "ru",
                "\u{432}\u{430}\u{433}\u{43e}\u{43d}\u{430}\u{43c}",
                "\u{432}\u{430}\u{433}\u{43e}\u{43d}",
            ),
            ("ja", "consistency", "consistency"),
            ("", "consistency", "consistency"),
        ] {
            assert_eq!(Language::of_tag(tag).stem(word), expected, "{tag} {word}");
        }
    }

    #[test]
    fn codes_are_in_order_and_known_once() {
        assert!(STEMMERS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
