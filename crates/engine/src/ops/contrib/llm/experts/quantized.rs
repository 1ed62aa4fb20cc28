//! QMoE: experts with weights of few bits.

use super::{F32, MAYBE, MICROSOFT, OWN, chosen, int, network, normalized};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::contrib::attention::only_zero;
use crate::ops::{OpDef, Out, Param, TypeSet};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const BYTES: TypeSet = TypeSet::of(&[DType::U8]);
const CODES: Param = Param::required(1, BYTES);
const ZEROS: Param = Param::optional(1, BYTES);

/// QMoE. Weights are integers of 2, 4 or 8 bits; those of a third layer, and floats of few bits, are refused.
pub(in super::super) const OPS: &[OpDef] = &[OpDef::function(
    "QMoE",
    &[
        F32, F32, CODES, F32, MAYBE, CODES, F32, MAYBE, ZEROS, MAYBE, MAYBE, ZEROS, ZEROS, ZEROS,
        MAYBE,
    ],
    &[Out::Like(0)],
    write,
)
.domain(MICROSOFT)];

/// Where each layer has its weights, scales, zero points and bias among the inputs, and what says its bits.
const LAYERS: [([usize; 4], &str); 2] =
    [([2, 3, 11, 4], "fc1_expert_weight_bits"), ([5, 6, 12, 7], "fc2_expert_weight_bits")];

/// Numbers by which experts are summed, where these are not the router's own.
const PARTS: usize = 14;

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["use_sparse_mixer"])?;
    let kind = f.attributes().string_or("quant_type", "int")?;
    if kind != "int" {
        return Err(f.refuse(format!("quant_type is \"{kind}\"; supported: int")));
    }
    if f.attributes().int_or("weights_prepacked", -1)? == 1 {
        return Err(f.refuse("weights packed for another engine are not supported"));
    }
    if [8, 9, 10, 13].into_iter().any(|index| f.optional(index).is_some()) {
        return Err(f.refuse("fc3_experts_weights is not supported"));
    }
    let router = f.input(1)?;
    let (values, ids) = chosen(f, router)?;
    let parts = match f.optional(PARTS) {
        // ONNX Runtime has no other way here, whatever normalize_routing_weights says.
        None => f.call("Softmax", &[values], &[("axis", int(-1))])?,
        Some(parts) => {
            let parts = f.call("GatherElements", &[parts, ids], &[("axis", int(-1))])?;
            match f.attributes().bool_or("normalize_routing_weights", false)? {
                true => normalized(f, parts)?,
                false => parts,
            }
        }
    };
    let all = f.attributes().int_or("expert_weight_bits", 4)?;
    let block = f.attributes().int_or("block_size", 0)?.max(0);
    let product = |f: &mut FunctionBody<'_>, layer: usize, x: ValueId| {
        let (inputs, own) = LAYERS[layer];
        let bits = f.attributes().int_or(own, all)?;
        let given = inputs.map(|index| f.optional(index));
        let inputs = [Some(x), Some(ids)].into_iter().chain(given).collect();
        let attributes: [(&str, AttributeValue); 2] =
            [("bits", int(bits)), ("block_size", int(block))];
        f.call_of((OWN, "ExpertMatMulNBits"), inputs, &attributes)
    };
    network(f, parts, product)
}
