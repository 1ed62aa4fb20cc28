//! Components that are no Python: those of searches and document processing that are built in, and those that a program which has the
//! server within brings along.

mod parameters;
mod processors;
mod rows;
mod searchers;

pub use parameters::{BuiltInParameter, ParameterKind, ParameterValue, Parameters};

use super::{BindingPattern, ChainKind, Dependencies, Settings};
use crate::package::{Located, Place};

/// A kind of component that is built in: one row says what it is called, what it is given and what it does.
#[derive(Debug, PartialEq)]
pub struct BuiltIn {
    /// Its name: the attribute `type`.
    pub name: &'static str,
    /// What it is given.
    pub parameters: &'static [BuiltInParameter],
    /// What it does.
    pub about: &'static str,
    /// What it reads of operations, or of queries and results.
    pub reads: &'static str,
    /// What it changes of them.
    pub writes: &'static str,
}

impl BuiltIn {
    /// Those of a kind of chains, in the order of the documentation.
    #[must_use]
    pub fn of(kind: ChainKind) -> &'static [BuiltIn] {
        match kind {
            ChainKind::Search => searchers::SEARCHERS,
            ChainKind::DocumentProcessing => processors::PROCESSORS,
        }
    }
}

/// What a component is, by the element that declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeRole {
    /// `handler`: answers requests. None is built in.
    Handler,
    /// `searcher` or `documentprocessor`.
    Chained(ChainKind),
}

impl NativeRole {
    /// The element.
    #[must_use]
    pub fn element(self) -> &'static str {
        match self {
            NativeRole::Handler => "handler",
            NativeRole::Chained(kind) => kind.element(),
        }
    }

    /// The components of this role that are built in.
    #[must_use]
    pub fn built_in(self) -> &'static [BuiltIn] {
        match self {
            NativeRole::Handler => &[],
            NativeRole::Chained(kind) => BuiltIn::of(kind),
        }
    }
}

/// A component that is no Python.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeComponent {
    /// Its id, `name@chain` of one that is declared within a chain.
    pub id: String,
    /// What it is for.
    pub role: NativeRole,
    /// What it is.
    pub what: NativeKind,
    /// The requests that it gets, of a handler.
    pub bindings: Vec<Located<BindingPattern>>,
    /// Where it stands in chains.
    pub dependencies: Dependencies,
    /// Where it is written.
    pub place: Place,
}

/// What such a component is.
#[derive(Debug, Clone, PartialEq)]
pub enum NativeKind {
    /// One that is built in: `type="deduplicate"`.
    BuiltIn(&'static BuiltIn, Parameters),
    /// One that the program has under a name: `native="shop-rank"`.
    Registered(String, Vec<Settings>),
}

impl NativeKind {
    /// What it is called: its `type`, or its name in the program.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            NativeKind::BuiltIn(row, _) => row.name,
            NativeKind::Registered(name, _) => name,
        }
    }
}

#[cfg(test)]
mod tests;
