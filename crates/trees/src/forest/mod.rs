//! What is computed from a model.

mod columns;
mod compile;
mod predict;
mod program;
mod rows;

pub(crate) use compile::vespa_link;
pub use predict::{PredictError, Scratch};
pub use rows::{Column, Rows};

use crate::link::Link;
use crate::mode::Mode;
use crate::model::{Feature, Model};
use columns::Columns;
use program::Sums;

/// A forest that scores rows. Immutable: any number of threads may use it, each with a
/// [`Scratch`] of its own.
#[derive(Debug)]
pub struct Forest {
    features: Vec<Feature>,
    columns: Columns,
    sums: Sums,
    /// What the sums begin with.
    base: Vec<f64>,
    link: Link,
    divide: f64,
    /// In f32, as XGBoost does.
    narrow: bool,
}

impl Forest {
    /// Compiles a model.
    pub fn new(model: &Model, mode: Mode) -> Forest {
        compile::forest(model, mode)
    }

    /// The columns of a row, in their order. A feature without a name in the file is called as
    /// Vespa's importer calls it, `xgboost_input_3`, or in [`Mode::Exact`] as XGBoost does, `f3`.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Numbers that each row gets: classes or targets, otherwise 1.
    pub fn outputs(&self) -> usize {
        self.link.outputs(self.base.len())
    }
}
