//! What a query asks for: the tree of [`yql`](crate::yql) checked against a schema.
//!
//! [`build()`] finds what the names of fields and functions mean, gives every value its type, and refuses by name what cannot be answered:
//! a query that runs has no surprises left.

mod build;
mod element_gap;
mod error;
mod fields;
mod geo;
mod numbers;
mod order;
mod predicate;
mod show;
mod significance;
mod simple;
mod sort_spec;
mod stop_words;
mod texts;
mod tree;
mod tuning;

pub use build::{Parameters, build};
pub use element_gap::ElementGaps;
pub use error::{SearchCode, SearchError};
pub use fields::{Searched, Searches};
pub use geo::{Box2, Circle};
pub use numbers::NumberRange;
pub use order::{Missing, OrderBy, OrderKey, SortFunction, sort_order};
pub use predicate::PredicateQuery;
pub use significance::{DocumentFrequency, SignificanceError, SignificanceModels};
pub(crate) use significance::{MOST_BYTES, significance};
pub use stop_words::StopWords;
pub use texts::{Fuzzy, TextTest};
pub use tree::{
    Indexed, Labeled, NearestNeighbor, QueryTree, Said, SameElement, Sum, Term, TermStyle, Test,
    Tokens, Tree, WeakAnd, WeightedTokens,
};
pub use tuning::TuningChoice;
