//! A query as far as ranking reads it (the names: Vespa's documentation, `reference/api/query.html`).

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use stead_expr::codec::json::{Form, from_json, to_json};
use stead_expr::{Reason, TensorType, Value, compile, text_number};

use super::error::RankError;
use super::limit::LimitOverride;
use crate::yql::{self, Neighbor};

/// The deepest that parameters nest: `ranking.features.query(x)` has three levels.
const MAX_DEPTH: usize = 8;

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

/// What a query says of a phase in the place of its profile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PhaseOverride {
    /// `rerankCount`
    pub rerank_count: Option<usize>,
    /// `rankScoreDropLimit`
    pub drop_limit: Option<f64>,
}

/// The objects whose members are values of `query(name)`; `inputs` is a name of our own.
const INPUTS: [&str; 4] = ["input", "inputs", "ranking.features", "rankfeature"];

impl RankQuery {
    /// A query from JSON: parameters by their names, with dots or as objects within objects.
    ///
    /// # Errors
    /// When it is no object, or a parameter is not what it should be.
    pub fn from_json(json: &Json) -> Result<RankQuery, RankError> {
        let Json::Object(object) = json else {
            return Err(RankError::Query(format!("expected a query as an object, found {json}")));
        };
        let mut query = RankQuery::default();
        query.object("", object, 0)?;
        Ok(query)
    }

    fn object(
        &mut self,
        prefix: &str,
        object: &Map<String, Json>,
        depth: usize,
    ) -> Result<(), RankError> {
        if depth == MAX_DEPTH {
            return Err(RankError::Query(format!("{prefix}: parameters nest too deep")));
        }
        for (key, json) in object {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            self.parameter(&name, json, depth)?;
        }
        Ok(())
    }

    fn parameter(&mut self, name: &str, json: &Json, depth: usize) -> Result<(), RankError> {
        for group in INPUTS {
            if let Some(rest) = name.strip_prefix(group).and_then(|r| r.strip_prefix('.')) {
                let rest =
                    rest.strip_prefix("query(").and_then(|r| r.strip_suffix(')')).unwrap_or(rest);
                self.inputs.insert(rest.to_owned(), json.clone());
                return Ok(());
            }
        }
        for group in ["ranking.properties.", "rankproperty."] {
            if let Some(rest) = name.strip_prefix(group) {
                self.properties.insert(rest.to_owned(), json.clone());
                return Ok(());
            }
        }
        if let Json::Object(object) = json {
            return self.object(name, object, depth + 1);
        }
        match name {
            "id" => self.id = Some(text(json)),
            "ranking" | "ranking.profile" => self.profile = Some(text(json)),
            "yql" => {
                let statement = yql::parse(&text(json));
                let statement = statement.map_err(|e| RankError::Query(format!("yql {e}")))?;
                self.neighbors = statement.neighbors();
                if self.neighbors.is_empty() {
                    self.unread.push(name.to_owned());
                }
            }
            "hits" | "count" => self.hits = Some(count(name, json)?),
            "ranking.keepRankCount" => self.keep_rank_count = Some(count(name, json)?),
            "ranking.rankScoreDropLimit" => self.drop_limit = Some(number(name, json)?),
            "ranking.listFeatures" | "rankfeatures" => {
                self.list_features = match json {
                    Json::Bool(value) => *value,
                    Json::String(text) => text == "true" || text == "1",
                    other => {
                        let text = format!("{name}: expected true or false, found {other}");
                        return Err(RankError::Query(text));
                    }
                };
            }
            "ranking.rerankCount" | "ranking.secondPhase.rerankCount" => {
                self.second_phase.rerank_count = Some(count(name, json)?);
            }
            "ranking.secondPhase.rankScoreDropLimit" => {
                self.second_phase.drop_limit = Some(number(name, json)?);
            }
            "ranking.globalPhase.rerankCount" => {
                self.global_phase.rerank_count = Some(count(name, json)?);
            }
            "ranking.globalPhase.rankScoreDropLimit" => {
                self.global_phase.drop_limit = Some(number(name, json)?);
            }
            other => self.unread.push(other.to_owned()),
        }
        Ok(())
    }

    /// A value as a text, as it would stand in the parameters of a request: a property of this name, or an input.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let found = || self.properties.get(name).or_else(|| self.inputs.get(name)).map(text);
        self.values.get(name).map(ToString::to_string).or_else(found)
    }

    /// The value of an input of a type; nothing if the query does not give it.
    pub(crate) fn input(&self, name: &str, kind: &TensorType) -> Option<Result<Value, RankError>> {
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

fn text(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn count(name: &str, json: &Json) -> Result<usize, RankError> {
    let found = match json {
        Json::Number(number) => number.as_u64().and_then(|n| usize::try_from(n).ok()),
        Json::String(text) => text.parse().ok(),
        _ => None,
    };
    found.ok_or_else(|| RankError::Query(format!("{name}: expected a whole number, found {json}")))
}

fn number(name: &str, json: &Json) -> Result<f64, RankError> {
    let found = match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    };
    found.ok_or_else(|| RankError::Query(format!("{name}: expected a number, found {json}")))
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
            "{text} asks an embedder, which ranking offline does not have; give the tensor itself"
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
