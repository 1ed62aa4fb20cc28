//! Recurrent layers: rows stand behind the time, or before it.

use super::Rows;
use super::cx::{Cx, Outcome, int};
use crate::ir::Node;

/// RNN, GRU and LSTM.
pub(super) fn layer(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    const LENGTHS: usize = 4;
    const STATES: [usize; 2] = [5, 6];
    let batch_first = int(node, "layout", 0)? != 0;
    let (axis, of_all, of_last) = if batch_first { (0, 0, 0) } else { (1, 2, 1) };
    let Some(Rows { each: 1, .. }) = cx.rows_of(node, 0).filter(|rows| rows.axis == axis) else {
        return Err("takes steps along the axis of the rows".into());
    };
    for (at, own_axis) in STATES.map(|at| (at, of_last)).into_iter().chain([(LENGTHS, 0)]) {
        let Some(id) = node.input(at) else { continue };
        match cx.rows(id) {
            Some(rows) if rows == (Rows { axis: own_axis, each: 1 }) => {}
            None => node.inputs[at] = Some(cx.repeated(id, own_axis)?),
            Some(_) => return Err("has states without rows along their axis".into()),
        }
    }
    let fixed = [1, 2, 3, 7];
    if fixed.iter().any(|at| cx.rows_of(node, *at).is_some()) {
        return Err("takes weights that depend on rows".into());
    }
    let rows = |axis| Some(Rows { axis, each: 1 });
    Ok(vec![rows(of_all), rows(of_last), rows(of_last)])
}
