//! Rewrites a model whose file ties it to one row so that it takes any number.
//!
//! Exporters that are given one row write its 1 into the graph: `Reshape(x, [1, 12, 64])`, `Squeeze` of the first axis,
//! a token that is joined to each row. Here the graph is followed from its inputs, and of every value it is known along
//! which [axis](Rows) its rows stand; where an operator names that axis's size, the size of the inputs takes its
//! place. An operator that joins what belongs to several rows, or that is not known, is refused with its name. It
//! happens behind all passes. Whoever rewrites a model then [proves](crate::Session::free_batch_of) that rows come out as
//! alone.

mod axes;
mod broadcast;
mod cx;
mod images;
mod parts;
mod recurrent;
mod reshape;
mod rules;
mod trace;

use crate::error::{LoadError, RunError};
use crate::ir::ValueId;
use crate::model::Model;
use cx::Cx;
use trace::Trace;

/// Along which axis the rows of a value stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    /// The axis.
    axis: usize,
    /// How many elements along the axis each row has: 1 unless another axis was merged with it, behind it.
    each: usize,
}

/// Why a model stays tied to one row.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Tied {
    /// An operator does not allow more.
    #[error("{node} {why}")]
    Node {
        /// The node, as messages call it.
        node: String,
        /// What stands in the way.
        why: String,
    },
    /// Rows do not come out.
    #[error("output \"{output}\" {why}")]
    Output {
        /// The output.
        output: String,
        /// What it has instead.
        why: &'static str,
    },
    /// The model does not run with one row.
    #[error("the model does not run with one row: {0}")]
    Run(#[from] RunError),
    /// The model does not load.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Model {
    /// The model with the axes, given as input and axis, and those of all values that follow from them, of any size
    /// where the file fixes them at 1. `shapes` has the shape of each input for one row, or is empty where what the file
    /// says is enough.
    ///
    /// # Errors
    /// [`Tied`], with the first node that does not allow it.
    pub fn untied(mut self, axes: &[(usize, usize)], shapes: &[Vec<usize>]) -> Result<Model, Tied> {
        let trace = Trace::new(&self, axes, shapes)?;
        let inputs: Vec<(ValueId, usize)> = axes
            .iter()
            .filter_map(|(input, axis)| Some((*self.ir.body.inputs.get(*input)?, *axis)))
            .collect();
        let rows = Cx::new(&mut self.ir, trace, &inputs).run()?;
        for (spec, rows) in self.outputs.iter().zip(rows) {
            let why = match rows {
                Some(Rows { each: 1, .. }) => continue,
                Some(_) => "has the elements of all rows along one axis",
                None => "does not depend on the rows",
            };
            return Err(Tied::Output { output: spec.name.clone(), why });
        }
        Ok(self)
    }
}
