//! The vocabulary of BERT, `vocab.txt`: a word on each line, its id the number of the line from 0.

use tokenizers::decoders::wordpiece::WordPiece as Pieces;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;

use super::TokenizerError;

/// What a word becomes that the vocabulary cannot spell.
const UNKNOWN: &str = "[UNK]";

/// The largest vocabulary; multilingual ones have a quarter of a million words.
const MAX_WORDS: usize = 1 << 22;

/// The tokenizer of BERT uncased: texts in lower case without accents, words and punctuation apart, each word as
/// the longest pieces that the vocabulary has. Tokens such as `[SEP]` in a text are text.
pub(super) fn read(text: &str) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let wrong = |text: String| TokenizerError::Vocabulary(text);
    let words = text.lines().count();
    if words > MAX_WORDS {
        return Err(wrong(format!("it has more than {MAX_WORDS} lines")));
    }
    // A word that stands twice has its last line, as it has for BERT's own program.
    let ids = WordPiece::read_bytes(text.as_bytes()).map_err(|e| wrong(e.to_string()))?;
    if !ids.contains_key(UNKNOWN) {
        return Err(wrong(format!("it has no {UNKNOWN}")));
    }
    let model = WordPiece::builder()
        .vocab(ids)
        .unk_token(UNKNOWN.to_owned())
        .build()
        .map_err(|e| wrong(e.to_string()))?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    // Clean, apart around Chinese characters, without accents, lower case: BERT uncased.
    tokenizer
        .with_normalizer(Some(BertNormalizer::new(true, true, Some(true), true)))
        .map_err(|e| wrong(e.to_string()))?
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_decoder(Some(Pieces::default()));
    Ok(tokenizer)
}
