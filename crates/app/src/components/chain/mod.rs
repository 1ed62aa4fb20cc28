//! Chains of components: what is declared of them, what they inherit, and the order in which they run (Vespa, documentation,
//! `applications/chaining.html`; `ChainSpecification` and `ChainBuilder`).

mod built_in;
mod inherit;
mod order;

pub use built_in::BuiltInChain;
pub use inherit::resolve_chains;

use crate::package::{Located, Place};

/// What a chain is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainKind {
    /// Searchers: they see a query on its way to the documents and the result on its way back.
    Search,
    /// Document processors: they see operations before they are done.
    DocumentProcessing,
}

impl ChainKind {
    /// The element that holds chains of this kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ChainKind::Search => "search",
            ChainKind::DocumentProcessing => "document-processing",
        }
    }

    /// The element of a component in such a chain.
    #[must_use]
    pub fn element(self) -> &'static str {
        match self {
            ChainKind::Search => "searcher",
            ChainKind::DocumentProcessing => "documentprocessor",
        }
    }
}

/// Where a component wants to stand in its chains. Names are of phases or of what components provide; `*` is everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dependencies {
    /// The names that others know it by.
    pub provides: Vec<String>,
    /// It comes before all that provide these.
    pub before: Vec<String>,
    /// It comes after all that provide these.
    pub after: Vec<String>,
}

/// A name that marks a point of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// The name.
    pub name: String,
    /// Phases that it comes before.
    pub before: Vec<String>,
    /// Phases that it comes after.
    pub after: Vec<String>,
    /// Where it is written.
    pub place: Place,
}

/// A component in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainPart {
    /// Its name within chains: what is excluded, and what one of the chain's own replaces.
    pub name: String,
    /// Its id, which is `name@chain` of one that was declared in a chain.
    pub id: String,
    /// Where it is written.
    pub place: Place,
}

/// A chain as it is declared.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainDefinition {
    /// Its id.
    pub id: String,
    /// Where it is written.
    pub place: Place,
    /// The chains that it inherits from.
    pub inherits: Vec<Located<String>>,
    /// The names of components that it does not want of these.
    pub excludes: Vec<Located<String>>,
    /// Its own phases.
    pub phases: Vec<Phase>,
    /// Its own components, in the order in which they are written.
    pub parts: Vec<ChainPart>,
}

/// A chain with all its components in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub kind: ChainKind,
    /// Its components by their ids; those of stead itself are not among them.
    pub components: Vec<String>,
    /// How many of the components come before the work of the chain itself is done: the documents are searched, or the scripts of
    /// fields are run. The others come behind it.
    pub before_work: usize,
    /// Whether it runs the scripts of fields, as chains do that inherit `indexing`.
    pub indexes: bool,
    /// Where it is written.
    pub place: Place,
}
