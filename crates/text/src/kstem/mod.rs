//! KStem, the stemmer of English that Vespa uses where nothing else is said: it takes endings off only where a word is left, by a list of words
//! (Krovetz, "Viewing Morphology as an Inference Process", 1993). Its lists and what it does with each ending are those of Apache
//! Lucene's, whose stems every word has here too.

mod dictionary;
mod endings;
mod inflections;

use std::borrow::Cow;

use dictionary::{Dictionary, Known};

/// Words of at least so many letters are left as they are, and so are those of two.
const TOO_LONG: usize = 50;

/// The stem of a word in small letters.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 3 || word.len() >= TOO_LONG {
        return Cow::Borrowed(word);
    }
    let dictionary = Dictionary::get();
    match dictionary.find(word.as_bytes()) {
        Some(Known::Root(root)) => return Cow::Borrowed(root),
        Some(_) => return Cow::Borrowed(word),
        None => {}
    }
    if !word.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    let mut stemming = Stemming { dictionary, word: word.as_bytes().to_vec(), found: None };
    stemming.run();
    match stemming.found {
        Some(Known::Root(root)) => Cow::Borrowed(root),
        _ if stemming.word == word.as_bytes() => Cow::Borrowed(word),
        // The letters are ASCII.
        _ => Cow::Owned(String::from_utf8(stemming.word).unwrap_or_default()),
    }
}

/// A word on its way to its stem.
struct Stemming {
    dictionary: &'static Dictionary,
    word: Vec<u8>,
    /// What is known of the word, once it is one.
    found: Option<Known>,
}

impl Stemming {
    /// Each kind of ending in turn, until a word is found.
    fn run(&mut self) {
        const STEPS: [fn(&mut Stemming); 18] = [
            Stemming::plural,
            Stemming::past,
            Stemming::participle,
            Stemming::ity,
            Stemming::ness,
            Stemming::ion,
            Stemming::er_and_or,
            Stemming::ly,
            Stemming::al,
            // What the steps before have left may be a word by now.
            |stemming| {
                let found = stemming.dictionary.find(&stemming.word);
                stemming.found = found.filter(|known| *known != Known::Exception);
            },
            Stemming::ive,
            Stemming::ize,
            Stemming::ment,
            Stemming::ble,
            Stemming::ism,
            Stemming::ic,
            Stemming::ncy,
            Stemming::nce,
        ];
        for step in STEPS {
            step(self);
            if self.found.is_some() {
                return;
            }
        }
    }

    /// What stands before an ending, if something does.
    fn before(&self, ending: &str) -> Option<Vec<u8>> {
        let stem = self.word.strip_suffix(ending.as_bytes())?;
        (!stem.is_empty()).then(|| stem.to_vec())
    }

    /// Makes the word another.
    fn set(&mut self, stem: &[u8], ending: &str) {
        self.word.clear();
        self.word.extend_from_slice(stem);
        self.word.extend_from_slice(ending.as_bytes());
    }

    /// Makes the word another; whether that is one.
    fn is_word(&mut self, stem: &[u8], ending: &str) -> bool {
        self.set(stem, ending);
        self.look()
    }

    /// Makes the word the first of some that is one; the last of them if none is.
    fn is_any(&mut self, stem: &[u8], endings: &[&str]) -> bool {
        endings.iter().any(|ending| self.is_word(stem, ending))
    }

    fn look(&mut self) -> bool {
        self.found = self.dictionary.find(&self.word);
        self.found.is_some()
    }
}

/// Whether a letter is a consonant: `y` is one at the beginning and behind a vowel.
fn is_consonant(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => false,
        b'y' if at > 0 => !is_consonant(word, at - 1),
        _ => true,
    }
}

fn has_vowel(word: &[u8]) -> bool {
    (0..word.len()).any(|at| !is_consonant(word, at))
}

/// What is left of a word that ends with a consonant twice without the second.
fn undoubled(word: &[u8]) -> Option<&[u8]> {
    let [shorter @ .., last] = word else { return None };
    let is_double = shorter.last() == Some(last) && is_consonant(word, word.len() - 1);
    is_double.then_some(shorter)
}

#[cfg(test)]
mod tests {
    use super::stem;

    /// Words with the stems that Apache Lucene 8.7 gives them: of its lists with endings added and taken off, and letters by chance.
    const PAIRS: &str = include_str!("../../tests/data/kstem.txt");

    #[test]
    fn words_have_the_stems_of_lucene() {
        let mut count = 0;
        for line in PAIRS.lines() {
            let (word, expected) = line.split_once(' ').unwrap();
            assert_eq!(stem(word), expected, "{word}");
            count += 1;
        }
        assert_eq!(count, 6000);
    }

    #[test]
    fn what_is_no_english_word_is_left_as_it_is() {
        let long = "a".repeat(46) + "ings";
        for word in
            ["", "as", "o'neils", "caf\u{e9}s", "abc1s", "\u{4e2d}\u{6587}\u{4e2d}\u{6587}", &long]
        {
            assert_eq!(stem(word), word);
        }
    }
}
