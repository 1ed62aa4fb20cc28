//! From the graph after the passes to nodes that can plan themselves.

use crate::error::LoadError;
use crate::ir::{Body, Ir, Node, ValueId};
use crate::ops::{self, Build, NodeSpec, OpPlan, PackCache};
use crate::plan::{Fact, Place};
use std::sync::Arc;
use stead_kernels::Isa;
use stead_tensor::{DType, Tensor};

/// A model compiled for an instruction set: everything that plans are made from.
pub(crate) struct Program {
    pub body: Arc<CompiledBody>,
    /// Element types by value.
    pub dtypes: Vec<DType>,
    /// What is known of each value before any input: the constants.
    pub constants: Vec<Option<Fact>>,
    /// Uses of each value.
    pub uses: Vec<u32>,
    pub isa: Isa,
}

/// A body of compiled nodes.
pub(crate) struct CompiledBody {
    pub inputs: Vec<ValueId>,
    pub outputs: Vec<ValueId>,
    pub nodes: Vec<CompiledNode>,
}

/// A node that can plan itself.
pub(crate) struct CompiledNode {
    pub label: Arc<str>,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
    pub output_types: Vec<Option<DType>>,
    pub aux: ValueId,
    pub kind: Kind,
}

/// How a node is planned.
pub(crate) enum Kind {
    /// By its operator.
    Op(OpPlan),
    /// By inlining the branch that the condition selects.
    If { then_body: Arc<CompiledBody>, else_body: Arc<CompiledBody> },
}

impl CompiledNode {
    /// A node that stands for the end of the graph in messages and debugging views.
    pub fn marker() -> CompiledNode {
        CompiledNode {
            label: "the graph's outputs".into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            output_types: Vec::new(),
            aux: ValueId(u32::MAX),
            kind: Kind::Op(Box::new(|_| Ok(()))),
        }
    }
}

/// Builds every node, packs the weights, and lets go of constants that only live on in packed form.
pub(crate) fn compile(ir: &Ir, isa: Isa) -> Result<Program, LoadError> {
    let packs = PackCache::default();
    let body = Arc::new(compile_body(&ir.body, ir, &packs, isa)?);
    let uses = ir.uses();
    let mut constants = Vec::with_capacity(ir.values.len());
    for (index, value) in ir.values.iter().enumerate() {
        let packed_uses = packs.packed_uses(ValueId(index as u32));
        let fact = match &value.constant {
            None => None,
            Some(tensor) if packed_uses > 0 && packed_uses >= uses[index] => {
                Some(Fact { place: Place::Packed, ..Fact::constant(tensor.clone()) })
            }
            Some(tensor) => Some(Fact::constant(own_if_small(tensor)?)),
        };
        constants.push(fact);
    }
    let dtypes = ir.values.iter().map(|v| v.dtype).collect();
    Ok(Program { body, dtypes, constants, uses, isa })
}

/// A constant that borrows from the model file keeps the whole file in memory; small ones are copied, so that
/// the file can go when the large ones are packed.
fn own_if_small(tensor: &Tensor) -> Result<Tensor, LoadError> {
    const SMALL: usize = 64 << 10;
    if tensor.is_shared() && tensor.bytes().len() <= SMALL {
        Ok(tensor.view().to_tensor()?)
    } else {
        Ok(tensor.clone())
    }
}

fn compile_body(
    body: &Body,
    ir: &Ir,
    packs: &PackCache,
    isa: Isa,
) -> Result<CompiledBody, LoadError> {
    let nodes = body.nodes.iter().map(|node| compile_node(node, ir, packs, isa));
    Ok(CompiledBody {
        inputs: body.inputs.clone(),
        outputs: body.outputs.clone(),
        nodes: nodes.collect::<Result<_, _>>()?,
    })
}

/// Builds one node.
pub(crate) fn compile_node(
    node: &Node,
    ir: &Ir,
    packs: &PackCache,
    isa: Isa,
) -> Result<CompiledNode, LoadError> {
    let spec = NodeSpec::new(node, ir, packs, isa);
    let at_node = |reason| LoadError::Node { node: node.label.to_string(), reason };
    let def = ops::find(&node.domain, &node.op_type, node.opset).map_err(|supported| {
        LoadError::UnsupportedOp {
            op: node.op_type.clone(),
            domain: node.domain.clone(),
            opset: node.opset,
            node: node.label.to_string(),
            supported,
        }
    })?;
    let kind = match def.build {
        Build::Op(build) => Kind::Op(build(&spec).map_err(at_node)?),
        Build::If => {
            let branch = |name: &str| {
                let body = node.bodies.iter().find(|(n, _)| n == name).map(|(_, b)| b);
                let body = body.ok_or_else(|| at_node(node.attributes.missing(name).into()))?;
                if body.outputs.len() < node.outputs.len() {
                    let text = format!("{name} has {} outputs", body.outputs.len());
                    return Err(at_node(crate::BuildError::Arity(text)));
                }
                compile_body(body, ir, packs, isa).map(Arc::new)
            };
            Kind::If { then_body: branch("then_branch")?, else_body: branch("else_branch")? }
        }
    };
    Ok(CompiledNode {
        label: node.label.clone(),
        inputs: node.inputs.clone(),
        outputs: node.outputs.clone(),
        output_types: node.outputs.iter().map(|o| o.map(|id| ir.value(id).dtype)).collect(),
        aux: node.aux,
        kind,
    })
}
