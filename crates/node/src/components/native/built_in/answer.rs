//! `answer-span` and `detokenise`: token ids and logits as texts.

use stead_app::components::Parameters;
use stead_embed::{Tokenizer, token_count};
use stead_expr::Value;
use stead_search::rank::descending;
use stead_search::result::{Hit, Item, SearchResult};

use super::Making;
use super::tokenise::tokenizer;
use crate::components::native::{Execution, NativeError, Query, Searcher};

/// The fields of hits that have features within.
const FEATURES: [&str; 2] = ["summaryfeatures", "matchfeatures"];

/// The tensor of a feature or field of a hit.
fn tensor<'h>(hit: &'h Hit, name: &str) -> Option<&'h Value> {
    let within = |of: &&str| match hit.get(of) {
        Some(Item::Map(members)) => {
            members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
        }
        _ => None,
    };
    match hit.get(name).or_else(|| FEATURES.iter().find_map(within))? {
        Item::Tensor(value, _) if value.kind().is_dense() => Some(value),
        _ => None,
    }
}

/// Finds the words of a text that a model points at.
pub(super) struct AnswerSpan {
    tokenizer: Tokenizer,
    /// The field with the text.
    field: String,
    /// The features with the logits of starts and ends.
    start: String,
    end: String,
    /// The query tensor before the text, if the model has read one.
    query: Option<String>,
    /// The most tokens of an answer.
    longest: usize,
    to: String,
    score: String,
    ranks: bool,
}

impl AnswerSpan {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<AnswerSpan, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let longest = given.count("longest");
        if longest == 0 {
            return Err("longest is 0: an answer has a token".to_owned());
        }
        Ok(AnswerSpan {
            tokenizer: tokenizer(
                making.files,
                &text("tokenizer"),
                given.count("max-tokens"),
                false,
            )?,
            field: text("field"),
            start: text("start"),
            end: text("end"),
            query: given.text("query").map(str::to_owned),
            longest,
            to: text("to"),
            score: text("score-to"),
            ranks: given.bool("rank"),
        })
    }

    /// The best span of a hit: its text and its score.
    fn answer(&self, hit: &Hit, before: usize) -> Result<Option<(String, f64)>, NativeError> {
        let Some(Item::Text(text)) = hit.get(&self.field) else { return Ok(None) };
        let logits = |name: &str| {
            let found = tensor(hit, name).map(|value| value.cells().doubles().into_owned());
            found.ok_or_else(|| {
                NativeError::Failed(format!(
                    "hit {} has no dense tensor {name}: name it in summary-features or match-features",
                    hit.id
                ))
            })
        };
        let (starts, ends) = (logits(&self.start)?, logits(&self.end)?);
        let spans = self.tokenizer.spans(text).map_err(|e| NativeError::Failed(e.to_string()))?;
        // Tokens beyond the end of the row were not read.
        let at = |of: &[f64], token: usize| of.get(before + token).copied();
        let mut best: Option<(usize, usize, f64)> = None;
        for first in 0..spans.len() {
            let Some(start) = at(&starts, first) else { break };
            for last in first..spans.len().min(first.saturating_add(self.longest)) {
                let Some(end) = at(&ends, last) else { break };
                if best.is_none_or(|(.., score)| start + end > score) {
                    best = Some((first, last, start + end));
                }
            }
        }
        let Some((first, last, score)) = best else { return Ok(None) };
        let from = spans.get(first).map_or(0, |(_, span)| span.start);
        let to = spans.get(last).map_or(0, |(_, span)| span.end);
        Ok(text.get(from..to).map(|answer| (answer.to_owned(), score)))
    }
}

impl Searcher for AnswerSpan {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        // A row is start, query, end, text: without a query, start and text.
        let tokens = self.query.as_ref().map(|name| {
            let value = query.features.get(name).ok_or_else(|| {
                NativeError::Invalid(format!(
                    "no searcher before this one has made query({name}), which stands before the text"
                ))
            })?;
            Ok::<_, NativeError>(token_count(&value.cells().doubles()) + 1)
        });
        let before = 1 + tokens.transpose()?.unwrap_or(0);
        let mut result = execution.search(query)?;
        for hit in &mut result.hits {
            if let Some((answer, score)) = self.answer(hit, before)? {
                hit.set(&self.to, answer);
                hit.set(&self.score, score);
                if self.ranks {
                    hit.relevance = score;
                }
            }
        }
        if self.ranks {
            result.hits.sort_by(|a, b| descending(a.relevance, b.relevance));
        }
        Ok(result)
    }
}

/// Makes texts of token ids.
pub(super) struct Detokenise {
    tokenizer: Tokenizer,
    from: String,
    to: String,
}

impl Detokenise {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Detokenise, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let tokenizer = tokenizer(making.files, &text("tokenizer"), usize::MAX, false)?;
        Ok(Detokenise { tokenizer, from: text("from"), to: text("to") })
    }

    fn text(&self, hit: &Hit) -> Result<Option<String>, NativeError> {
        let numbers: Vec<f64> = match (tensor(hit, &self.from), hit.get(&self.from)) {
            (Some(value), _) => {
                let numbers = value.cells().doubles();
                let count = token_count(&numbers);
                numbers.iter().copied().take(count).collect()
            }
            (None, Some(Item::List(list))) => {
                let number = |item: &Item| match item {
                    Item::Integer(number) => Some(*number as f64),
                    _ => None,
                };
                list.iter().filter_map(number).collect()
            }
            _ => return Ok(None),
        };
        let ids: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
        let text = self.tokenizer.decode(&ids);
        text.map(Some).map_err(|error| NativeError::Failed(error.to_string()))
    }
}

impl Searcher for Detokenise {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let mut result = execution.search(query)?;
        for hit in &mut result.hits {
            if let Some(text) = self.text(hit)? {
                hit.set(&self.to, text);
            }
        }
        Ok(result)
    }
}
