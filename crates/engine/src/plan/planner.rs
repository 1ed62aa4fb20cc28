//! Walks the graph and makes the segments of a plan.

use super::cx::{Operand, PlanCx, contiguous, contiguous_fact, grown};
use super::facts::{BufferRef, Fact, Facts, Grows, Place};
use super::lists::Arranged;
use super::repeat::{Repetition, enter_loop, enter_map, enter_scan, repeat, start_iteration};
use super::run::{RunEnv, run_segment};
use super::segment::{Segment, SegmentBuilder, Source, StepSource};
use super::texts::{TextRef, Texts};
use crate::compile::{CompiledBody, CompiledNode, Kind, Program};
use crate::error::{PlanError, RunError};
use crate::ir::ValueId;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use stead_kernels::{Isa, Serial};
use stead_tensor::{Blocks, DType, Shape, Span, Tensor};

/// Results up to this size are computed while the plan is made when all inputs are known: shape arithmetic,
/// not weights.
const FOLD_BYTES: usize = 64 << 10;
/// The largest tensor whose value may select a plan. Shapes and conditions have some dozen bytes.
const KEY_BYTES: usize = 64 << 10;
/// The most segments in one plan: a safety net against models whose every node depends on a value.
const MAX_SEGMENTS: usize = 4096;

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
    value: ValueId,
    dtype: DType,
    shape: Shape,
    state: State,
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

/// Where the planner stands.
#[derive(Clone)]
pub(super) struct State {
    pub facts: Facts,
    pub frames: Vec<Frame>,
    spans: Vec<Arc<[Span]>>,
    outputs_apart: bool,
}

/// A body that is being planned.
#[derive(Clone)]
pub(super) struct Frame {
    pub body: Arc<CompiledBody>,
    pub next: usize,
    pub then: Then,
}

/// What happens when a body is planned to its end.
#[derive(Clone)]
pub(super) enum Then {
    /// The plan is complete.
    Finish,
    /// The body's outputs become these values.
    Bind(Arc<[Option<ValueId>]>),
    /// The body may be planned once more.
    Repeat(Box<Repetition>),
}

/// A growing state that a plan is made for: its input and output, the axis, and its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GrowingShape {
    pub input: usize,
    pub output: usize,
    pub axis: usize,
    pub shape: Shape,
}

/// Plans a program for these input shapes; `None` for optional inputs that are absent and for growing states. `lists`
/// says how they are arranged where there are sequences or optionals; else each is an input.
pub(crate) fn start_plan(
    program: &Program,
    shapes: &[Option<Shape>],
    lists: &[Arranged],
    growing: &[GrowingShape],
) -> Result<PlanNode, RunError> {
    let broken = || RunError::Internal("a growing state has no input or no output");
    let grows = |g: &GrowingShape| {
        let &output = program.body.outputs.get(g.output).ok_or_else(broken)?;
        Ok(Grows { output, index: g.output, axis: g.axis })
    };
    let grows: Vec<Grows> = growing.iter().map(grows).collect::<Result<_, RunError>>()?;
    let mut facts = Facts::new(program.uses.clone(), grows.into());
    for (index, constant) in program.constants.iter().enumerate() {
        if let Some(fact) = constant {
            facts.set(ValueId(index as u32), fact.clone());
        }
    }
    let mut given = shapes.iter().enumerate();
    for (index, &id) in program.body.inputs.iter().enumerate() {
        let dtype = program.dtypes[id.index()];
        let mut next = |dtype: DType| {
            let (index, shape) = given.next()?;
            let shape = (*shape)?;
            let place = Place::Input(index, shape.byte_len(dtype));
            Some(Fact { dtype, shape, place, view: None })
        };
        let fact = match lists.get(index).copied().unwrap_or(Arranged::One) {
            Arranged::One => next(dtype),
            Arranged::Many(count) => {
                let elements = (0..count).map_while(|_| next(dtype)).collect();
                let at_input =
                    |reason| RunError::Plan { node: "the graph's inputs".into(), reason };
                Some(Fact::sequence(dtype, elements).map_err(at_input)?)
            }
            Arranged::Map(key) => {
                let keys = next(key);
                keys.zip(next(dtype)).map(|(keys, values)| Fact::map(keys, values))
            }
            Arranged::Nothing => Some(Fact::nothing(dtype)),
        };
        if let Some(fact) = fact {
            facts.set(id, fact);
        }
    }
    for (state, g) in growing.iter().enumerate() {
        let &id = program.body.inputs.get(g.input).ok_or_else(broken)?;
        let (dtype, shape) = (program.dtypes[id.index()], g.shape);
        let place = Place::Grown(state, shape.byte_len(dtype));
        facts.set(id, Fact { dtype, shape, place, view: Some(grown(&shape, g.axis)) });
    }
    let frame = Frame { body: program.body.clone(), next: 0, then: Then::Finish };
    let outputs_apart = program.outputs_apart;
    drive(State { facts, frames: vec![frame], spans: Vec::new(), outputs_apart }, program.isa)
}

