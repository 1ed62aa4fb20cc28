//! From the graph after the passes to nodes that can plan themselves.

use crate::error::{BuildError, LoadError};
use crate::ir::{Body, Form, Ir, Node, Typed, ValueId, output_type};
use crate::ops::{self, Build, NodeSpec, OpPlan, PackCache};
use crate::plan::{Fact, Place};
use std::sync::Arc;
use stead_kernels::Isa;
use stead_tensor::{DType, Precision};

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
    /// Whether plans give each output a block of its own.
    pub outputs_apart: bool,
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
    /// The types of the outputs that nobody wants: kernels write them all the same.
    pub unwanted_types: Vec<Option<DType>>,
    /// Whether it may be computed once for all runs where its inputs are known: all outputs are tensors, and none is drawn.
    pub may_fold: bool,
    pub aux: ValueId,
    pub kind: Kind,
}

/// How a node is planned.
pub(crate) enum Kind {
    /// By its operator.
    Op(OpPlan),
    /// By inlining the branch that the condition selects.
    If { then_body: Arc<CompiledBody>, else_body: Arc<CompiledBody> },
    /// By inlining the body once for each iteration.
    Loop(Arc<CompiledBody>),
    /// By inlining the body once for each slice.
    Scan(Arc<CompiledBody>, Arc<ScanSpec>),
    /// By inlining the body once for each element of a sequence.
    SequenceMap(Arc<CompiledBody>),
}

/// The attributes of a Scan.
pub(crate) struct ScanSpec {
    /// How many of the inputs, the last ones, are scanned.
    pub scanned: usize,
    /// Axis and reversal of each scanned input.
    pub inputs: Vec<(i64, bool)>,
    /// Axis and reversal of each output that collects slices.
    pub outputs: Vec<(i64, bool)>,
}

impl CompiledNode {
    /// A node that stands for the end of the graph in messages and debugging views.
    pub fn marker() -> CompiledNode {
        CompiledNode {
            label: "the graph's outputs".into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            output_types: Vec::new(),
            unwanted_types: Vec::new(),
            may_fold: true,
            aux: ValueId(u32::MAX),
            kind: Kind::Op(Box::new(|_| Ok(()))),
        }
    }
}

/// Builds every node and packs the weights. A constant that only lives on in packed form is freed as soon as
/// the last node that reads it is built, so that memory never holds all weights twice.
pub(crate) fn compile(mut ir: Ir, isa: Isa, precision: Precision) -> Result<Program, LoadError> {
    let uses = ir.uses();
    let packs = PackCache::new(precision);
    let mut constants = vec![None; ir.values.len()];
    let body = std::mem::take(&mut ir.body);
    let mut nodes = Vec::with_capacity(body.nodes.len());
    let mut free = |ir: &mut Ir| {
        for id in packs.take_packed() {
            if packs.packed_uses(id) >= uses[id.index()] {
                let original = ir.values[id.index()].constant.take();
                let packed = |t| Fact { place: Place::Packed, ..Fact::constant(t) };
                constants[id.index()] = constants[id.index()].take().or(original.map(packed));
            }
        }
    };
    for node in &body.nodes {
        // Of a step with two matrices as well one at a time is in memory twice.
        if node.domain == "stead" && node.op_type == "MatMul" {
            ops::pack_inner(&NodeSpec::new(node, &ir, &packs, isa)).map_err(at(node))?;
            free(&mut ir);
        }
        nodes.push(compile_node(node, &ir, &packs, isa)?);
        free(&mut ir);
    }
    for (fact, value) in constants.iter_mut().zip(&mut ir.values) {
        *fact = fact.take().or(value.constant.take().map(Fact::constant));
    }
    let body = Arc::new(CompiledBody { inputs: body.inputs, outputs: body.outputs, nodes });
    let dtypes = ir.values.iter().map(|v| v.dtype).collect();
    Ok(Program { body, dtypes, constants, uses, isa, outputs_apart: false })
}

