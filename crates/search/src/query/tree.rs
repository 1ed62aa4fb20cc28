//! The tree of a query.

use std::collections::HashMap;

use stead_expr::{TensorType, Value};
use stead_text::Pattern;

use super::geo::{Box2, Circle};
use super::numbers::NumberRange;
use super::predicate::PredicateQuery;
use super::significance::DocumentFrequency;
use super::texts::TextTest;
use super::tuning::TuningChoice;

/// A query.
#[derive(Debug, Clone, Default)]
pub struct QueryTree {
    /// What a document must be.
    pub root: Tree,
    /// The tests in it, which the tree knows by their numbers.
    pub terms: Vec<Term>,
    /// The comparisons of vectors in it, likewise.
    pub neighbors: Vec<NearestNeighbor>,
    /// The `weakAnd`s and `wand`s in it, likewise.
    pub weak_ands: Vec<WeakAnd>,
    /// The parts whose documents have a score by a label.
    pub labels: Vec<Labeled>,
    /// What whoever asks should know.
    pub warnings: Vec<String>,
}

/// What a document must be.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Tree {
    /// Anything.
    #[default]
    All,
    /// Nothing that there is.
    None,
    /// All of these.
    And(Vec<Tree>),
    /// One of these.
    Or(Vec<Tree>),
    /// Not this.
    Not(Box<Tree>),
    /// The first; the others are for ranking only.
    Rank(Box<Tree>, Vec<Tree>),
    /// Passes a test.
    Term(usize),
    /// Is among the nearest.
    Neighbor(usize),
    /// Has most of some words or tokens.
    WeakAnd(usize),
    /// Has an element that passes several tests.
    SameElement(SameElement),
}

/// `labeled(part, "label", score)`: what documents that pass a part score by a label, and others 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Labeled {
    /// The label.
    pub label: String,
    /// The score.
    pub score: f64,
    /// The part.
    pub tree: Tree,
}

/// A test of a field.
#[derive(Debug, Clone)]
pub struct Term {
    /// The attribute, or the name of an index of text.
    pub attribute: String,
    /// What its value must be; of several values one.
    pub test: Test,
    /// What ranking knows of it.
    pub style: TermStyle,
    /// What it looks for in the words of the query.
    pub said: Said,
    /// The tag of the language of that, where it is not the one of the query.
    pub language: Option<String>,
    /// How exactly each of the phrases of its pattern is what is looked for, 1 where they are; none where it is no choice.
    pub exactness: Vec<f64>,
    /// The number of the item of the query that it is of: a word that is asked of several fields is one.
    pub item: usize,
}

/// What a query says where a term is: what [models of significance](super::SignificanceModels) know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Said {
    /// Several words, or no word
    #[default]
    Other,
    /// A word
    Word(String),
    /// Words any of which is enough, by `alternatives`
    Any(Vec<String>),
}

impl Said {
    /// A word, without the signs around it.
    #[must_use]
    pub fn word(text: &str) -> Said {
        Said::Word(text.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
    }
}

/// What ranking knows of a term.
#[derive(Debug, Clone, PartialEq)]
pub struct TermStyle {
    /// `label`
    pub label: Option<String>,
    /// `weight`, 100 if nothing is said.
    pub weight: i64,
    /// `ranked`
    pub is_ranked: bool,
    /// `filter`
    pub is_filter: bool,
    /// `significance`
    pub significance: Option<f64>,
    /// `documentFrequency`, or that of a [model](super::SignificanceModels); it stands before `significance`.
    pub frequency: Option<DocumentFrequency>,
    /// `id`
    pub id: Option<i64>,
    /// `connectivity`: the `id` of the term that it has to do with, the one before it, and how much.
    pub connectivity: Option<(i64, f64)>,
}

/// What a value must be.
#[derive(Debug, Clone)]
pub enum Test {
    /// A number of a range.
    Range(NumberRange),
    /// One of some whole numbers, in their order.
    Numbers(Vec<i64>),
    /// A text.
    Text {
        /// What it must be.
        test: TextTest,
        /// Whether capitals make a difference.
        is_cased: bool,
    },
    /// One of some texts; [folded](stead_text::fold) unless `is_cased`.
    Texts {
        /// The texts.
        any: HashMap<String, i32>,
        /// Whether capitals make a difference.
        is_cased: bool,
    },
    /// One of some tokens, each with a weight.
    Weighted(WeightedTokens),
    /// A place in a circle.
    Circle(Circle),
    /// A place in a box.
    Box(Box2),
    /// Words, as an index of text has them.
    Indexed(Indexed),
    /// A predicate that is true for one of some queries.
    Predicate(PredicateQuery),
}

/// What an index of text is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// The number of the index among those of the type.
    pub index: usize,
    /// What a text must have.
    pub pattern: Pattern,
}

