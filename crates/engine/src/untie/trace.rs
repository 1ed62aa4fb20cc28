//! What a run with one row shows: the shapes of all values, and the numbers in small ones.

use super::Tied;
use crate::error::RunError;
use crate::ir::{Ir, ValueId};
use crate::model::{IoSpec, Model};
use crate::session::{RunContext, Session, SessionOptions, Trial};
use std::collections::HashMap;
use stead_tensor::{DType, Tensor, TensorView};

/// Values of more elements are no shapes, axes or positions.
const MAX_INTS: usize = 64;

/// What a value was.
struct Seen {
    dims: Vec<usize>,
    ints: Option<Vec<i64>>,
}

/// What the values of the main graph were.
pub(super) struct Trace {
    seen: HashMap<ValueId, Seen>,
}

impl Trace {
    /// Runs the model with one row, with every value as an output.
    pub(super) fn new(
        model: &Model,
        axes: &[(usize, usize)],
        shapes: &[Vec<usize>],
    ) -> Result<Trace, Tied> {
        let mut open = model.clone();
        let nodes = open.ir.body.nodes.iter();
        open.ir.body.outputs =
            nodes.flat_map(|node| node.outputs.iter().flatten().copied()).collect();
        open.outputs = open.ir.body.outputs.iter().map(|id| spec(&open.ir, *id)).collect();
        let ids = open.ir.body.outputs.clone();
        let session = Session::new(open, &SessionOptions::default())?;
        let trial = Trial { axes, shapes };
        let below = trial.accepted(&session)?;
        let below = below.first().ok_or(RunError::Internal("a trial without inputs"))?;
        let given = trial.row(session.model().inputs(), 0, below).map_err(RunError::from)?;
        let views: Vec<_> = given.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
        let mut seen = HashMap::new();
        session.run_with(&views, &RunContext::default(), |outputs| {
            for (at, id) in ids.iter().enumerate() {
                seen.insert(*id, Seen::of(&outputs.get(at)?));
            }
            Ok::<(), RunError>(())
        })??;
        for (id, view) in model.ir.body.inputs.iter().zip(&views) {
            if let Some(view) = view {
                seen.insert(*id, Seen::of(view));
            }
        }
        Ok(Trace { seen })
    }

    /// The shape of a value.
    pub(super) fn dims(&self, ir: &Ir, id: ValueId) -> Option<Vec<usize>> {
        match ir.constant(Some(id)) {
            Some(tensor) => Some(tensor.shape().to_vec()),
            None => self.seen.get(&id).map(|seen| seen.dims.clone()),
        }
    }

    /// The whole numbers in a value of few.
    pub(super) fn ints(&self, ir: &Ir, id: ValueId) -> Option<Vec<i64>> {
        match ir.constant(Some(id)) {
            Some(tensor) => ints(&tensor.view()),
            None => self.seen.get(&id)?.ints.clone(),
        }
    }
}

impl Seen {
    fn of(view: &TensorView<'_>) -> Seen {
        Seen { dims: view.shape().to_vec(), ints: ints(view) }
    }
}

fn ints(view: &TensorView<'_>) -> Option<Vec<i64>> {
    if view.shape().elements() > MAX_INTS {
        return None;
    }
    match view.dtype() {
        DType::I64 => view.as_slice::<i64>().ok().map(<[i64]>::to_vec),
        DType::I32 => Some(view.as_slice::<i32>().ok()?.iter().map(|n| i64::from(*n)).collect()),
        _ => None,
    }
}

fn spec(ir: &Ir, id: ValueId) -> IoSpec {
    IoSpec { name: id.index().to_string(), dtype: ir.value(id).dtype, dims: None, optional: false }
}
