//! Texts to token ids, by the tokenizers that packages of Vespa name.

mod error;
mod text;
mod wordpiece;

use tokenizers::{TruncationDirection, TruncationParams, TruncationStrategy};

pub use error::TokenizerError;

/// The ids around each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Specials {
    /// None.
    #[default]
    None,
    /// Those of the post-processor in `tokenizer.json`.
    OfFile,
    /// These two.
    Around(u32, u32),
}

/// How many ids a text may have, those around it counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cut {
    /// Any number.
    #[default]
    Never,
    /// So many.
    At(usize),
    /// So many as `tokenizer.json` says; where it does not, or more than this, this many.
    OfFileOr(usize),
}

/// What is done to the ids of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The ids around it.
    pub specials: Specials,
    /// How many there may be.
    pub cut: Cut,
}

/// A tokenizer. Texts are never padded: zeros behind them are the matter of tensors.
pub struct Tokenizer {
    library: tokenizers::Tokenizer,
    specials: Specials,
    /// The most ids between those of [`Specials::Around`].
    most: Option<usize>,
    /// The most ids in all.
    limit: Option<usize>,
}

/// A prefix of a text is read that has so many bytes for each token that there may be; a token has some four.
const BYTES_PER_TOKEN: usize = 64;

/// And so many at least.
const MIN_PREFIX: usize = 1 << 14;

impl Tokenizer {
    /// A tokenizer of `tokenizer.json` as Hugging Face's libraries write it.
    ///
    /// # Errors
    /// When the bytes are none, or the settings leave no room for tokens.
    pub fn from_json(bytes: &[u8], settings: Settings) -> Result<Tokenizer, TokenizerError> {
        // The library takes parts of a file for JSON that it has not read yet, and panics where they are none.
        serde_json::from_slice::<serde_json::Value>(bytes)
            .map_err(|e| TokenizerError::File(e.to_string()))?;
        let library = guarded(|| tokenizers::Tokenizer::from_bytes(bytes));
        let library = library.map_err(TokenizerError::File)?;
        guarded(|| Ok(Tokenizer::new(library, settings))).map_err(TokenizerError::File)?
    }

    /// A tokenizer of the words of `vocab.txt`, as BERT uncased has it.
    ///
    /// # Errors
    /// When `[UNK]` is missing, or the settings leave no room for tokens.
    pub fn from_vocabulary(text: &str, settings: Settings) -> Result<Tokenizer, TokenizerError> {
        Tokenizer::new(wordpiece::read(text)?, settings)
    }

    fn new(
        mut library: tokenizers::Tokenizer,
        settings: Settings,
    ) -> Result<Tokenizer, TokenizerError> {
        let of_file = library.get_truncation().filter(|t| {
            // Any other strategy is one for pairs of texts.
            matches!(t.strategy, TruncationStrategy::LongestFirst)
        });
        let limit = match settings.cut {
            Cut::Never => None,
            Cut::At(limit) => Some(limit),
            Cut::OfFileOr(limit) => Some(of_file.map_or(limit, |t| t.max_length.min(limit))),
        };
        let specials = match settings.specials {
            Specials::None => 0,
            Specials::OfFile => library
                .get_post_processor()
                .map_or(0, |p| tokenizers::PostProcessor::added_tokens(p, false)),
            Specials::Around(..) => 2,
        };
        if let Some(limit) = limit.filter(|limit| *limit <= specials) {
            return Err(TokenizerError::NoRoom { limit, specials });
        }
        let is_around = matches!(settings.specials, Specials::Around(..));
        let truncation = limit.filter(|_| !is_around).map(|max_length| TruncationParams {
            direction: TruncationDirection::Right,
            max_length,
            strategy: TruncationStrategy::LongestFirst,
            stride: 0,
        });
        library
            .with_truncation(truncation)
            .map_err(|e| TokenizerError::File(e.to_string()))?
            .with_padding(None);
        let most = limit.filter(|_| is_around).map(|limit| limit - specials);
        Ok(Tokenizer { library, specials: settings.specials, most, limit })
    }

    /// The ids of a text. Of a very long one no more is read than it takes to have as many as there may be.
    ///
    /// # Errors
    /// When the tokenizer has no token for a part of it and none for what is unknown.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let Some(limit) = self.limit else { return self.encode_whole(text) };
        let mut read = limit.saturating_mul(BYTES_PER_TOKEN).max(MIN_PREFIX);
        while read < text.len() {
            let Some(prefix) = prefix(text, read) else { break };
            let ids = self.encode_whole(prefix)?;
            // It was cut, so that nothing of what follows would be there.
            if ids.len() >= limit {
                return Ok(ids);
            }
            read = read.saturating_mul(4);
        }
        self.encode_whole(text)
    }

    fn encode_whole(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let specials = self.specials == Specials::OfFile;
        let encoding =
            guarded(|| self.library.encode_fast(text, specials)).map_err(TokenizerError::Text)?;
        let ids = encoding.get_ids();
        let Specials::Around(start, end) = self.specials else { return Ok(ids.to_vec()) };
        let ids = &ids[..ids.len().min(self.most.unwrap_or(usize::MAX))];
        Ok([&[start], ids, &[end]].concat())
    }

    /// The most ids that a text has, those around it counted.
    #[must_use]
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// The text of one id, as a label of what has weights for words; nothing if there is no such id.
    #[must_use]
    pub fn word(&self, id: u32) -> Option<String> {
        self.library.id_to_token(id)?;
        guarded(|| self.library.decode(&[id], false)).ok()
    }

    /// The largest id of a token or of those around a text, which need not be in the vocabulary.
    #[must_use]
    pub fn largest_id(&self) -> u32 {
        let words = self.library.get_vocab(true).into_values();
        words.chain(self.encode("").unwrap_or_default()).max().unwrap_or(0)
    }
}

/// The part of a text before the last space that begins within so many bytes: no token reaches across that.
fn prefix(text: &str, bytes: usize) -> Option<&str> {
    let head = text.get(..text.floor_char_boundary(bytes))?;
    let (end, _) = head.char_indices().rev().find(|(_, c)| c.is_whitespace())?;
    head.get(..end)
}

/// What the library gives, or why not. It panics on some files that it could refuse; nothing of it is used after that.
fn guarded<T>(work: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|e| e.to_string()),
        Err(_) => Err("the tokenizers library fails on it".to_owned()),
    }
}

impl std::fmt::Debug for Tokenizer {
    /// Without the words, of which there are many.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("words", &self.library.get_vocab_size(true))
            .field("specials", &self.specials)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
