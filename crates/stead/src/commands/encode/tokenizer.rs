//! The tokenizers of components.

use stead_app::services::{SpecialTokens, TokenizerForm, TokenizerSettings};
use stead_embed::{Cut, Settings, Specials, Tokenizer};

/// A tokenizer of the bytes of its file.
pub(super) fn read_tokenizer(
    bytes: &[u8],
    settings: &TokenizerSettings,
) -> Result<Tokenizer, String> {
    let specials = match settings.specials {
        SpecialTokens::None => Specials::None,
        SpecialTokens::OfFile => Specials::OfFile,
        SpecialTokens::Around(start, end) => Specials::Around(start, end),
    };
    let cut = match (settings.max_tokens, specials) {
        (None, _) => Cut::Never,
        (Some(most), Specials::OfFile) => Cut::OfFileOr(most),
        (Some(most), _) => Cut::At(most),
    };
    let of = Settings { specials, cut };
    match settings.form {
        TokenizerForm::HuggingFace => Tokenizer::from_json(bytes, of).map_err(|e| e.to_string()),
        TokenizerForm::Vocabulary => {
            let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
            Tokenizer::from_vocabulary(text, of).map_err(|e| e.to_string())
        }
    }
}
