//! A text as the terms that an index has of it.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::address::{self, AddressPart, address_words};
use crate::grams::grams;
use crate::language::Language;
use crate::letters::{compared, without_accents};
use crate::words::Words;

/// The version of what texts become. Who makes other terms of any text than before (words, stems, letters, grams) raises it, so that indexes that
/// are stored are made again.
const VERSION: u32 = 2;

/// What a term is: `match` of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// `text`: each word.
    Word,
    /// `word`, `exact`: the whole value.
    Whole,
    /// `gram`: so many characters of a word.
    Gram(NonZeroUsize),
    /// Each word of a part of an address (`uri`); without capitals, whatever else is said.
    Address(AddressPart),
    /// Each word of an address or of a part of one, as queries have them: they do not say of which.
    AddressWord,
}

impl Unit {
    /// What a term of a query is that asks for these.
    #[must_use]
    pub fn of_queries(self) -> Unit {
        match self {
            Unit::Address(_) => Unit::AddressWord,
            other => other,
        }
    }
}

/// How a field's texts become terms. The same rules make the terms of documents and those of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Analysis {
    /// What a term is.
    pub unit: Unit,
    /// Whether words are stemmed (`stemming`); only [words](Unit::Word) are.
    pub is_stemmed: bool,
    /// Whether accents are dropped (`normalizing`); only of [words](Unit::Word).
    pub drops_accents: bool,
    /// Whether capitals make a difference (`match: cased`).
    pub is_cased: bool,
    /// Words of more characters are left out (`max-token-length`).
    pub longest: usize,
}

impl Default for Analysis {
    /// That of a string of which its field says nothing (`match: text`, `stemming: best`, `max-token-length: 1000`).
    fn default() -> Analysis {
        Analysis {
            unit: Unit::Word,
            is_stemmed: true,
            drops_accents: true,
            is_cased: false,
            longest: 1000,
        }
    }
}

/// A term of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term<'t> {
    /// As it stands in the index.
    pub text: Cow<'t, str>,
    /// Which bytes of the text it is made of, to show it there.
    pub bytes: Range<usize>,
}

impl Analysis {
    /// What the terms of a text in a language depend on, as a text: a stored index of other rules is not that of its texts any more.
    #[must_use]
    pub fn rules(&self) -> String {
        let Analysis { unit, is_stemmed, drops_accents, is_cased, longest } = self;
        let unit = match unit {
            Unit::Word => "word".to_owned(),
            Unit::Whole => "whole".to_owned(),
            Unit::Gram(size) => format!("gram {size}"),
            Unit::Address(part) => format!("address {}", part.name()),
            Unit::AddressWord => "address word".to_owned(),
        };
        let said = [(is_stemmed, "stemmed"), (drops_accents, "no accents"), (is_cased, "cased")];
        let said = said.into_iter().filter(|(is_said, _)| **is_said).map(|(_, name)| name);
        let said: Vec<&str> = said.collect();
        format!("{VERSION}: {unit}; {}; {longest}", said.join(", "))
    }

