//! Recurrent cells and sequences.
//!
//! A sequence has the batch first, as ONNX's layers with `layout` 1; a cell is a layer of one step with the batch second.
//! Gates lie in the order f i c o of an LSTM, where ONNX has i o f c; those of a GRU are alike.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// A kind of cell.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Rnn,
    Gru,
    Lstm,
}

impl Cell {
    const fn op(self) -> &'static str {
        match self {
            Cell::Rnn => "RNN",
            Cell::Gru => "GRU",
            Cell::Lstm => "LSTM",
        }
    }

    const fn gates(self) -> usize {
        match self {
            Cell::Rnn => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    const fn states(self) -> usize {
        if matches!(self, Cell::Lstm) { 2 } else { 1 }
    }

    const fn activations(self) -> &'static [&'static str] {
        match self {
            Cell::Rnn => &["tanh"],
            Cell::Gru => &["sigmoid", "tanh"],
            Cell::Lstm => &["sigmoid", "tanh", "tanh"],
        }
    }
}

/// Gates of an LSTM as ONNX has them, by their place here.
const LSTM_ORDER: [usize; 4] = [1, 3, 0, 2];

pub(in crate::openvino) fn lstm_cell(cx: &mut Cx<'_, '_>) -> Lowered {
    cell(cx, Cell::Lstm)
}

pub(in crate::openvino) fn gru_cell(cx: &mut Cx<'_, '_>) -> Lowered {
    cell(cx, Cell::Gru)
}

pub(in crate::openvino) fn rnn_cell(cx: &mut Cx<'_, '_>) -> Lowered {
    cell(cx, Cell::Rnn)
}

pub(in crate::openvino) fn lstm_sequence(cx: &mut Cx<'_, '_>) -> Lowered {
    sequence(cx, Cell::Lstm)
}

pub(in crate::openvino) fn gru_sequence(cx: &mut Cx<'_, '_>) -> Lowered {
    sequence(cx, Cell::Gru)
}

pub(in crate::openvino) fn rnn_sequence(cx: &mut Cx<'_, '_>) -> Lowered {
    sequence(cx, Cell::Rnn)
}

/// What the attributes say, for one direction or two.
fn attributes(
    cx: &Cx<'_, '_>,
    cell: Cell,
    directions: usize,
) -> Result<Vec<(&'static str, AttributeValue)>, Refusal> {
    let mut attributes = vec![("hidden_size", cx.int("hidden_size")?.into())];
    for name in ["activations_alpha", "activations_beta"] {
        if !cx.words(name).is_empty() {
            return refuse(format!("{name}: parameters of activations are not read"));
        }
    }
    if cx.flag_or("input_forget", false)? {
        return refuse("input_forget");
    }
    let named = cx.words("activations");
    let names: Vec<&str> = if named.is_empty() {
        cell.activations().to_vec()
    } else {
        named.iter().map(String::as_str).collect()
    };
    if names.len() != cell.activations().len() {
        return refuse(format!("{} activations", names.len()));
    }
    let bytes = |name: &&str| {
        let mut letters = name.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>().into_bytes()
    };
    let known = ["sigmoid", "tanh", "relu"];
    if let Some(other) = names.iter().find(|name| !known.contains(name)) {
        return refuse(format!("activation {other:?}"));
    }
    let all: Vec<Vec<u8>> = (0..directions).flat_map(|_| names.iter().map(bytes)).collect();
    attributes.push(("activations", AttributeValue::Strings(all)));
    let clip = cx.float_or("clip", 0.0)? as f32;
    if clip > 0.0 && clip.is_finite() {
        attributes.push(("clip", clip.into()));
    }
    if cell == Cell::Gru {
        attributes.push(("linear_before_reset", cx.flag_or("linear_before_reset", false)?.into()));
    }
    Ok(attributes)
}

/// Weights `[directions, gates hidden, n]` or biases `[directions, gates hidden]` with gates in the order of ONNX.
fn gates(cx: &mut Cx<'_, '_>, cell: Cell, value: &str) -> String {
    if cell != Cell::Lstm {
        return value.to_owned();
    }
    let attributes = [("axis", 1i64.into()), ("num_outputs", 4i64.into())];
    let parts = cx.make.node_of("Split", &[value], 4, &attributes);
    let ordered: Vec<&str> =
        LSTM_ORDER.iter().filter_map(|&at| parts.get(at).map(String::as_str)).collect();
    cx.make.node_with("Concat", &ordered, &[("axis", 1i64.into())])
}

