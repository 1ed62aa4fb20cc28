//! `model` and `tokenise` among searchers: query tensors that a model or a tokenizer makes.

use stead_app::components::Parameters;
use stead_embed::Tokenizer;
use stead_expr::{CellType, Cells, Dimension, Labels, TensorType, Value, parse_type};
use stead_search::result::SearchResult;

use super::Making;
use super::model::Evaluated;
use super::terms::query_value;
use super::tokenise::tokenizer;
use crate::components::native::{Execution, NativeError, Query, Searcher};

/// Makes query tensors of others by a model.
pub(super) struct Model {
    evaluated: Evaluated,
    types: Vec<(String, TensorType)>,
}

/// The types of query tensors that a parameter `types` tells; others are numbers.
///
/// # Errors
/// Texts that are no types.
pub(super) fn types(given: &Parameters) -> Result<Vec<(String, TensorType)>, String> {
    let one = |(name, text): &(String, String)| {
        let kind =
            parse_type(text).map_err(|error| format!("the type of query({name}): {error}"))?;
        Ok((name.clone(), kind))
    };
    given.map("types").iter().map(one).collect()
}

impl Model {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Model, String> {
        let types = types(given)?;
        let kind = |name: &str| {
            let found = types.iter().find(|(known, _)| known == name);
            Ok(found.map_or_else(TensorType::double, |(_, kind)| kind.clone()))
        };
        let evaluated = Evaluated::new(given, making.models, "query", &kind)?;
        if let Some((name, _)) =
            types.iter().find(|(name, _)| !evaluated.arguments().any(|a| a == name))
        {
            return Err(format!("types names query({name}), which no input reads"));
        }
        Ok(Model { evaluated, types })
    }
}

impl Searcher for Model {
    fn search(
        &self,
        mut query: Query,
        execution: &Execution<'_>,
    ) -> Result<SearchResult, NativeError> {
        let value = |name: &str| {
            let found = self.types.iter().find(|(known, _)| known == name);
            let kind = found.map_or_else(TensorType::double, |(_, kind)| kind.clone());
            query_value(&query, name, &kind)
        };
        if let Some(made) = self.evaluated.run(&value, execution.call())? {
            query.features.extend(made);
        }
        execution.search(query)
    }
}

/// Makes token ids of a parameter.
pub(super) struct Tokenise {
    tokenizer: Tokenizer,
    from: String,
    to: String,
    /// The size of the tensor; that of the text if it is 0.
    size: usize,
}

impl Tokenise {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Tokenise, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let size = given.count("size");
        let most = given.count("max-tokens");
        let most = if size > 0 { most.min(size) } else { most };
        let specials = given.bool("specials");
        let tokenizer = tokenizer(making.files, &text("tokenizer"), most, specials)?;
        Ok(Tokenise { tokenizer, from: text("parameter"), to: text("to"), size })
    }
}

impl Searcher for Tokenise {
    fn search(
        &self,
        mut query: Query,
        execution: &Execution<'_>,
    ) -> Result<SearchResult, NativeError> {
        if let Some(text) = query.values.get(&self.from) {
            let failed = |error: &dyn std::fmt::Display| NativeError::Failed(error.to_string());
            let ids = self.tokenizer.encode(text).map_err(|error| failed(&error))?;
            let mut cells: Vec<f32> = ids.iter().map(|id| *id as f32).collect();
            if self.size > 0 {
                cells.resize(self.size, 0.0);
            }
            let dimensions = vec![Dimension::indexed("d0", cells.len())];
            let kind = TensorType::new(CellType::Float, dimensions).map_err(|e| failed(&e))?;
            let value = Value::new(kind, Labels::default(), Cells::Float(cells.into()));
            query.features.insert(self.to.clone(), value.map_err(|error| failed(&error))?);
        }
        execution.search(query)
    }
}
