//! A query as far as ranking reads it (the names: Vespa's documentation, `reference/api/query.html`).

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stead_expr::codec::json::{Form, from_json, to_json};
use stead_expr::{Reason, TensorType, Value, compile, text_number};

use super::error::RankError;
use super::limit::LimitOverride;
use crate::query::{ElementGaps, StopWords, TuningChoice};
use crate::yql::Neighbor;

/// The parameters of a query that ranking reads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankQuery {
    /// `id`: what results are known by. Vespa has no such parameter.
    pub id: Option<String>,
    /// `ranking.profile` or `ranking`.
    pub profile: Option<String>,
    /// `hits`
    pub hits: Option<usize>,
    /// `ranking.keepRankCount`
    pub keep_rank_count: Option<usize>,
    /// `ranking.matchPhase`
    pub match_limit: LimitOverride,
    /// `ranking.matching.numThreadsPerSearch`
    pub threads: Option<usize>,
    /// `ranking.matching.minHitsPerThread`
    pub min_hits_per_thread: Option<usize>,
    /// How graphs of vectors are searched.
    pub tuning: TuningChoice,
    /// What `weakAnd` leaves out.
    pub stop_words: StopWords,
    /// `ranking.significance.useModel`
    pub uses_significance: Option<bool>,
    /// `ranking.elementGap.FIELD`
    pub element_gaps: ElementGaps,
    /// `ranking.freshness`: the time that is taken for now.
    pub freshness: Option<Freshness>,
    /// `ranking.rankScoreDropLimit`
    pub drop_limit: Option<f64>,
    /// `ranking.listFeatures`: hits come with the rank features of the profile.
    pub list_features: bool,
    /// `ranking.secondPhase`
    pub second_phase: PhaseOverride,
    /// `ranking.globalPhase`
    pub global_phase: PhaseOverride,
    /// The values of `query(name)`.
    pub inputs: BTreeMap<String, Json>,
    /// Values of `query(name)` that are known as they are: those of stored documents. They stand before `inputs`.
    pub values: BTreeMap<String, Value>,
    /// `ranking.properties.name`
    pub properties: BTreeMap<String, Json>,
    /// The operators `nearestNeighbor(field, name)` of `yql`.
    pub neighbors: Vec<Neighbor>,
    /// Parameters that ranking does not read.
    pub unread: Vec<String>,
}

/// A time, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Freshness {
    /// This.
    At(f64),
    /// So long before now.
    Before(f64),
}

impl Freshness {
    /// A whole number of seconds since 1970, `now`, or `now-` and a whole number of seconds (Vespa, documentation,
    /// `reference/api/query.html#ranking.freshness`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Freshness> {
        let seconds = |text: &str| text.parse::<u64>().ok().map(|seconds| seconds as f64);
        match text.trim().strip_prefix("now") {
            None => seconds(text.trim()).map(Freshness::At),
            Some("") => Some(Freshness::Before(0.0)),
            Some(rest) => rest.strip_prefix('-').and_then(seconds).map(Freshness::Before),
        }
    }

    /// The time, when it is `now`.
    #[must_use]
    pub fn time(self, now: f64) -> f64 {
        match self {
            Freshness::At(time) => time,
            Freshness::Before(seconds) => now - seconds,
        }
    }
}

/// What a query says of a phase in the place of its profile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PhaseOverride {
    /// `rerankCount`
    pub rerank_count: Option<usize>,
    /// `rankScoreDropLimit`
    pub drop_limit: Option<f64>,
}

impl RankQuery {
    /// A value as a text, as it would stand in the parameters of a request: a property of this name, or an input.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let found =
            || self.properties.get(name).or_else(|| self.inputs.get(name)).map(parameter_text);
        self.values.get(name).map(ToString::to_string).or_else(found)
    }

    /// The value of an input of a type; nothing if the query does not give it.
    ///
    /// # Errors
    /// When what it gives is no value of the type.
    #[must_use]
    pub fn input(&self, name: &str, kind: &TensorType) -> Option<Result<Value, RankError>> {
        let Some(value) = self.values.get(name) else {
            return self.inputs.get(name).map(|json| input_value(name, kind, json));
        };
        if kind.takes(value.kind()) {
            return Some(Ok(value.clone()));
        }
        // Cells of another type become those of the input, as if the client had sent them.
        let json = match value.as_double() {
            Some(number) => Json::from(number),
            None => to_json(value, Form::Short),
        };
        Some(input_value(name, kind, &json))
    }
}

/// A value as it would stand in the parameters of a request.
pub(crate) fn parameter_text(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The value of an input: a number, a tensor in one of the forms of JSON, or a literal in a text.
pub(super) fn input_value(name: &str, kind: &TensorType, json: &Json) -> Result<Value, RankError> {
    let fail = |text: String| RankError::Input { name: format!("query({name})"), text };
    if kind.is_double() {
        return match json {
            Json::Number(number) => Ok(Value::double(number.as_f64().unwrap_or(f64::NAN))),
            Json::Bool(value) => Ok(Value::double(f64::from(u8::from(*value)))),
            Json::String(text) => Ok(Value::double(text_value(text))),
            other => from_json(kind, other)
                .map_err(|e| fail(format!("{e}; it is not declared as a tensor"))),
        };
    }
    let Json::String(text) = json else {
        return from_json(kind, json).map_err(|e| fail(e.to_string()));
    };
    let text = text.trim();
    if text.starts_with("embed(") {
        return Err(fail(format!(
            "{text:.60} asks an embedder, which is there where an application is served; give the tensor itself"
        )));
    }
    literal(kind, text).map_err(fail)
}

/// A tensor as a literal of expressions, with or without its type before it.
fn literal(kind: &TensorType, text: &str) -> Result<Value, String> {
    if !kind.is_bound() && text.starts_with('[') {
        // The brackets have the sizes that a literal has before it.
        let json = serde_json::from_str(text).map_err(|e| e.to_string())?;
        return from_json(kind, &json).map_err(|e| e.to_string());
    }
    let whole = match text.starts_with("tensor") {
        true => text.to_owned(),
        false => format!("{kind}:{text}"),
    };
    let expected = || format!("expected a literal of {kind}, found {text:.40}");
    let compiled = compile(&whole, &|_: &str| None).map_err(|error| match error.reason {
        Reason::Inexact(inexact) => inexact.to_string(),
        _ => expected(),
    })?;
    let value = compiled.run(&[]).map_err(|e| e.to_string())?;
    if kind.takes(value.kind()) {
        return Ok(value);
    }
    Err(format!("expected a {kind}, found a {}", value.kind()))
}

/// A text as a number: what it says, or its hash; a quote before it makes a text of a number
/// (Vespa, `searchlib/src/vespa/searchlib/fef/query_value.cpp`).
pub(super) fn text_value(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| text_number(text.strip_prefix('\'').unwrap_or(text)))
}

#[cfg(test)]
mod tests;