/// Plans what follows a branch for this value.
pub(crate) fn continue_plan(
    program: &Program,
    branch: &Branch,
    value: &[u8],
) -> Result<PlanNode, RunError> {
    let mut state = branch.state.clone();
    let buf = stead_tensor::AlignedBuf::copy_of(value)?;
    let tensor = Tensor::from_buffer(branch.dtype, branch.shape, buf)?;
    state.facts.set(branch.value, Fact::constant(tensor));
    drive(state, program.isa)
}

/// Plans from `state` to the next branch or the end.
fn drive(mut state: State, isa: Isa) -> Result<PlanNode, RunError> {
    if state.spans.len() >= MAX_SEGMENTS {
        return Err(RunError::Internal("the plan has too many branches"));
    }
    let mut builder = SegmentBuilder::new(state.spans.len());
    loop {
        let Some(frame) = state.frames.last() else {
            return Err(RunError::Internal("the planner lost its place"));
        };
        let body = frame.body.clone();
        let Some(node) = body.nodes.get(frame.next) else {
            match &frame.then {
                Then::Finish => return finish(state, builder, &body),
                Then::Bind(outputs) => {
                    let outputs = outputs.clone();
                    state.frames.pop();
                    leave_body(&mut state.facts, &body, &outputs)?;
                }
                Then::Repeat(repetition) => {
                    let label = repetition.label.clone();
                    let at_loop = |reason| RunError::Plan { node: label.to_string(), reason };
                    match repeat(&mut state, &mut builder) {
                        Ok(()) => {}
                        Err(PlanError::NeedsValue(id)) => {
                            return branch(state, builder, &CompiledNode::marker(), id)
                                .map_err(at_loop);
                        }
                        Err(reason) => return Err(at_loop(reason)),
                    }
                }
            }
            continue;
        };
        let at_node = |reason: PlanError| RunError::Plan { node: node.label.to_string(), reason };
        match plan_node(&mut state, &mut builder, node, isa) {
            Ok(()) => {}
            Err(PlanError::NeedsValue(id)) => {
                return branch(state, builder, node, id).map_err(at_node);
            }
            Err(reason) => return Err(at_node(reason)),
        }
    }
}

fn plan_node(
    state: &mut State,
    builder: &mut SegmentBuilder,
    node: &CompiledNode,
    isa: Isa,
) -> Result<(), PlanError> {
    state.facts.spend_node()?;
    match &node.kind {
        Kind::Op(plan) => {
            if !fold_node(&mut state.facts, node, isa, FOLD_BYTES)? {
                let facts = &mut state.facts;
                plan(&mut PlanCx { node, facts, segment: builder, isa })?;
            }
            advance(state, node);
        }
        Kind::If { then_body, else_body } => {
            let id = node.inputs.first().copied().flatten();
            let id = id.ok_or_else(|| PlanError::shape("the condition is missing"))?;
            let fact = state.facts.get(id);
            let condition = fact.and_then(Fact::known).ok_or(PlanError::NeedsValue(id))?;
            let [truth] = condition.bytes() else {
                return Err(PlanError::shape(format!(
                    "the condition has shape {}, one element expected",
                    condition.shape()
                )));
            };
            let body = if *truth != 0 { then_body } else { else_body };
            let outputs = node.outputs.iter().copied().collect();
            let frame = Frame { body: body.clone(), next: 0, then: Then::Bind(outputs) };
            advance(state, node);
            state.frames.push(frame);
        }
        Kind::Loop(body) => {
            let frame = enter_loop(&state.facts, node, body)?;
            enter(state, builder, node, frame)?;
        }
        Kind::Scan(body, spec) => {
            let frame = enter_scan(&state.facts, node, body, spec)?;
            enter(state, builder, node, frame)?;
        }
        Kind::SequenceMap(body) => {
            let frame = enter_map(&state.facts, node, body)?;
            enter(state, builder, node, frame)?;
        }
    }
    Ok(())
}

/// Starts the first iteration, or leaves at once when there is none.
fn enter(
    state: &mut State,
    builder: &mut SegmentBuilder,
    node: &CompiledNode,
    frame: Frame,
) -> Result<(), PlanError> {
    advance(state, node);
    state.frames.push(frame);
    start_iteration(state, builder)
}

fn advance(state: &mut State, node: &CompiledNode) {
    // What an iteration reads, the next one reads again: inside a loop every value stays.
    let repeats = state.frames.iter().any(|f| matches!(f.then, Then::Repeat(_)));
    for id in node.inputs.iter().flatten().filter(|_| !repeats) {
        state.facts.used(*id);
    }
    if let Some(frame) = state.frames.last_mut() {
        frame.next += 1;
    }
}

