//! RNN, GRU, LSTM.

use super::SINGLE;
use super::precision;
use super::recurrent_functions::functions;
use super::recurrent_weights::{Packed, Side, packed};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{
    NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, TypeSet, plan_fn, product_flops,
};
use std::sync::Arc;
use stead_kernels::gemm::{MatRef, Rhs};
use stead_kernels::rnn::{
    self, Direction, Function, Inputs, Kind, Layout, Recurrent, Results, Sizes,
};
use stead_tensor::{DType, Shape};

const LENGTHS: TypeSet = TypeSet::of(&[DType::I32]);

const INPUTS: [Param; 8] = [
    Param::required(1, SINGLE),
    Param::required(1, SINGLE),
    Param::required(1, SINGLE),
    Param::optional(1, SINGLE),
    Param::optional(0, LENGTHS),
    Param::optional(1, SINGLE),
    Param::optional(1, SINGLE),
    Param::optional(1, SINGLE),
];
/// Weights that may be bytes, and then have a scale for each row.
const BYTES: Param = Param::required(0, TypeSet::of(&[DType::F32, DType::I8]));
const SCALES: Param = Param::optional(1, SINGLE);
const IN_BYTES: [Param; 10] = {
    let [x, _, _, bias, lengths, h, c, peepholes] = INPUTS;
    [x, BYTES, BYTES, bias, lengths, h, c, peepholes, SCALES, SCALES]
};
const OUTPUTS: [Out; 3] = [Out::Like(0), Out::Like(0), Out::Like(0)];

/// RNN, GRU and LSTM; those of `stead` are made by the pass for quantised layers.
pub const OPS: &[OpDef] = &[
    OpDef::new("RNN", INPUTS.split_at(6).0, OUTPUTS.split_at(2).0, build),
    OpDef::new("GRU", INPUTS.split_at(6).0, OUTPUTS.split_at(2).0, build),
    OpDef::new("LSTM", &INPUTS, &OUTPUTS, build),
    OpDef::new("RNN", &IN_BYTES, OUTPUTS.split_at(2).0, build).domain("stead"),
    OpDef::new("GRU", &IN_BYTES, OUTPUTS.split_at(2).0, build).domain("stead"),
    OpDef::new("LSTM", &IN_BYTES, &OUTPUTS, build).domain("stead"),
];

/// What a node says about its layer.
#[derive(Clone)]
struct Layer {
    kind: Kind,
    /// Whether each direction runs backwards.
    reverse: Vec<bool>,
    /// For each direction.
    functions: Vec<[Function; 3]>,
    clip: Option<f32>,
    hidden: Option<usize>,
    batch_first: bool,
    input: Option<Arc<Packed>>,
    recurrent: Option<Arc<Packed>>,
}

fn kind(spec: &NodeSpec<'_>) -> Result<Kind, BuildError> {
    let attributes = spec.attributes();
    Ok(match spec.op_type() {
        "RNN" => Kind::Rnn,
        "GRU" => {
            Kind::Gru { linear_before_reset: attributes.bool_or("linear_before_reset", false)? }
        }
        _ => Kind::Lstm { input_forget: attributes.bool_or("input_forget", false)? },
    })
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let kind = kind(spec)?;
    let reverse = match attributes.string_or("direction", "forward")? {
        "forward" => vec![false],
        "reverse" => vec![true],
        "bidirectional" => vec![false, true],
        other => return Err(BuildError::unsupported(format!("direction \"{other}\""))),
    };
    let hidden = match attributes.int("hidden_size")? {
        None => None,
        Some(v) => Some(usize::try_from(v).ok().filter(|&v| v > 0).ok_or_else(|| {
            BuildError::unsupported(format!("hidden_size {v}; supported: 1 and more"))
        })?),
    };
    let layer = Layer {
        kind,
        functions: functions(attributes, kind, reverse.len())?,
        reverse,
        clip: attributes.float("clip")?.filter(|c| *c > 0.0),
        hidden,
        batch_first: attributes.bool_or("layout", false)?,
        input: packed(spec, kind, Side::Input)?,
        recurrent: packed(spec, kind, Side::Recurrent)?,
    };
    plan_fn(move |cx| plan(cx, &layer))
}

fn resolve(cx: &PlanCx<'_>, layer: &Layer) -> Result<Sizes, PlanError> {
    let (x, w, r) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
    let (directions, gates) = (layer.reverse.len(), layer.kind.gates());
    let fail = || {
        PlanError::shape(format!(
            "a layer of {directions} directions over {x} with weights {w} and {r}"
        ))
    };
    let (&[first, second, input], &[.., hidden]) = (x.dims(), r.dims()) else {
        return Err(fail());
    };
    let (steps, batch) = if layer.batch_first { (second, first) } else { (first, second) };
    let wide = hidden.checked_mul(gates).ok_or_else(fail)?;
    let fits = w.dims() == [directions, wide, input]
        && r.dims() == [directions, wide, hidden]
        && layer.hidden.is_none_or(|h| h == hidden)
        && hidden > 0;
    if !fits {
        return Err(fail());
    }
    let sizes = Sizes { steps, batch, input, hidden, directions, batch_first: layer.batch_first };
    let check = |index: usize, dims: &[usize]| {
        if cx.has_input(index) && cx.shape(index)?.dims() != dims {
            let actual = cx.shape(index)?;
            return Err(PlanError::shape(format!(
                "input {index}: {dims:?} expected, got {actual}"
            )));
        }
        Ok(())
    };
    let state = state_dims(&sizes);
    check(3, &[directions, 2 * wide])?;
    check(4, &[batch])?;
    check(5, &state)?;
    check(6, &state)?;
    check(7, &[directions, 3 * hidden])?;
    Ok(sizes)
}

