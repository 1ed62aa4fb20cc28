//! `cross-encoder`: hits ordered by a model that reads the query and each of them, all in one batch.

use stead_app::components::Parameters;
use stead_embed::{Tokenizer, attention_mask, input_ids, token_type_ids};
use stead_expr::Value;
use stead_search::result::{Hit, Item, SearchResult};
use stead_tensor::Tensor;

use super::Making;
use super::more::{rated, search_at_least};
use super::terms::datum_value;
use super::tokenise::tokenizer;
use crate::components::native::{Execution, Models, NativeError, Query, Searcher};
use crate::evaluation::Datum;

/// The most hits of a batch.
const MAX_HITS: usize = 1000;

/// Orders hits by what a model makes of the query and a field of them.
pub(super) struct CrossEncoder {
    models: Models,
    model: String,
    tokenizer: Tokenizer,
    /// The parameter with the text of the query.
    parameter: String,
    field: String,
    /// The most tokens of a pair, those around the texts too.
    most: usize,
    hits: usize,
    start: i64,
    end: i64,
    /// The names of the inputs; models without types of tokens have no third.
    ids: String,
    mask: Option<String>,
    types: Option<String>,
    output: Vec<String>,
    /// The column of the output that is the score.
    column: usize,
}

impl CrossEncoder {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<CrossEncoder, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let model = text("model");
        let (takes, gives) = making.models.ports(&model)?;
        let mut open: Vec<&str> = takes.iter().map(|port| port.name.as_str()).collect();
        let mut taken = |parameter: &str, must: bool| -> Result<Option<String>, String> {
            let name = text(parameter);
            let at = open.iter().position(|known| *known == name);
            match at {
                Some(at) => {
                    open.remove(at);
                    Ok(Some(name))
                }
                None if must => Err(format!("model {model} has no input {name}: {parameter}")),
                None => Ok(None),
            }
        };
        let ids = taken("transformer-input-ids", true)?.unwrap_or_default();
        let mask = taken("transformer-attention-mask", false)?;
        let types = taken("transformer-token-type-ids", false)?;
        if let Some(lacking) = open.first() {
            return Err(format!(
                "model {model} has the input {lacking}, which nothing is given to"
            ));
        }
        let output = match given.text("transformer-output") {
            Some(name) if !gives.iter().any(|port| port.name == name) => {
                return Err(format!("model {model} has no output {name}"));
            }
            Some(name) => name.to_owned(),
            None => gives.first().map(|port| port.name.clone()).unwrap_or_default(),
        };
        let most = given.count("max-tokens");
        if most < 4 {
            return Err(format!("max-tokens is {most}; a pair of texts has at least 4"));
        }
        let hits = given.count("hits");
        if !(1..=MAX_HITS).contains(&hits) {
            return Err(format!("hits must be from 1 to {MAX_HITS}, found {hits}"));
        }
        let path = given.text("tokenizer").unwrap_or_default();
        let number = |name: &str| i64::try_from(given.count(name)).unwrap_or(i64::MAX);
        Ok(CrossEncoder {
            models: making.models.clone(),
            model,
            tokenizer: tokenizer(making.files, path, most, false)?,
            parameter: text("parameter"),
            field: text("field"),
            most,
            hits,
            start: number("start-token"),
            end: number("end-token"),
            ids,
            mask,
            types,
            output: vec![output],
            column: given.count("column"),
        })
    }

    fn tokens(&self, text: &str) -> Result<Vec<i64>, NativeError> {
        let ids = self.tokenizer.encode(text).map_err(|e| NativeError::Failed(e.to_string()))?;
        Ok(ids.into_iter().map(i64::from).collect())
    }

    /// The tokens of a hit: of a text, or those that it has.
    fn of_hit(&self, hit: &Hit) -> Result<Vec<i64>, NativeError> {
        let whole = |value: &Value| value.cells().doubles().iter().map(|n| *n as i64).collect();
        match hit.get(&self.field) {
            None => Ok(Vec::new()),
            Some(Item::Text(text)) => self.tokens(text),
            Some(Item::Tensor(value, _)) if value.kind().is_dense() => Ok(whole(value)),
            Some(_) => Err(NativeError::Failed(format!(
                "field {} of hit {} is neither a text nor a dense tensor of token ids",
                self.field, hit.id
            ))),
        }
    }

    /// The scores of hits for a query, by one run.
    fn scores(
        &self,
        query: &[i64],
        hits: &[Hit],
        execution: &Execution<'_>,
    ) -> Result<Vec<f64>, NativeError> {
        let texts: Vec<Vec<i64>> =
            hits.iter().map(|hit| self.of_hit(hit)).collect::<Result<_, _>>()?;
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        // The rows are as long as the longest pair, and no longer.
        let width = (query.len() + longest + 3).min(self.most);
        let (mut ids, mut types, mut mask) = (Vec::new(), Vec::new(), Vec::new());
        let mut row = vec![0_i64; width];
        for text in &texts {
            let pair = [query, text.as_slice()];
            input_ids(&pair, self.start, self.end, &mut row);
            ids.extend_from_slice(&row);
            token_type_ids(&pair, &mut row);
            types.extend_from_slice(&row);
            attention_mask(&pair, &mut row);
            mask.extend_from_slice(&row);
        }
        let array = |cells: &[i64]| {
            let array = Tensor::from_slice(cells, &[hits.len(), width]);
            array.map(Datum::Array).map_err(|error| NativeError::Failed(error.to_string()))
        };
        let mut inputs = vec![(self.ids.clone(), array(&ids)?)];
        for (name, cells) in [(&self.mask, &mask), (&self.types, &types)] {
            if let Some(name) = name {
                inputs.push((name.clone(), array(cells)?));
            }
        }
        let found = self.models.evaluate(&self.model, inputs, &self.output, execution.call())?;
        let value = found.into_iter().next().map(|(_, datum)| datum_value(datum)).transpose()?;
        let numbers = value.map(|value| value.cells().doubles().into_owned()).unwrap_or_default();
        let columns = numbers.len() / hits.len().max(1);
        if columns * hits.len() != numbers.len() || self.column >= columns {
            return Err(NativeError::Failed(format!(
                "model {} gave {} numbers for {} hits, and column {} is wanted",
                self.model,
                numbers.len(),
                hits.len(),
                self.column
            )));
        }
        Ok(numbers.chunks_exact(columns).filter_map(|row| row.get(self.column)).copied().collect())
    }
}

impl Searcher for CrossEncoder {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let Some(text) = query.values.get(&self.parameter) else {
            return execution.search(query);
        };
        let tokens = self.tokens(text)?;
        let order = |mut hits: Vec<Hit>| {
            let rest = hits.split_off(self.hits.min(hits.len()));
            if hits.is_empty() {
                return Ok(rest);
            }
            let scores = self.scores(&tokens, &hits, execution)?;
            Ok(rated(hits, scores, rest))
        };
        search_at_least(query, self.hits, &order, &|query| execution.search(query))
    }
}
