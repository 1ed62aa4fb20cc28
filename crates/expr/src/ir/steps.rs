//! The steps of the nodes of a tree.

use super::faults::unknown;
use crate::error::Fault;
use crate::syntax::Ast;

/// For each node its step, or why it has none. That is an error only where the value is needed: the `title` of
/// `bm25(title)` has none.
#[derive(Default)]
pub(super) struct Steps(Vec<Result<Option<usize>, Fault>>);

impl Steps {
    pub(super) fn push(&mut self, step: Result<Option<usize>, Fault>) {
        self.0.push(step);
    }

    /// The step of a node, if it has one.
    pub(super) fn get(&self, id: usize) -> Option<usize> {
        self.0.get(id)?.as_ref().ok().copied().flatten()
    }

    /// The step of a node that must have one.
    pub(super) fn of(&self, ast: &Ast, id: usize) -> Result<usize, Fault> {
        match self.0.get(id) {
            Some(Ok(Some(step))) => Ok(*step),
            Some(Err(fault)) => Err(fault.clone()),
            _ => Err(unknown(ast, id)),
        }
    }
}
