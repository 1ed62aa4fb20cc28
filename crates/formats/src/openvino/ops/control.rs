//! Layers with bodies: TensorIterator becomes Scan, Loop and If are themselves.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use crate::openvino::graph::{Values, lower_layers, parameter_type, result};
use crate::openvino::net::{Body, Layer, Mapping, shape};
use stead_onnx::{AttributeValue, Dim, Graph, ValueType};
use stead_tensor::{DType, Tensor};

fn body<'a>(cx: &Cx<'a, '_>, name: &str) -> Result<&'a Body, Refusal> {
    let layer: &'a Layer = cx.layer;
    let found = layer.bodies.iter().find(|body| body.name == name);
    found.ok_or_else(|| Refusal(format!("it has no <{name}>")))
}

fn layer(body: &Body, id: usize) -> Result<&Layer, Refusal> {
    let found = body.net.layers.iter().find(|layer| layer.id == id);
    found.ok_or_else(|| Refusal(format!("its body has no layer {id}")))
}

/// The value that enters by a mapping.
fn outside(cx: &Cx<'_, '_>, mapping: &Mapping) -> Result<(usize, String), Refusal> {
    let at = cx.layer.inputs.iter().position(|port| Some(port.id) == mapping.external);
    let at = at.ok_or_else(|| Refusal(format!("no input for layer {}", mapping.internal)))?;
    Ok((at, cx.input(at)?))
}

/// Makes a value that of a Parameter of the body.
fn bind(values: &mut Values, parameter: &Layer, value: &str) {
    values.extend(parameter.outputs.iter().map(|port| ((parameter.id, port.id), value.to_owned())));
}

/// The value that a Result of the body shows.
fn shown(body: &Body, id: usize, values: &Values) -> Result<String, Refusal> {
    result(&body.net, layer(body, id)?, values).map_err(|e| Refusal(e.to_string()))
}

fn lower_body(cx: &mut Cx<'_, '_>, body: &Body, values: &mut Values) -> Result<(), Refusal> {
    let done = lower_layers(&body.net, cx.make, cx.weights, values);
    // The layers of the body have spoken for themselves.
    cx.make.on_behalf_of(&cx.layer.name);
    done.map_err(|e| Refusal(e.to_string()))
}

/// An input of the body with the type of a Parameter.
fn declare(
    cx: &mut Cx<'_, '_>,
    parameter: &Layer,
    without: Option<usize>,
) -> Result<String, Refusal> {
    let error = |e: crate::FormatError| Refusal(e.to_string());
    let dtype = parameter_type(parameter).map_err(error)?;
    let text = parameter.data.iter().find(|(n, _)| n == "shape").map_or("...", |(_, v)| v.as_str());
    let mut dims: Option<Vec<Dim>> = shape(text).map_err(error)?;
    if let (Some(dims), Some(axis)) = (&mut dims, without) {
        if axis >= dims.len() {
            return refuse(format!("axis {axis} of {} dimensions", dims.len()));
        }
        dims.remove(axis);
    }
    let name = cx.make.fresh(&parameter.name);
    cx.make.input(&name, ValueType::tensor(dtype, dims));
    Ok(name)
}

fn rank_of(parameter: &Layer) -> usize {
    parameter.outputs.first().map_or(0, |port| port.dims.len())
}

/// A value of the body as its output.
fn give(cx: &mut Cx<'_, '_>, value: &str) {
    // Under a name of its own: one value may be several outputs, or belong to a graph around this one.
    let name = cx.make.node("Identity", &[value]);
    cx.make.output(&name, ValueType::Unknown);
}

/// What goes round, what is sliced and what stays, of the inputs of a body.
struct Entries<'a> {
    /// The mapping of the first value, the Parameter, the Result that it is next.
    states: Vec<(&'a Mapping, &'a Layer, usize)>,
    slices: Vec<(&'a Mapping, &'a Layer)>,
    fixed: Vec<(&'a Mapping, &'a Layer)>,
}