/// The bias `[directions, gates hidden]`, or one more gate where a GRU has it before the reset, as the two of ONNX.
fn bias(
    cx: &mut Cx<'_, '_>,
    cell: Cell,
    value: &str,
    dtype: DType,
    directions: usize,
    hidden: usize,
) -> Result<String, Refusal> {
    let before_reset = cell == Cell::Gru && cx.flag_or("linear_before_reset", false)?;
    let sizes = |gates: usize| [directions as i64, gates.saturating_mul(hidden) as i64];
    let axis = [("axis", AttributeValue::Int(1))];
    if before_reset {
        let none = cx.zeros(dtype, &sizes(2))?;
        let three = (hidden as i64).saturating_mul(3);
        let (from, to) = (cx.make.ints(&[0])?, cx.make.ints(&[three])?);
        let (axes, end) = (cx.make.ints(&[1])?, cx.make.ints(&[i64::MAX])?);
        let of_input = cx.make.node("Slice", &[value, &from, &to, &axes]);
        let of_state = cx.make.node("Slice", &[value, &to, &end, &axes]);
        return Ok(cx.make.node_with("Concat", &[&of_input, &none, &of_state], &axis));
    }
    let none = cx.zeros(dtype, &sizes(cell.gates()))?;
    let value = gates(cx, cell, value);
    Ok(cx.make.node_with("Concat", &[&value, &none], &axis))
}

/// The size of a known dimension of an input.
fn size(cx: &Cx<'_, '_>, at: usize, axis: usize) -> Option<usize> {
    cx.dims(at).ok().and_then(|dims| dims.get(axis).copied().flatten())
}

fn hidden(cx: &Cx<'_, '_>) -> Result<usize, Refusal> {
    let size = cx.int("hidden_size")?;
    let size = usize::try_from(size).ok().filter(|n| (1..=1 << 20).contains(n));
    size.ok_or_else(|| Refusal("hidden_size is out of range".into()))
}

fn sequence(cx: &mut Cx<'_, '_>, cell: Cell) -> Lowered {
    let direction = cx.one_of("direction", &["forward", "reverse", "bidirectional"])?;
    let directions = if direction == "bidirectional" { 2 } else { 1 };
    let mut attributes = attributes(cx, cell, directions)?;
    attributes.push(("direction", direction.into()));
    attributes.push(("layout", 1i64.into()));
    let hidden = hidden(cx)?;
    let states = cell.states();
    let at = 1 + states;
    let x = cx.input(0)?;
    let lengths = lengths(cx, at)?;
    let (w, r, b) = (cx.input(at + 1)?, cx.input(at + 2)?, cx.input(at + 3)?);
    let (w, r) = (gates(cx, cell, &w), gates(cx, cell, &r));
    let dtype = cx.dtype(0)?;
    let b = bias(cx, cell, &b, dtype, directions, hidden)?;
    let first: Vec<String> = (1..=states).map(|i| cx.input(i)).collect::<Result<_, _>>()?;
    let mut inputs = vec![x.as_str(), &w, &r, &b, &lengths];
    inputs.extend(first.iter().map(String::as_str));
    let mut outputs = cx.make.node_of(cell.op(), &inputs, 1 + states, &attributes);
    if let Some(all) = outputs.first_mut() {
        // [batch, steps, directions, hidden] in ONNX.
        *all = cx.make.node_with("Transpose", &[all], &[("perm", [0i64, 2, 1, 3].into())]);
    }
    Ok(outputs)
}

/// The valid steps of each row; absent where all are.
fn lengths(cx: &mut Cx<'_, '_>, at: usize) -> Result<String, Refusal> {
    let steps = size(cx, 0, 1);
    if let Ok(values) = cx.const_ints(at)
        && steps.is_some_and(|steps| values.iter().all(|&n| n == steps as i64))
    {
        return Ok(String::new());
    }
    let value = cx.input(at)?;
    Ok(if cx.dtype(at)? == DType::I32 { value } else { cx.cast(&value, DType::I32) })
}

fn cell(cx: &mut Cx<'_, '_>, cell: Cell) -> Lowered {
    let attributes = attributes(cx, cell, 1)?;
    let hidden = hidden(cx)?;
    let states = cell.states();
    let at = 1 + states;
    if cx.inputs.len() > at + 3 {
        return refuse("peepholes of opset1");
    }
    let x = cx.input(0)?;
    let x = cx.unsqueeze(&x, &[0])?;
    let mut weights = Vec::new();
    for i in at..at + 2 {
        let value = cx.input(i)?;
        let value = cx.unsqueeze(&value, &[0])?;
        weights.push(gates(cx, cell, &value));
    }
    let b = match cx.optional(at + 2) {
        None => String::new(),
        Some(value) => {
            let dtype = cx.dtype(0)?;
            let value = cx.unsqueeze(&value, &[0])?;
            bias(cx, cell, &value, dtype, 1, hidden)?
        }
    };
    let mut first = Vec::new();
    for i in 1..=states {
        let value = cx.input(i)?;
        first.push(cx.unsqueeze(&value, &[0])?);
    }
    let mut inputs = vec![x.as_str()];
    inputs.extend(weights.iter().map(String::as_str));
    inputs.extend([b.as_str(), ""]);
    inputs.extend(first.iter().map(String::as_str));
    let outputs = cx.make.node_of(cell.op(), &inputs, 1 + states, &attributes);
    let last: Vec<String> = outputs.into_iter().skip(1).collect();
    last.iter().map(|value| cx.squeeze(value, &[0])).collect()
}
