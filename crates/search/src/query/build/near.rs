//! `phrase`, `near` and `onear`: words that stand one behind the other, or near each other.

use std::sync::Arc;

use stead_text::{Near, Pattern, Phrases};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::Tree;
use super::{Builder, fail};
use crate::yql::{Expr, Node};

/// `distance` of `near` and `onear` where nothing is said (Vespa, documentation, `reference/querying/yql.html`).
const DISTANCE: u32 = 2;

/// An index of text that is asked by an operator.
#[derive(Clone, Copy)]
struct Asked<'a> {
    field: &'a Searched,
    index: usize,
    /// The operator.
    name: &'a str,
}

impl<'b> Builder<'b> {
    /// Words that stand one behind the other, or near each other, in the texts of one of some fields.
    pub(super) fn near(
        &mut self,
        field: &str,
        name: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        // What is asked of several fields is one item.
        let items = self.items;
        self.items += list.len();
        let mut any = Vec::new();
        for field in &self.searches.find(field)? {
            let Some(index) = field.index else {
                return fail(format_args!(
                    "Field '{}' has no index of text, which {name} needs",
                    field.name
                ));
            };
            let asked = Asked { field, index, name };
            any.push(match name {
                "phrase" => self.phrase_in(asked, list)?,
                _ => self.near_in(asked, list, items)?,
            });
        }
        Ok(Tree::any(any))
    }

    fn phrase_in(&mut self, asked: Asked<'_>, list: &'b [Node]) -> Result<Tree, SearchError> {
        let mut words = Vec::new();
        for node in list {
            if matches!(node.expr, Expr::Not(_)) {
                return fail("phrase excludes no words");
            }
            let found = self.words_of(asked, node)?;
            if found.is_empty() {
                return Ok(Tree::None);
            }
            words.extend(found);
        }
        if words.is_empty() {
            return Ok(Tree::None);
        }
        self.pattern(asked.field, asked.index, Pattern::Phrases(Phrases::one(words)))
    }

    /// Texts that are refused: Vespa, `YqlParser.java`.
    fn near_in(
        &mut self,
        asked: Asked<'_>,
        list: &'b [Node],
        items: usize,
    ) -> Result<Tree, SearchError> {
        let (mut parts, mut excluded) = (Vec::new(), Vec::new());
        for node in list {
            match &node.expr {
                Expr::Not(_) if parts.is_empty() => {
                    let name = asked.name.to_uppercase();
                    return fail(format_args!(
                        "Must have some positive term before negative terms in {name}"
                    ));
                }
                Expr::Not(node) => excluded.push(self.part_of_near(asked, node)?),
                _ if !excluded.is_empty() => {
                    let name = asked.name.to_uppercase();
                    return fail(format_args!(
                        "Positive terms must come before negative terms in {name}"
                    ));
                }
                _ => parts.push(self.part_of_near(asked, node)?),
            }
        }
        if parts.is_empty() || parts.iter().any(Phrases::is_empty) {
            return Ok(Tree::None);
        }
        excluded.retain(|part| !part.is_empty());
        let distance = self.distance(asked.name, "distance")?.unwrap_or(DISTANCE);
        let far = self.distance(asked.name, "exclusionDistance")?;
        let near = Arc::new(Near {
            parts,
            is_ordered: asked.name == "onear",
            distance,
            excluded,
            exclusion_distance: far.unwrap_or(distance.div_ceil(2)),
            element_gap: None,
        });
        // Ranking knows the parts, where they are near.
        let mut ranked = Vec::new();
        for (number, node) in list.iter().enumerate().take(near.parts.len()) {
            let outer = self.item;
            self.item = outer.or(Some(items + number));
            let pattern = Pattern::NearPart(Arc::clone(&near), number);
            let part = self.annotated(node, |b| b.pattern(asked.field, asked.index, pattern));
            self.item = outer;
            ranked.push(part?);
        }
        let near = self.pattern(asked.field, asked.index, Pattern::Near(near))?;
        if let Some(term) = self.tree.terms.last_mut() {
            term.style.is_ranked = false;
        }
        Ok(Tree::Rank(Box::new(near), ranked))
    }

    /// What `near` has: a word, a phrase, or any of some; nothing of a text without words.
    fn part_of_near(&mut self, asked: Asked<'_>, node: &'b Node) -> Result<Phrases, SearchError> {
        let Expr::Call(operator, list) = &node.expr else {
            return self.words_of(asked, node).map(Phrases::one);
        };
        self.annotated(node, |builder| match (operator.as_str(), list.as_slice()) {
            ("phrase", list) => {
                let mut words = Vec::new();
                for word in list {
                    words.extend(builder.words_of(asked, word)?);
                }
                Ok(Phrases::one(words))
            }
            ("equiv", list) if list.len() < 2 => {
                fail(format_args!("Expected 2 or more arguments, got {}.", list.len()))
            }
            ("equiv", list) => {
                let mut parts = list.iter().map(|text| builder.part_of_near(asked, text));
                parts.try_fold(Phrases::any(Vec::new()), |any, part| Ok(any.or(part?)))
            }
            ("alternatives", list) => {
                let words = builder.alternative_words(list, asked.field.is_cased)?;
                Ok(Phrases::any(words.into_iter().map(|word| vec![word]).collect()))
            }
            _ => fail(format_args!("Expected equiv, phrase, or alternatives, but got: {operator}")),
        })
    }

    fn words_of(&mut self, asked: Asked<'_>, node: &'b Node) -> Result<Vec<String>, SearchError> {
        self.annotated(node, |builder| {
            for part in ["prefix", "suffix", "substring"] {
                if builder.bool_annotation(part)? == Some(true) {
                    return fail(format_args!("{} takes whole words, not {part}", asked.name));
                }
            }
            let (analysis, text) = (builder.analysis(asked.index, false)?, builder.text(node)?);
            Ok(builder.terms(&analysis, &text))
        })
    }

    /// A number of words that an annotation of `near` or `onear` says.
    fn distance(&self, name: &str, annotation: &str) -> Result<Option<u32>, SearchError> {
        let Some(distance) = self.integer_annotation(annotation)? else { return Ok(None) };
        u32::try_from(distance)
            .map(Some)
            .or_else(|_| fail(format_args!("expected a distance from 0 of {name}, got {distance}")))
    }
}
