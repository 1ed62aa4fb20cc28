//! From the reader's graph of names to the engine's graph of numbered, typed values.

use super::function::FunctionBody;
use super::{Body, Form, Ir, Node, Typed, ValueId, scan};
use crate::error::{BuildError, LoadError};
use crate::ops::{self, Build, OpDef, Out, WriteFn, gradient, moved, types};
use std::collections::HashMap;
use stead_onnx::{AttributeValue, Attributes, Graph, Model, ValueInfo, ValueType};
use stead_tensor::DType;

/// Names visible at one place, innermost graph last.
type Scopes = Vec<HashMap<String, ValueId>>;

/// Lowers a model whose functions are inlined. Every operator and element type is checked here, so that what
/// is not supported is refused by name before anything runs.
///
/// # Errors
/// [`LoadError`]: an operator, type or attribute that is not supported.
pub fn lower(model: Model) -> Result<Ir, LoadError> {
    let mut ir = Ir::default();
    let mut scopes = Scopes::new();
    ir.body = lower_graph(&mut ir, &mut scopes, model.graph, None)?;
    Ok(ir)
}

/// Lowers a graph; for a body, `given` has the types of what it is called with.
fn lower_graph(
    ir: &mut Ir,
    scopes: &mut Scopes,
    graph: Graph,
    given: Option<&[Option<Typed>]>,
) -> Result<Body, LoadError> {
    scopes.push(HashMap::new());
    let mut body = Body::default();
    for (name, tensor) in graph.initializers {
        let id = ir.add_constant(tensor);
        define(scopes, name, id);
    }
    let mut declared: Vec<ValueInfo> = graph.value_info;
    declared.extend(graph.inputs.iter().chain(&graph.outputs).cloned());
    for (index, input) in graph.inputs.into_iter().enumerate() {
        let initial = scopes.last().and_then(|s| s.get(&input.name)).copied();
        if let Some(id) = initial {
            // An optional input: in the main graph it can be overridden, in a body it cannot.
            if given.is_none() {
                ir.values[id.index()].overridable = true;
                body.inputs.push(id);
            }
            continue;
        }
        let declared = type_of("input", &input.name, &input.ty);
        let typed = match given.and_then(|given| given.get(index).copied().flatten()) {
            Some(typed) => typed,
            None => declared?,
        };
        let id = ir.add(typed);
        define(scopes, input.name, id);
        body.inputs.push(id);
    }
    for node in graph.nodes {
        lower_node(ir, scopes, node, &mut body.nodes)?;
    }
    for output in graph.outputs {
        let id = resolve(scopes, &output.name).ok_or_else(|| LoadError::Io {
            direction: "output",
            name: output.name.clone(),
            actual: "an undefined value".into(),
        })?;
        body.outputs.push(id);
    }
    let own = scopes.pop().unwrap_or_default();
    for value in declared {
        if let (Some(&id), Some(dims)) = (own.get(&value.name), value.ty.dims()) {
            ir.declared.insert(id, dims.to_vec());
        }
    }
    Ok(body)
}

fn define(scopes: &mut Scopes, name: String, id: ValueId) {
    if let Some(scope) = scopes.last_mut() {
        scope.insert(name, id);
    }
}

fn resolve(scopes: &Scopes, name: &str) -> Option<ValueId> {
    scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
}

/// The type of an input or output of a graph.
///
/// # Errors
/// [`LoadError::Io`] for one that the engine does not have.
pub fn type_of(direction: &'static str, name: &str, ty: &ValueType) -> Result<Typed, LoadError> {
    Typed::of(ty).ok_or_else(|| LoadError::Io {
        direction,
        name: name.to_owned(),
        actual: ty.to_string(),
    })
}

