//! The tokenizers of components.

use stead_app::package::{PackageFiles, Report};
use stead_app::services::{
    Component, ComponentKind, SpecialTokens, TokenizerForm, TokenizerSettings,
};
use stead_embed::{Cut, Settings, Specials, Tokenizer};

use crate::failure::Failure;

/// The largest tokenizer that is read; those of a quarter of a million words have some 20 MB.
const MAX_TOKENIZER: u64 = 256 << 20;

/// A tokenizer of the bytes of its file.
fn read_tokenizer(bytes: &[u8], settings: &TokenizerSettings) -> Result<Tokenizer, String> {
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

/// The tokenizer of a component.
pub(super) fn load_tokenizer(
    component: &Component,
    files: &PackageFiles,
) -> Result<Tokenizer, Failure> {
    let id = &component.id;
    if component.kind != ComponentKind::HuggingFaceTokenizer {
        return Err(Failure::failed(format!(
            "component {id} makes vectors of texts; token ids are made by a hugging-face-tokenizer"
        )));
    }
    let mut report = Report::default();
    let Some(settings) = component.tokenizer(files, &mut report) else {
        let errors: Vec<String> = report.errors().map(ToString::to_string).collect();
        return Err(Failure::failed(errors.join("\n")));
    };
    let path = &settings.file.value;
    let bytes = files.read(path, MAX_TOKENIZER).map_err(Failure::failed)?;
    read_tokenizer(&bytes, &settings).map_err(|text| Failure::failed(format!("{path}: {text}")))
}
