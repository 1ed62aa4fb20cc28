//! Graphs of nodes that name each other, functions inlined, as one graph.

use super::bundle::Bundle;
use super::op::Op;
use super::proto::{FunctionDef, GraphDef, NodeDef, SignatureDef, attr_value::Value as Attr};
use super::table;
use super::tensor::{dims, dtype, malformed, tensor};
use crate::error::{FormatError, Refusal, check_limit, quote};
use crate::make::Make;
use std::collections::{BTreeMap, HashMap, HashSet};
use stead_onnx::{Graph, Limits, ValueType};
use stead_tensor::Tensor;

/// What a node gives.
#[derive(Clone)]
enum Value {
    Tensor(String),
    /// A variable by the name of the node that makes it.
    Variable(String),
    /// The text of a constant, as names in a checkpoint.
    Nothing,
}

/// The nodes of the main graph or of a function.
struct Scope<'a> {
    nodes: HashMap<&'a str, &'a NodeDef>,
    /// The values of arguments of the function, or of inputs of the signature by node.
    given: HashMap<String, Value>,
    is_function: bool,
}

/// Reads what outputs need.
pub(super) struct Reader<'a, 'b> {
    graph: &'a GraphDef,
    functions: HashMap<&'a str, &'a FunctionDef>,
    bundle: &'b mut Bundle,
    limits: &'b Limits,
    make: Make,
    /// Names in the checkpoint by the nodes that make the variables.
    keys: HashMap<String, String>,
    /// The variables that were read, as constants.
    read: HashMap<String, String>,
    /// The constants that were read, by node.
    constants: HashMap<*const NodeDef, String>,
    /// Bytes that constants of few values may still take.
    expanded: u64,
    /// Nodes that may still be lowered: functions multiply them.
    left: usize,
}

/// A reference to a value: the node, and which of its outputs, `None` for an argument of a function.
struct Reference<'a> {
    node: &'a str,
    output: &'a str,
    index: usize,
}

fn reference(text: &str) -> Reference<'_> {
    let mut parts = text.split(':');
    let node = parts.next().unwrap_or_default();
    let (second, third) = (parts.next(), parts.next());
    let number = |text: Option<&str>| text.and_then(|t| t.parse().ok()).unwrap_or(0);
    match (second, third) {
        (Some(output), Some(_)) => Reference { node, output, index: number(third) },
        _ => Reference { node, output: "", index: number(second) },
    }
}

impl Reference<'_> {
    /// The place among all outputs: functions name the outputs of operations, of which some are lists.
    fn place(&self) -> usize {
        let second = ["indices", "batch_mean"].contains(&self.output);
        if second && self.index == 0 { 1 } else { self.index }
    }
}

fn operation(node: &NodeDef, reason: impl Into<String>) -> FormatError {
    let kind: String =
        node.op.chars().filter(|c| c.is_alphanumeric() || *c == '_').take(64).collect();
    FormatError::Operation {
        node: format!("{kind} node {}", quote(&node.name)),
        reason: reason.into(),
    }
}

impl<'a, 'b> Reader<'a, 'b> {
    pub fn new(
        graph: &'a GraphDef,
        bundle: &'b mut Bundle,
        limits: &'b Limits,
    ) -> Result<Reader<'a, 'b>, FormatError> {
        check_limit("nodes of the model", graph.node.len() as u64, limits.nodes as u64)?;
        let library = graph.library.iter().flat_map(|library| &library.function);
        let named = library.filter_map(|f| Some((f.signature.as_ref()?.name.as_str(), f)));
        let functions: HashMap<&str, &FunctionDef> = named.collect();
        let keys = restored(graph, &functions);
        Ok(Reader {
            graph,
            functions,
            bundle,
            limits,
            make: Make::new([]),
            keys,
            read: HashMap::new(),
            constants: HashMap::new(),
            expanded: limits.expanded_bytes,
            left: limits.inlined_nodes,
        })
    }

