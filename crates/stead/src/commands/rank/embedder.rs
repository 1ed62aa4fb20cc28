//! The components that scripts and queries name, as far as they run here: tokenizers.

use stead_app::application::{Application, Schema};
use stead_app::package::PackageFiles;
use stead_app::services::{Component, ComponentKind};
use stead_embed::Tokenizer;
use stead_expr::{Cells, Labels, TensorType, Value};
use stead_store::Embedder;

use crate::commands::tokenizer::load_tokenizer;

/// Tokenizers by the ids of their components.
pub(super) struct Tokenizers {
    known: Vec<(String, Tokenizer)>,
    /// Whether `embed` without an id names the first: it is the only embedder there is.
    is_alone: bool,
}

impl Tokenizers {
    /// The tokenizers that the scripts of a schema ask. One whose file cannot be read is as one that is not there: its fields have
    /// values only where the documents give them, which is told.
    pub(super) fn new(
        application: &Application,
        schema: &Schema,
        files: &PackageFiles,
    ) -> Tokenizers {
        let components = application.services.containers.iter().flat_map(|c| &c.components);
        let embedders: Vec<&Component> = components.filter(|c| c.is_embedder()).collect();
        let is_alone = embedders.len() == 1;
        let asked: Vec<String> = schema.all_fields().flat_map(|f| f.components("embed")).collect();
        let is_asked = |id: &str| asked.iter().any(|a| a == id || (a.is_empty() && is_alone));
        let known = embedders
            .into_iter()
            .filter(|c| c.kind == ComponentKind::HuggingFaceTokenizer && is_asked(&c.id))
            .filter_map(|c| Some((c.id.clone(), load_tokenizer(c, files).ok()?)))
            .collect();
        Tokenizers { known, is_alone }
    }

    fn find(&self, id: &str) -> Option<&Tokenizer> {
        let named = |known: &str| known == id || (id.is_empty() && self.is_alone);
        self.known.iter().find(|(known, _)| named(known)).map(|(_, tokenizer)| tokenizer)
    }
}

impl Embedder for Tokenizers {
    /// The ids of a text: cut where the tensor ends, zeros behind them.
    fn embed(&self, id: &str, text: &str, kind: &TensorType) -> Option<Result<Value, String>> {
        let tokenizer = self.find(id)?;
        let size = match kind.dimensions() {
            [one] => one.size(),
            _ => None,
        };
        let Some(size) = size else {
            return Some(Err(format!(
                "token ids are a tensor with one indexed dimension, not a {kind}"
            )));
        };
        let ids = match tokenizer.encode(text) {
            Ok(ids) => ids,
            Err(error) => return Some(Err(error.to_string())),
        };
        let mut cells: Vec<f64> = ids.into_iter().map(f64::from).collect();
        cells.resize(size, 0.0);
        let cells = Cells::from_numbers(kind.cell(), &cells);
        let value = Value::new(kind.clone(), Labels::default(), cells);
        Some(value.map_err(|e| e.to_string()))
    }

    fn has(&self, id: &str) -> bool {
        self.find(id).is_some()
    }
}
