//! `nearestNeighbor`

use stead_expr::parse_type;
use stead_store::DataType;

use super::super::error::SearchError;
use super::super::tree::{NearestNeighbor, Tree};
use super::super::tuning::TuningChoice;
use super::{Builder, arguments, fail};
use crate::yql::{Expr, Node};

impl<'b> Builder<'b> {
    pub(super) fn neighbor(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [field, input] = arguments(list)?;
        let Some(field) = self.searches.one(&self.field(field)?)? else { return Ok(Tree::None) };
        let (Expr::Field(input) | Expr::Text(input)) = &input.expr else {
            return fail(
                "expected the name of a query's vector as the second argument of nearestNeighbor",
            );
        };
        let name = format!("nearestNeighbor({},{input})", field.name);
        let DataType::Tensor(kind) = &field.kind else {
            return fail(format_args!(
                "{name}: field {} is a {}, not a tensor",
                field.name, field.kind
            ));
        };
        let mut attributes = self.searches.documents.attributes().iter();
        let about = attributes.find(|a| a.name == field.name);
        if about.is_some_and(|a| a.import.is_some()) {
            return fail(format_args!("{name}: field {} is imported", field.name));
        }
        if kind.indexed().count() != 1 {
            return fail(format_args!(
                "{name}: expected a tensor with one indexed dimension, field {} is a {kind}",
                field.name
            ));
        }
        let target =
            self.target_hits()?.and_then(|target| usize::try_from(target).ok()).filter(|t| *t > 0);
        let Some(target_hits) = target else {
            return fail(format_args!("{name} needs targetHits from 1: {{targetHits: 10}}{name}"));
        };
        let dimensions: Vec<String> =
            kind.indexed().map(|(d, size)| format!("{}[{size}]", d.name)).collect();
        let kind = parse_type(&format!("tensor<float>({})", dimensions.join(",")));
        let kind = kind.map_err(SearchError::yql)?;
        let metric = about.and_then(|a| a.metric.clone());
        let explore = self.integer_annotation("hnsw.exploreAdditionalHits")?.map(|more| {
            usize::try_from(more).or_else(|_| {
                fail(format_args!("{name}: expected hnsw.exploreAdditionalHits from 0, got {more}"))
            })
        });
        let explore = explore.transpose()?;
        let neighbor = NearestNeighbor {
            attribute: field.name,
            metric,
            kind,
            input: input.clone(),
            target_hits,
            distance_threshold: self.number_annotation("distanceThreshold")?,
            is_approximate: self.bool_annotation("approximate")?.unwrap_or(true),
            explore: explore.unwrap_or(0),
            tuning: TuningChoice::of_annotations(|name| self.number_annotation(name))?,
            label: self.text_annotation("label")?,
            vector: None,
        };
        self.tree.neighbors.push(neighbor);
        Ok(Tree::Neighbor(self.tree.neighbors.len() - 1))
    }
}
