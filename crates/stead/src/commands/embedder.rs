//! The components that scripts and queries name, as far as they run here: tokenizers.

use std::cell::Cell;

use stead_app::application::{Application, Schema};
use stead_app::package::PackageFiles;
use stead_app::services::Component;
use stead_embed::Tokenizer;
use stead_expr::{Cells, Labels, TensorType, Value};
use stead_store::Embedder;

use super::tokenizer::load_tokenizer;
use crate::failure::Failure;

/// Tokenizers by the ids of their components.
pub(super) struct Tokenizers<'a> {
    embedders: Vec<&'a Component>,
    files: &'a PackageFiles,
    known: Vec<(&'a str, Tokenizer)>,
    /// Whether a text had more tokens than its tensor has cells.
    is_cut: Cell<bool>,
}

impl<'a> Tokenizers<'a> {
    /// Those of an application, none of which is read yet.
    pub(super) fn new(application: &'a Application, files: &'a PackageFiles) -> Tokenizers<'a> {
        let components = application.services.containers.iter().flat_map(|c| &c.components);
        let embedders = components.filter(|c| c.is_embedder()).collect();
        Tokenizers { embedders, files, known: Vec::new(), is_cut: Cell::new(false) }
    }

    /// Reads those that the scripts of a schema ask. One whose file cannot be read is as one that is not there: its fields have
    /// values only where the documents give them, which is told.
    pub(super) fn read_asked(&mut self, schema: &Schema) {
        for id in schema.all_fields().flat_map(|f| f.components("embed")) {
            let _ = self.read(&id);
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// When there is none, it is no tokenizer, or its file cannot be read.
    pub(super) fn read(&mut self, id: &str) -> Result<(&str, &Tokenizer), Failure> {
        let at = match self.place(id) {
            Some(at) => at,
            None => {
                let component = self.component(id);
                let component = component.ok_or_else(|| {
                    Failure::failed(match id {
                        "" => "services.xml has not one tokenizer; embed must name it".to_owned(),
                        _ => format!("services.xml has no tokenizer {id}"),
                    })
                })?;
                self.known.push((&component.id, load_tokenizer(component, self.files)?));
                self.known.len() - 1
            }
        };
        let (id, tokenizer) = &self.known[at];
        Ok((id, tokenizer))
    }

    /// An empty id is that of the only embedder there is.
    pub(super) fn component(&self, id: &str) -> Option<&'a Component> {
        match (id, self.embedders.as_slice()) {
            ("", [one]) => Some(one),
            ("", _) => None,
            _ => self.embedders.iter().copied().find(|c| c.id == id),
        }
    }

    fn place(&self, id: &str) -> Option<usize> {
        let component = self.component(id)?;
        self.known.iter().position(|(known, _)| *known == component.id)
    }

    /// The ids of a text, cut at `size`; nothing if the tokenizer was not read.
    pub(super) fn ids(
        &self,
        id: &str,
        text: &str,
        size: usize,
    ) -> Option<Result<Vec<u32>, String>> {
        let (id, tokenizer) = &self.known[self.place(id)?];
        let ids = tokenizer.encode(text).map_err(|e| format!("component {id}: {e}"));
        Some(ids.map(|mut ids| {
            if ids.len() > size {
                self.is_cut.set(true);
                ids.truncate(size);
            }
            ids
        }))
    }

    /// Whether a text was cut since this was asked.
    pub(super) fn was_cut(&self) -> bool {
        self.is_cut.take()
    }
}

impl Embedder for Tokenizers<'_> {
    /// The ids of a text: cut where the tensor ends, zeros behind them. Tokenizers of one language are not read here.
    fn embed(
        &self,
        id: &str,
        text: &str,
        kind: &TensorType,
        _: Option<&str>,
    ) -> Option<Result<Value, String>> {
        let size = match kind.dimensions() {
            [one] => one.size(),
            _ => None,
        };
        let Some(size) = size else {
            return Some(Err(format!(
                "token ids are a tensor with one indexed dimension, not a {kind}"
            )));
        };
        let tensor = |ids: Vec<u32>| {
            let mut cells: Vec<f64> = ids.into_iter().map(f64::from).collect();
            cells.resize(size, 0.0);
            let cells = Cells::from_numbers(kind.cell(), &cells);
            Value::new(kind.clone(), Labels::default(), cells).map_err(|e| e.to_string())
        };
        Some(self.ids(id, text, size)?.and_then(tensor))
    }

    fn has(&self, id: &str) -> bool {
        self.place(id).is_some()
    }
}
