//! The words of texts that a query asks for.

use std::ops::Range;

use stead_store::{TextIndex, View};
use stead_text::{Affix, Language, Pattern, Phrases, Term};

use super::snippet::Mark;
use crate::query::{QueryTree, Test, Tree};

/// What a query asks of indexes of text, as far as it is to be marked: not what must not be there, and no filters.
pub(crate) struct Asked<'q> {
    view: &'q View,
    /// The number of an index, and what it is asked.
    patterns: Vec<(usize, &'q Pattern)>,
}

impl<'q> Asked<'q> {
    pub(crate) fn of(tree: &'q QueryTree, view: &'q View) -> Asked<'q> {
        let mut patterns = Vec::new();
        collect(&tree.root, tree, &mut patterns);
        Asked { view, patterns }
    }

    /// The index that is the first to have the texts of a field, by the number of the field: that of the field's name before others.
    pub(crate) fn index(&self, field: usize, name: &str) -> Option<(usize, &'q TextIndex)> {
        let of_field = || {
            let indexes = self.view.kind().texts().iter().enumerate();
            indexes.filter(move |(_, index)| index.field == field)
        };
        of_field().find(|(_, index)| index.name == name).or_else(|| of_field().next())
    }

    /// The words of a text that are asked of an index, in their order.
    pub(crate) fn marks(
        &self,
        (number, index): (usize, &TextIndex),
        text: &str,
        language: Language,
    ) -> Vec<Mark> {
        let mut patterns = self.patterns.iter().filter(|(of, _)| *of == number).peekable();
        if patterns.peek().is_none() {
            return Vec::new();
        }
        let terms: Vec<Term<'_>> = index.analysis.terms(text, language).collect();
        let mut marks = Vec::new();
        for (term, (_, pattern)) in patterns.enumerate() {
            let mark = |bytes: &Range<usize>| Mark { bytes: bytes.clone(), term };
            match pattern {
                Pattern::Term(wanted) => {
                    let found = terms.iter().filter(|found| found.text == *wanted);
                    marks.extend(found.map(|found| mark(&found.bytes)));
                }
                Pattern::Part(affix, part) => {
                    let has = |found: &&Term<'_>| match affix {
                        Affix::Prefix => found.text.starts_with(part.as_str()),
                        Affix::Infix => found.text.contains(part.as_str()),
                        Affix::Suffix => found.text.ends_with(part.as_str()),
                    };
                    marks.extend(terms.iter().filter(has).map(|found| mark(&found.bytes)));
                }
                Pattern::Phrases(phrases) => mark_phrases(phrases, &terms, term, &mut marks),
                Pattern::NearPart(near, part) => {
                    if let Some(phrases) = near.parts.get(*part) {
                        mark_phrases(phrases, &terms, term, &mut marks);
                    }
                }
                // Its parts are asked for one by one too.
                Pattern::Near(_) => {}
            }
        }
        marks.sort_by_key(|mark| (mark.bytes.start, mark.bytes.end, mark.term));
        marks.dedup_by(|a, b| a.bytes == b.bytes);
        marks
    }
}

/// Marks the words of phrases, which the term of a query asks for.
fn mark_phrases(of: &Phrases, terms: &[Term<'_>], term: usize, marks: &mut Vec<Mark>) {
    for words in of.phrases() {
        let places = terms.windows(words.len().max(1));
        let is_here = |place: &&[Term<'_>]| {
            place.iter().zip(words).all(|(found, wanted)| found.text == *wanted)
        };
        let found = places.filter(is_here).flatten();
        marks.extend(found.map(|found| Mark { bytes: found.bytes.clone(), term }));
    }
}

fn collect<'q>(part: &Tree, tree: &'q QueryTree, into: &mut Vec<(usize, &'q Pattern)>) {
    match part {
        Tree::And(parts) | Tree::Or(parts) => {
            parts.iter().for_each(|part| collect(part, tree, into));
        }
        Tree::Rank(first, others) => {
            collect(first, tree, into);
            others.iter().for_each(|part| collect(part, tree, into));
        }
        Tree::WeakAnd(number) => {
            let parts = tree.weak_ands.get(*number).map(|weak| &weak.parts);
            parts.into_iter().flatten().for_each(|part| collect(part, tree, into));
        }
        Tree::SameElement(same) => collect(&same.tree, tree, into),
        Tree::Term(number) => {
            let term = tree.terms.get(*number).filter(|term| !term.style.is_filter);
            if let Some(Test::Indexed(indexed)) = term.map(|term| &term.test) {
                into.push((indexed.index, &indexed.pattern));
            }
        }
        Tree::All | Tree::None | Tree::Not(_) | Tree::Neighbor(_) => {}
    }
}