/// An error of a node.
fn at(node: &Node) -> impl Fn(BuildError) -> LoadError + Copy {
    move |reason| LoadError::Node { node: node.label.to_string(), reason }
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
    let at_node = at(node);
    let def = ops::find(&node.domain, &node.op_type, node.opset).map_err(|supported| {
        LoadError::UnsupportedOp {
            op: node.op_type.clone(),
            domain: node.domain.clone(),
            opset: node.opset,
            node: node.label.to_string(),
            supported,
        }
    })?;
    let inputs: Vec<Option<Typed>> = node.inputs.iter().map(|i| i.map(|id| ir.typed(id))).collect();
    let unwanted = |output: usize| {
        let is_wanted = node.outputs.get(output).is_some_and(Option::is_some);
        let typed = || output_type(ir, def, &node.label, &node.attributes, &inputs, &[], output);
        if is_wanted { None } else { typed().ok().map(|typed| typed.dtype) }
    };
    let unwanted_types = (0..def.outputs.len().max(node.outputs.len())).map(unwanted).collect();
    let kind = match def.build {
        Build::Op(build) => Kind::Op(build(&spec).map_err(at_node)?),
        Build::Function(_) => {
            return Err(at_node(BuildError::unsupported("a function was not written out")));
        }
        Build::If => Kind::If {
            then_body: inner_body(node, "then_branch", node.outputs.len(), ir, packs, isa)?,
            else_body: inner_body(node, "else_branch", node.outputs.len(), ir, packs, isa)?,
        },
        Build::Loop => {
            Kind::Loop(inner_body(node, "body", node.outputs.len() + 1, ir, packs, isa)?)
        }
        Build::Scan => {
            let body = inner_body(node, "body", node.outputs.len(), ir, packs, isa)?;
            let spec = scan_spec(node, &body).map_err(at_node)?;
            Kind::Scan(body, Arc::new(spec))
        }
        Build::SequenceMap => {
            Kind::SequenceMap(inner_body(node, "body", node.outputs.len(), ir, packs, isa)?)
        }
    };
    let is_tensor = |id: &ValueId| ir.value(*id).form == Form::Tensor;
    Ok(CompiledNode {
        label: node.label.clone(),
        inputs: node.inputs.clone(),
        outputs: node.outputs.clone(),
        may_fold: node.outputs.iter().flatten().all(is_tensor) && !node.is_drawn(),
        output_types: node.outputs.iter().map(|o| o.map(|id| ir.value(id).dtype)).collect(),
        unwanted_types,
        aux: node.aux,
        kind,
    })
}

fn inner_body(
    node: &Node,
    name: &str,
    outputs: usize,
    ir: &Ir,
    packs: &PackCache,
    isa: Isa,
) -> Result<Arc<CompiledBody>, LoadError> {
    let at_node = |reason| LoadError::Node { node: node.label.to_string(), reason };
    let body = node.bodies.iter().find(|(n, _)| n == name).map(|(_, b)| b);
    let body = body.ok_or_else(|| at_node(node.attributes.missing(name).into()))?;
    if body.outputs.len() < outputs {
        let text = format!("{name} has {} outputs, {outputs} expected", body.outputs.len());
        return Err(at_node(BuildError::Arity(text)));
    }
    compile_body(body, ir, packs, isa).map(Arc::new)
}

fn scan_spec(node: &Node, body: &CompiledBody) -> Result<ScanSpec, BuildError> {
    let a = &node.attributes;
    let scanned = a.int("num_scan_inputs")?.ok_or_else(|| a.missing("num_scan_inputs"))?;
    let scanned = usize::try_from(scanned)
        .ok()
        .filter(|&n| n > 0 && n <= node.inputs.len() && node.inputs.len() <= body.inputs.len())
        .ok_or_else(|| {
            BuildError::Arity(format!(
                "num_scan_inputs is {scanned}, with {} inputs and a body of {}",
                node.inputs.len(),
                body.inputs.len()
            ))
        })?;
    let states = node.inputs.len() - scanned;
    let collected =
        body.outputs.len().checked_sub(states).ok_or_else(|| {
            BuildError::Arity(format!("the body gives fewer than {states} states"))
        })?;
    let list = |name: &str, len: usize| -> Result<Vec<i64>, BuildError> {
        let given = a.ints(name)?.unwrap_or_default();
        Ok((0..len).map(|i| given.get(i).copied().unwrap_or(0)).collect())
    };
    let pairs = |axes: &str, directions: &str, len: usize| -> Result<Vec<_>, BuildError> {
        let (axes, directions) = (list(axes, len)?, list(directions, len)?);
        Ok(axes.into_iter().zip(directions.into_iter().map(|d| d != 0)).collect())
    };
    Ok(ScanSpec {
        scanned,
        inputs: pairs("scan_input_axes", "scan_input_directions", scanned)?,
        outputs: pairs("scan_output_axes", "scan_output_directions", collected)?,
    })
}
