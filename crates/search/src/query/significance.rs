//! How rare words are in texts that are not those of the documents: models of significance (Vespa, documentation, `significance.html`;
//! `linguistics/src/main/java/com/yahoo/language/significance`, `SignificanceSearcher.java`).

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::Arc;

use serde::Deserialize;
use stead_text::Bm25;

use super::error::SearchError;
use super::tree::{QueryTree, Said, Term, Test};

/// The most bytes of a model, unpacked.
pub(crate) const MOST_BYTES: u64 = 1 << 29;

/// A number of documents that the rarest term is in one of (Vespa, `searchlib/src/vespa/searchlib/features/utils.cpp`).
const MANY: f64 = 1_000_000.0;

/// In how many documents of a collection a term is: that of a model, or that which a query says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentFrequency {
    /// The documents that have it.
    pub frequency: u64,
    /// All documents.
    pub count: u64,
}

impl DocumentFrequency {
    /// How much the term says in `bm25` (Vespa, `bm25_utils.cpp`).
    #[must_use]
    pub fn idf(self) -> f64 {
        let count = self.count.max(1);
        Bm25::idf(count as usize, self.frequency.clamp(1, count) as usize)
    }

    /// Its significance as the other features have it, from 0.5 to 1.
    #[must_use]
    pub fn significance(self) -> f64 {
        match self.count {
            0 => 0.5,
            count => significance(self.frequency as f64 / count as f64),
        }
    }
}

/// How rare a term is that a part of documents has, from 0.5 to 1 (Vespa, `searchlib/src/vespa/searchlib/features/utils.cpp`).
#[must_use]
pub fn significance(part: f64) -> f64 {
    0.5 + 0.5 * part.clamp(1.0 / MANY, 1.0).ln() / (1.0 / MANY).ln()
}

/// Why a model cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SignificanceError {
    /// What is packed does not unpack.
    #[error("it is no Zstandard: {0}")]
    Packed(std::io::Error),
    /// It has more bytes than are read.
    #[error("it has more than {MOST_BYTES} bytes")]
    Large,
    /// It is not what it should be.
    #[error("{0}")]
    Json(serde_json::Error),
}

/// A file of models. What else it has nobody asks for.
#[derive(Deserialize)]
struct ModelFile {
    languages: BTreeMap<String, Model>,
}

/// How many texts of a language have a word.
#[derive(Debug, Deserialize)]
struct Model {
    #[serde(rename = "document-count")]
    count: u64,
    #[serde(rename = "document-frequencies")]
    frequencies: HashMap<String, u64>,
}

impl Model {
    /// Of a word in small letters; one that is not known is in one text.
    fn frequency(&self, word: &str) -> DocumentFrequency {
        let frequency = self.frequencies.get(word).copied().unwrap_or(1);
        DocumentFrequency { frequency, count: self.count }
    }
}

/// The models of a package by their languages.
#[derive(Debug, Clone, Default)]
pub struct SignificanceModels {
    models: HashMap<String, Arc<Model>>,
}

impl SignificanceModels {
    /// Adds those of a file, before those of the same languages; `is_packed` for Zstandard.
    ///
    /// # Errors
    /// When it is no file of models, or too large.
    pub fn read(&mut self, bytes: &[u8], is_packed: bool) -> Result<(), SignificanceError> {
        let mut unpacked = Vec::new();
        let bytes = if is_packed {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
            let mut decoder = decoder.map_err(SignificanceError::Packed)?.take(MOST_BYTES + 1);
            decoder.read_to_end(&mut unpacked).map_err(SignificanceError::Packed)?;
            &unpacked
        } else {
            bytes
        };
        if bytes.len() as u64 > MOST_BYTES {
            return Err(SignificanceError::Large);
        }
        let file: ModelFile = serde_json::from_slice(bytes).map_err(SignificanceError::Json)?;
        for (tags, model) in file.languages {
            let model = Arc::new(model);
            for tag in tags.split(',') {
                self.models.insert(code(tag), model.clone());
            }
        }
        Ok(())
    }

    fn of(&self, code: &str) -> Option<&Model> {
        self.models.get(code).map(|model| &**model)
    }

