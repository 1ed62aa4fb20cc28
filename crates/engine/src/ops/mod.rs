//! The operators: one table of definitions for each family, one plain function that builds each.
//!
//! An [`OpDef`] says which versions, element types and outputs an operator has; that table drives loading,
//! error messages and the list of operators in the documentation. Its `build` function reads attributes
//! and constant inputs once, when the session is made, and returns an [`OpPlan`]: a closure that, for
//! concrete shapes, computes the output shapes and emits steps through [`PlanCx`].

mod def;
mod spec;
pub mod standard;

pub use def::{Build, BuildFn, In, OpDef, OpPlan, Out, Param, TypeSet, WriteFn, plan_fn, types};
pub use spec::{NodeSpec, PackCache};

pub use crate::ir::FormSet;
pub(crate) use crate::plan::product_flops;
pub use crate::plan::{Args, Operand, PlanCx, Slot, Strided};

use crate::error::LoadError;
use crate::ir::Typed;
use stead_tensor::DType;

pub(crate) mod activation;
mod attention;
mod axes;
mod broadcasting;
mod cast;
mod contrib;
mod control;
mod cumulative;
mod detection;
mod determinant;
mod dispatch;
mod einsum;
mod elementwise;
mod embedding;
mod functions;
mod heads;
mod images;
mod lists;
mod matmul;
mod ml;
mod movement;
mod nn;
mod pooled;
mod quantize;
mod random;
mod reduce;
mod resize;
mod sampling;
mod search;
mod signal;
mod softmax;
mod state;
mod strings;
mod unique;

pub(crate) use functions::gradient;
pub use strings::moved;

/// Families of one table.
const FAMILIES: &[&[OpDef]] = &[
    attention::LINEAR,
    attention::OPS,
    attention::ROTARY,
    cast::OPS,
    control::OPS,
    cumulative::OPS,
    determinant::OPS,
    einsum::OPS,
    embedding::OPS,
    heads::OPS,
    images::OPS,
    matmul::OPS,
    pooled::OPS,
    quantize::OPS,
    random::OPS,
    reduce::OPS,
    resize::OPS,
    search::OPS,
    softmax::OPS,
    state::OPS,
    unique::OPS,
];

/// All tables of operators.
pub fn tables() -> impl Iterator<Item = &'static [OpDef]> {
    let own = FAMILIES.iter().chain(elementwise::TABLES).copied();
    let own = own.chain(contrib::tables()).chain(detection::TABLES).chain(functions::TABLES);
    let own = own.chain(ml::TABLES).chain(movement::TABLES).chain(nn::TABLES).chain(nn::BLOCKED);
    own.chain(lists::TABLES).chain(sampling::TABLES).chain(signal::TABLES).chain(strings::TABLES)
}

pub(crate) use matmul::pack_inner;

/// Whether an operator of `ai.onnx` works element by element, its operands broadcast against each other.
pub fn is_elementwise(op: &str) -> bool {
    elementwise::TABLES.iter().copied().flatten().any(|def| def.domain.is_empty() && def.name == op)
}

/// The definition for an operator of this opset version, or the end of an error message that says what is
/// supported instead.
pub fn find(domain: &str, op: &str, opset: i64) -> Result<&'static OpDef, String> {
    let named: Vec<&'static OpDef> =
        tables().flatten().filter(|def| def.name == op && def.domain == domain).collect();
    if let Some(def) = named.iter().find(|def| (def.since..=def.until).contains(&opset)) {
        return Ok(def);
    }
    let ranges: Vec<_> = named.iter().map(|d| format!("{} to {}", d.since, d.until)).collect();
    if ranges.is_empty() {
        Err(String::new())
    } else {
        Err(format!("; supported opsets: {}", ranges.join(", ")))
    }
}

/// Checks number and element types of a node's inputs against the definition.
///
/// # Errors
/// [`LoadError::UnsupportedType`] and [`LoadError::Node`].
pub fn check_inputs(def: &OpDef, label: &str, inputs: &[Option<Typed>]) -> Result<(), LoadError> {
    let arity = |text: String| LoadError::Node {
        node: label.to_owned(),
        reason: crate::BuildError::Arity(text),
    };
    let repeats = |p: &Param| matches!(p.kind, In::Variadic | In::AnyNumber);
    let variadic = def.inputs.last().is_some_and(repeats);
    if inputs.len() > def.inputs.len() && !variadic {
        return Err(arity(format!(
            "{} takes at most {} inputs, got {}",
            def.name,
            def.inputs.len(),
            inputs.len()
        )));
    }
    let mut bound: [Option<DType>; 8] = [None; 8];
    for index in 0..inputs.len().max(def.inputs.len()) {
        let Some(param) = def.inputs.get(index).or(def.inputs.last()) else { break };
        let Some(Typed { dtype, form }) = inputs.get(index).copied().flatten() else {
            if param.kind == In::Required || (param.kind == In::Variadic && index == 0) {
                return Err(arity(format!("input {index} of {} is missing", def.name)));
            }
            continue;
        };
        let unsupported = |supported: String| LoadError::UnsupportedType {
            op: def.name.to_owned(),
            node: label.to_owned(),
            input: index,
            actual: Typed { dtype, form }.to_string(),
            supported,
        };
        if !param.types.contains(dtype) {
            return Err(unsupported(param.types.to_string()));
        }
        if !param.forms.contains(form) {
            let forms = param.forms.forms().map(|form| Typed { dtype, form }.to_string());
            return Err(unsupported(forms.collect::<Vec<_>>().join(" ")));
        }
        if let Some(slot) = bound.get_mut(param.var as usize).filter(|_| param.var > 0) {
            match *slot {
                Some(other) if other != dtype => {
                    return Err(unsupported(format!("{other}, as the inputs before")));
                }
                _ => *slot = Some(dtype),
            }
        }
    }
    Ok(())
}
