//! Nodes whose inputs are all known, computed while a plan is made.

use super::cx::{PlanCx, contiguous};
use super::facts::{BufferRef, Fact, Facts, Place};
use super::run::{RunEnv, run_segment};
use super::segment::SegmentBuilder;
use super::texts::Texts;
use crate::compile::{CompiledNode, Kind};
use crate::error::PlanError;
use crate::ir::ValueId;
use stead_kernels::{Isa, Serial};
use stead_tensor::Blocks;

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