    fn main(&self, given: HashMap<String, Value>) -> Scope<'a> {
        let nodes = self.graph.node.iter().map(|n| (n.name.as_str(), n)).collect();
        Scope { nodes, given, is_function: false }
    }

    /// The graph of a signature.
    pub fn signature(mut self, signature: &SignatureDef) -> Result<Graph, FormatError> {
        let outputs = signature.outputs.keys().cloned();
        self.make = Make::new(outputs);
        let mut given = HashMap::new();
        for (name, info) in &signature.inputs {
            let ty = dtype(info.dtype);
            let text = || format!("input {} has element type {}", quote(name), info.dtype);
            let ty = ty.ok_or_else(|| malformed(text()))?;
            if signature.outputs.contains_key(name) {
                return Err(malformed(format!(
                    "an input and an output are called {}",
                    quote(name)
                )));
            }
            self.make.input(name, ValueType::tensor(ty, dims(info.tensor_shape.as_ref())?));
            given.insert(reference(&info.name).node.to_owned(), Value::Tensor(name.clone()));
        }
        let wanted: Vec<String> = signature.outputs.values().map(|o| o.name.clone()).collect();
        let scope = self.main(given);
        let values = self.values(&scope, &wanted, 0)?;
        for ((name, info), value) in signature.outputs.iter().zip(values) {
            let Value::Tensor(value) = value else {
                return Err(malformed(format!("output {} is no tensor", quote(name))));
            };
            let ty = dtype(info.dtype);
            let ty = ty.ok_or_else(|| malformed(format!("the type of output {}", quote(name))))?;
            self.make.push("Identity", &[&value], vec![name.clone()], &[]);
            self.make.output(name, ValueType::tensor(ty, dims(info.tensor_shape.as_ref())?));
        }
        Ok(self.make.end())
    }

    /// The graph of a GraphDef without signature, and the names of its outputs.
    pub fn frozen(mut self) -> Result<(Graph, Vec<String>), FormatError> {
        let read: HashSet<&str> = self
            .graph
            .node
            .iter()
            .flat_map(|n| &n.input)
            .map(|input| reference(input.trim_start_matches('^')).node)
            .collect();
        let is_output = |n: &&NodeDef| {
            !read.contains(n.name.as_str())
                && !["Const", "NoOp", "Placeholder", "Assert"].contains(&n.op.as_str())
        };
        let outputs: Vec<String> =
            self.graph.node.iter().filter(is_output).map(|n| n.name.clone()).collect();
        self.make = Make::new(outputs.iter().cloned());
        let mut given = HashMap::new();
        for node in self.graph.node.iter().filter(|n| n.op == "Placeholder") {
            let ty = match node.attr.get("dtype").and_then(|a| a.value.as_ref()) {
                Some(Attr::Type(number)) => dtype(*number),
                _ => None,
            };
            let ty = ty.ok_or_else(|| operation(node, "its element type is not read"))?;
            let shape = match node.attr.get("shape").and_then(|a| a.value.as_ref()) {
                Some(Attr::Shape(shape)) => dims(Some(shape))?,
                _ => None,
            };
            self.make.input(&node.name, ValueType::tensor(ty, shape));
            given.insert(node.name.clone(), Value::Tensor(node.name.clone()));
        }
        let scope = self.main(given);
        let values = self.values(&scope, &outputs, 0)?;
        for (name, value) in outputs.iter().zip(values) {
            let Value::Tensor(value) = value else {
                return Err(malformed(format!("output {} is no tensor", quote(name))));
            };
            self.make.push("Identity", &[&value], vec![name.clone()], &[]);
            self.make.output(name, ValueType::Unknown);
        }
        Ok((self.make.end(), outputs))
    }

    /// The values of references, with all that they need. Functions in functions are calls of this, bounded by the limit of
    /// depth; chains of nodes are walked with a list.
    fn values(
        &mut self,
        scope: &Scope<'a>,
        wanted: &[String],
        depth: usize,
    ) -> Result<Vec<Value>, FormatError> {
        check_limit("calls of functions in functions", depth as u64, self.limits.depth as u64)?;
        let mut done: HashMap<&'a str, Vec<Value>> = HashMap::new();
        for wanted in wanted {
            let start = reference(wanted).node;
            if scope.given.contains_key(start) {
                continue;
            }
            let Some((&start, _)) = scope.nodes.get_key_value(start) else {
                return Err(malformed(format!("nothing is called {}", quote(start))));
            };
            let mut open = vec![(start, false)];
            let mut entered = HashSet::new();
            while let Some((name, ready)) = open.pop() {
                if done.contains_key(name) {
                    continue;
                }
                let Some(&node) = scope.nodes.get(name) else {
                    return Err(malformed(format!("nothing is called {}", quote(name))));
                };
                if ready {
                    let values = self.node(scope, node, &done, depth)?;
                    done.insert(name, values);
                    continue;
                }
                if !entered.insert(name) {
                    return Err(operation(node, "it waits for itself: the nodes have a cycle"));
                }
                open.push((name, true));
                for input in inputs(node) {
                    let from = reference(input).node;
                    if !scope.given.contains_key(from) && !done.contains_key(from) {
                        open.push((from, false));
                    }
                }
            }
        }
        wanted.iter().map(|wanted| find(scope, &done, wanted)).collect()
    }

    fn node(
        &mut self,
        scope: &Scope<'a>,
        node: &'a NodeDef,
        done: &HashMap<&'a str, Vec<Value>>,
        depth: usize,
    ) -> Result<Vec<Value>, FormatError> {
        self.left = self.left.checked_sub(1).ok_or(FormatError::Limit {
            what: "nodes of the model, functions inlined",
            limit: self.limits.inlined_nodes as u64,
            actual: self.limits.inlined_nodes as u64 + 1,
        })?;
        let given: Vec<Value> =
            inputs(node).map(|input| find(scope, done, input)).collect::<Result<_, _>>()?;
        match node.op.as_str() {
            "Const" => return self.constant(node),
            "VarHandleOp" | "VariableV2" | "Variable" if !scope.is_function => {
                return Ok(vec![if node.op == "VarHandleOp" {
                    Value::Variable(node.name.clone())
                } else {
                    Value::Tensor(self.variable(&node.name)?)
                }]);
            }
            "ReadVariableOp" => {
                let Some(Value::Variable(name)) = given.first() else {
                    return Err(operation(node, "it reads no variable"));
                };
                return Ok(vec![Value::Tensor(self.variable(name)?)]);
            }
            "PartitionedCall" | "StatefulPartitionedCall" => {
                return self.call(node, given, depth);
            }
            "NoOp" | "Assert" => return Ok(vec![Value::Nothing]),
            "Identity"
            | "StopGradient"
            | "PlaceholderWithDefault"
            | "IdentityN"
            | "Snapshot"
            | "PreventGradient" => {
                return Ok(given);
            }
            _ => {}
        }
        let mut given = given;
        if node.op == "ResourceGather"
            && let Some(Value::Variable(name)) = given.first()
        {
            let table = self.variable(&name.clone())?;
            if let Some(first) = given.first_mut() {
                *first = Value::Tensor(table);
            }
        }
        let rule = table::find(&node.op).map_err(|reason| operation(node, reason))?;
        let inputs: Option<Vec<String>> = given
            .into_iter()
            .map(|v| if let Value::Tensor(name) = v { Some(name) } else { None })
            .collect();
        let inputs = inputs.ok_or_else(|| operation(node, "an input is no tensor"))?;
        self.make.on_behalf_of(&node.name);
        let mut op = Op { make: &mut self.make, node, inputs };
        let values = rule.lower(&mut op).map_err(|Refusal(reason)| operation(node, reason))?;
        Ok(values.into_iter().map(Value::Tensor).collect())
    }

    fn constant(&mut self, node: &NodeDef) -> Result<Vec<Value>, FormatError> {
        let Some(Attr::Tensor(proto)) = node.attr.get("value").and_then(|a| a.value.as_ref())
        else {
            return Err(operation(node, "it has no value"));
        };
        // Once, however often its function is called.
        let key = std::ptr::from_ref(node);
        if let Some(known) = self.constants.get(&key) {
            return Ok(vec![Value::Tensor(known.clone())]);
        }
        let tensor = tensor(proto, self.limits, &mut self.expanded)?;
        let value = self.make.constant(tensor);
        self.constants.insert(key, value.clone());
        Ok(vec![Value::Tensor(value)])
    }

    /// The value of a variable as a constant.
    fn variable(&mut self, node: &str) -> Result<String, FormatError> {
        if let Some(known) = self.read.get(node) {
            return Ok(known.clone());
        }
        let shared = self.graph.node.iter().find(|n| n.name == node).and_then(|n| {
            match n.attr.get("shared_name").and_then(|a| a.value.as_ref()) {
                Some(Attr::S(name)) => Some(String::from_utf8_lossy(name).into_owned()),
                _ => None,
            }
        });
        // TensorFlow 2 restores by a function, TensorFlow 1 by the variables' own names.
        let names = [self.keys.get(node).cloned(), shared, Some(node.to_owned())];
        let mut known = names.into_iter().flatten().filter(|name| self.bundle.has(name));
        let key = known.next();
        let missing = || malformed(format!("variable {} is not in the checkpoint", quote(node)));
        let tensor: Tensor = self.bundle.tensor(&key.ok_or_else(missing)?)?;
        let value = self.make.constant(tensor);
        self.read.insert(node.to_owned(), value.clone());
        Ok(value)
    }

    fn call(
        &mut self,
        node: &NodeDef,
        given: Vec<Value>,
        depth: usize,
    ) -> Result<Vec<Value>, FormatError> {
        let Some(Attr::Func(called)) = node.attr.get("f").and_then(|a| a.value.as_ref()) else {
            return Err(operation(node, "it calls nothing"));
        };
        let missing = || operation(node, format!("there is no function {}", quote(&called.name)));
        let function = *self.functions.get(called.name.as_str()).ok_or_else(missing)?;
        let signature = function.signature.as_ref().ok_or_else(missing)?;
        if signature.input_arg.len() != given.len() {
            let counts = format!("{} arguments for {}", given.len(), signature.input_arg.len());
            return Err(operation(node, counts));
        }
        let names = signature.input_arg.iter().map(|arg| arg.name.clone());
        let scope = Scope {
            nodes: function.node_def.iter().map(|n| (n.name.as_str(), n)).collect(),
            given: names.zip(given).collect(),
            is_function: true,
        };
        let result = |arg: &super::proto::op_def::ArgDef| function.ret.get(&arg.name).cloned();
        let wanted: Option<Vec<String>> = signature.output_arg.iter().map(result).collect();
        self.values(&scope, &wanted.ok_or_else(missing)?, depth + 1)
    }
}

