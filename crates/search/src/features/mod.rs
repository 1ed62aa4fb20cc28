//! Rank features that are computed: one function makes each from its name, by the table of
//! [`RANK_FEATURES`](stead_app::application::rank::RANK_FEATURES).

mod attribute;
mod attribute_match;
mod bm25;
mod default;
mod distance;
mod document_frequency;
mod dot_product;
mod element_completeness;
mod element_similarity;
mod elements;
mod exactness;
mod field_match;
mod foreach;
mod labels;
mod listed;
mod matched;
mod native;
mod native_dot_product;
mod neighbor;
mod path;
mod place;
mod query_terms;
mod rand48;
mod random;
mod registry;
mod structs;
mod subqueries;
mod terms;
mod text;
mod text_similarity;
mod time;
mod tokens;

use std::collections::HashMap;
use std::ops::Range;

use stead_app::application::rank::FeatureName;
use stead_expr::{Attribute, TensorType, Value};
use stead_store::{AttributeView, Column, Cursor, DataType, DocumentType, ManyColumn, View};

use crate::columns::{Computed, Rows};
use crate::matching::Matcher;
use crate::rank::RankQuery;

pub(crate) use attribute::in_place;
pub(crate) use listed::listed;
pub(crate) use place::{kilometres, places};
pub(crate) use registry::build;
pub use registry::{How, find};

/// A feature as an expression names it.
#[derive(Debug)]
pub struct Call<'c> {
    /// Its parts.
    pub name: FeatureName<'c>,
    /// The type that expressions know it by.
    pub kind: &'c TensorType,
    /// `rank-properties` of the profile.
    pub properties: &'c HashMap<String, String>,
    /// The documents that it will be computed for.
    pub documents: &'c DocumentType,
    /// How the profile ranks fields, by their names.
    pub fields: &'c HashMap<String, FieldRanking>,
}

/// How a profile ranks a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRanking {
    /// `weight`
    pub weight: i64,
    /// `rank: filter`
    pub is_filter: bool,
    /// `element-gap`; nothing if elements have nothing to do with each other.
    pub element_gap: Option<u32>,
    /// `rank-type`
    pub rank_type: Option<String>,
}

impl Default for FieldRanking {
    /// What is said of no field (`weight: 100`).
    fn default() -> FieldRanking {
        FieldRanking { weight: 100, is_filter: false, element_gap: None, rank_type: None }
    }
}

/// A feature that can be computed.
pub struct Feature {
    /// The expressions whose values it takes.
    pub arguments: Vec<String>,
    /// How it is computed.
    pub run: Run,
    /// What whoever ranks should know of it.
    pub note: Option<Note>,
}

/// What whoever ranks should know of a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What there is to say behind its name.
    pub text: String,
    /// Whether that is so only for queries that do not ask for neighbors.
    pub without_neighbors: bool,
    /// Whether that is so in searches too, which have terms of a query and indexes.
    pub in_searches: bool,
}

/// How a feature is computed.
pub enum Run {
    /// Once for a query.
    Query(QueryFeature),
    /// For documents.
    Documents(DocumentFeature),
    /// Never: it is always this.
    Always(Value),
}

/// Computes a value of a query.
pub type QueryFeature = Box<dyn Fn(&QueryContext<'_>) -> Result<Value, String> + Send + Sync>;

/// Computes a value for each of some documents.
pub type DocumentFeature =
    Box<dyn Fn(&DocumentContext<'_>) -> Result<Computed, String> + Send + Sync>;

/// What features know of a query.
#[derive(Debug, Clone, Copy)]
pub struct QueryContext<'c> {
    /// The query.
    pub query: &'c RankQuery,
    /// Seconds since 1970.
    pub now: f64,
    /// Where chance begins.
    pub seed: u64,
    /// All documents.
    pub documents: &'c View,
    /// The terms of the query, if documents were matched with it.
    pub matcher: Option<&'c Matcher<'c>>,
}

/// What features of documents know.
#[derive(Debug)]
pub struct DocumentContext<'c> {
    /// The query.
    pub query: QueryContext<'c>,
    /// The documents for which values are wanted.
    pub rows: &'c Rows<'c>,
    /// The values of the arguments.
    pub arguments: &'c [Argument<'c>],
}

/// The value of an argument.
#[derive(Debug)]
pub enum Argument<'c> {
    /// One for the query.
    Query(&'c Value),
    /// One for each of the documents.
    Documents(Attribute<'c>, &'c TensorType),
}

