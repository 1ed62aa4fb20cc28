//! `equiv` and `alternatives`: words and phrases any of which is enough, and which are one term for ranking.

use stead_text::{Pattern, Phrases, Unit};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::{Said, Tree};
use super::indexed::EMPTY;
use super::near::Asked;
use super::{Builder, arguments, fail};
use crate::yql::{Expr, Node};

/// Words one behind the other, and how exactly they are what is looked for.
pub(super) type Alternative = (Vec<String>, f64);

/// Words that are what is looked for.
pub(super) const EXACT: f64 = 1.0;

impl<'b> Builder<'b> {
    /// `equiv("a", "b c", phrase("d", "e"))` in the texts of one of some fields.
    pub(super) fn equiv(&mut self, field: &str, list: &'b [Node]) -> Result<Tree, SearchError> {
        check_count(list)?;
        self.one_item(|builder| {
            let mut any = Vec::new();
            for field in &builder.searches.find(field)? {
                if let Some(index) = builder.index_of_words(field)? {
                    let found = builder.equivalents(Asked { field, index, name: "equiv" }, list)?;
                    any.push(builder.any_of((field, index), found)?);
                    continue;
                }
                for node in list {
                    any.push(builder.annotated(node, |builder| builder.equal(field, node))?);
                }
            }
            Ok(Tree::any(any))
        })
    }

    /// `alternatives({"word": 1.0, ...})`: any of some words, which are taken as they are.
    pub(super) fn alternatives(
        &mut self,
        field: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        let said = alternatives_said(list)?;
        self.one_item(|builder| {
            let mut any = Vec::new();
            for field in &builder.searches.find(field)? {
                let words = builder.alternative_words(list, field.is_cased)?;
                builder.said = said.clone();
                let found = match field.index {
                    Some(index) => builder.any_of((field, index), words),
                    None => {
                        let texts = words.into_iter().flat_map(|(words, _)| words);
                        let tests = texts.map(|text| builder.plain(field, &text));
                        tests.collect::<Result<_, _>>().map(Tree::any)
                    }
                };
                builder.said = Said::Other;
                any.push(found?);
            }
            Ok(Tree::any(any))
        })
    }

    /// What `equiv` has: texts and phrases. One without words is nothing (texts that are refused: Vespa, `YqlParser.java`).
    pub(super) fn equivalents(
        &mut self,
        asked: Asked<'_>,
        list: &'b [Node],
    ) -> Result<Vec<Alternative>, SearchError> {
        check_count(list)?;
        let whole = self.weight()?;
        let mut any = Vec::new();
        for node in list {
            any.push(self.annotated(node, |builder| {
                let words = match &node.expr {
                    Expr::Call(name, list) if name == "phrase" => {
                        builder.words_of_all(asked, list)?
                    }
                    Expr::Call(name, _) => {
                        return fail(format_args!("Expected function 'phrase', got '{name}'."));
                    }
                    _ => builder.words_of(asked, node)?,
                };
                // Vespa: `BlueprintBuilderVisitor::buildEquiv`.
                Ok((words, builder.weight()? as f64 / whole as f64))
            })?);
        }
        Ok(any)
    }

    /// The words of `alternatives` as they are compared.
    pub(super) fn alternative_words(
        &self,
        list: &[Node],
        is_cased: bool,
    ) -> Result<Vec<Alternative>, SearchError> {
        let whole = self.weight()? as f64;
        let word = |(word, exactness): &(String, Node)| {
            let exactness = match exactness.expr {
                Expr::Number(number) => number,
                Expr::Integer(number) => number as f64,
                _ => return fail(format_args!("expected a number behind {word:.40?}")),
            };
            // Such a word has a weight, a whole number (Vespa, `WordAlternativesItem.java`).
            let weight = f64::from((whole * exactness + 0.5) as i32);
            Ok((vec![stead_text::compared(word, is_cased).into_owned()], weight / whole))
        };
        alternatives_of(list)?.iter().map(word).collect()
    }

    /// Any of some words of an index, as one term.
    fn any_of(
        &mut self,
        (field, index): (&Searched, usize),
        mut any: Vec<Alternative>,
    ) -> Result<Tree, SearchError> {
        let count = any.len();
        any.retain(|(words, _)| !words.is_empty());
        if self.is_non_empty && any.len() < count {
            return fail(EMPTY);
        }
        if any.is_empty() {
            return Ok(Tree::None);
        }
        let (phrases, exactness): (Vec<_>, Vec<_>) = any.into_iter().unzip();
        self.exactness = exactness;
        self.pattern(field, index, Pattern::of_phrases(Phrases::any(phrases)))
    }

    /// A text of `equiv` that an attribute or an index of grams has.
    fn equal(&mut self, field: &Searched, node: &'b Node) -> Result<Tree, SearchError> {
        if let Expr::Call(name, _) = &node.expr {
            return fail(format_args!("Field '{}' has no words, which {name} needs", field.name));
        }
        self.check_whole("equiv")?;
        let text = self.text(node)?;
        self.text_in(field, &text)
    }

    /// The index of words of a field, if it has one whose words are compared as they are.
    fn index_of_words(&self, field: &Searched) -> Result<Option<usize>, SearchError> {
        let Some(index) = field.index else { return Ok(None) };
        let is_of_grams = matches!(self.analysis(index, false)?.unit, Unit::Gram(_));
        let is_of_parts = self.text_mode(field)?.is_some();
        Ok((!is_of_grams && !is_of_parts).then_some(index))
    }

    fn weight(&self) -> Result<i64, SearchError> {
        Ok(self.integer_annotation("weight")?.unwrap_or(100))
    }
}

fn check_count(list: &[Node]) -> Result<(), SearchError> {
    match list.len() {
        0 | 1 => fail(format_args!("Expected 2 or more arguments, got {}.", list.len())),
        _ => Ok(()),
    }
}

/// The words of `alternatives`, each with how exact it is.
fn alternatives_of(list: &[Node]) -> Result<&[(String, Node)], SearchError> {
    match arguments(list) {
        Ok([Node { expr: Expr::Map(words), .. }]) => Ok(words),
        _ => fail("Expected 1 argument, a map of words with how exact they are."),
    }
}

/// What a model of significance is asked for.
pub(super) fn alternatives_said(list: &[Node]) -> Result<Said, SearchError> {
    Ok(Said::Any(alternatives_of(list)?.iter().map(|(word, _)| word.clone()).collect()))
}
