//! The tokenizers of components.

use stead_app::package::PackageFiles;
use stead_app::services::{SpecialTokens, TokenizerForm, TokenizerSettings};
use stead_embed::{Cut, Settings, Specials, Tokenizer};

/// The largest tokenizer that is read; those of a quarter of a million words have some 20 MB.
const MAX_TOKENIZER: u64 = 256 << 20;

/// The tokenizer that settings of a component say, from its file.
///
/// # Errors
/// When the file cannot be read or is none, with its path.
pub fn read_tokenizer(
    settings: &TokenizerSettings,
    files: &PackageFiles,
) -> Result<Tokenizer, String> {
    let path = &settings.file.value;
    let bytes = files.read(path, MAX_TOKENIZER).map_err(|e| e.to_string())?;
    let specials = match settings.specials {
        SpecialTokens::None => Specials::None,
        SpecialTokens::OfFile => Specials::OfFile,
        SpecialTokens::Around(start, end) => Specials::Around(start, end),
    };
    let cut = match (settings.max_tokens, settings.form) {
        (None, _) => Cut::Never,
        (Some(most), TokenizerForm::HuggingFace) => Cut::OfFileOr(most),
        (Some(most), TokenizerForm::Vocabulary) => Cut::At(most),
    };
    let of = Settings { specials, cut };
    let found = match settings.form {
        TokenizerForm::HuggingFace => Tokenizer::from_json(&bytes, of).map_err(|e| e.to_string()),
        TokenizerForm::Vocabulary => std::str::from_utf8(&bytes)
            .map_err(|e| e.to_string())
            .and_then(|text| Tokenizer::from_vocabulary(text, of).map_err(|e| e.to_string())),
    };
    found.map_err(|text| format!("{path}: {text}"))
}
