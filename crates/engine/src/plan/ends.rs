//! Where a plan ends: with the graph's outputs, or where a value selects how it continues.

use super::cx::{Operand, contiguous, contiguous_fact};
use super::facts::{BufferRef, Fact, Facts, Place};
use super::planner::{State, Then};
use super::segment::{Segment, SegmentBuilder, Source, StepSource};
use super::texts::TextRef;
use crate::compile::{CompiledBody, CompiledNode};
use crate::error::{PlanError, RunError};
use crate::ir::ValueId;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use stead_tensor::{DType, Shape, Span};

/// The largest tensor whose value may select a plan. Shapes and conditions have some dozen bytes.
const KEY_BYTES: usize = 64 << 10;

/// A segment and what follows it.
pub(crate) struct PlanNode {
    pub segment: Segment,
    pub end: End,
}

/// What follows a segment.
pub(crate) enum End {
    /// The run is complete.
    Done(Vec<OutputPlace>),
    /// The value of a tensor selects the next segment.
    Branch(Box<Branch>),
}

/// A place where a plan continues according to a value.
pub(crate) struct Branch {
    /// Where the value is found.
    pub source: PlaceSource,
    pub(super) value: ValueId,
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    pub(super) state: State,
    /// The continuations so far, by the bytes of the value.
    pub children: RwLock<HashMap<Box<[u8]>, Arc<PlanNode>>>,
}

/// Where the bytes of a finished value are found.
pub(crate) enum PlaceSource {
    Arena(Span),
    Outside(StepSource),
    /// A growing state as a whole, which has become longer.
    Grown(usize),
    /// A sequence: each element for itself.
    Sequence(Vec<OutputPlace>),
    /// Keys and values of a map, or of a sequence of maps.
    Map(Box<[OutputPlace; 2]>),
    /// An optional in which there is nothing.
    Nothing,
}

/// A graph output of a finished run.
pub(crate) struct OutputPlace {
    pub source: PlaceSource,
    pub dtype: DType,
    pub shape: Shape,
}

/// Ends the plan: every graph output as contiguous bytes.
pub(super) fn finish(
    mut state: State,
    mut builder: SegmentBuilder,
    body: &CompiledBody,
) -> Result<PlanNode, RunError> {
    let at_end = |reason| RunError::Plan { node: "the graph's outputs".into(), reason };
    let marker = CompiledNode::marker();
    let mut ends = Vec::with_capacity(body.outputs.len());
    for (index, &id) in body.outputs.iter().enumerate() {
        let fact = state.facts.get(id).ok_or(RunError::Internal("an output has no fact"))?;
        let (dtype, shape) = (fact.dtype, fact.shape);
        ends.push(match (grown_output(&state.facts, id, index), &fact.place) {
            (Some(grown), _) => OutputEnd::Grown(grown, dtype, shape),
            (None, Place::Nothing) => OutputEnd::Nothing(dtype),
            (None, Place::Sequence(elements)) => {
                let mut elements: Vec<Fact> = elements.iter().cloned().collect();
                let lay = |element| contiguous_fact(element, &marker.label, &mut builder);
                let operands = elements.iter_mut().map(lay).collect::<Result<_, _>>();
                OutputEnd::Sequence(operands.map_err(at_end)?, dtype)
            }
            (None, Place::Map(pairs)) => {
                let pairs = pairs.clone();
                let operands = pairs.operands(&marker.label, &mut builder).map_err(at_end)?;
                OutputEnd::Map(Box::new(operands), dtype)
            }
            (None, _) => OutputEnd::Tensor(
                contiguous(id, &marker, &mut state.facts, &mut builder).map_err(at_end)?,
            ),
        });
    }
    let sources = || ends.iter().flat_map(OutputEnd::operands).map(|operand| &operand.source);
    let kept: Vec<BufferRef> = sources().filter_map(buffer_of).collect();
    let apart: Vec<BufferRef> = match state.outputs_apart {
        true => sources().filter_map(whole_buffer).collect(),
        false => Vec::new(),
    };
    let segment = builder.finish(kept.into_iter(), &apart, &state.spans).map_err(at_end)?;
    state.spans.push(segment.spans.clone());
    let place = |operand: Operand| {
        let (dtype, shape) = operand.ty;
        let source = locate(operand.source, dtype, &state.spans);
        let source = source.ok_or(RunError::Internal("an output lies outside of the arena"))?;
        Ok(OutputPlace { source, dtype, shape })
    };
    let outputs = ends.into_iter().map(|end| {
        let (source, dtype, shape) = match end {
            OutputEnd::Tensor(operand) => return place(operand),
            OutputEnd::Grown(state, dtype, shape) => (PlaceSource::Grown(state), dtype, shape),
            OutputEnd::Sequence(operands, dtype) => {
                let places = operands.into_iter().map(&place).collect::<Result<_, RunError>>()?;
                (PlaceSource::Sequence(places), dtype, Shape::SCALAR)
            }
            OutputEnd::Map(operands, dtype) => {
                let [keys, values] = *operands;
                let places = Box::new([place(keys)?, place(values)?]);
                (PlaceSource::Map(places), dtype, Shape::SCALAR)
            }
            OutputEnd::Nothing(dtype) => (PlaceSource::Nothing, dtype, Shape::SCALAR),
        };
        Ok(OutputPlace { source, dtype, shape })
    });
    let outputs = outputs.collect::<Result<_, RunError>>()?;
    Ok(PlanNode { segment, end: End::Done(outputs) })
}

