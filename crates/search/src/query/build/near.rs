//! `phrase`, `near` and `onear`: words that stand one behind the other, or near each other.

use std::sync::Arc;

use stead_text::{Near, Pattern, Phrases};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::{Said, Tree};
use super::equiv::{Alternative, EXACT, alternatives_said};
use super::{Builder, fail};
use crate::yql::{Expr, Node};

/// `distance` of `near` and `onear` where nothing is said (Vespa, documentation, `reference/querying/yql.html`).
const DISTANCE: u32 = 2;

/// An index of text that is asked by an operator.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) field: &'a Searched,
    pub(super) index: usize,
    /// The operator.
    pub(super) name: &'a str,
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
        let fields = self.searches.find(field)?;
        let has_index = fields.iter().any(|field| field.index.is_some());
        let mut any = Vec::new();
        for field in &fields {
            let found = match field.index {
                Some(index) => {
                    let asked = Asked { field, index, name };
                    match name {
                        "phrase" => self.phrase_in(asked, list)?,
                        _ => self.near_in(asked, list, items)?,
                    }
                }
                None if has_index => self.near_values(field, name, list, items)?,
                None => {
                    return fail(format_args!(
                        "Field '{}' has no index of text, which {name} needs",
                        field.name
                    ));
                }
            };
            // What an attribute cannot have needs no place among the others.
            if found != Tree::None || field.index.is_some() {
                any.push(found);
            }
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
                Expr::Not(node) => excluded.push(phrases(self.part_of_near(asked, node)?)),
                _ if !excluded.is_empty() => {
                    let name = asked.name.to_uppercase();
                    return fail(format_args!(
                        "Positive terms must come before negative terms in {name}"
                    ));
                }
                _ => parts.push(self.part_of_near(asked, node)?),
            }
        }
        let (parts, exactness): (Vec<Phrases>, Vec<Vec<f64>>) = parts
            .into_iter()
            .map(|any| {
                let exactness = any.iter().map(|(_, exactness)| *exactness).collect();
                (phrases(any), exactness)
            })
            .unzip();
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
        for (number, (node, exactness)) in list.iter().zip(exactness).enumerate() {
            let outer = self.item;
            self.item = outer.or(Some(items + number));
            let pattern = Pattern::NearPart(Arc::clone(&near), number);
            self.said = self.said_of_part(asked, node)?;
            self.exactness = exactness;
            let part = self.annotated(node, |b| b.pattern(asked.field, asked.index, pattern));
            self.said = Said::Other;
            self.item = outer;
            ranked.push(part?);
        }
        self.near_alone(asked.field, asked.index, near, ranked)
    }

    /// Texts that people typed, each a word or a phrase, near each other in one of some fields.
    pub(super) fn near_typed(
        &mut self,
        field: &str,
        name: &str,
        texts: &[&str],
    ) -> Result<Tree, SearchError> {
        let items = self.items;
        self.items += texts.len();
        let distance = self.distance(name, "distance")?.unwrap_or(DISTANCE);
        let fields = self.searches.find(field)?;
        let mut any = Vec::new();
        // Attributes among others have no places of words.
        for field in &fields {
            let Some(index) = field.index else { continue };
            let analysis = self.analysis(index, false)?;
            let mut parts = Vec::with_capacity(texts.len());
            for text in texts {
                parts.push(Phrases::one(self.terms(&analysis, text)?));
            }
            if parts.iter().any(Phrases::is_empty) {
                any.push(Tree::None);
                continue;
            }
            let near = Arc::new(Near {
                parts,
                is_ordered: name == "onear",
                distance,
                excluded: Vec::new(),
                exclusion_distance: 0,
                element_gap: None,
            });
            let mut ranked = Vec::with_capacity(texts.len());
            for (number, text) in texts.iter().enumerate() {
                let outer = self.item;
                self.item = outer.or(Some(items + number));
                self.said = Said::word(text);
                let part = Pattern::NearPart(Arc::clone(&near), number);
                let part = self.pattern(field, index, part);
                (self.said, self.item) = (Said::Other, outer);
                ranked.push(part?);
            }
            any.push(self.near_alone(field, index, near, ranked)?);
        }
        match any.is_empty() {
            true => fail(format_args!("Field '{field}' has no index of text, which {name} needs")),
            false => Ok(Tree::any(any)),
        }
    }

    /// Words that are near, of which ranking knows the parts alone.
    pub(super) fn near_alone(
        &mut self,
        field: &Searched,
        index: usize,
        near: Arc<Near>,
        ranked: Vec<Tree>,
    ) -> Result<Tree, SearchError> {
        let near = self.pattern(field, index, Pattern::Near(near))?;
        if let Some(term) = self.tree.terms.last_mut() {
            term.style.is_ranked = false;
        }
        Ok(Tree::Rank(Box::new(near), ranked))
    }

    /// What `near` has: a word, a phrase, or any of some; nothing of a text without words.
    fn part_of_near(
        &mut self,
        asked: Asked<'_>,
        node: &'b Node,
    ) -> Result<Vec<Alternative>, SearchError> {
        let mut any = self.annotated(node, |builder| match &node.expr {
            Expr::Call(operator, list) => match operator.as_str() {
                "phrase" => Ok(vec![(builder.words_of_all(asked, list)?, EXACT)]),
                "equiv" => builder.equivalents(asked, list),
                "alternatives" => builder.alternative_words(list, asked.field.is_cased),
                _ => fail(format_args!(
                    "Expected equiv, phrase, or alternatives, but got: {operator}"
                )),
            },
            _ => Ok(vec![(builder.words_of(asked, node)?, EXACT)]),
        })?;
        any.retain(|(words, _)| !words.is_empty());
        Ok(any)
    }

    /// What a model of significance is asked for a part of `near`: for a word or for alternatives, not for a phrase or an `equiv`
    /// (Vespa, `SignificanceSearcher.java`).
    fn said_of_part(&mut self, asked: Asked<'_>, node: &'b Node) -> Result<Said, SearchError> {
        match &node.expr {
            Expr::Call(operator, list) if operator == "alternatives" => alternatives_said(list),
            Expr::Call(..) => Ok(Said::Other),
            _ => match self.words_of(asked, node)?.as_slice() {
                [_] => Ok(Said::word(&self.text(node)?)),
                _ => Ok(Said::Other),
            },
        }
    }

    /// The words of several texts, one behind the other.
    pub(super) fn words_of_all(
        &mut self,
        asked: Asked<'_>,
        list: &'b [Node],
    ) -> Result<Vec<String>, SearchError> {
        let mut words = Vec::new();
        for node in list {
            words.extend(self.words_of(asked, node)?);
        }
        Ok(words)
    }

    /// The words of a text.
    pub(super) fn words_of(
        &mut self,
        asked: Asked<'_>,
        node: &'b Node,
    ) -> Result<Vec<String>, SearchError> {
        self.annotated(node, |builder| {
            builder.check_whole(asked.name)?;
            let (analysis, text) = (builder.analysis(asked.index, false)?, builder.text(node)?);
            builder.terms(&analysis, &text)
        })
    }

    /// Whether no annotation asks for parts of words.
    pub(super) fn check_whole(&self, name: &str) -> Result<(), SearchError> {
        for part in ["prefix", "suffix", "substring"] {
            if self.bool_annotation(part)? == Some(true) {
                return fail(format_args!("{name} takes whole words, not {part}"));
            }
        }
        Ok(())
    }

    /// A number of words that an annotation of `near` or `onear` says.
    fn distance(&self, name: &str, annotation: &str) -> Result<Option<u32>, SearchError> {
        let Some(distance) = self.integer_annotation(annotation)? else { return Ok(None) };
        u32::try_from(distance)
            .map(Some)
            .or_else(|_| fail(format_args!("expected a distance from 0 of {name}, got {distance}")))
    }
}

fn phrases(any: Vec<Alternative>) -> Phrases {
    Phrases::any(any.into_iter().map(|(words, _)| words).collect())
}