impl<'a> Entries<'a> {
    fn of(body: &'a Body) -> Result<Entries<'a>, Refusal> {
        let mut entries = Entries { states: vec![], slices: vec![], fixed: vec![] };
        for mapping in body.inputs.iter().filter(|m| m.external.is_some()) {
            let parameter = layer(body, mapping.internal)?;
            let back = body.back.iter().find(|(_, to)| *to == mapping.internal);
            match (back, mapping.axis) {
                (Some((from, _)), None) => entries.states.push((mapping, parameter, *from)),
                (None, Some(_)) => entries.slices.push((mapping, parameter)),
                (None, None) => entries.fixed.push((mapping, parameter)),
                (Some(_), Some(_)) => return refuse("a sliced input with a back edge"),
            }
        }
        Ok(entries)
    }
}

/// Whether slices of one element run over the whole axis from the back.
fn backwards(mapping: &Mapping) -> Result<bool, Refusal> {
    match (mapping.stride, mapping.start, mapping.end, mapping.part) {
        (1, 0, -1, 1) => Ok(false),
        (-1, -1, 0, 1) => Ok(true),
        (stride, start, end, part) => refuse(format!(
            "slices of {part} from {start} to {end} by {stride}; only slices of 1 over all of an axis are read"
        )),
    }
}

/// A loop over slices.
pub(in crate::openvino) fn iterate(cx: &mut Cx<'_, '_>) -> Lowered {
    let body = body(cx, "body")?;
    let entries = Entries::of(body)?;
    if entries.slices.is_empty() {
        return refuse("no input is sliced: the number of iterations is open");
    }
    let (mut inputs, mut axes, mut directions) = (Vec::new(), Vec::new(), Vec::new());
    for (mapping, ..) in &entries.states {
        inputs.push(outside(cx, mapping)?.1);
    }
    let mut values = Values::new();
    for (mapping, parameter) in &entries.fixed {
        bind(&mut values, parameter, &outside(cx, mapping)?.1);
    }
    for (mapping, parameter) in &entries.slices {
        let rank = rank_of(parameter);
        axes.push(cx.axis(mapping.axis.unwrap_or(0), rank)? as i64);
        directions.push(i64::from(backwards(mapping)?));
        inputs.push(outside(cx, mapping)?.1);
    }
    cx.make.begin();
    for (_, parameter, _) in &entries.states {
        let name = declare(cx, parameter, None)?;
        bind(&mut values, parameter, &name);
    }
    for ((_, parameter), axis) in entries.slices.iter().zip(&axes) {
        let name = declare(cx, parameter, usize::try_from(*axis).ok())?;
        let kept = cx.unsqueeze(&name, &[*axis])?;
        bind(&mut values, parameter, &kept);
    }
    lower_body(cx, body, &mut values)?;
    for (_, _, next) in &entries.states {
        let value = shown(body, *next, &values)?;
        give(cx, &value);
    }
    let collected = collect(cx, body, &entries, &values)?;
    let graph = cx.make.end();
    let (mut out_axes, mut out_directions) = (Vec::new(), Vec::new());
    for &(_, axis, back) in collected.iter().filter(|(how, ..)| *how != How::State) {
        out_axes.push(axis);
        out_directions.push(i64::from(back));
    }
    let attributes = [
        ("body", AttributeValue::Graph(graph)),
        ("num_scan_inputs", (axes.len() as i64).into()),
        ("scan_input_axes", AttributeValue::Ints(axes)),
        ("scan_input_directions", AttributeValue::Ints(directions)),
        ("scan_output_axes", AttributeValue::Ints(out_axes)),
        ("scan_output_directions", AttributeValue::Ints(out_directions)),
    ];
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let states = entries.states.len();
    let count = states + collected.iter().filter(|(how, ..)| *how != How::State).count();
    let results = cx.make.node_of("Scan", &inputs, count, &attributes);
    outputs(cx, body, &entries, &collected, &results, None)
}

/// How an output of the layer comes out of the node.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// The last value of a state.
    State,
    /// The last of values that are collected.
    Last,
    /// All slices in a row.
    Slices,
}

