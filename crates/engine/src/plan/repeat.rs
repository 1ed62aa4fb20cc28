//! Loop, Scan and SequenceMap: the planner inlines the body once for each iteration.
//!
//! A plan is made for known values, so that the number of iterations is known when it is made, or is found
//! out iteration by iteration as the condition is read. That keeps one way to run a plan and one arena; the
//! price is a plan as long as the loop.

use super::cx::{contiguous_fact, view_of};
use super::facts::{BufferRef, Fact, Facts, Place, View};
use super::planner::{Frame, State, Then};
use super::segment::SegmentBuilder;
use crate::compile::{CompiledBody, CompiledNode, ScanSpec};
use crate::error::PlanError;
use crate::ir::ValueId;
use std::sync::Arc;
use stead_tensor::{Bool, DType, MAX_RANK, Shape, Tensor};

/// The most iterations that a plan may hold: beyond that it would take gigabytes.
const MAX_ITERATIONS: i64 = 1 << 16;

/// A loop that is being planned.
#[derive(Clone)]
pub(super) struct Repetition {
    /// What messages call the node.
    pub label: Arc<str>,
    outputs: Arc<[Option<ValueId>]>,
    output_types: Arc<[Option<DType>]>,
    /// Iterations planned so far.
    done: i64,
    /// Iterations at most.
    limit: i64,
    /// Values carried from one iteration to the next: the initial ones, then the latest.
    carried: Vec<Fact>,
    /// Slices collected for each output behind the carried ones.
    collected: Vec<Vec<Fact>>,
    kind: RepeatKind,
}

#[derive(Clone)]
enum RepeatKind {
    /// The condition for the next iteration, as the initial input or the body gives it.
    Loop {
        condition: Box<Fact>,
    },
    Scan {
        inputs: Vec<Fact>,
        spec: Arc<ScanSpec>,
    },
    /// The inputs: sequences, and tensors that all iterations take.
    Map {
        inputs: Vec<Fact>,
    },
}

impl Repetition {
    /// The buffers that later iterations, or the outputs, will read.
    pub fn buffers(&self) -> impl Iterator<Item = BufferRef> {
        let scanned: &[Fact] = match &self.kind {
            RepeatKind::Loop { .. } => &[],
            RepeatKind::Scan { inputs, .. } | RepeatKind::Map { inputs } => inputs,
        };
        let all = self.carried.iter().chain(self.collected.iter().flatten()).chain(scanned);
        all.flat_map(Fact::buffers)
    }
}

fn fact_of(facts: &Facts, id: Option<ValueId>) -> Result<Fact, PlanError> {
    id.and_then(|id| facts.get(id))
        .cloned()
        .ok_or_else(|| PlanError::shape("an input of the loop is missing"))
}

/// A Loop before its first iteration.
pub(super) fn enter_loop(
    facts: &Facts,
    node: &CompiledNode,
    body: &Arc<CompiledBody>,
) -> Result<Frame, PlanError> {
    let input = |i: usize| node.inputs.get(i).copied().flatten();
    let limit = match input(0) {
        None => i64::MAX,
        Some(id) => {
            let tensor = fact_of(facts, Some(id))?.known().cloned();
            let tensor = tensor.ok_or(PlanError::NeedsValue(id))?;
            match tensor.as_slice::<i64>()? {
                [count] => *count,
                _ => return Err(PlanError::shape("the trip count has more than one element")),
            }
        }
    };
    let condition = match input(1) {
        None => Fact::constant(Tensor::scalar(Bool(1))?),
        Some(id) => {
            let fact = fact_of(facts, Some(id))?;
            fact.known().ok_or(PlanError::NeedsValue(id))?;
            fact
        }
    };
    let inputs = node.inputs.iter().skip(2);
    let carried = inputs.map(|&id| fact_of(facts, id)).collect::<Result<Vec<_>, _>>()?;
    if body.inputs.len() != carried.len() + 2 || body.outputs.len() <= carried.len() {
        return Err(PlanError::shape(format!(
            "the body takes {} inputs and gives {} outputs, with {} values carried",
            body.inputs.len(),
            body.outputs.len(),
            carried.len()
        )));
    }
    let collected = vec![Vec::new(); body.outputs.len() - 1 - carried.len()];
    Ok(frame(
        node,
        body,
        limit,
        carried,
        collected,
        RepeatKind::Loop { condition: Box::new(condition) },
    ))
}

/// A Scan before its first slice.
pub(super) fn enter_scan(
    facts: &Facts,
    node: &CompiledNode,
    body: &Arc<CompiledBody>,
    spec: &Arc<ScanSpec>,
) -> Result<Frame, PlanError> {
    let all = node.inputs.iter().map(|&id| fact_of(facts, id)).collect::<Result<Vec<_>, _>>()?;
    let (carried, inputs) = all.split_at(all.len() - spec.scanned);
    let mut limit = None;
    for (fact, &(axis, _)) in inputs.iter().zip(&spec.inputs) {
        let axis = axis_in(axis, fact.shape.rank())?;
        let len = fact.shape[axis] as i64;
        if *limit.get_or_insert(len) != len {
            return Err(PlanError::shape("the scanned inputs differ in length"));
        }
    }
    let collected = vec![Vec::new(); body.outputs.len() - carried.len()];
    let kind = RepeatKind::Scan { inputs: inputs.to_vec(), spec: spec.clone() };
    Ok(frame(node, body, limit.unwrap_or(0), carried.to_vec(), collected, kind))
}

