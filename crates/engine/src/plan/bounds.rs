//! What making a plan may cost, whatever a model asks for.

use super::cx::PlanCx;
use super::facts::Facts;
use crate::error::PlanError;

/// The most entries of a table that an operator makes while it is planned, such as where each position of a resized axis lies
/// in the original one. Images have some thousands of positions, sound some millions; a larger table alone would take gigabytes.
const MAX_TABLE: usize = 1 << 24;

/// The most nodes of a plan, those of a body once for each iteration: as many as the longest loop makes of a body of 64 nodes. Loops
/// in loops would otherwise multiply until the memory ends.
const MAX_NODES: usize = 1 << 22;

/// So many copies of elements, or of pointers to parts of them, cost as much as a node: about as long. A loop that appends to a sequence
/// with each iteration takes 21 million for [the most elements](super::MAX_ELEMENTS) of one.
const ELEMENTS_PER_NODE: usize = 8;

impl Facts {
    /// Notes that another node is planned.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when there are too many.
    pub fn spend_node(&mut self) -> Result<(), PlanError> {
        self.spend(ELEMENTS_PER_NODE)
    }

    /// Notes that a sequence is made for so many copies of elements.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when there are too many.
    pub fn spend(&mut self, elements: usize) -> Result<(), PlanError> {
        self.spent = self.spent.saturating_add(elements);
        if self.spent <= MAX_NODES * ELEMENTS_PER_NODE {
            return Ok(());
        }
        Err(PlanError::shape(format!(
            "more than {MAX_NODES} nodes, each counted once for each iteration of the loops around it, or {} copies of elements of sequences \
             cannot be planned",
            MAX_NODES * ELEMENTS_PER_NODE
        )))
    }
}

impl PlanCx<'_> {
    /// That a table of `rows` times `columns` entries may be made.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is too large.
    pub(crate) fn table(&self, rows: usize, columns: usize) -> Result<(), PlanError> {
        match rows.checked_mul(columns) {
            Some(entries) if entries <= MAX_TABLE => Ok(()),
            _ => Err(PlanError::shape(format!(
                "a table of {rows} times {columns} entries; at most {MAX_TABLE} can be planned"
            ))),
        }
    }
}