/// A graph output before its buffers are placed.
enum OutputEnd {
    Tensor(Operand),
    Grown(usize, DType, Shape),
    Sequence(Vec<Operand>, DType),
    Map(Box<[Operand; 2]>, DType),
    Nothing(DType),
}

impl OutputEnd {
    /// What a run leaves in the arena or elsewhere.
    fn operands(&self) -> &[Operand] {
        match self {
            OutputEnd::Tensor(operand) => std::slice::from_ref(operand),
            OutputEnd::Sequence(operands, _) => operands,
            OutputEnd::Map(operands, _) => &**operands,
            OutputEnd::Grown(..) | OutputEnd::Nothing(_) => &[],
        }
    }
}

/// The growing state that a graph output is, longer now, which nobody has to copy. Readers that want other bytes may
/// have left a copy in the output's fact.
fn grown_output(facts: &Facts, id: ValueId, index: usize) -> Option<usize> {
    let is = |&state: &usize| {
        facts.growing.get(state).is_some_and(|g| g.output == id && g.index == index)
    };
    facts.appended.iter().copied().find(is)
}

/// Ends the segment before a node that needs the value of `id`.
pub(super) fn branch(
    mut state: State,
    mut builder: SegmentBuilder,
    node: &CompiledNode,
    id: ValueId,
) -> Result<PlanNode, PlanError> {
    let operand = contiguous(id, node, &mut state.facts, &mut builder)?;
    let missing = || PlanError::Evaluation("a needed value has no place".into());
    let fact = state.facts.get(id).ok_or_else(missing)?;
    let (dtype, shape) = (fact.dtype, fact.shape);
    if dtype == DType::String {
        return Err(PlanError::shape("strings would have to select the shapes that follow"));
    }
    if shape.byte_len(dtype) > KEY_BYTES {
        return Err(PlanError::shape(format!(
            "the value of a tensor of shape {shape} would have to select the shapes that follow; \
             at most {KEY_BYTES} bytes can"
        )));
    }
    let mut kept: Vec<BufferRef> =
        state.facts.live_buffers().chain(buffer_of(&operand.source)).collect();
    for frame in &state.frames {
        if let Then::Repeat(repetition) = &frame.then {
            kept.extend(repetition.buffers());
        }
    }
    let segment = builder.finish(kept.into_iter(), &[], &state.spans)?;
    state.spans.push(segment.spans.clone());
    let source = locate(operand.source, dtype, &state.spans).ok_or_else(missing)?;
    let branch = Branch { source, value: id, dtype, shape, state, children: RwLock::default() };
    Ok(PlanNode { segment, end: End::Branch(Box::new(branch)) })
}

/// The buffer that a source is, if it is all of it.
fn whole_buffer(source: &Source) -> Option<BufferRef> {
    buffer_of(source).filter(|buffer| buffer.bytes > 0 && *source.range() == (0..buffer.bytes))
}

fn buffer_of(source: &Source) -> Option<BufferRef> {
    match source {
        Source::Buffer(buffer, _) => Some(*buffer),
        _ => None,
    }
}

fn locate(source: Source, dtype: DType, spans: &[Arc<[Span]>]) -> Option<PlaceSource> {
    Some(match source {
        Source::Const(tensor, range) => PlaceSource::Outside(StepSource::Const(tensor, range)),
        Source::Input(index, range) => PlaceSource::Outside(StepSource::Input(index, range)),
        Source::Grown(state, range) => PlaceSource::Outside(StepSource::Grown(state, range)),
        Source::Buffer(buffer, _) if dtype == DType::String => {
            PlaceSource::Outside(StepSource::Text(TextRef::of(&buffer)))
        }
        Source::Buffer(buffer, range) => {
            let whole = spans.get(buffer.segment)?.get(buffer.index)?;
            let (offset, len) = (whole.offset + range.start, range.len());
            PlaceSource::Arena(Span { block: whole.block, offset, len })
        }
    })
}