    /// The terms of a text in their order: the n-th has position n.
    ///
    /// A word is normalised (NFKC), loses capitals, then accents, then what its stemmer takes off: Vespa's `SimpleTokenizer`.
    pub fn terms<'t>(
        &self,
        text: &'t str,
        language: Language,
    ) -> impl Iterator<Item = Term<'t>> + use<'t> {
        let analysis = *self;
        let is_word = matches!(self.unit, Unit::Word);
        let is_of_address = matches!(self.unit, Unit::AddressWord);
        let words = is_word.then(|| Words::of(text));
        let whole =
            matches!(self.unit, Unit::Whole).then_some(0..text.len()).filter(|all| !all.is_empty());
        let pieces = match self.unit {
            Unit::Gram(size) => Some(grams(text, size)),
            _ => None,
        };
        let of_address = is_of_address.then(|| address_words(text)).into_iter();
        let addresses = match self.unit {
            Unit::Address(part) => address::terms(text, part),
            _ => Vec::new(),
        };
        let ranges = words.into_iter().flatten().chain(whole).chain(pieces.into_iter().flatten());
        // A character has at least a byte: few words are counted.
        let is_short = move |word: &str| {
            word.len() <= analysis.longest || word.chars().count() <= analysis.longest
        };
        let terms = ranges.chain(of_address.flatten()).filter_map(move |bytes| {
            let term = text.get(bytes.clone()).filter(|term| is_short(term))?;
            let text = match is_word {
                true => analysis.word(term, language),
                false => compared(term, analysis.is_cased && !is_of_address),
            };
            Some(Term { text, bytes }).filter(|term| !term.text.is_empty())
        });
        terms.chain(addresses.into_iter().filter(move |term| is_short(&term.text)))
    }

    /// A word as it stands in the index.
    fn word<'w>(&self, word: &'w str, language: Language) -> Cow<'w, str> {
        // Most are.
        let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if word.bytes().all(is_small) {
            return if self.is_stemmed { language.stem(word) } else { Cow::Borrowed(word) };
        }
        let mut word = match word.is_ascii() || is_nfkc_quick(word.chars()) == IsNormalized::Yes {
            true => Cow::Borrowed(word),
            false => Cow::Owned(word.nfkc().collect()),
        };
        if let Cow::Owned(small) = compared(&word, self.is_cased) {
            word = Cow::Owned(small);
        }
        if self.drops_accents && !word.is_ascii() {
            word = Cow::Owned(without_accents(&word));
        }
        if !self.is_stemmed {
            return word;
        }
        match word {
            Cow::Borrowed(word) => language.stem(word),
            Cow::Owned(word) => Cow::Owned(language.stem(&word).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroUsize;

    use proptest::prelude::{any, proptest};

    use super::{Analysis, Unit, VERSION};
    use crate::address::AddressPart;
    use crate::language::Language;

    fn terms(analysis: &Analysis, text: &str) -> Vec<String> {
        analysis.terms(text, Language::english()).map(|term| term.text.into_owned()).collect()
    }

    #[test]
    fn texts_become_terms() {
        let words = Analysis::default();
        let plain = Analysis { is_stemmed: false, ..words };
        let accents = Analysis { drops_accents: false, ..plain };
        let cased = Analysis { is_cased: true, ..plain };
        let short = Analysis { longest: 3, ..plain };
        let whole = Analysis { unit: Unit::Whole, ..words };
        let grams = Analysis { unit: Unit::Gram(NonZeroUsize::new(3).unwrap()), ..words };
        let address = Analysis { unit: Unit::Address(AddressPart::All), ..cased };
        let host = Analysis { unit: Unit::Address(AddressPart::HostName), ..cased };
        let of_address = Analysis { unit: host.unit.of_queries(), ..cased };
        for (label, analysis, text, expected) in [
            ("nothing", &words, "", &[][..]),
            ("no word", &words, "...", &[]),
            ("stems", &words, "The JUMPING cats", &["the", "jump", "cat"]),
            ("no stems", &plain, "The JUMPING cats", &["the", "jumping", "cats"]),
            ("accents", &plain, "Caf\u{e9} \u{c5}", &["cafe", "a"]),
            ("accents kept", &accents, "Caf\u{e9}", &["caf\u{e9}"]),
            ("composed", &accents, "Cafe\u{301}", &["caf\u{e9}"]),
            ("wide letters", &plain, "\u{ff21}\u{ff22}", &["ab"]),
            ("ligature", &plain, "\u{fb01}ne", &["fine"]),
            ("capitals", &cased, "The CAT", &["The", "CAT"]),
            ("too long", &short, "one three \u{e9}\u{e9}\u{e9}", &["one", "eee"]),
            ("whole", &whole, "The Jumping-Cats ", &["the jumping-cats "]),
            ("nothing whole", &whole, "", &[]),
            ("address", &address, "HTTP://A-b.com/C?d", &["http", "a-b", "com", "c", "d"]),
            ("host", &host, "HTTP://A-b.com/C?d", &["StArThOsT", "a-b", "com", "EnDhOsT"]),
            ("words of an address", &of_address, "A-b.com:80", &["a-b", "com", "80"]),
            ("grams", &grams, "Jumping up", &["jum", "ump", "mpi", "pin", "ing", "up"]),
        ] {
            assert_eq!(terms(analysis, text), expected, "{label}");
        }
    }

    #[test]
    fn rules_are_those_of_all_settings() {
        let usual = Analysis::default();
        let gram = |size| Unit::Gram(NonZeroUsize::new(size).unwrap());
        let all = [
            usual,
            Analysis { unit: Unit::Whole, ..usual },
            Analysis { unit: gram(2), ..usual },
            Analysis { unit: gram(3), ..usual },
            Analysis { unit: Unit::Address(AddressPart::Host), ..usual },
            Analysis { unit: Unit::Address(AddressPart::HostName), ..usual },
            Analysis { is_stemmed: false, ..usual },
            Analysis { drops_accents: false, ..usual },
            Analysis { is_cased: true, ..usual },
            Analysis { longest: 7, ..usual },
        ];
        let rules: BTreeSet<String> = all.iter().map(Analysis::rules).collect();
        assert_eq!(rules.len(), all.len(), "{rules:?}");
        assert_eq!(usual.rules(), format!("{VERSION}: word; stemmed, no accents; 1000"));
    }

    /// What stands in stored indexes. Where this fails because terms are to be others, `VERSION` becomes greater, and the sum that of the new ones.
    #[test]
    fn terms_of_a_version_stay_what_they_are() {
        const TEXT: &str = "The organisations' generalised Bibliotheken, continuellement; abbandonata chicharrones \
            havnedistriktene jaktkarlarne k\u{f6}nnten stra\u{df}e Caf\u{e9}s \u{c5}ngstr\u{f6}m \u{fb01}nes \u{ff21}\u{ff22}c \
            \u{432}\u{430}\u{433}\u{43e}\u{43d}\u{430}\u{43c} \u{3bb}\u{3cc}\u{3b3}\u{3bf}\u{3c5}\u{3c2} \u{6771}\u{4eac}\u{90fd} \
            \u{643}\u{62a}\u{627}\u{628}\u{647}\u{627} I\u{307}stanbul'un evlerinden x86_64 3.14 a-b o'neill \u{1f600}";
        let usual = Analysis::default();
        let mut sum = 0;
        for tag in "ar ca da de el en es fi fr ga hu id it nb nl nn no pt ro ru sv tr ja".split(' ')
        {
            for analysis in [
                usual,
                Analysis { is_stemmed: false, drops_accents: false, is_cased: true, ..usual },
                Analysis { unit: Unit::Whole, ..usual },
                Analysis { unit: Unit::Gram(NonZeroUsize::new(3).unwrap()), ..usual },
            ] {
                for term in analysis.terms(TEXT, Language::of_tag(tag)) {
                    sum = crc32c::crc32c_append(sum, term.text.as_bytes());
                    sum = crc32c::crc32c_append(sum, &[0xff]);
                }
            }
        }
        assert_eq!((VERSION, sum), (2, 3_620_752_397));
    }

    #[test]
    fn terms_tell_where_they_stand() {
        let text = "A caf\u{e9}, twice";
        let places: Vec<&str> =
            Analysis::default().terms(text, Language::english()).map(|t| &text[t.bytes]).collect();
        assert_eq!(places, ["A", "caf\u{e9}", "twice"]);
    }

    proptest! {
        /// What is a term of a text is one of each of its words too, and nothing is out of order.
        #[test]
        fn any_text_has_terms_in_order(text in any::<String>(), size in 1_usize..5, tag in 0_usize..4) {
            let language = Language::of_tag(["en", "de", "el", "tr"][tag]);
            for unit in [Unit::Word, Unit::Whole, Unit::Gram(NonZeroUsize::new(size).unwrap())] {
                let analysis = Analysis { unit, ..Analysis::default() };
                let mut begin = 0;
                for term in analysis.terms(&text, language) {
                    assert!(begin <= term.bytes.start && term.bytes.end <= text.len(), "{term:?}");
                    assert!(!term.text.is_empty());
                    begin = term.bytes.start;
                    if unit == Unit::Word {
                        let alone: Vec<_> = analysis.terms(&text[term.bytes.clone()], language).map(|t| t.text).collect();
                        assert_eq!(alone, [term.text]);
                    }
                }
            }
        }
    }
}
