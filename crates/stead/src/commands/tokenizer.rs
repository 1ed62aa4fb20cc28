//! The tokenizers of components.

use stead_app::package::{PackageFiles, Report};
use stead_app::services::{Component, ComponentKind};
use stead_embed::Tokenizer;
use stead_node::read_tokenizer;

use crate::failure::Failure;

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
    read_tokenizer(&settings, files).map_err(Failure::failed)
}