/// Makes outputs of the body of everything that is collected; for each output of the layer's port map how, its axis, and
/// whether from the back.
fn collect(
    cx: &mut Cx<'_, '_>,
    body: &Body,
    entries: &Entries<'_>,
    values: &Values,
) -> Result<Vec<(How, i64, bool)>, Refusal> {
    let mut collected = Vec::new();
    for mapping in body.outputs.iter().filter(|m| m.external.is_some()) {
        let is_state = entries.states.iter().any(|(.., next)| *next == mapping.internal);
        match mapping.axis {
            None if is_state => collected.push((How::State, 0, false)),
            None => {
                give(cx, &shown(body, mapping.internal, values)?);
                collected.push((How::Last, 0, false));
            }
            Some(axis) => {
                let source = layer(body, mapping.internal)?;
                let rank = source.inputs.first().map_or(0, |port| port.dims.len());
                let axis = cx.axis(axis, rank)? as i64;
                let back = backwards(mapping)?;
                let value = shown(body, mapping.internal, values)?;
                let slice = cx.squeeze(&value, &[axis])?;
                give(cx, &slice);
                collected.push((How::Slices, axis, back));
            }
        }
    }
    Ok(collected)
}

/// The outputs of the layer by its ports, from the results of the node: states, then what was collected. A Loop stacks what it
/// collects along a first axis; `moved` has the numbers of dimensions by which it is brought in its place.
fn outputs(
    cx: &mut Cx<'_, '_>,
    body: &Body,
    entries: &Entries<'_>,
    collected: &[(How, i64, bool)],
    results: &[String],
    moved: Option<&[usize]>,
) -> Lowered {
    let mut extra = results.get(entries.states.len()..).unwrap_or_default().iter();
    let mut of_port = Vec::new();
    let mappings = body.outputs.iter().filter(|m| m.external.is_some());
    for (at, (mapping, (how, axis, _))) in mappings.zip(collected).enumerate() {
        let missing = || Refusal("an output is missing".into());
        let value = match how {
            How::State => {
                let state = entries.states.iter().position(|(.., next)| *next == mapping.internal);
                state.and_then(|state| results.get(state)).ok_or_else(missing)?.clone()
            }
            How::Last => {
                let all = extra.next().ok_or_else(missing)?;
                let last = cx.make.number(DType::I64, -1.0)?;
                cx.make.node_with("Gather", &[all, &last], &[("axis", 0i64.into())])
            }
            How::Slices => {
                let all = extra.next().ok_or_else(missing)?;
                match moved.and_then(|ranks| ranks.get(at)) {
                    Some(&rank) if *axis > 0 => {
                        let mut order: Vec<i64> = (1..rank as i64).collect();
                        order.insert((*axis as usize).min(order.len()), 0);
                        let perm = AttributeValue::Ints(order);
                        cx.make.node_with("Transpose", &[all], &[("perm", perm)])
                    }
                    _ => all.clone(),
                }
            }
        };
        of_port.push((mapping.external, value));
    }
    let value = |port: &crate::openvino::net::Port| {
        let found = of_port.iter().find(|(external, _)| *external == Some(port.id));
        found
            .map(|(_, v)| v.clone())
            .ok_or_else(|| Refusal(format!("output {} is missing", port.id)))
    };
    cx.layer.outputs.iter().map(value).collect()
}

/// A single element as a scalar.
fn scalar(cx: &mut Cx<'_, '_>, value: &str, to: Option<DType>) -> Result<String, Refusal> {
    let shape = cx.make.ints(&[])?;
    let value = cx.make.node("Reshape", &[value, &shape]);
    Ok(to.map_or(value.clone(), |to| cx.cast(&value, to)))
}