/// Lowers a node; one of a function becomes several.
fn lower_node(
    ir: &mut Ir,
    scopes: &mut Scopes,
    node: stead_onnx::Node,
    nodes: &mut Vec<Node>,
) -> Result<(), LoadError> {
    let node = match scan::has_batches(&node) {
        true => scan::over_batches(node)?,
        false => node,
    };
    let label = node.label();
    let mut inputs = Vec::with_capacity(node.inputs.len());
    for name in &node.inputs {
        let id = if name.is_empty() { None } else { resolve(scopes, name) };
        if id.is_none() && !name.is_empty() {
            // The reader refuses undefined names; this is the engine's own guard.
            return Err(arity(&label, format!("input \"{name}\" is not defined")));
        }
        inputs.push(id);
    }
    if gradient::is_gradient(&node.domain, &node.op_type) {
        inputs.extend(named(scopes, &label, &node.attributes)?);
    }
    let def = definition(&label, &node.domain, &node.op_type, node.opset)?;
    let input_types: Vec<_> = inputs.iter().map(|id| id.map(|id| ir.typed(id))).collect();
    let given: Vec<Option<Typed>> = match def.build {
        // A body is called with the iteration and the condition before the carried values.
        Build::Loop => [DType::I64, DType::Bool]
            .map(|dtype| Some(Typed::tensor(dtype)))
            .into_iter()
            .chain(input_types.iter().skip(2).copied())
            .collect(),
        Build::Scan => input_types,
        // With an element of each sequence.
        Build::SequenceMap => {
            input_types.iter().map(|typed| typed.map(|typed| Typed::tensor(typed.dtype))).collect()
        }
        Build::If | Build::Op(_) | Build::Function(_) => Vec::new(),
    };
    let mut attributes = Attributes::of(label.clone());
    let mut bodies = Vec::new();
    for (name, value) in node.attributes.iter() {
        match value {
            AttributeValue::Graph(graph) => {
                bodies
                    .push((name.to_owned(), lower_graph(ir, scopes, graph.clone(), Some(&given))?));
            }
            other => {
                attributes.set(name, other.clone());
            }
        }
    }
    let call = Call {
        label: &label,
        domain: node.domain,
        op_type: node.op_type,
        opset: node.opset,
        inputs,
        attributes,
        bodies,
        wanted: node.outputs.iter().map(|name| !name.is_empty()).collect(),
    };
    let outputs = emit(ir, nodes, call)?;
    for (name, id) in node.outputs.into_iter().zip(outputs) {
        if let Some(id) = id {
            define(scopes, name, id);
        }
    }
    Ok(())
}

/// The values that a Gradient names. They become inputs behind its own, so that they are there when it is written out.
fn named(
    scopes: &Scopes,
    label: &str,
    attributes: &Attributes,
) -> Result<Vec<Option<ValueId>>, LoadError> {
    let refuse = |text: String| {
        let reason = BuildError::unsupported(text);
        LoadError::Node { node: label.to_owned(), reason }
    };
    // What lies between may be around the body, where it is not looked for.
    if scopes.len() > 1 {
        return Err(refuse("Gradient in a body of another node is not supported".into()));
    }
    let find = |name: String| match resolve(scopes, &name) {
        Some(id) => Ok(Some(id)),
        None => Err(refuse(format!("value \"{name}\" is not made before this node"))),
    };
    gradient::named(attributes)?.into_iter().map(find).collect()
}

/// The use of an operator, before its outputs are values.
pub(super) struct Call<'a> {
    /// What messages call the node.
    pub label: &'a str,
    /// `""` for `ai.onnx`.
    pub domain: String,
    pub op_type: String,
    pub opset: i64,
    pub inputs: Vec<Option<ValueId>>,
    pub attributes: Attributes,
    pub bodies: Vec<(String, Body)>,
    /// Which outputs somebody wants.
    pub wanted: Vec<bool>,
}

/// Adds the node of a call, or the nodes that a function becomes, and gives a value for each output that is wanted.
///
/// # Errors
/// [`LoadError`]: an operator, type or attribute that is not supported.
pub(super) fn emit(
    ir: &mut Ir,
    nodes: &mut Vec<Node>,
    call: Call<'_>,
) -> Result<Vec<Option<ValueId>>, LoadError> {
    let def = definition(call.label, &call.domain, &call.op_type, call.opset)?;
    let input_types: Vec<_> = call.inputs.iter().map(|id| id.map(|id| ir.typed(id))).collect();
    let write: Option<WriteFn> = match def.build {
        _ if moved::applies(def, &input_types) => Some(moved::write),
        Build::Function(write) => Some(write),
        _ => None,
    };
    if !moved::applies(def, &input_types) {
        ops::check_inputs(def, call.label, &input_types)?;
    }
    if let Some(write) = write {
        let (label, wanted) = (call.label, call.wanted.clone());
        let mut body = FunctionBody::new(ir, call, nodes);
        write(&mut body)?;
        let outputs = body.finish();
        return match wanted.iter().zip(&outputs).position(|(&wanted, o)| wanted && o.is_none()) {
            Some(at) => Err(arity(label, format!("{} has no output {at}", def.name))),
            None => Ok(outputs),
        };
    }
    let mut outputs = Vec::with_capacity(call.wanted.len());
    for (i, wanted) in call.wanted.iter().enumerate() {
        let id = match wanted {
            true => {
                let (attributes, bodies) = (&call.attributes, &call.bodies);
                let typed = output_type(ir, def, call.label, attributes, &input_types, bodies, i)?;
                Some(ir.add(typed))
            }
            false => None,
        };
        outputs.push(id);
    }
    let aux = ir.add_value(DType::I64);
    nodes.push(Node {
        label: call.label.into(),
        domain: call.domain,
        op_type: call.op_type,
        opset: call.opset,
        inputs: call.inputs,
        outputs: outputs.clone(),
        attributes: call.attributes,
        bodies: call.bodies,
        aux,
    });
    Ok(outputs)
}

