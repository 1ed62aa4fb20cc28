//! What can be wrong with a tokenizer or a text.

/// Why there is no tokenizer, or no ids of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenizerError {
    /// The bytes are no `tokenizer.json`.
    #[error("not a tokenizer.json of Hugging Face: {0}")]
    File(String),
    /// The text is no vocabulary.
    #[error("not a vocabulary with a word on each line: {0}")]
    Vocabulary(String),
    /// A limit on tokens that leaves no room.
    #[error("at most {limit} tokens leave no room for the {specials} ids around each text")]
    NoRoom {
        /// The limit.
        limit: usize,
        /// How many ids are added to each text.
        specials: usize,
    },
    /// A text that the tokenizer cannot take.
    #[error("the text cannot be tokenized: {0}")]
    Text(String),
}
