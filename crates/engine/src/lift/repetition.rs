//! States of Scan and Loop.

use super::carried::{Carried, Carrier};
use super::rewrite::{Candidate, Found, Lifter};
use crate::error::LoadError;
use crate::ir::{Form, Node, ValueId};
use stead_onnx::Dim;

impl Lifter<'_> {
    /// Scan and Loop.
    pub(super) fn repetition(
        &mut self,
        node: &mut Node,
        before: &mut Vec<Node>,
    ) -> Result<Vec<Found>, LoadError> {
        let is_loop = node.is("Loop");
        let Some((_, body)) = node.bodies.iter().find(|(name, _)| name == "body") else {
            return Ok(Vec::new());
        };
        let scanned = if is_loop {
            0
        } else {
            let at_node = |e: stead_onnx::OnnxError| LoadError::Node {
                node: node.label.to_string(),
                reason: e.into(),
            };
            let count = node.attributes.int("num_scan_inputs").map_err(at_node)?.unwrap_or(0);
            usize::try_from(count).unwrap_or(0)
        };
        // A Loop's count and condition, and the condition that its body gives, are not carried.
        let (skip_in, skip_out) = if is_loop { (2, 1) } else { (0, 0) };
        let count = node.inputs.len().saturating_sub(skip_in + scanned);
        let (Some(ins), Some(outs)) = (
            body.inputs.get(skip_in..skip_in + count),
            body.outputs.get(skip_out..skip_out + count),
        ) else {
            // Compiling the node tells what is wrong with it.
            return Ok(Vec::new());
        };
        let pair = |(&before, &after)| Carried { before, after };
        let carried: Vec<Carried> = ins.iter().zip(outs).map(pair).collect();
        let iteration = body.inputs.first().copied().filter(|_| is_loop);
        let condition = body.outputs.first().copied().filter(|_| is_loop);
        let carrier = Carrier::new(self.ir, body, &carried, iteration, condition);
        let reasons: Vec<_> = carried.iter().map(|&c| carrier.serves_the_loop(c)).collect();

        let mut found = Vec::new();
        for (number, (value, reason)) in carried.into_iter().zip(reasons).enumerate() {
            let (input, output) = (skip_in + number, number);
            let Some(first) = node.input(input) else { continue };
            let is_tensor = self.ir.value(first).form == Form::Tensor;
            let reason = if !is_tensor {
                Some("is no tensor")
            } else if self.flow.is_paired(Some(first), node.output(output)) {
                Some("is an input and an output of the model already")
            } else if is_loop && reason.is_none() && self.begins_with_input(first) {
                Some("begins with what the model computes from its inputs")
            } else {
                reason
            };
            if let Some(reason) = reason {
                self.leave(&node.label, number, reason);
                continue;
            }
            let dims = self.carried_dims(first, value, is_loop);
            let position = |dims: &Vec<Dim>| {
                let batch = self.batch.as_ref()?;
                dims.iter().position(|dim| dim == batch)
            };
            let batch_axis = dims.as_ref().and_then(position);
            let dtype = self.ir.value(first).dtype;
            let candidate = Candidate {
                number,
                dtype,
                dims,
                batch_axis,
                first: Some(first),
                single_step: None,
            };
            found.push(self.lift(node, before, input, output, candidate)?);
        }
        Ok(found)
    }

    fn begins_with_input(&self, first: ValueId) -> bool {
        self.ir.value(first).constant.is_none() && self.flow.depends_on_input(first)
    }

    /// A Scan keeps the shapes of its states; a Loop may change them from one iteration to the next, so that
    /// only what the body declares for the result is sure.
    fn carried_dims(&self, first: ValueId, value: Carried, is_loop: bool) -> Option<Vec<Dim>> {
        let declared = |id: ValueId| self.ir.declared.get(&id).cloned();
        let after = declared(value.after).or_else(|| declared(value.before));
        let constant = self.ir.value(first).constant.as_ref();
        let begin = constant
            .map(|t| t.shape().iter().map(|&n| Dim::Known(n)).collect::<Vec<_>>())
            .or_else(|| declared(first));
        match (begin, after) {
            (Some(begin), _) if !is_loop => Some(begin),
            (Some(begin), Some(after)) if begin.len() == after.len() => {
                let same = |(a, b)| if a == b { a } else { Dim::Unknown };
                Some(begin.into_iter().zip(after).map(same).collect())
            }
            (None, after) => after,
            _ => None,
        }
    }
}
