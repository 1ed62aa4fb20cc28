//! States of LSTM, GRU and RNN.

use super::rewrite::{Candidate, Found, Lifter, unsupported};
use crate::error::LoadError;
use crate::ir::{Node, ValueId};
use stead_onnx::Dim;
use stead_tensor::DType;

impl Lifter<'_> {
    /// LSTM, GRU and RNN.
    pub(super) fn layer(
        &mut self,
        node: &mut Node,
        before: &mut Vec<Node>,
    ) -> Result<Vec<Found>, LoadError> {
        let at_node = |reason| LoadError::Node { node: node.label.to_string(), reason };
        let attributes = &node.attributes;
        let direction = attributes.string_or("direction", "forward");
        let direction = direction.map_err(|e| at_node(e.into()))?.to_owned();
        let batch_first = attributes.bool_or("layout", false).map_err(|e| at_node(e.into()))?;
        let hidden = attributes.int("hidden_size").map_err(|e| at_node(e.into()))?;
        let hidden = hidden.and_then(|n| usize::try_from(n).ok());
        let dim_of = |id: Option<ValueId>, axis: usize| -> Option<Dim> {
            let id = id?;
            match self.ir.constant(Some(id)) {
                Some(tensor) => tensor.shape().dims().get(axis).map(|&n| Dim::Known(n)),
                None => self.ir.declared.get(&id)?.get(axis).cloned(),
            }
        };
        let hidden = hidden.map(Dim::Known).or(dim_of(node.input(2), 2)).unwrap_or(Dim::Unknown);
        let (time_axis, batch_axis) = if batch_first { (1, 0) } else { (0, 1) };
        let x = node.input(0);
        let batch = dim_of(x, batch_axis).unwrap_or(Dim::Unknown);
        let is_single_step = dim_of(x, time_axis) == Some(Dim::Known(1));

        let count = if node.is("LSTM") { 2 } else { 1 };
        let mut found = Vec::new();
        for number in 0..count {
            let (input, output) = (5 + number, 1 + number);
            let first = node.input(input);
            if self.flow.is_paired(first, node.output(output)) {
                self.leave(&node.label, number, "is an input and an output of the model already");
                continue;
            }
            let single_step = match direction.as_str() {
                "forward" => None,
                "reverse" if is_single_step => x.map(|x| (x, time_axis)),
                "reverse" => {
                    return Err(unsupported(
                        node,
                        "the state of a layer that runs backwards cannot be carried from one \
                         request to the next, unless its input is declared to have one step",
                    ));
                }
                other => {
                    return Err(unsupported(
                        node,
                        format!(
                            "the state of a layer with direction \"{other}\" cannot be carried \
                             from one request to the next"
                        ),
                    ));
                }
            };
            let mut dims = vec![Dim::Known(1), batch.clone(), hidden.clone()];
            if batch_first {
                dims.swap(0, 1);
            }
            let first = first.filter(|_| !self.zero_init);
            if let Some(constant) = first.and_then(|id| self.ir.value(id).constant.as_ref()) {
                // One row suits each row of a batch, once it is given from outside.
                let one = |axis: usize, n: usize| axis == batch_axis && n == 1;
                dims = constant
                    .shape()
                    .iter()
                    .enumerate()
                    .map(|(axis, &n)| if one(axis, n) { batch.clone() } else { Dim::Known(n) })
                    .collect();
            }
            let dtype = x.map_or(DType::F32, |x| self.ir.value(x).dtype);
            let candidate = Candidate {
                number,
                dtype,
                dims: Some(dims),
                batch_axis: Some(batch_axis),
                first,
                single_step,
            };
            found.push(self.lift(node, before, input, output, candidate)?);
        }
        Ok(found)
    }
}
