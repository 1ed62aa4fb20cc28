//! Annotations: what stands before an operator holds for all in it that says nothing else.

use stead_text::Affix;

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::significance::DocumentFrequency;
use super::{Builder, fail};
use crate::yql::{Expr, Node};

/// Annotations that are read.
const READ: [&str; 43] = [
    "allowEmpty",
    "defaultIndex",
    "grammar",
    "grammar.composite",
    "grammar.syntax",
    "grammar.tokenization",
    "accentDrop",
    "implicitTransforms",
    "stem",
    "normalizeCase",
    "language",
    "distance",
    "exclusionDistance",
    "label",
    "weight",
    "ranked",
    "filter",
    "significance",
    "documentFrequency",
    "id",
    "connectivity",
    "startAnchor",
    "endAnchor",
    "prefix",
    "substring",
    "suffix",
    "bounds",
    "targetHits",
    "targetNumHits",
    "totalTargetHits",
    "distanceThreshold",
    "scoreThreshold",
    "maxEditDistance",
    "prefixLength",
    "elementFilter",
    "approximate",
    "hnsw.approximateThreshold",
    "hnsw.explorationSlack",
    "hnsw.exploreAdditionalHits",
    "hnsw.filterFirstExploration",
    "hnsw.filterFirstThreshold",
    "hnsw.postFilterThreshold",
    "hnsw.targetHitsMaxAdjustmentFactor",
];

/// Annotations that speak of words in texts or of how fast an answer is found: attributes know no such words, and matches are exact.
const WITHOUT_EFFECT: [&str; 10] = [
    "andSegmenting",
    "annotations",
    "ascending",
    "descending",
    "hitLimit",
    "minTargetHits",
    "nfkc",
    "origin",
    "thresholdBoostFactor",
    "usePositionData",
];

impl<'b> Builder<'b> {
    /// Warns of annotations that nobody reads.
    pub(super) fn check_annotations(&mut self, node: &Node) {
        for (name, _) in &node.annotations {
            let is_known = READ.contains(&name.as_str()) || WITHOUT_EFFECT.contains(&name.as_str());
            if !is_known {
                let text = format!("annotation {name:.40} is not known and has no effect");
                if !self.tree.warnings.contains(&text) {
                    self.tree.warnings.push(text);
                }
            }
        }
    }