/// A SequenceMap before its first element.
pub(super) fn enter_map(
    facts: &Facts,
    node: &CompiledNode,
    body: &Arc<CompiledBody>,
) -> Result<Frame, PlanError> {
    let inputs = node.inputs.iter().map(|&id| fact_of(facts, id)).collect::<Result<Vec<_>, _>>()?;
    if body.inputs.len() != inputs.len() {
        return Err(PlanError::shape(format!(
            "the body takes {} inputs, the node has {}",
            body.inputs.len(),
            inputs.len()
        )));
    }
    let mut len = None;
    for fact in &inputs {
        if let Place::Sequence(elements) = &fact.place
            && *len.get_or_insert(elements.len()) != elements.len()
        {
            return Err(PlanError::shape("the sequences differ in length"));
        }
    }
    let collected = vec![Vec::new(); node.outputs.len()];
    let limit = len.unwrap_or(0) as i64;
    Ok(frame(node, body, limit, Vec::new(), collected, RepeatKind::Map { inputs }))
}

fn frame(
    node: &CompiledNode,
    body: &Arc<CompiledBody>,
    limit: i64,
    carried: Vec<Fact>,
    collected: Vec<Vec<Fact>>,
    kind: RepeatKind,
) -> Frame {
    let repetition = Repetition {
        label: node.label.clone(),
        outputs: node.outputs.iter().copied().collect(),
        output_types: node.output_types.iter().copied().collect(),
        done: 0,
        limit,
        carried,
        collected,
        kind,
    };
    Frame { body: body.clone(), next: 0, then: Then::Repeat(Box::new(repetition)) }
}

fn axis_in(axis: i64, rank: usize) -> Result<usize, PlanError> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_front).ok().filter(|&a| a < rank).ok_or_else(|| {
        PlanError::shape(format!("axis {axis} is out of range for a tensor of rank {rank}"))
    })
}

/// Collects what the iteration that was just planned gives, and goes on or leaves. In place: what is collected grows with
/// every iteration, and a copy each time would take a time that grows with the square of their number.
pub(super) fn repeat(state: &mut State, builder: &mut SegmentBuilder) -> Result<(), PlanError> {
    let State { facts, frames, .. } = &mut *state;
    let Some(Frame { body, then: Then::Repeat(repetition), .. }) = frames.last_mut() else {
        return Err(PlanError::Evaluation("the planner lost its place".into()));
    };
    let mut outputs = body.outputs.iter();
    if let RepeatKind::Loop { condition } = &mut repetition.kind {
        let id = outputs.next().copied();
        let fact = fact_of(facts, id)?;
        if repetition.done + 1 < repetition.limit && fact.known().is_none() {
            // Planned again from here when the value has been read; nothing has changed so far.
            return Err(id.map_or_else(|| PlanError::shape("no condition"), PlanError::NeedsValue));
        }
        **condition = fact;
    }
    for carried in &mut repetition.carried {
        *carried = fact_of(facts, outputs.next().copied())?;
    }
    for collected in &mut repetition.collected {
        collected.push(fact_of(facts, outputs.next().copied())?);
    }
    repetition.done += 1;
    start_iteration(state, builder)
}

/// Binds the body's inputs for the next iteration, or leaves when there is none.
pub(super) fn start_iteration(
    state: &mut State,
    builder: &mut SegmentBuilder,
) -> Result<(), PlanError> {
    let lost = || PlanError::Evaluation("the planner lost its place".into());
    let Some(Frame { body, next, then: Then::Repeat(repetition) }) = state.frames.last_mut() else {
        return Err(lost());
    };
    *next = 0;
    if repetition.done >= MAX_ITERATIONS {
        return Err(PlanError::shape(format!("a loop of more than {MAX_ITERATIONS} iterations")));
    }
    let goes_on = match &repetition.kind {
        RepeatKind::Loop { condition } => {
            let truth = condition.known().is_some_and(|t| t.bytes().iter().any(|&b| b != 0));
            // The last condition is not read when the trip count has been reached.
            repetition.done < repetition.limit && truth
        }
        RepeatKind::Scan { .. } | RepeatKind::Map { .. } => repetition.done < repetition.limit,
    };
    if !goes_on {
        let repetition = repetition.clone();
        state.frames.pop();
        return leave(&mut state.facts, builder, *repetition);
    }
    let mut given: Vec<Fact> = Vec::with_capacity(body.inputs.len());
    match &repetition.kind {
        RepeatKind::Loop { condition } => {
            given.push(Fact::constant(Tensor::scalar(repetition.done)?));
            given.push((**condition).clone());
            given.extend(repetition.carried.iter().cloned());
        }
        RepeatKind::Scan { inputs, spec } => {
            given.extend(repetition.carried.iter().cloned());
            for (fact, &(axis, reversed)) in inputs.iter().zip(&spec.inputs) {
                let index =
                    if reversed { repetition.limit - 1 - repetition.done } else { repetition.done };
                given.push(slice(fact, axis_in(axis, fact.shape.rank())?, index as usize)?);
            }
        }
        RepeatKind::Map { inputs } => {
            let at = repetition.done as usize;
            for fact in inputs {
                given.push(match &fact.place {
                    Place::Sequence(elements) => elements.get(at).ok_or_else(lost)?.clone(),
                    _ => fact.clone(),
                });
            }
        }
    }
    let ids = body.inputs.clone();
    for (id, fact) in ids.into_iter().zip(given) {
        state.facts.set(id, fact);
    }
    Ok(())
}