/// The inputs that are data.
fn inputs(node: &NodeDef) -> impl Iterator<Item = &str> {
    node.input.iter().map(String::as_str).filter(|input| !input.starts_with('^'))
}

fn find(
    scope: &Scope<'_>,
    done: &HashMap<&str, Vec<Value>>,
    wanted: &str,
) -> Result<Value, FormatError> {
    let wanted = reference(wanted);
    if let Some(value) = scope.given.get(wanted.node) {
        return Ok(value.clone());
    }
    let value = done.get(wanted.node).and_then(|values| values.get(wanted.place()));
    value.cloned().ok_or_else(|| {
        malformed(format!("output {} of {} is not read", wanted.place(), quote(wanted.node)))
    })
}

/// Names in the checkpoint by variable: what the function restores that the main graph calls with the variables.
fn restored(graph: &GraphDef, functions: &HashMap<&str, &FunctionDef>) -> HashMap<String, String> {
    let mut keys = HashMap::new();
    for caller in &graph.node {
        let Some(Attr::Func(called)) = caller.attr.get("f").and_then(|a| a.value.as_ref()) else {
            continue;
        };
        let Some(function) = functions.get(called.name.as_str()) else { continue };
        let Some(restore) = function.node_def.iter().find(|n| n.op == "RestoreV2") else {
            continue;
        };
        let nodes: BTreeMap<&str, &NodeDef> =
            function.node_def.iter().map(|n| (n.name.as_str(), n)).collect();
        let names = restore.input.get(1).map(|input| reference(input).node);
        let names = names.and_then(|n| nodes.get(n)).and_then(|n| n.attr.get("value"));
        let Some(Attr::Tensor(names)) = names.and_then(|a| a.value.as_ref()) else { continue };
        let arguments = function.signature.iter().flat_map(|s| &s.input_arg);
        let outer: HashMap<&str, &str> =
            arguments.map(|a| a.name.as_str()).zip(inputs(caller)).collect();
        for assign in function.node_def.iter().filter(|n| n.op == "AssignVariableOp") {
            let (Some(variable), Some(value)) = (assign.input.first(), assign.input.get(1)) else {
                continue;
            };
            let mut value = reference(value);
            if let Some(through) = nodes.get(value.node).filter(|n| n.op == "Identity")
                && let Some(input) = through.input.first()
            {
                value = reference(input);
            }
            let name = names.string_val.get(value.index).filter(|_| value.node == restore.name);
            if let (Some(name), Some(outer)) = (name, outer.get(reference(variable).node)) {
                let name = String::from_utf8_lossy(name).into_owned();
                keys.insert(reference(outer).node.to_owned(), name);
            }
        }
    }
    keys
}