pub(in crate::openvino) fn repeat(cx: &mut Cx<'_, '_>) -> Lowered {
    let body = body(cx, "body")?;
    let entries = Entries::of(body)?;
    // -1 means that only the condition ends it.
    let count = match cx.const_int(0) {
        Ok(-1) => String::new(),
        _ => {
            let count = cx.as_i64(0)?;
            scalar(cx, &count, None)?
        }
    };
    let go_on = cx.input(1)?;
    let go_on = scalar(cx, &go_on, None)?;
    let mut inputs = vec![count, go_on];
    let mut values = Values::new();
    for (mapping, ..) in &entries.states {
        inputs.push(outside(cx, mapping)?.1);
    }
    for (mapping, parameter) in &entries.fixed {
        bind(&mut values, parameter, &outside(cx, mapping)?.1);
    }
    let mut sliced = Vec::new();
    for (mapping, parameter) in &entries.slices {
        if backwards(mapping)? {
            return refuse("a Loop over slices from the back");
        }
        let axis = cx.axis(mapping.axis.unwrap_or(0), rank_of(parameter))? as i64;
        sliced.push((outside(cx, mapping)?.1, axis));
    }
    cx.make.begin();
    let iteration = cx.make.fresh("iteration");
    cx.make.input(&iteration, ValueType::tensor(DType::I64, Some(vec![])));
    let condition = cx.make.fresh("condition");
    cx.make.input(&condition, ValueType::tensor(DType::Bool, Some(vec![])));
    for (_, parameter, _) in &entries.states {
        let name = declare(cx, parameter, None)?;
        bind(&mut values, parameter, &name);
    }
    for ((_, parameter), (value, axis)) in entries.slices.iter().zip(&sliced) {
        let at = cx.unsqueeze(&iteration, &[0])?;
        let slice = cx.make.node_with("Gather", &[value, &at], &[("axis", (*axis).into())]);
        bind(&mut values, parameter, &slice);
    }
    let counters = body.inputs.iter().filter(|m| m.external.is_none());
    for mapping in counters.filter(|m| m.purpose.as_deref() == Some("current_iteration")) {
        let parameter = layer(body, mapping.internal)?;
        let dtype = parameter_type(parameter).map_err(|e| Refusal(e.to_string()))?;
        let ones = cx.make.ints(&vec![1; rank_of(parameter)])?;
        let counter = cx.make.node("Reshape", &[&iteration, &ones]);
        let counter = if dtype == DType::I64 { counter } else { cx.cast(&counter, dtype) };
        bind(&mut values, parameter, &counter);
    }
    lower_body(cx, body, &mut values)?;
    let asked = body.outputs.iter().find(|m| m.purpose.as_deref() == Some("execution_condition"));
    let next = match asked {
        Some(mapping) => {
            let value = shown(body, mapping.internal, &values)?;
            scalar(cx, &value, None)?
        }
        None => {
            let yes = cx.make.constant(Tensor::scalar(1i64)?);
            cx.cast(&yes, DType::Bool)
        }
    };
    give(cx, &next);
    for (_, _, next) in &entries.states {
        let value = shown(body, *next, &values)?;
        give(cx, &value);
    }
    let collected = collect(cx, body, &entries, &values)?;
    if collected.iter().any(|(_, _, back)| *back) {
        return refuse("a Loop that gives slices from the back");
    }
    let graph = cx.make.end();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let extra = collected.iter().filter(|(how, ..)| *how != How::State).count();
    let attributes = [("body", AttributeValue::Graph(graph))];
    let results = cx.make.node_of("Loop", &inputs, entries.states.len() + extra, &attributes);
    let mappings = body.outputs.iter().filter(|m| m.external.is_some());
    let rank = |m: &Mapping| -> Result<usize, Refusal> {
        Ok(layer(body, m.internal)?.inputs.first().map_or(0, |port| port.dims.len()))
    };
    let ranks: Vec<usize> = mappings.map(rank).collect::<Result<_, _>>()?;
    outputs(cx, body, &entries, &collected, &results, Some(&ranks))
}

pub(in crate::openvino) fn branch(cx: &mut Cx<'_, '_>) -> Lowered {
    let condition = cx.input(0)?;
    let condition = scalar(cx, &condition, None)?;
    let (yes, no) = (one_branch(cx, "then_body")?, one_branch(cx, "else_body")?);
    let attributes =
        [("then_branch", AttributeValue::Graph(yes)), ("else_branch", AttributeValue::Graph(no))];
    Ok(cx.make.node_of("If", &[&condition], cx.layer.outputs.len(), &attributes))
}

fn one_branch(cx: &mut Cx<'_, '_>, name: &str) -> Result<Graph, Refusal> {
    let body = body(cx, name)?;
    let mut values = Values::new();
    for mapping in &body.inputs {
        bind(&mut values, layer(body, mapping.internal)?, &outside(cx, mapping)?.1);
    }
    cx.make.begin();
    lower_body(cx, body, &mut values)?;
    for port in &cx.layer.outputs {
        let mapping = body.outputs.iter().find(|m| m.external == Some(port.id));
        let mapping =
            mapping.ok_or_else(|| Refusal(format!("{name} has no output {}", port.id)))?;
        let value = shown(body, mapping.internal, &values)?;
        give(cx, &value);
    }
    Ok(cx.make.end())
}
