//! Writes the one node that an unrolled recurrence becomes, and what it takes and gives.

use super::cell::is_zero_row;
use super::chain::Chain;
use super::law::{Gate, Kind, Law, State};
use super::linear::Factor;
use crate::error::LoadError;
use crate::ir::{Ir, Node, NodeMaker, ValueId};
use std::sync::Arc;
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

/// The nodes in the place of a chain. Every state keeps its value.
pub(super) fn roll(
    ir: &mut Ir,
    label: &Arc<str>,
    chain: &Chain,
    wants_cell: bool,
) -> Result<Vec<Node>, LoadError> {
    let (Some(first), Some(last)) = (chain.cells.first(), chain.cells.last()) else {
        return Ok(Vec::new());
    };
    let law = &first.law;
    let hidden = law.hidden();
    let batch_first = chain.xs.iter().flatten().count() == chain.xs.len()
        && chain.xs.iter().flatten().all(|rows| rows.axis == 1);
    let weights = Weights::new(ir, law, first.xs.len())?;
    let mut maker = NodeMaker::new(ir, label);
    let mut x = input(&mut maker, chain, batch_first)?;
    let mut states = [None; 2];
    if let Some(initial) =
        chain.initial.filter(|state| !starts_with_zeros(maker.ir, *state, &weights))
    {
        let one = maker.ints(&[1])?;
        // Of input and state either may be one row for all of the other's.
        let rows = maker.size(first.xs[0], 0);
        let own_rows = maker.size(initial.h, 0);
        let parts = if batch_first { [own_rows, one, one] } else { [one, own_rows, one] };
        let wide = maker.concat(&parts, 0);
        x = maker.expand(x, wide);
        let width = maker.ints(&[hidden as i64])?;
        let wide = maker.concat(&[rows, width], 0);
        for (to, from) in states.iter_mut().zip([initial.h, initial.c]) {
            let state = maker.expand(from, wide);
            *to = Some(maker.unsqueeze(state, i64::from(batch_first))?);
        }
    }
    let Weights { w, r, b } = weights;
    let [w, r, b] = [w, r, b].map(|tensor| maker.ir.add_constant(tensor));
    let is_lstm = law.kind == Kind::Lstm;
    let mut inputs = vec![Some(x), Some(w), Some(r), Some(b), None, states[0]];
    if is_lstm {
        inputs.push(states[1]);
    }
    let mut attributes = maker.attributes();
    attributes.set("hidden_size", AttributeValue::Int(hidden as i64));
    attributes.set("layout", AttributeValue::Int(i64::from(batch_first)));
    let names = |names: &[&str]| {
        AttributeValue::Strings(names.iter().map(|name| name.as_bytes().to_vec()).collect())
    };
    let op = match law.kind {
        Kind::Rnn(f) => {
            attributes.set("activations", names(&[f.name()]));
            "RNN"
        }
        Kind::Gru { linear_before_reset, candidate } => {
            attributes.set("activations", names(&["Sigmoid", candidate.name()]));
            let flag = AttributeValue::Int(i64::from(linear_before_reset));
            attributes.set("linear_before_reset", flag);
            "GRU"
        }
        Kind::Lstm => "LSTM",
    };
    let all = maker.ir.add_value(DType::F32);
    let mut node = maker.ir.node(label, (op, 14), inputs, all, attributes);
    let cell = (is_lstm && wants_cell).then(|| maker.ir.add_value(DType::F32));
    if cell.is_some() {
        node.outputs.extend([None, cell]);
    }
    maker.nodes.push(node);
    // [batch, steps, 1, hidden] or [steps, 1, batch, hidden].
    let all = maker.squeeze(all, if batch_first { 2 } else { 1 })?;
    for (step, cell) in chain.cells.iter().enumerate() {
        maker.row_into(all, step as i64, usize::from(batch_first), cell.after.h)?;
    }
    if let Some(cell) = cell {
        maker.row_into(cell, 0, usize::from(batch_first), last.after.c)?;
    }
    Ok(maker.nodes)
}