/// The definition of an operator, or an error that names it.
fn definition(
    label: &str,
    domain: &str,
    op_type: &str,
    opset: i64,
) -> Result<&'static OpDef, LoadError> {
    ops::find(domain, op_type, opset).map_err(|supported| LoadError::UnsupportedOp {
        op: op_type.to_owned(),
        domain: if domain.is_empty() { "ai.onnx".into() } else { domain.to_owned() },
        opset,
        node: label.to_owned(),
        supported,
    })
}

/// The outputs in front of those for which a Loop or a Scan puts slices side by side, which it does by whole bytes.
fn carried(def: &OpDef, attributes: &Attributes, inputs: usize) -> usize {
    match def.build {
        Build::Loop => inputs.saturating_sub(2),
        Build::Scan => {
            // A count that is wrong is refused when the node is compiled.
            let scanned = attributes.int("num_scan_inputs").ok().flatten().unwrap_or(0);
            inputs.saturating_sub(usize::try_from(scanned).unwrap_or(0))
        }
        // What SequenceMap collects stays where it lies.
        Build::If | Build::SequenceMap | Build::Op(_) | Build::Function(_) => usize::MAX,
    }
}

/// The type of an output of a node, with these inputs.
///
/// # Errors
/// [`LoadError`] where the operator has no such output, or not for these inputs.
pub(crate) fn output_type(
    ir: &Ir,
    def: &OpDef,
    label: &str,
    attributes: &Attributes,
    inputs: &[Option<Typed>],
    bodies: &[(String, Body)],
    index: usize,
) -> Result<Typed, LoadError> {
    let node_error = |reason| LoadError::Node { node: label.to_owned(), reason };
    let like = |i: usize| {
        let typed = inputs.get(i).copied().flatten();
        typed.ok_or_else(|| arity(label, format!("input {i} of {} is missing", def.name)))
    };
    let out =
        def.outputs.get(index).or_else(|| def.outputs.last().filter(|_| def.variadic_outputs));
    match out {
        None => Err(arity(label, format!("{} has no output {index}", def.name))),
        Some(Out::Like(i)) => like(*i),
        Some(Out::Element(i)) => Ok(Typed::tensor(like(*i)?.dtype)),
        Some(Out::Sequence(i)) => Ok(Typed { form: Form::Sequence, ..like(*i)? }),
        Some(Out::Fixed(dtype)) => Ok(Typed::tensor(*dtype)),
        Some(Out::Of(f)) => {
            let dtypes: Vec<_> = inputs.iter().map(|typed| typed.map(|t| t.dtype)).collect();
            f(attributes, &dtypes).map(Typed::tensor).map_err(node_error)
        }
        Some(Out::Typed(f)) => f(attributes, inputs).map_err(node_error),
        Some(Out::Body(first)) => {
            let disagree =
                || arity(label, format!("the bodies do not agree on a type of output {index}"));
            let found: Vec<_> = bodies
                .iter()
                .map(|(_, b)| b.outputs.get(first + index).map(|&id| ir.typed(id)))
                .collect();
            let typed = found.iter().copied().flatten().reduce(wider).ok_or_else(disagree)?;
            let fits = |t: &Option<Typed>| {
                t.is_some_and(|t| typed.dtype == t.dtype && typed.form.holds(t.form))
            };
            if !found.iter().all(fits) {
                return Err(disagree());
            }
            let refuse = |text: String| Err(node_error(BuildError::unsupported(text)));
            let is_collected = index >= carried(def, attributes, inputs.len());
            if is_collected && (typed.dtype.size() == 0 || typed.form != Form::Tensor) {
                return refuse(format!(
                    "{} collects elements of type {typed} in output {index}; supported: {}",
                    def.name,
                    types::ANY
                ));
            }
            match def.build {
                Build::SequenceMap if typed.form == Form::Tensor => {
                    Ok(Typed { form: Form::Sequence, ..typed })
                }
                Build::SequenceMap => {
                    refuse(format!("the body of {} gives {typed} in output {index}", def.name))
                }
                Build::Loop if !is_collected => {
                    // The body is written for what it gets first, and gets its own result after that.
                    let initial = inputs.get(index + 2).copied().flatten();
                    match initial.filter(|initial| !initial.form.holds(typed.form)) {
                        Some(initial) => refuse(format!(
                            "{} carries {initial} and then {typed} in output {index}",
                            def.name
                        )),
                        None => Ok(typed),
                    }
                }
                _ => Ok(typed),
            }
        }
    }
}

/// The one of two types that may be missing, if one of them may.
fn wider(a: Typed, b: Typed) -> Typed {
    if b.form.holds(a.form) { b } else { a }
}

fn arity(label: &str, reason: String) -> LoadError {
    LoadError::Node { node: label.to_owned(), reason: BuildError::Arity(reason) }
}