fn state_dims(sizes: &Sizes) -> [usize; 3] {
    let Sizes { batch, hidden, directions, .. } = *sizes;
    if sizes.batch_first { [batch, directions, hidden] } else { [directions, batch, hidden] }
}

/// Positions of the operands of a step.
#[derive(Clone, Copy, Default)]
struct Positions {
    w: usize,
    r: usize,
    optional: [Option<usize>; 5],
}

fn plan(cx: &mut PlanCx<'_>, layer: &Layer) -> Result<(), PlanError> {
    let sizes = resolve(cx, layer)?;
    let Sizes { steps, batch, hidden, directions, batch_first, .. } = sizes;
    let mut reads: Vec<Operand> = vec![precision::input(cx, 0)?];
    let mut at = Positions::default();
    if layer.input.is_none() {
        at.w = reads.len();
        reads.push(precision::input(cx, 1)?);
    }
    if layer.recurrent.is_none() {
        at.r = reads.len();
        reads.push(precision::input(cx, 2)?);
    }
    for (i, position) in at.optional.iter_mut().enumerate() {
        let index = 3 + i;
        if cx.has_input(index) {
            *position = Some(reads.len());
            reads.push(if index == 4 { cx.input(4)? } else { precision::input(cx, index)? });
        }
    }
    let dims = if batch_first {
        [batch, steps, directions, hidden]
    } else {
        [steps, directions, batch, hidden]
    };
    let shapes = [Shape::new(&dims)?, Shape::new(&state_dims(&sizes))?];
    let wanted = [0, 1, 2].map(|o| cx.wants(o));
    let mut outputs = Vec::new();
    for (o, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        outputs.push(precision::output(cx, o, shapes[o.min(1)])?);
    }
    let mut writes: Vec<_> = outputs.iter().map(|o| o.slot).collect();
    let layout =
        |packed: &Option<Arc<Packed>>| packed.as_ref().map_or(Layout::Rows, |p| p.layout());
    let layouts = (layout(&layer.input), layout(&layer.recurrent));
    let kind = layer.kind;
    writes.push(cx.temp_of::<f32>(rnn::scratch_len(cx.isa, kind, &sizes, layouts)));
    let name = match kind {
        Kind::Rnn => "rnn",
        Kind::Gru { .. } => "gru",
        Kind::Lstm { .. } => "lstm",
    };
    let rows = directions * steps * batch;
    let flops = product_flops([rows, 1, kind.gates() * hidden, sizes.input + hidden]);
    let packed_bytes =
        [&layer.input, &layer.recurrent].into_iter().flatten().map(|w| w.byte_len()).sum();
    let layer = layer.clone();
    cx.step(name, &reads, &writes, move |a| {
        let optional = |i: usize| at.optional[i].map(|p| a.read::<f32>(p)).transpose();
        let (bias, h, c, peepholes) = (optional(0)?, optional(2)?, optional(3)?, optional(4)?);
        let lengths = at.optional[1].map(|p| a.read::<i32>(p)).transpose()?;
        if let Some(bad) = lengths.and_then(|l| l.iter().find(|&&l| !is_length(l, steps))) {
            return Err(RunError::value(format!(
                "a sequence of {bad} steps, expected 0 to {steps}"
            )));
        }
        let inputs = Inputs { x: a.read(0)?, lengths, h, c };
        let unpacked =
            |is_packed: bool, at| if is_packed { Ok(&[][..]) } else { a.read::<f32>(at) };
        let w = unpacked(layer.input.is_some(), at.w)?;
        let r = unpacked(layer.recurrent.is_some(), at.r)?;
        let mut slot = |wanted: bool| if wanted { a.write().map(Some) } else { Ok(None) };
        let (y, h, c) = (slot(wanted[0])?, slot(wanted[1])?, slot(wanted[2])?);
        let mut results = Results { y, h, c };
        let scratch = a.write::<f32>()?;
        let isa = a.isa;
        for (index, &reverse) in layer.reverse.iter().enumerate() {
            let (w, r) = (direction_of(w, index, directions), direction_of(r, index, directions));
            let of = (index, directions);
            let direction = Direction {
                index,
                reverse,
                input: match &layer.input {
                    Some(packed) => packed.input(of),
                    None => Rhs::Strided(MatRef::transposed(w, sizes.input)),
                },
                recurrent: match &layer.recurrent {
                    Some(packed) => packed.recurrent(isa, kind, hidden, of),
                    None => Recurrent::rows(kind, hidden, r),
                },
                bias: bias.map(|b| direction_of(b, index, directions)),
                peepholes: peepholes.map(|p| direction_of(p, index, directions)),
                functions: layer.functions[index],
                clip: layer.clip,
            };
            rnn::run(isa, a.parallel, kind, &sizes, &direction, &inputs, &mut results, scratch);
        }
        Ok(())
    });
    cx.count(flops, packed_bytes);
    for output in outputs {
        output.finish(cx);
    }
    Ok(())
}

fn is_length(length: i32, steps: usize) -> bool {
    usize::try_from(length).is_ok_and(|l| l <= steps)
}

/// The part of an operand for one direction.
pub(super) fn direction_of<T>(data: &[T], index: usize, directions: usize) -> &[T] {
    let len = data.len() / directions;
    &data[index * len..(index + 1) * len]
}
