//! Words that an index of text is asked for: `phrase`, `near`, `onear`, `alternatives`, and a word or a text alone.

use stead_text::{Affix, Analysis, Excluded, Language, Near, Order, Pattern, Unit};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::{Indexed, Test, Tree};
use super::{Builder, fail};
use crate::yql::{Expr, Node};

/// `distance` of `near` and `onear` where nothing is said (Vespa, documentation, `reference/querying/yql.html`).
const DISTANCE: u32 = 2;

/// Of `nonEmpty` around a text without words (Vespa, `YqlParser.java`).
pub(super) const EMPTY: &str = "Searching for empty string inside nonEmpty()";

impl<'b> Builder<'b> {
    /// The words of a text as a field's index has them: a phrase where there are several, or all grams.
    pub(super) fn indexed(
        &mut self,
        (field, index): (&Searched, usize),
        text: &str,
        is_prefix: bool,
    ) -> Result<Tree, SearchError> {
        let affix = match is_prefix {
            true => Some(Affix::Prefix),
            false => self.text_mode(field)?,
        };
        let analysis = self.analysis(index, affix.is_some())?;
        let terms = self.terms(&analysis, text);
        if let (Unit::Gram(_), None) = (analysis.unit, affix) {
            let grams =
                terms.into_iter().map(|gram| self.pattern(field, index, Pattern::Term(gram)));
            return grams.collect::<Result<_, _>>().map(all);
        }
        let pattern = match (<[String; 1]>::try_from(terms), affix) {
            (Ok([term]), Some(affix)) => Pattern::Part(affix, term),
            (Ok([term]), None) => Pattern::Term(term),
            // Where a schema says that words are parts, texts of several are phrases still.
            (Err(terms), affix)
                if !terms.is_empty()
                    && (affix.is_none() || self.searches.documents.is_of_stream()) =>
            {
                Pattern::Near(phrase(terms))
            }
            (Err(terms), Some(affix)) if !terms.is_empty() => {
                let how = match affix {
                    Affix::Prefix => "to begin with",
                    Affix::Infix => "or a part of one",
                    Affix::Suffix => "to end with",
                };
                return fail(format_args!("expected one word {how}, got {text:.40?}"));
            }
            (Err(_), _) if self.is_non_empty => return fail(EMPTY),
            // Nothing to look for is found nowhere.
            (Err(_), _) => return Ok(Tree::None),
        };
        self.pattern(field, index, pattern)
    }

    /// Words that stand one behind the other, or near each other, in the texts of one of some fields.
    pub(super) fn near(
        &mut self,
        field: &str,
        name: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        let mut any = Vec::new();
        for field in &self.searches.find(field)? {
            let Some(index) = field.index else {
                return fail(format_args!(
                    "Field '{}' has no index of text, which {name} needs",
                    field.name
                ));
            };
            any.push(self.near_in((field, index), name, list)?);
        }
        Ok(Tree::any(any))
    }

    fn near_in(
        &mut self,
        (field, index): (&Searched, usize),
        name: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        let (mut terms, mut excluded) = (Vec::new(), Vec::new());
        for word in list {
            if let Expr::Not(word) = &word.expr {
                excluded.extend(self.excluded(index, name, (word, terms.is_empty()))?);
                continue;
            }
            if !excluded.is_empty() {
                let name = name.to_uppercase();
                return fail(format_args!(
                    "Positive terms must come before negative terms in {name}"
                ));
            }
            let words = self.words_of_near(index, word)?;
            if words.is_empty() {
                return Ok(Tree::None);
            }
            terms.extend(words);
        }
        if terms.is_empty() {
            return Ok(Tree::None);
        }
        if name == "phrase" {
            return self.pattern(field, index, Pattern::Near(phrase(terms)));
        }
        let distance = self.distance(name, "distance")?.unwrap_or(DISTANCE);
        let order = match name {
            "onear" => Order::Within(distance),
            _ => Order::Around(distance),
        };
        let far = self.distance(name, "exclusionDistance")?.unwrap_or(distance.div_ceil(2));
        let excluded = Excluded { terms: excluded, distance: far };
        // Ranking knows the words, not that they are near (Vespa, `searchcore/proton/matching`).
        let mut parts = Vec::new();
        for term in &terms {
            parts.push(self.pattern(field, index, Pattern::Term(term.clone()))?);
        }
        let near = Near { terms, order, excluded };
        let near = self.pattern(field, index, Pattern::Near(near))?;
        if let Some(term) = self.tree.terms.last_mut() {
            term.style.is_ranked = false;
        }
        parts.push(near);
        Ok(Tree::all(parts))
    }

