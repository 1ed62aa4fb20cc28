//! LinearAttention and CausalConvWithState as they were before the standard had them.

use super::{MICROSOFT, REAL};
use crate::error::LoadError;
use crate::ir::FunctionBody;
use crate::ops::contrib::attention::only_zero;
use crate::ops::{OpDef, Out, Param};
use stead_onnx::AttributeValue;

const X: Param = Param::required(1, REAL);
const MAYBE: Param = Param::optional(1, REAL);
const STATE: Param = Param::optional(2, REAL);

/// LinearAttention, CausalConvWithState. What the standard has not, windows of states, gaps between taps and other orders of
/// dimensions, is refused.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "LinearAttention",
        &[X, X, X, STATE, MAYBE, MAYBE],
        &[Out::Like(0), Out::Like(0)],
        linear,
    )
    .domain(MICROSOFT),
    OpDef::function(
        "CausalConvWithState",
        &[X, X, MAYBE, MAYBE],
        &[Out::Like(0), Out::Like(0)],
        causal,
    )
    .domain(MICROSOFT),
];

fn linear(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["state_window"])?;
    let mut own = Vec::new();
    for name in ["q_num_heads", "kv_num_heads", "chunk_size"] {
        own.extend(f.attributes().int(name)?.map(|value| (name, AttributeValue::Int(value))));
    }
    own.push(("scale", AttributeValue::Float(f.attributes().float_or("scale", 0.0)?)));
    let rule = f.attributes().string_or("update_rule", "gated_delta")?;
    own.push(("update_rule", AttributeValue::String(rule.as_bytes().to_vec())));
    standard(f, "LinearAttention", 6, &own)
}

fn causal(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["state_window", "channels_last"])?;
    for name in ["dilation", "ndim"] {
        let value = f.attributes().int_or(name, 1)?;
        if value != 1 {
            return Err(f.refuse(format!("{name} is {value}; supported: 1")));
        }
    }
    let activation = f.attributes().string_or("activation", "none")?;
    let own = [("activation", AttributeValue::String(activation.as_bytes().to_vec()))];
    standard(f, "CausalConvWithState", 4, &own)
}

/// The operator of the standard with the same inputs and outputs.
fn standard(
    f: &mut FunctionBody<'_>,
    op: &str,
    inputs: usize,
    attributes: &[(&str, AttributeValue)],
) -> Result<(), LoadError> {
    let inputs = (0..inputs).map(|index| f.optional(index)).collect();
    let wanted = [f.wants(0), f.wants(1)];
    let results = f.call_for(op, inputs, attributes, &wanted)?;
    for (output, value) in results.into_iter().enumerate() {
        if let Some(value) = value {
            f.give(output, value);
        }
    }
    Ok(())
}
