//! `pairwise-rank`: a model compares every two hits, and hits stand by what it says of them against all others.

use stead_app::components::Parameters;
use stead_expr::{TensorType, Value};
use stead_search::result::{Hit, Item, SearchResult};
use stead_tensor::Tensor;

use super::Making;
use super::model_query::types;
use super::more::{rated, search_at_least};
use super::terms::{datum_value, query_value};
use crate::components::native::{Execution, Models, NativeError, Query, Searcher};
use crate::evaluation::Datum;

/// The most hits that are compared: their pairs are rows of one run.
const MAX_HITS: usize = 256;

/// Orders hits by comparisons.
pub(super) struct PairwiseRank {
    models: Models,
    model: String,
    inputs: Vec<(String, Input)>,
    output: Vec<String>,
    hits: usize,
    /// Whether a hit gets the number of those that it wins against, else the sum of what the model gave.
    counts_wins: bool,
}

/// What the rows of an input are.
enum Input {
    /// A query tensor of a type, the same in each.
    Query(String, TensorType),
    /// A field of the first hit of the pair.
    First(String),
    /// A field of the second hit.
    Second(String),
}

impl PairwiseRank {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<PairwiseRank, String> {
        let model = given.text("model").unwrap_or_default().to_owned();
        let (takes, gives) = making.models.ports(&model)?;
        let types = types(given)?;
        let mut inputs = Vec::new();
        for (input, text) in given.map("inputs") {
            if !takes.iter().any(|port| port.name == *input) {
                return Err(format!("model {model} has no input {input}"));
            }
            let inner = |word: &str| {
                let inner = text.trim().strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')')?;
                Some(inner.trim().to_owned())
            };
            let what = if let Some(name) = inner("query") {
                let kind = types.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind);
                let kind = kind.ok_or_else(|| format!("types has no query({name})"))?.clone();
                Input::Query(name, kind)
            } else if let Some(name) = inner("first") {
                Input::First(name)
            } else if let Some(name) = inner("second") {
                Input::Second(name)
            } else {
                return Err(format!(
                    "input {input} must be query(..), first(..) or second(..), found {text}"
                ));
            };
            inputs.push((input.clone(), what));
        }
        if let Some(lacking) =
            takes.iter().find(|p| !inputs.iter().any(|(name, _)| *name == p.name))
        {
            return Err(format!(
                "inputs says nothing of the input {} of model {model}",
                lacking.name
            ));
        }
        let output = match given.text("output") {
            Some(name) if !gives.iter().any(|port| port.name == name) => {
                return Err(format!("model {model} has no output {name}"));
            }
            Some(name) => name.to_owned(),
            None => gives.first().map(|port| port.name.clone()).unwrap_or_default(),
        };
        let hits = given.count("hits");
        if !(2..=MAX_HITS).contains(&hits) {
            return Err(format!("hits must be from 2 to {MAX_HITS}, found {hits}"));
        }
        let counts_wins = given.text("rule") != Some("sum");
        Ok(PairwiseRank {
            models: making.models.clone(),
            model,
            inputs,
            output: vec![output],
            hits,
            counts_wins,
        })
    }

    /// What is said of each hit against the others.
    fn scores(
        &self,
        hits: &[Hit],
        query: &Query,
        execution: &Execution<'_>,
    ) -> Result<Vec<f64>, NativeError> {
        let count = hits.len();
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|first| (0..count).map(move |second| (first, second)))
            .filter(|(first, second)| first != second)
            .collect();
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (input, what) in &self.inputs {
            let of_hits = |name: &str| -> Result<Vec<Vec<f32>>, NativeError> {
                hits.iter().map(|hit| numbers(hit, name)).collect()
            };
            let rows: Vec<Vec<f32>> = match what {
                Input::Query(name, kind) => {
                    let value = query_value(query, name, kind)?.ok_or_else(|| {
                        NativeError::Invalid(format!("the query does not give query({name})"))
                    })?;
                    vec![value.cells().floats().into_owned(); count]
                }
                Input::First(name) | Input::Second(name) => of_hits(name)?,
            };
            let is_second = matches!(what, Input::Second(_));
            let width = rows.first().map_or(0, Vec::len);
            if rows.iter().any(|row| row.len() != width) {
                return Err(NativeError::Failed(format!(
                    "input {input} differs in length among hits"
                )));
            }
            let cells: Vec<f32> = pairs
                .iter()
                .filter_map(|(first, second)| rows.get(if is_second { *second } else { *first }))
                .flatten()
                .copied()
                .collect();
            let array = Tensor::from_slice(&cells, &[pairs.len(), width]);
            let array = array.map_err(|error| NativeError::Failed(error.to_string()))?;
            inputs.push((input.clone(), Datum::Array(array)));
        }
        let found = self.models.evaluate(&self.model, inputs, &self.output, execution.call())?;
        let value = found.into_iter().next().map(|(_, datum)| datum_value(datum)).transpose()?;
        let said = value.map(|value| value.cells().doubles().into_owned()).unwrap_or_default();
        if said.len() != pairs.len() {
            return Err(NativeError::Failed(format!(
                "model {} gave {} numbers for {} pairs",
                self.model,
                said.len(),
                pairs.len()
            )));
        }
        let mean = said.iter().sum::<f64>() / said.len() as f64;
        let mut scores = vec![0.0; count];
        for ((first, _), number) in pairs.iter().zip(said) {
            let gained = if self.counts_wins { f64::from(u8::from(number > mean)) } else { number };
            if let Some(score) = scores.get_mut(*first) {
                *score += gained;
            }
        }
        Ok(scores)
    }
}

/// The numbers of a field of a hit.
fn numbers(hit: &Hit, name: &str) -> Result<Vec<f32>, NativeError> {
    let value = |value: &Value| value.cells().floats().into_owned();
    let found = match hit.get(name) {
        Some(Item::Tensor(tensor, _)) if tensor.kind().is_dense() => Some(value(tensor)),
        Some(Item::Integer(number)) => Some(vec![*number as f32]),
        Some(Item::Number(number)) => Some(vec![*number as f32]),
        Some(Item::Float(number)) => Some(vec![*number]),
        _ => None,
    };
    let none = || format!("hit {} has no number or dense tensor {name}", hit.id);
    found.ok_or_else(|| NativeError::Failed(none()))
}

impl Searcher for PairwiseRank {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let asked = query.clone();
        let keep = |mut hits: Vec<Hit>| {
            let compared = self.hits.min(hits.len());
            if compared < 2 {
                return Ok(hits);
            }
            let rest = hits.split_off(compared);
            let scores = self.scores(&hits, &asked, execution)?;
            Ok(rated(hits, scores, rest))
        };
        search_at_least(query, self.hits, &keep, &|query| execution.search(query))
    }
}
