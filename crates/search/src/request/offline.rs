//! What ranking reads of a query in JSON: the parameters of searches by their names, with dots or as objects within objects, and `id`
//! and `inputs`, which are our own.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::read::{Read, fits};
use super::table::{Kind, find};
use super::values::Values;
use crate::rank::{RankError, RankQuery, parameter_text};
use crate::yql::{self, Neighbor};

/// The deepest that parameters nest: `ranking.features.query(x)` has three levels.
const MAX_DEPTH: usize = 8;

/// What is about finding documents: all that are given are ranked. The second phase has to do with diversity too.
const OF_MATCHING: [&str; 2] = ["ranking.matchPhase.", "ranking.matching."];

impl RankQuery {
    /// A query from JSON.
    ///
    /// # Errors
    /// When it is no object, or a parameter is not what it should be.
    pub fn from_json(json: &Json) -> Result<RankQuery, RankError> {
        let Json::Object(object) = json else {
            return Err(RankError::Query(format!("expected a query as an object, found {json}")));
        };
        let mut said = Said::default();
        said.object("", object, 0)?;
        said.query()
    }
}

/// What a query says.
#[derive(Default)]
struct Said {
    id: Option<String>,
    inputs: BTreeMap<String, Json>,
    properties: BTreeMap<String, Json>,
    neighbors: Vec<Neighbor>,
    values: Values,
    unread: Vec<String>,
}

impl Said {
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
        let row = find(name);
        let canonical = row.as_ref().map_or(name, |(_, canonical)| canonical.as_str());
        let input = name.strip_prefix("inputs.").or(canonical.strip_prefix("ranking.features."));
        if let Some(input) = input {
            let inner = input.strip_prefix("query(").and_then(|r| r.strip_suffix(')'));
            self.inputs.insert(inner.unwrap_or(input).to_owned(), json.clone());
            return Ok(());
        }
        if let Some(property) = canonical.strip_prefix("ranking.properties.") {
            self.properties.insert(property.to_owned(), json.clone());
            return Ok(());
        }
        if let Json::Object(object) = json {
            return self.object(name, object, depth + 1);
        }
        let text = parameter_text(json);
        if let Some((row, _)) = &row
            && !fits(row.kind, &text)
        {
            let expected = match row.kind {
                Kind::Count => "a whole number".to_owned(),
                Kind::Number => "a number".to_owned(),
                Kind::Bool => "true or false".to_owned(),
                Kind::Time => "a time".to_owned(),
                Kind::Choice(words) => format!("one of {}", words.join(", ")),
                Kind::Text => "a text".to_owned(),
            };
            let text = format!("{name}: expected {expected}, found {json}");
            return Err(RankError::Query(text));
        }
        match canonical {
            "id" => self.id = Some(text),
            "yql" => {
                let statement = yql::parse(&text);
                let statement = statement.map_err(|e| RankError::Query(format!("yql {e}")))?;
                self.neighbors = statement.neighbors();
                if self.neighbors.is_empty() {
                    self.unread.push(name.to_owned());
                }
            }
            of if OF_MATCHING.iter().any(|group| of.starts_with(group))
                && !of.starts_with("ranking.matchPhase.diversity.") =>
            {
                self.unread.push(name.to_owned());
            }
            _ => self.values.set(name, text),
        }
        Ok(())
    }

    fn query(mut self) -> Result<RankQuery, RankError> {
        let read = Read::new(&self.values);
        let query = read.rank().map_err(|error| RankError::Query(error.message))?;
        let hits = read.count("hits").map_err(|error| RankError::Query(error.message))?;
        self.unread.extend(read.unread().map(str::to_owned));
        self.unread.sort_unstable();
        Ok(RankQuery {
            id: self.id,
            hits,
            inputs: self.inputs,
            properties: self.properties,
            neighbors: self.neighbors,
            unread: self.unread,
            ..query
        })
    }
}