    fn words_of_near(&mut self, index: usize, word: &'b Node) -> Result<Vec<String>, SearchError> {
        self.annotated(word, |builder| {
            let (analysis, text) = (builder.analysis(index, false)?, builder.text(word)?);
            Ok(builder.terms(&analysis, &text))
        })
    }

    /// A word that `near` or `onear` excludes, and whether it comes first (the texts: Vespa, `YqlParser.java`).
    fn excluded(
        &mut self,
        index: usize,
        name: &str,
        (word, is_first): (&'b Node, bool),
    ) -> Result<Option<String>, SearchError> {
        if name == "phrase" {
            return fail("phrase excludes no words");
        }
        if is_first {
            let name = name.to_uppercase();
            return fail(format_args!(
                "Must have some positive term before negative terms in {name}"
            ));
        }
        let mut words = self.words_of_near(index, word)?.into_iter();
        match (words.next(), words.next()) {
            (word, None) => Ok(word),
            _ => fail(format_args!("{name} excludes single words, not texts of several")),
        }
    }

    /// A number of words that an annotation of `near` or `onear` says.
    fn distance(&self, name: &str, annotation: &str) -> Result<Option<u32>, SearchError> {
        let Some(distance) = self.integer_annotation(annotation)? else { return Ok(None) };
        u32::try_from(distance)
            .map(Some)
            .or_else(|_| fail(format_args!("expected a distance from 0 of {name}, got {distance}")))
    }

    /// `alternatives({"word": 1.0, ...})`: any of some words, which are taken as they are.
    pub(super) fn alternatives(
        &mut self,
        field: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        let [Node { expr: Expr::Map(words), .. }] = list else {
            return fail("Expected 1 argument, a map of words with how exact they are.");
        };
        let mut any = Vec::new();
        for field in &self.searches.find(field)? {
            for (word, exactness) in words {
                if !matches!(exactness.expr, Expr::Number(_) | Expr::Integer(_)) {
                    return fail(format_args!("expected a number behind {word:.40?}"));
                }
                any.push(match field.index {
                    Some(index) => {
                        let term = stead_text::compared(word, field.is_cased).into_owned();
                        self.pattern(field, index, Pattern::Term(term))?
                    }
                    None => self.plain(field, word)?,
                });
            }
        }
        Ok(Tree::any(any))
    }

    /// A test of an index.
    pub(super) fn pattern(
        &mut self,
        field: &Searched,
        index: usize,
        pattern: Pattern,
    ) -> Result<Tree, SearchError> {
        self.term(&field.name, Test::Indexed(Indexed { index, pattern }))
    }

    /// How the words of a query become those of an index, by what its annotations say.
    fn analysis(&self, index: usize, is_part: bool) -> Result<Analysis, SearchError> {
        let found = self.searches.documents.texts().get(index);
        let mut analysis = found.map(|of| of.analysis).unwrap_or_default();
        // A part of a word has no stem.
        analysis.is_stemmed &= !is_part && self.bool_annotation("stem")?.unwrap_or(true);
        analysis.drops_accents &= self.bool_annotation("accentDrop")?.unwrap_or(true);
        analysis.is_cased |= !self.bool_annotation("normalizeCase")?.unwrap_or(true);
        Ok(analysis)
    }

    fn terms(&self, analysis: &Analysis, text: &str) -> Vec<String> {
        analysis.terms(text, self.language).map(|term| term.text.into_owned()).collect()
    }
}

/// The language of a query's words, by its tag; English where nothing is said.
pub(super) fn language(tag: Option<String>) -> Language {
    tag.filter(|tag| !tag.trim().is_empty())
        .map_or_else(Language::english, |tag| Language::of_tag(tag.trim()))
}

fn phrase(terms: Vec<String>) -> Near {
    Near { terms, order: Order::Phrase, excluded: Excluded::default() }
}

fn all(list: Vec<Tree>) -> Tree {
    if list.is_empty() { Tree::None } else { Tree::all(list) }
}