/// Makes the outputs of an inlined body those of the node around it.
fn leave_body(
    facts: &mut Facts,
    body: &CompiledBody,
    bind: &[Option<ValueId>],
) -> Result<(), RunError> {
    for (&inner, outer) in body.outputs.iter().zip(bind) {
        let fact = facts.get(inner).ok_or(RunError::Internal("a body has no result"))?.clone();
        facts.used(inner);
        if let Some(outer) = outer {
            facts.set(*outer, fact);
        }
    }
    Ok(())
}

/// Ends the plan: every graph output as contiguous bytes.
fn finish(
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
                let mut elements = elements.to_vec();
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
fn branch(
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

/// Computes a node now when all its inputs are known and its results take at most `limit` bytes; tells
/// whether it did. The outputs' facts are then constants.
pub(crate) fn fold_node(
    facts: &mut Facts,
    node: &CompiledNode,
    isa: Isa,
    limit: usize,
) -> Result<bool, PlanError> {
    let Kind::Op(plan) = &node.kind else { return Ok(false) };
    // A sequence is no constant, even one of constants, and what is drawn is none.
    if !node.may_fold {
        return Ok(false);
    }
    let known = |id: &ValueId| facts.get(*id).is_some_and(|f| f.known().is_some());
    if !node.inputs.iter().flatten().all(known) {
        return Ok(false);
    }
    loop {
        let mut builder = SegmentBuilder::nested();
        let planned = plan(&mut PlanCx { node, facts, segment: &mut builder, isa });
        let wanted: Vec<ValueId> = match planned {
            Ok(()) => node.outputs.iter().flatten().copied().collect(),
            Err(PlanError::NeedsValue(id)) => vec![id],
            Err(error) => return Err(error),
        };
        // Strings that steps make are no constants.
        if builder.makes_strings() || builder.buffer_bytes() > limit.saturating_mul(2) {
            return Ok(false);
        }
        for &id in &wanted {
            contiguous(id, node, facts, &mut builder)?;
        }
        evaluate(facts, builder, &wanted, isa)?;
        if planned.is_ok() {
            return Ok(true);
        }
    }
}

/// Runs the steps of a nested builder and makes constants of the wanted values.
fn evaluate(
    facts: &mut Facts,
    builder: SegmentBuilder,
    wanted: &[ValueId],
    isa: Isa,
) -> Result<(), PlanError> {
    let buffers: Vec<(ValueId, BufferRef)> = wanted
        .iter()
        .filter_map(|&id| match facts.get(id)?.place {
            Place::Buffer(buffer) => Some((id, buffer)),
            _ => None,
        })
        .collect();
    let segment = builder.finish(buffers.iter().map(|&(_, b)| b), &[], &[])?;
    let mut blocks = Blocks::new();
    blocks.ensure(0, segment.arena_bytes)?;
    let mut env = RunEnv {
        inputs: &[],
        growing: &mut [],
        texts: &Texts::default(),
        isa,
        parallel: &Serial,
        cancelled: None,
        pause: None,
        profile: None,
    };
    run_segment(&segment, &mut blocks, &mut env)
        .map_err(|error| PlanError::Evaluation(error.to_string()))?;
    for (id, buffer) in buffers {
        let broken = || PlanError::Evaluation("a folded value has no place".into());
        let fact = facts.get(id).ok_or_else(broken)?;
        let span = segment.spans.get(buffer.index).ok_or_else(broken)?;
        let bytes = blocks.bytes(*span).ok_or_else(broken)?;
        // The span is that of the whole buffer; a contiguous view inside it may be shorter.
        let start = fact.view.map_or(0, |v| v.offset * fact.dtype.size());
        let bytes = bytes.get(start..start + fact.shape.byte_len(fact.dtype)).ok_or_else(broken)?;
        let view = stead_tensor::TensorView::from_bytes(fact.dtype, fact.shape, bytes)?;
        let tensor = view.to_tensor()?;
        facts.set(id, Fact::constant(tensor));
    }
    for &id in wanted {
        let Some(fact) = facts.get(id) else { continue };
        if let (Place::Const(tensor), Some(view)) = (&fact.place, fact.view) {
            let start = view.offset * fact.dtype.size();
            let len = fact.shape.byte_len(fact.dtype);
            let bytes = tensor.bytes().get(start..start + len);
            let bytes = bytes.ok_or_else(|| PlanError::Evaluation("a view is broken".into()))?;
            let view = stead_tensor::TensorView::from_bytes(fact.dtype, fact.shape, bytes)?;
            facts.set(id, Fact::constant(view.to_tensor()?));
        }
    }
    Ok(())
}