/// Tokens with weights.
#[derive(Debug, Clone)]
pub struct WeightedTokens {
    /// What becomes of the weights.
    pub sum: Sum,
    /// The tokens.
    pub tokens: Tokens,
}

/// What becomes of the weights of tokens that a document has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sum {
    /// Nothing: one such token is enough.
    Any,
    /// They are multiplied with those of the document and added.
    Product,
    /// The same, and the sum must be above this.
    Above(f64),
}

/// Tokens by their kind.
#[derive(Debug, Clone)]
pub enum Tokens {
    /// Texts; [folded](stead_text::fold) unless `is_cased`.
    Texts {
        /// The texts.
        weights: HashMap<String, i32>,
        /// Whether capitals make a difference.
        is_cased: bool,
    },
    /// Whole numbers.
    Numbers(HashMap<i64, i32>),
}

/// The documents whose vectors are nearest to one of the query.
#[derive(Debug, Clone)]
pub struct NearestNeighbor {
    /// The attribute of vectors.
    pub attribute: String,
    /// `distance-metric` of it.
    pub metric: Option<String>,
    /// The dimensions of each of its vectors.
    pub kind: TensorType,
    /// The name of the query's vector: that of `query(name)`.
    pub input: String,
    /// How many documents.
    pub target_hits: usize,
    /// The greatest distance.
    pub distance_threshold: Option<f64>,
    /// Whether the graph of the attribute may be used, if it has one (`approximate`).
    pub is_approximate: bool,
    /// How many more documents are kept while a graph is searched (`hnsw.exploreAdditionalHits`).
    pub explore: usize,
    /// How a graph is searched.
    pub tuning: TuningChoice,
    /// What features know it by.
    pub label: Option<String>,
    /// The vector, when it is known.
    pub vector: Option<Value>,
}

/// The documents that have most of some parts.
#[derive(Debug, Clone, PartialEq)]
pub struct WeakAnd {
    /// The parts: words, mostly.
    pub parts: Vec<Tree>,
    /// How many documents.
    pub target_hits: usize,
    /// Whether it is a `wand`: its part is a test that adds weights up, and the best are those with the greatest sums.
    pub is_of_sums: bool,
}

/// Tests that one element must pass together.
#[derive(Debug, Clone, PartialEq)]
pub struct SameElement {
    /// The field of several elements.
    pub field: String,
    /// The tests, of attributes of the parts of the field; their `And`, `Or` and `Not` speak of one element.
    pub tree: Box<Tree>,
    /// The elements that count, in their order; none for all.
    pub elements: Vec<u32>,
}

impl TermStyle {
    /// How much the term says in `bm25`, if that does not follow from the documents.
    #[must_use]
    pub fn idf(&self) -> Option<f64> {
        self.frequency.map(DocumentFrequency::idf).or(self.significance)
    }

    /// How rare it is for the other features, the same.
    #[must_use]
    pub fn rarity(&self) -> Option<f64> {
        self.frequency.map(DocumentFrequency::significance).or(self.significance)
    }
}

impl Default for TermStyle {
    fn default() -> TermStyle {
        TermStyle {
            label: None,
            weight: 100,
            is_ranked: true,
            is_filter: false,
            significance: None,
            frequency: None,
            id: None,
            connectivity: None,
        }
    }
}

impl Tree {
    /// All of these, as flat as it can be.
    #[must_use]
    pub fn all(mut list: Vec<Tree>) -> Tree {
        match list.len() {
            1 => list.remove(0),
            _ => Tree::And(list),
        }
    }

    /// One of these, as flat as it can be.
    #[must_use]
    pub fn any(mut list: Vec<Tree>) -> Tree {
        match list.len() {
            1 => list.remove(0),
            _ => Tree::Or(list),
        }
    }
}