/// One slice of a value, as a view.
fn slice(fact: &Fact, axis: usize, index: usize) -> Result<Fact, PlanError> {
    let view = view_of(fact);
    let mut dims = fact.shape.to_vec();
    dims.remove(axis);
    let mut strides = [0isize; MAX_RANK];
    let kept = (0..fact.shape.rank()).filter(|&a| a != axis);
    for (to, from) in kept.enumerate() {
        strides[to] = view.strides[from];
    }
    let offset = view.offset as isize + index as isize * view.strides[axis];
    let view = View { offset: offset.unsigned_abs(), strides };
    Ok(Fact { shape: Shape::new(&dims)?, view: Some(view), ..fact.clone() })
}

/// The outputs of a loop: the carried values as they are, the collected slices side by side, or as a sequence.
fn leave(
    facts: &mut Facts,
    builder: &mut SegmentBuilder,
    repetition: Repetition,
) -> Result<(), PlanError> {
    let mut outputs = repetition.outputs.iter();
    for fact in repetition.carried {
        if let Some(&Some(id)) = outputs.next() {
            facts.set(id, fact);
        }
    }
    for (index, slices) in repetition.collected.into_iter().enumerate() {
        let Some(&Some(id)) = outputs.next() else { continue };
        let (axis, reversed) = match &repetition.kind {
            RepeatKind::Loop { .. } | RepeatKind::Map { .. } => (0, false),
            RepeatKind::Scan { spec, .. } => spec.outputs.get(index).copied().unwrap_or((0, false)),
        };
        let dtype = repetition.output_types.get(repetition.outputs.len() - 1 - outputs.len());
        let Some(&Some(dtype)) = dtype else { continue };
        let fact = match &repetition.kind {
            RepeatKind::Map { .. } => Fact::sequence(dtype, slices)?,
            _ => stack(slices, dtype, axis, reversed, &repetition.label, builder)?,
        };
        facts.set(id, fact);
    }
    Ok(())
}

/// Puts slices of one shape side by side along a new axis.
fn stack(
    mut slices: Vec<Fact>,
    dtype: DType,
    axis: i64,
    reversed: bool,
    label: &Arc<str>,
    builder: &mut SegmentBuilder,
) -> Result<Fact, PlanError> {
    if reversed {
        slices.reverse();
    }
    let Some(first) = slices.first() else {
        // What no iteration shaped has no other dimensions.
        return Ok(Fact::constant(Tensor::zeros(dtype, Shape::new(&[0])?)?));
    };
    let shape = first.shape;
    if let Some(other) = slices.iter().find(|s| s.shape != shape || s.dtype != dtype) {
        return Err(PlanError::shape(format!(
            "a loop collects slices of shapes {shape} and {}",
            other.shape
        )));
    }
    let axis = axis_in(axis, shape.rank() + 1)?;
    let mut dims = shape.to_vec();
    dims.insert(axis, slices.len());
    let whole = Shape::new(&dims)?;
    let mut reads = Vec::with_capacity(slices.len());
    for slice in &mut slices {
        let operand = contiguous_fact(slice, label, builder)?;
        reads.push((operand.source, operand.ty));
    }
    let (outer, inner) = shape.dims().split_at(axis);
    let runs: usize = outer.iter().product();
    let run_bytes = inner.iter().product::<usize>() * dtype.size();
    let count = slices.len();
    let buffer = builder.buffer(whole.byte_len(dtype));
    builder.step(
        "stack",
        label.clone(),
        reads,
        vec![(buffer, (dtype, whole))],
        Box::new(move |args| {
            let out = args.write_bytes()?;
            for index in 0..count {
                let slice = args.read_bytes(index)?;
                for run in 0..runs {
                    let to = (run * count + index) * run_bytes;
                    out[to..to + run_bytes]
                        .copy_from_slice(&slice[run * run_bytes..(run + 1) * run_bytes]);
                }
            }
            Ok(())
        }),
    );
    Ok(Fact { dtype, shape: whole, place: Place::Buffer(buffer), view: None })
}
