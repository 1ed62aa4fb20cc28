//! `userQuery`, `userInput` and `text`: what people typed, and `weakAnd`.

use std::ops::Range;

use stead_text::{Affix, Words, guessed_language};

use super::super::error::SearchError;
use super::super::simple::{Item, Names, Sign, Syntax, What, parse};
use super::super::tree::{Tree, WeakAnd};
use super::grammar::{Composite, Grammar, PARTS};
use super::{Builder, arguments, fail};
use crate::yql::Node;

/// The documents that `weakAnd` and `wand` find where nothing is said (Vespa, documentation, `reference/querying/yql.html`).
const TARGET_HITS: i64 = 100;

/// How texts are read where nothing is said.
const USUAL: &str = "weakAnd";

impl<'b> Builder<'b> {
    /// `userQuery()`: the parameter `query`, read as `type` says. Vespa reads no arguments of it, but clients write some.
    pub(super) fn user_query(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        if !list.is_empty() {
            let text = "userQuery takes no arguments: what it asks is the parameter query";
            self.tree.warnings.push(text.to_owned());
        }
        let text = (self.parameters)("model.queryString").unwrap_or_default();
        let grammar = self.grammar_of_request()?;
        let found = self.typed(&text, grammar, None)?;
        self.filtered(found, !text.trim().is_empty())
    }

    /// `userInput(@text)`
    pub(super) fn user_input(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [text] = arguments(list)?;
        self.annotated(text, |builder| {
            let text = builder.text(text)?;
            let is_said = |text: String| text.eq_ignore_ascii_case("true");
            let usual = match (builder.parameters)("model.type.isYqlDefault").is_some_and(is_said) {
                true => builder.grammar_of_request()?,
                false => Grammar::of(USUAL)?,
            };
            let grammar = builder.grammar_said(usual)?;
            let index = builder.text_annotation("defaultIndex")?;
            if text.trim().is_empty() && builder.bool_annotation("allowEmpty")? == Some(true) {
                return Ok(Tree::All);
            }
            builder.typed(&text, grammar, index)
        })
    }

    /// `field contains text("...")`: words, as people type them, without signs that mean something.
    pub(super) fn text_words(
        &mut self,
        field: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        let [text] = arguments(list)?;
        self.annotated(text, |builder| {
            let text = builder.text(text)?;
            let grammar = builder.grammar_said(Grammar::of("linguistics")?)?;
            builder.typed(&text, grammar, Some(field.to_owned()))
        })
    }

    /// How `model.type` and its parts say that texts are read.
    fn grammar_of_request(&self) -> Result<Option<Grammar>, SearchError> {
        let name = (self.parameters)("model.type");
        let parts = PARTS.map(|part| (self.parameters)(&format!("model.type.{part}")));
        Grammar::of(name.as_deref().unwrap_or(USUAL))?.map(|of| of.with(&parts)).transpose()
    }

    /// How annotations say that a text is read, else as usual.
    fn grammar_said(&self, usual: Option<Grammar>) -> Result<Option<Grammar>, SearchError> {
        let grammar = match self.text_annotation("grammar")? {
            Some(name) => Grammar::of(&name)?,
            None => usual,
        };
        let [composite, tokenization, syntax] =
            PARTS.map(|part| self.text_annotation(&format!("grammar.{part}")));
        let parts = [composite?, tokenization?, syntax?];
        grammar.map(|of| of.with(&parts)).transpose()
    }

    /// `weakAnd(...)`
    pub(super) fn weak_and(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        if list.is_empty() {
            return fail("Expected 1 or more arguments, got 0.");
        }
        let target_hits = self.weak_hits("weakAnd")?;
        let neighbors = self.tree.neighbors.len();
        let parts = self.in_weak_and(true, |builder| builder.list(list))?;
        if self.tree.neighbors.len() > neighbors {
            return fail("nearestNeighbor is not supported within weakAnd");
        }
        Ok(self.add_weak_and(parts, target_hits))
    }

    /// A `weakAnd` of some parts. Within another one these are parts of that, which chooses among the documents that have any: so Vespa joins
    /// two that want as many documents (`QueryCanonicalizer.java`). Here all are joined; in Vespa one that wants fewer chooses first.
    pub(super) fn add_weak_and(&mut self, parts: Vec<Tree>, target_hits: usize) -> Tree {
        if self.is_in_weak_and {
            return Tree::any(parts);
        }
        self.tree.weak_ands.push(WeakAnd { parts, target_hits, is_of_sums: false });
        Tree::WeakAnd(self.tree.weak_ands.len() - 1)
    }