    /// That of the language of a query: of the one that it says, and must be there, or of the one that its words are in.
    fn of_query(&self, said: Option<&str>, guessed: Option<&str>) -> Result<&Model, SearchError> {
        let found = match said.map(code) {
            Some(code) if code != UNKNOWN => {
                return self.of(&code).ok_or_else(|| {
                    SearchError::illegal(format!(
                        "No significance model available for set language {code:.40}"
                    ))
                });
            }
            Some(_) => None,
            None => self.of(&guessed.map_or_else(|| ENGLISH.to_owned(), code)),
        };
        let found = found.or_else(|| self.of(UNKNOWN)).or_else(|| self.of(ENGLISH));
        found.ok_or_else(|| {
            SearchError::illegal("No significance model available for unknown or english language")
        })
    }

    /// Tells the terms of a query that are words, and of which it says nothing itself, how rare they are in their language, or that of the query where
    /// there is no model of it. Of `alternatives` the rarest counts, unless all texts have it.
    ///
    /// # Errors
    /// When there is no model of the language.
    pub fn tell(&self, tree: &mut QueryTree, language: Option<&str>) -> Result<(), SearchError> {
        let said = language.map(str::trim).filter(|tag| !tag.is_empty());
        // Where the query says nothing, that of its first words.
        let is_of_words = |term: &&Term| matches!(term.test, Test::Indexed(_) | Test::Text { .. });
        let first = tree.terms.iter().find(is_of_words);
        let guessed = first.and_then(|term| term.language.as_deref());
        let usual = self.of_query(said, guessed)?;
        for Term { said: words, language, style, .. } in &mut tree.terms {
            if style.significance.is_some() || style.frequency.is_some() {
                continue;
            }
            let code = code(language.as_deref().or(said).unwrap_or(ENGLISH));
            let model = self.of(&code).unwrap_or(usual);
            let of = |word: &String| model.frequency(&word.to_lowercase());
            style.frequency = match words {
                Said::Other => None,
                Said::Word(word) => Some(of(word)),
                Said::Any(words) => {
                    let rarest = words.iter().map(of).min_by_key(|found| found.frequency);
                    rarest.filter(|found| found.frequency < found.count)
                }
            };
        }
        Ok(())
    }
}

/// The code of a language that is not known.
const UNKNOWN: &str = "un";

const ENGLISH: &str = "en";