    fn annotation(&self, name: &str) -> Option<&'b Expr> {
        let in_scope = |scope: &&'b [(String, Node)]| {
            scope.iter().find(|(key, _)| key == name).map(|(_, value)| &value.expr)
        };
        self.scopes.iter().rev().find_map(in_scope)
    }

    pub(super) fn text_annotation(&self, name: &str) -> Result<Option<String>, SearchError> {
        match self.annotation(name) {
            None => Ok(None),
            Some(Expr::Text(text)) => Ok(Some(text.clone())),
            Some(Expr::Parameter(parameter)) => self.parameter(parameter).map(Some),
            Some(other) => wrong(name, "a text", other),
        }
    }

    pub(super) fn bool_annotation(&self, name: &str) -> Result<Option<bool>, SearchError> {
        match self.annotation(name) {
            None => Ok(None),
            Some(Expr::Bool(value)) => Ok(Some(*value)),
            Some(Expr::Parameter(parameter)) => match self.parameter(parameter)?.as_str() {
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                other => wrong(name, "true or false", &Expr::Text(other.to_owned())),
            },
            Some(other) => wrong(name, "true or false", other),
        }
    }

    pub(super) fn integer_annotation(&self, name: &str) -> Result<Option<i64>, SearchError> {
        match self.number_annotation(name)? {
            None => Ok(None),
            Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => Ok(Some(number as i64)),
            Some(number) => wrong(name, "a whole number", &Expr::Number(number)),
        }
    }

    pub(super) fn number_annotation(&self, name: &str) -> Result<Option<f64>, SearchError> {
        match self.annotation(name) {
            None => Ok(None),
            Some(Expr::Integer(number)) => Ok(Some(*number as f64)),
            Some(Expr::Number(number)) => Ok(Some(*number)),
            Some(Expr::Parameter(parameter)) => {
                let text = self.parameter(parameter)?;
                let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
                number.map(Some).map_or_else(|| wrong(name, "a number", &Expr::Text(text)), Ok)
            }
            Some(other) => wrong(name, "a number", other),
        }
    }

    /// Whether words are what the query means: they lose their endings, and a text of several is a phrase. What people type is always
    /// read so (Vespa, `YqlParser.java`, `StemmingSearcher.java`: capitals and accents have annotations of their own).
    pub(super) fn is_transformed(&self) -> Result<bool, SearchError> {
        Ok(self.is_typed || self.bool_annotation("implicitTransforms")?.unwrap_or(true))
    }

    /// How many documents an operator is to find.
    pub(super) fn target_hits(&self) -> Result<Option<i64>, SearchError> {
        let mut target = None;
        for annotation in ["targetHits", "targetNumHits", "totalTargetHits"] {
            target = target.or(self.integer_annotation(annotation)?);
        }
        Ok(target)
    }

    /// `connectivity: {id: 4, weight: 0.8}`
    pub(super) fn connectivity(&self) -> Result<Option<(i64, f64)>, SearchError> {
        let Some(said) = self.annotation("connectivity") else { return Ok(None) };
        let Expr::Map(pairs) = said else {
            return wrong("connectivity", "a map with id and weight", said);
        };
        let member = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, v)| &v.expr);
        match (member("id"), member("weight")) {
            (Some(Expr::Integer(id)), Some(Expr::Integer(weight))) => {
                Ok(Some((*id, *weight as f64)))
            }
            (Some(Expr::Integer(id)), Some(Expr::Number(weight))) => Ok(Some((*id, *weight))),
            _ => fail("expected an id, a whole number, and a weight in connectivity"),
        }
    }

    /// `documentFrequency`: of so many documents so many have the term.
    pub(super) fn document_frequency(&self) -> Result<Option<DocumentFrequency>, SearchError> {
        let Some(said) = self.annotation("documentFrequency") else { return Ok(None) };
        let Expr::Map(pairs) = said else {
            return wrong("documentFrequency", "a map with frequency and count", said);
        };
        let member = |name: &str| match pairs.iter().find(|(key, _)| key == name)?.1.expr {
            Expr::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        };
        match (member("frequency"), member("count")) {
            (Some(frequency), Some(count)) => Ok(Some(DocumentFrequency { frequency, count })),
            _ => {
                fail("expected a frequency and a count, whole numbers from 0, in documentFrequency")
            }
        }
    }

    /// Whether what terms have to do with is in the query (the text: Vespa, `YqlParser.java`).
    pub(super) fn check_connectivity(&self) -> Result<(), SearchError> {
        let styles = || self.tree.terms.iter().map(|term| &term.style);
        for (to, _) in styles().filter_map(|style| style.connectivity) {
            if !styles().any(|style| style.id == Some(to)) {
                return fail(format_args!(
                    "An item was specified to connect to item with ID {to}, which does not exist in the query."
                ));
            }
        }
        Ok(())
    }

    /// The elements of `elementFilter`: one, or a list, in their order.
    pub(super) fn element_filter(&self) -> Result<Vec<u32>, SearchError> {
        let list = match self.annotation("elementFilter") {
            None => return Ok(Vec::new()),
            Some(Expr::Array(list)) => list.iter().map(|node| &node.expr).collect(),
            Some(one) => vec![one],
        };
        let mut elements = Vec::new();
        for element in list {
            elements.push(element_number(element)?);
        }
        elements.sort_unstable();
        elements.dedup();
        Ok(elements)
    }

    /// The value of a parameter of the request.
    pub(super) fn parameter(&self, name: &str) -> Result<String, SearchError> {
        (self.parameters)(name)
            .ok_or_else(|| SearchError::yql(format_args!("Error, missing query property: {name}")))
    }

    /// Which of `prefix`, `substring` and `suffix` is true, if a field allows it. Where documents are streamed every field does, and
    /// the schema says what is meant by words that say nothing (Vespa, documentation, `reference/schemas/schemas.html#match`).
    pub(super) fn text_mode(&self, field: &Searched) -> Result<Option<Affix>, SearchError> {
        let mut found = None;
        for (mode, affix) in AFFIXES {
            if self.bool_annotation(mode)? == Some(true) && found.replace((mode, affix)).is_some() {
                return fail("Only one of prefix, substring and suffix can be set.");
            }
        }
        match found {
            None => {
                let is_streamed = self.searches.documents.is_of_stream();
                Ok(of_schema(field).filter(|_| is_streamed))
            }
            // Attributes and indexes know where words begin; the others must be wanted in the schema.
            Some((_, Affix::Prefix)) => Ok(Some(Affix::Prefix)),
            Some((_, affix)) if self.may_be(field, affix) => Ok(Some(affix)),
            Some((mode, _)) => fail(format_args!(
                "Field '{}' is not matched by {mode}; write match: {mode} in the schema, or matches with a regular expression",
                field.name
            )),
        }
    }

    /// Whether words of a field may be asked for by parts of them other than their beginnings.
    pub(super) fn may_be(&self, field: &Searched, part: Affix) -> bool {
        self.searches.documents.is_of_stream() || of_schema(field) == Some(part)
    }
}

/// The part of its words by which the schema wants a field matched.
fn of_schema(field: &Searched) -> Option<Affix> {
    let wanted = |(mode, _): &&(&str, Affix)| field.algorithm.as_deref() == Some(mode);
    AFFIXES.iter().find(wanted).map(|(_, affix)| *affix)
}

/// The annotations that say that a word is only a part of those that are meant, which are settings of `match` too.
const AFFIXES: [(&str, Affix); 3] =
    [("prefix", Affix::Prefix), ("substring", Affix::Infix), ("suffix", Affix::Suffix)];

/// The number of an element (the texts: Vespa, `YqlParser.java`).
pub(super) fn element_number(expr: &Expr) -> Result<u32, SearchError> {
    match expr {
        Expr::Integer(number) if *number < 0 => {
            fail(format_args!("element id must be non-negative, got: {number}"))
        }
        Expr::Integer(number) => match i32::try_from(*number) {
            Ok(number) => Ok(number.unsigned_abs()),
            Err(_) => fail(format_args!("element id must fit in int32 range, got: {number}")),
        },
        Expr::Number(number) => fail(format_args!(
            "element id must be integer, not floating point number. Got: {number:?}"
        )),
        _ => fail("element id must be integer"),
    }
}

fn wrong<T>(name: &str, expected: &str, found: &Expr) -> Result<T, SearchError> {
    let found = match found {
        Expr::Text(text) => format!("{text:?}"),
        Expr::Integer(number) => number.to_string(),
        Expr::Number(number) => number.to_string(),
        Expr::Bool(value) => value.to_string(),
        _ => "a list or map".to_owned(),
    };
    fail(format_args!("expected {expected} for annotation '{name}', got {found:.60}"))
}