    /// A `wand` of a test that adds weights up. What must not be so, and what is a part of a `weakAnd`, is the test alone: the best of many are
    /// no reason to leave a document out, and another operator chooses among all that pass.
    pub(super) fn add_wand(&mut self, test: Tree, target_hits: usize) -> Tree {
        if self.is_negated || self.is_in_weak_and {
            return test;
        }
        self.tree.weak_ands.push(WeakAnd { parts: vec![test], target_hits, is_of_sums: true });
        Tree::WeakAnd(self.tree.weak_ands.len() - 1)
    }

    pub(super) fn weak_hits(&self, name: &str) -> Result<usize, SearchError> {
        let hits = self.target_hits()?.unwrap_or(TARGET_HITS);
        match usize::try_from(hits) {
            Ok(hits @ 1..) => Ok(hits),
            _ => fail(format_args!("expected targetHits from 1 of {name}, got {hits}")),
        }
    }

    /// Makes what may be parts of a `weakAnd`.
    fn in_weak_and<T>(&mut self, is_it: bool, run: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.is_in_weak_and;
        self.is_in_weak_and |= is_it;
        let made = run(self);
        self.is_in_weak_and = outer;
        made
    }

    /// What was typed, for a field or set of fields; without a grammar it is one word, whatever it has in it.
    fn typed(
        &mut self,
        text: &str,
        grammar: Option<Grammar>,
        index: Option<String>,
    ) -> Result<Tree, SearchError> {
        let index = self.default_index(index);
        let guessed = std::mem::replace(&mut self.guessed, guessed_language(text));
        let outer = std::mem::replace(&mut self.is_typed, grammar.is_some_and(|of| of.is_typed));
        let found = match grammar {
            Some(grammar) => self.read_typed(text, grammar, &index),
            None => self.typed_text(&index, text),
        };
        (self.guessed, self.is_typed) = (guessed, outer);
        found
    }

    fn read_typed(
        &mut self,
        text: &str,
        grammar: Grammar,
        index: &str,
    ) -> Result<Tree, SearchError> {
        let near = match grammar.composite {
            Composite::Phrase => {
                let terminator = self.searches.terminator(index);
                let until = terminator.and_then(|end| text.split_once(&end)).map(|(text, _)| text);
                return self.typed_text(index, until.unwrap_or(text));
            }
            Composite::Near => Some("near"),
            Composite::Onear => Some("onear"),
            Composite::And | Composite::Or | Composite::WeakAnd => None,
        };
        let items = match grammar.syntax {
            Some(syntax) => self.items(text, syntax, Some(index))?,
            None => {
                let words = self.words_alone(text, grammar.is_linguistics, index);
                words.into_iter().map(Item::word).collect()
            }
        };
        let (mut must, mut may, mut not) = (Vec::new(), Vec::new(), Vec::new());
        for item in items.iter().filter(|item| near.is_none() || item.sign == Some(Sign::Not)) {
            let is_weak = grammar.composite == Composite::WeakAnd;
            let part = self.in_weak_and(is_weak, |builder| builder.signed(item, index))?;
            match item.sign {
                Some(Sign::Must) => must.push(part),
                Some(Sign::Not) => not.push(part),
                None => may.push(part),
            }
        }
        if let Some(name) = near {
            let wanted = items.iter().filter(|item| item.sign != Some(Sign::Not));
            let wanted: Vec<&Item> = wanted.collect();
            match wanted.as_slice() {
                [] => {}
                [one] => must.push(self.item(one, index)?),
                _ => must.push(self.near_typed(index, name, &texts(&wanted, name)?)?),
            }
        }
        if self.is_non_empty && must.is_empty() && may.is_empty() {
            return fail(super::indexed::EMPTY);
        }
        let (any, target_hits) = (!may.is_empty(), self.weak_hits("weakAnd")?);
        let found = match (grammar.composite, must.is_empty()) {
            (Composite::And | Composite::Near | Composite::Onear, _) => {
                must.append(&mut may);
                Tree::all(must)
            }
            // Words beside those that must be there are for ranking.
            (_, false) if any => Tree::Rank(Box::new(Tree::all(must)), may),
            (_, false) => Tree::all(must),
            (_, true) if may.len() == 1 => Tree::all(may),
            (Composite::WeakAnd, true) if any => self.add_weak_and(may, target_hits),
            (_, true) => Tree::any(may),
        };
        // Of words that must not be there alone, nothing is found.
        let found = match items.iter().any(|item| item.sign != Some(Sign::Not)) {
            true => found,
            false => Tree::None,
        };
        Ok(match not.is_empty() {
            true => found,
            false => {
                not.insert(0, found);
                Tree::And(not)
            }
        })
    }