/// The code of the language of a tag (Vespa, `Language.java`).
fn code(tag: &str) -> String {
    let tag = tag.trim().to_ascii_lowercase().replace('_', "-");
    let mut parts = tag.split('-');
    let code = match parts.next().unwrap_or_default() {
        "unknown" | "" => UNKNOWN,
        "in" => "id",
        "iw" => "he",
        "ji" => "yi",
        "no" => "nb",
        "zh" if parts.any(|part| part == "cn" || part == "hans") => "zh-hans",
        "zh" => "zh-hant",
        code => code,
    };
    code.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{DocumentFrequency, SignificanceModels, code};

    /// As those of Vespa's own tests.
    const MODELS: &str = r#"{"version": "2.0", "id": "test::2", "description": "desc", "languages": {
        "en": {"description": "english", "document-count": 16,
          "document-frequencies": {"usa": 2, "hello": 3, "world": 5, "test": 4, "additional": 2}},
        "nb,sv": {"document-count": 20, "document-frequencies": {"hello": 10, "norge": 11}}}}"#;

    fn models(text: &str) -> SignificanceModels {
        let mut models = SignificanceModels::default();
        models.read(text.as_bytes(), false).unwrap();
        models
    }

    #[test]
    fn languages_are_found_as_vespa_finds_them() {
        let both = models(MODELS);
        let unknown = models(&MODELS.replace("\"en\":", "\"un\":"));
        let none = models(r#"{"languages": {}}"#);
        for (models, tag, word, expected) in [
            (&both, None, "hello", Ok((3, 16))),
            (&both, Some("en-US"), "ciao", Ok((1, 16))),
            (&both, Some("no"), "norge", Ok((11, 20))),
            (&both, Some("sv"), "hello", Ok((10, 20))),
            (&both, Some("un"), "test", Ok((4, 16))),
            (
                &both,
                Some("it"),
                "hello",
                Err("No significance model available for set language it"),
            ),
            (&unknown, None, "usa", Ok((2, 16))),
            (&unknown, Some("unknown"), "usa", Ok((2, 16))),
            (
                &unknown,
                Some("en"),
                "usa",
                Err("No significance model available for set language en"),
            ),
            (
                &none,
                None,
                "usa",
                Err("No significance model available for unknown or english language"),
            ),
            (
                &none,
                Some("un"),
                "usa",
                Err("No significance model available for unknown or english language"),
            ),
        ] {
            let found = models.of_query(tag, None).map(|model| model.frequency(word));
            let found = found.map(|f| (f.frequency, f.count)).map_err(|error| error.message);
            assert_eq!(found, expected.map_err(str::to_owned), "{tag:?} {word}");
        }
    }

    #[test]
    fn later_files_replace_languages_of_earlier_ones() {
        let mut models = models(MODELS);
        let other = r#"{"languages": {"en": {"document-count": 7, "document-frequencies": {}}}}"#;
        models.read(&zstd::encode_all(other.as_bytes(), 1).unwrap(), true).unwrap();
        assert_eq!(models.of_query(None, None).unwrap().frequency("hello").count, 7);
        assert_eq!(models.of_query(Some("nb"), None).unwrap().frequency("hello").frequency, 10);
    }

    #[test]
    fn what_is_no_model_is_refused() {
        for (text, is_packed, expected) in [
            ("", false, "EOF"),
            ("{}", false, "missing field `languages`"),
            (
                r#"{"languages": {"en": {"document-count": 1}}}"#,
                false,
                "missing field `document-frequencies`",
            ),
            (
                r#"{"languages": {"en": {"document-frequencies": {}}}}"#,
                false,
                "missing field `document-count`",
            ),
            (
                r#"{"languages": {"en": {"document-count": -1, "document-frequencies": {}}}}"#,
                false,
                "invalid value",
            ),
            (
                r#"{"languages": {"en": {"document-count": 1, "document-frequencies": {"a": 1.5}}}}"#,
                false,
                "invalid type",
            ),
            (&"[".repeat(100_000), false, "invalid type"),
            (&format!("{{\"x\": {}", "[".repeat(100_000)), false, "EOF"),
            (MODELS, true, "it is no Zstandard"),
        ] {
            let error = SignificanceModels::default().read(text.as_bytes(), is_packed).unwrap_err();
            assert!(error.to_string().contains(expected), "{text:.60}: {error}");
        }
    }

    #[test]
    fn significance_follows_from_the_frequency() {
        for (frequency, count, idf, significance) in [
            // ln(1 + 13.5 / 3.5); 0.5 + 0.5 ln(16 / 3) / ln(10^6).
            (3, 16, (1.0 + 13.5 / 3.5_f64).ln(), 0.5 + 0.5 * (16.0 / 3.0_f64).ln() / 1e6_f64.ln()),
            (1, 1_000_000, (1.0 + 999_999.5 / 1.5_f64).ln(), 1.0),
            (0, 1_000_000_000, (1.0 + 999_999_999.5 / 1.5_f64).ln(), 1.0),
            (30, 16, (1.0 + 0.5 / 16.5_f64).ln(), 0.5),
            (1, 0, (1.0 + 0.5 / 1.5_f64).ln(), 0.5),
        ] {
            let of = DocumentFrequency { frequency, count };
            assert!((of.idf() - idf).abs() < 1e-12, "{of:?}: {} {idf}", of.idf());
            assert!(
                (of.significance() - significance).abs() < 1e-12,
                "{of:?}: {}",
                of.significance()
            );
        }
    }

    #[test]
    fn codes_are_those_of_vespa() {
        for (tag, expected) in [
            ("en", "en"),
            ("EN_us", "en"),
            (" no", "nb"),
            ("iw", "he"),
            ("in-ID", "id"),
            ("ji", "yi"),
            ("zh", "zh-hant"),
            ("zh-Hans", "zh-hans"),
            ("zh-CN", "zh-hans"),
            ("zh-TW", "zh-hant"),
            ("unknown", "un"),
            ("", "un"),
        ] {
            assert_eq!(code(tag), expected, "{tag}");
        }
    }
}