impl Feature {
    fn documents(
        run: impl Fn(&DocumentContext<'_>) -> Result<Computed, String> + Send + Sync + 'static,
    ) -> Feature {
        Feature { arguments: Vec::new(), run: Run::Documents(Box::new(run)), note: None }
    }

    fn query(
        run: impl Fn(&QueryContext<'_>) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Feature {
        Feature { arguments: Vec::new(), run: Run::Query(Box::new(run)), note: None }
    }

    fn always(value: Value) -> Feature {
        Feature { arguments: Vec::new(), run: Run::Always(value), note: None }
    }

    /// This feature, with the note of what it is where documents are ranked without a query.
    fn noted(self, usual: Feature) -> Feature {
        Feature { note: usual.note.map(|note| Note { in_searches: false, ..note }), ..self }
    }
}

impl Call<'_> {
    /// A number of `rank-properties`: `feature(argument).name`.
    fn property(&self, name: &str) -> Option<f64> {
        self.property_text(name).and_then(|text| text.parse().ok())
    }

    /// The same as a text.
    fn property_text(&self, name: &str) -> Option<&str> {
        self.properties.get(&format!("{}.{name}", self.base())).map(|text| text.trim())
    }

    /// The name without its output.
    fn base(&self) -> String {
        match self.name.arguments.is_empty() {
            true => self.name.name.to_owned(),
            false => format!("{}({})", self.name.name, self.name.arguments.join(",")),
        }
    }

    /// How a field is ranked.
    fn field(&self, name: &str) -> FieldRanking {
        self.fields.get(name).cloned().unwrap_or_default()
    }

    fn argument(&self, at: usize) -> &str {
        self.name.argument(at).unwrap_or_default()
    }
}

/// The elements of an attribute of several values, for documents one after the other.
struct ElementsOf<'c> {
    values: Cursor<'c>,
}

impl ElementsOf<'_> {
    /// The column that has the elements of a document, and their places there.
    fn at(&mut self, document: u32) -> Result<Option<(&ManyColumn, Range<usize>)>, String> {
        Ok(match self.values.at(document).map_err(|e| e.to_string())? {
            Some((Column::Many(many), row)) => Some((many, many.places(row))),
            _ => None,
        })
    }
}

impl<'c> DocumentContext<'c> {
    /// The values of an attribute.
    fn column(&self, name: &str) -> Result<AttributeView<'c>, String> {
        let found = self.query.documents.attribute(name);
        found.ok_or_else(|| format!("documents have no values of attribute {name}"))
    }

    /// The elements of an attribute of several values.
    fn elements(&self, name: &str) -> Result<ElementsOf<'c>, String> {
        let values = self.column(name)?;
        match values.about().kind {
            DataType::Array(_) | DataType::WeightedSet(_) => {
                Ok(ElementsOf { values: values.cursor_over(self.rows.iter()) })
            }
            _ => Err(format!("attribute {name} has no elements")),
        }
    }

    /// A number for each document.
    fn numbers(&self, number: impl Fn(u32) -> f64) -> Computed {
        Computed::Numbers(self.rows.iter().map(number).collect())
    }

    /// The same of what may fail.
    fn try_numbers(
        &self,
        number: impl FnMut(u32) -> Result<f64, String>,
    ) -> Result<Computed, String> {
        self.rows.iter().map(number).collect::<Result<_, _>>().map(Computed::Numbers)
    }

    /// A number for each document, by the column that has its value and the row in it.
    fn numbers_of(
        &self,
        values: AttributeView<'_>,
        number: impl Fn(Option<(&Column, usize)>) -> f64,
    ) -> Result<Computed, String> {
        let mut values = values.cursor_over(self.rows.iter());
        self.try_numbers(|document| Ok(number(values.at(document).map_err(|e| e.to_string())?)))
    }

    /// A tensor for each document, by the column that has its value and the row in it.
    fn tensors_of(
        &self,
        kind: &TensorType,
        values: AttributeView<'_>,
        tensor: impl Fn(Option<(&Column, usize)>) -> Result<Value, String>,
    ) -> Result<Computed, String> {
        let mut values = values.cursor_over(self.rows.iter());
        self.tensors(kind, |document| tensor(values.at(document).map_err(|e| e.to_string())?))
    }

    /// A tensor for each document.
    fn tensors(
        &self,
        kind: &TensorType,
        mut tensor: impl FnMut(u32) -> Result<Value, String>,
    ) -> Result<Computed, String> {
        let mut computed = Computed::new(kind);
        for document in self.rows.iter() {
            if !computed.push(&tensor(document)?) {
                return Err(format!("more blocks than a column of {kind} holds"));
            }
        }
        Ok(computed)
    }
}