    /// The words of a text, each a part of its own where signs mean nothing (Vespa, `LinguisticsParser.java`). Of `tokenize` apostrophes
    /// hold letters together, whose words are one part then, and a field of exact texts is asked for what stands before what ends these
    /// (`TokenizeParser.java`, `Tokenizer.java`).
    fn words_alone<'t>(&self, text: &'t str, is_linguistics: bool, index: &str) -> Vec<&'t str> {
        let terminator = self.searches.terminator(index).filter(|_| !is_linguistics);
        if let Some(terminator) = terminator {
            let parts = text.split(&terminator).map(str::trim_start);
            return parts.filter(|part| !part.is_empty()).collect();
        }
        if self.has_host_names(index) {
            return text.split_whitespace().collect();
        }
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for word in Words::of(text) {
            let between = ranges.last().and_then(|last| text.get(last.end..word.start));
            let is_held = between.is_some_and(|between| between.chars().all(|c| c == '\''));
            match ranges.last_mut().filter(|_| is_held && !is_linguistics) {
                Some(last) => last.end = word.end,
                None => ranges.push(word),
            }
        }
        ranges.into_iter().filter_map(|range| text.get(range)).collect()
    }

    pub(super) fn default_index(&self, index: Option<String>) -> String {
        let of_request = || (self.parameters)("model.defaultIndex").filter(|name| !name.is_empty());
        index.or_else(of_request).unwrap_or_else(|| "default".to_owned())
    }

    /// The parts of what was typed for a field or set of fields, if that is known.
    pub(super) fn items(
        &self,
        text: &str,
        syntax: Syntax,
        index: Option<&str>,
    ) -> Result<Vec<Item>, SearchError> {
        let is_field = |name: &str| self.searches.find(name).is_ok();
        let terminator = |name: &str| self.searches.terminator(name);
        let names = Names { is_field: &is_field, terminator: &terminator, index };
        parse(text, syntax, names).map_err(SearchError::yql)
    }

    /// A part, negated where `-` stands before it.
    pub(super) fn signed(&mut self, item: &Item, index: &str) -> Result<Tree, SearchError> {
        match item.sign {
            Some(Sign::Not) => self.negated(|builder| builder.item(item, index)),
            _ => self.item(item, index),
        }
    }

    fn item(&mut self, item: &Item, index: &str) -> Result<Tree, SearchError> {
        let field = item.field.as_deref().unwrap_or(index);
        let before = self.tree.terms.len();
        let tree = match &item.what {
            What::Word(text) | What::Phrase(text) | What::Exact(text) => {
                self.typed_text(field, text)?
            }
            What::Prefix(text) => self.typed_part(field, Affix::Prefix, text)?,
            What::Suffix(text) => self.typed_part(field, Affix::Suffix, text)?,
            What::Substring(text) => self.typed_part(field, Affix::Infix, text)?,
            What::Any(items) => {
                let parts = items.iter().map(|item| self.signed(item, field));
                Tree::any(parts.collect::<Result<_, SearchError>>()?)
            }
        };
        if let Some(weight) = item.weight {
            self.tree.terms.iter_mut().skip(before).for_each(|term| term.style.weight = weight);
        }
        Ok(tree)
    }
}

/// The texts of parts that are to be near each other: words and phrases of the same field.
fn texts<'i>(items: &[&'i Item], name: &str) -> Result<Vec<&'i str>, SearchError> {
    let each = items.iter().map(|item| match (&item.what, &item.field) {
        (What::Word(text) | What::Phrase(text) | What::Exact(text), None) => Ok(text.as_str()),
        _ => fail(format_args!("the grammar {name} takes words and phrases of one field")),
    });
    each.collect()
}

impl Item {
    fn word(text: &str) -> Item {
        let what = What::Word(text.to_owned());
        Item { sign: None, field: None, weight: None, what }
    }
}
