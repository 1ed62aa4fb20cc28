//! Walks the graph and makes the segments of a plan.

use super::cx::{PlanCx, grown};
use super::ends::{Branch, PlanNode, branch, finish};
use super::facts::{Fact, Facts, Grows, Place};
use super::fold::fold_node;
use super::lists::Arranged;
use super::repeat::{Repetition, enter_loop, enter_map, enter_scan, repeat, start_iteration};
use super::segment::SegmentBuilder;
use crate::compile::{CompiledBody, CompiledNode, Kind, Program};
use crate::error::{PlanError, RunError};
use crate::ir::ValueId;
use std::sync::Arc;
use stead_kernels::Isa;
use stead_tensor::{DType, Shape, Span, Tensor};

/// Results up to this size are computed while the plan is made when all inputs are known: shape arithmetic,
/// not weights.
const FOLD_BYTES: usize = 64 << 10;
/// The most segments in one plan: a safety net against models whose every node depends on a value.
const MAX_SEGMENTS: usize = 4096;

/// Where the planner stands.
#[derive(Clone)]
pub(super) struct State {
    pub facts: Facts,
    pub frames: Vec<Frame>,
    pub spans: Vec<Arc<[Span]>>,
    pub outputs_apart: bool,
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
                let elements: Vec<Fact> = (0..count).map_while(|_| next(dtype)).collect();
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
