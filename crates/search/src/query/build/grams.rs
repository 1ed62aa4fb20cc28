//! The grams that a word is looked for by in an index of grams, each of which is an item of the query.

use std::sync::Arc;

use stead_text::{Near, Pattern, Phrases};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::{Said, Tree};
use super::{Builder, fail};

/// How many words `near` and `onear` reach of grams (Vespa, `NearItem.java`).
const DISTANCE: u32 = 2;

impl Builder<'_> {
    /// What `gram.match` says that documents must have of the grams of a word (Vespa, `NGramSearcher.java`).
    pub(super) fn grams(
        &mut self,
        field: &Searched,
        index: usize,
        grams: Vec<String>,
    ) -> Result<Tree, SearchError> {
        // A word that is an item alone; any other stays one with what it stands beside.
        let is_word = std::mem::take(&mut self.said) != Said::Other;
        if grams.is_empty() {
            return Ok(Tree::None);
        }
        let wanted = (self.parameters)("gram.match").unwrap_or_default();
        match wanted.as_str() {
            "phrase" => self.pattern(field, index, Pattern::of_phrases(Phrases::one(grams))),
            "near" | "onear" if grams.len() > 1 => {
                let phrase = |gram: String| Phrases::one(vec![gram]);
                let near = Arc::new(Near {
                    parts: grams.into_iter().map(phrase).collect(),
                    is_ordered: wanted == "onear",
                    distance: DISTANCE,
                    excluded: Vec::new(),
                    exclusion_distance: 0,
                    element_gap: None,
                });
                let parts = 0..near.parts.len();
                let parts = parts.map(|part| Pattern::NearPart(Arc::clone(&near), part)).collect();
                let ranked = self.gram_terms(field, index, parts, is_word)?;
                self.near_alone(field, index, near, ranked)
            }
            "" | "all" | "any" | "weakAnd" | "near" | "onear" => {
                let terms = grams.into_iter().map(Pattern::Term).collect();
                let parts = self.gram_terms(field, index, terms, is_word)?;
                match wanted.as_str() {
                    "weakAnd" => {
                        let hits = self.weak_hits("weakAnd")?;
                        Ok(self.add_weak_and(parts, hits))
                    }
                    "any" => Ok(Tree::any(parts)),
                    _ => Ok(Tree::all(parts)),
                }
            }
            // The text: Vespa, `NGramSearcher.java`.
            other => fail(format_args!(
                "Invalid gram.match value '{other:.40}'. Must be 'all', 'any', 'weakAnd', 'phrase', 'near' or 'onear'"
            )),
        }
    }

    /// A test for each gram. Those of a word are items in a row, the first being that of the word, which are the same in each field that is asked.
    fn gram_terms(
        &mut self,
        field: &Searched,
        index: usize,
        patterns: Vec<Pattern>,
        is_word: bool,
    ) -> Result<Vec<Tree>, SearchError> {
        let outer = self.item;
        let mut terms = Vec::with_capacity(patterns.len());
        for (at, pattern) in patterns.into_iter().enumerate() {
            if let Some(first) = outer.filter(|_| is_word) {
                self.item = Some(first + at);
                self.items = self.items.max(first + at + 1);
            }
            let term = self.pattern(field, index, pattern);
            self.item = outer;
            terms.push(term?);
        }
        Ok(terms)
    }
}