/// What comes into all steps, `[batch, steps, n]` or `[steps, batch, n]`.
fn input(
    maker: &mut NodeMaker<'_>,
    chain: &Chain,
    batch_first: bool,
) -> Result<ValueId, LoadError> {
    let mut parts = Vec::new();
    let time = usize::from(batch_first);
    for (at, x) in chain.xs.iter().enumerate() {
        if let Some(rows) = x.as_ref().filter(|rows| rows.axis == time) {
            parts.push(maker.gather(rows.source, &rows.indices, time)?);
            continue;
        }
        let mut slices = Vec::new();
        for id in chain.cells.iter().filter_map(|cell| cell.xs.get(at)) {
            slices.push(maker.unsqueeze(*id, 0)?);
        }
        parts.push(maker.concat(&slices, 0));
    }
    Ok(maker.concat(&parts, 2))
}

/// Whether a state can be left out: zeros, of which nothing comes as long as the weights are finite.
fn starts_with_zeros(ir: &Ir, state: State, weights: &Weights) -> bool {
    let is_zero = |id| ir.constant(Some(id)).is_some_and(is_zero_row);
    is_zero(state.h) && is_zero(state.c) && weights.are_finite()
}

/// The weights as ONNX has them.
struct Weights {
    /// `[1, gates hidden, input]`.
    w: Tensor,
    /// `[1, gates hidden, hidden]`.
    r: Tensor,
    /// `[1, 2 gates hidden]`.
    b: Tensor,
}

impl Weights {
    fn new(ir: &Ir, law: &Law, xs: usize) -> Result<Weights, LoadError> {
        let hidden = law.hidden();
        let rows = law.gates.len() * hidden;
        let mut widths = vec![0; xs];
        for (at, factor) in law.gates.iter().flat_map(|gate| &gate.x) {
            widths[*at] = factor.rows.len();
        }
        let starts: Vec<usize> = (0..xs).map(|at| widths.iter().take(at).sum::<usize>()).collect();
        let wide: usize = widths.iter().sum();
        let (mut w, mut r) = (vec![0.0f32; rows * wide], vec![0.0f32; rows * hidden]);
        let mut b = vec![0.0f32; 2 * rows];
        for (number, gate) in law.gates.iter().enumerate() {
            let first = number * hidden;
            let sign = if gate.negated { -1.0 } else { 1.0 };
            for (at, factor) in &gate.x {
                add(ir, factor, sign, &mut w[first * wide..], wide, starts[*at])?;
            }
            for factor in &gate.h {
                add(ir, factor, sign, &mut r[first * hidden..], hidden, 0)?;
            }
            let Gate { bias, recurrent_bias, .. } = gate;
            for (to, from) in [(first, bias), (rows + first, recurrent_bias)] {
                b[to..to + hidden].iter_mut().zip(from).for_each(|(to, from)| *to = sign * from);
            }
        }
        Ok(Weights {
            w: Tensor::from_slice(&w, &[1, rows, wide])?,
            r: Tensor::from_slice(&r, &[1, rows, hidden])?,
            b: Tensor::from_slice(&b, &[1, 2 * rows])?,
        })
    }

    fn are_finite(&self) -> bool {
        let finite =
            |t: &Tensor| t.as_slice::<f32>().is_ok_and(|v| v.iter().all(|x| x.is_finite()));
        finite(&self.r)
    }
}

/// Adds the transpose of a factor to the columns from `start` on of rows of `wide` numbers.
fn add(
    ir: &Ir,
    factor: &Factor,
    sign: f32,
    to: &mut [f32],
    wide: usize,
    start: usize,
) -> Result<(), LoadError> {
    let Some(weight) = ir.constant(Some(factor.weight)) else { return Ok(()) };
    let (values, row) = (weight.as_slice::<f32>()?, weight.shape()[1]);
    let scale = sign * factor.alpha;
    for (col, to) in factor.cols.clone().zip(to.chunks_exact_mut(wide)) {
        for (k, to) in factor.rows.clone().zip(&mut to[start..]) {
            let at = if factor.transposed { col * row + k } else { k * row + col };
            *to += scale * values[at];
        }
    }
    Ok(())
}
