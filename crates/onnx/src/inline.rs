//! Replaces calls of a model's own functions by their bodies.
//!
//! Functions are made flat first, those that call no other before their callers, and then inlined into the
//! main graph; nothing here recurses except into bodies of bodies. A body's values get names that nothing
//! else in the model has.

mod order;
mod rename;

use crate::{
    AttributeValue, Attributes, Function, Graph, Limits, Model, Node, OnnxError, error,
    error::quote,
};
use rename::{Names, Renaming};
use std::collections::HashMap;

/// What tells functions apart: domain, name and overload.
type Key = (String, String, String);

impl Model {
    /// The same model without functions: each call is replaced by the function's body, with attribute
    /// references resolved. A function takes precedence over an operator of the same name.
    ///
    /// # Errors
    /// [`OnnxError::RecursiveFunction`], [`OnnxError::CallArity`], and [`OnnxError::Limit`] when the bodies
    /// multiply beyond [`Limits::inlined_nodes`].
    pub fn inline_functions(mut self, limits: &Limits) -> Result<Model, OnnxError> {
        if self.functions.is_empty() {
            return Ok(self);
        }
        let functions = std::mem::take(&mut self.functions);
        let index: HashMap<Key, usize> =
            functions.iter().enumerate().map(|(i, f)| (key_of_function(f), i)).collect();
        let order = order::callees_first(&functions, &index)?;
        check_growth(&self.graph, &functions, &index, &order, limits)?;

        let mut names = Names::new(&self.graph);
        for function in &functions {
            names.reserve_function(function);
        }
        let mut flat: Vec<Option<Function>> = vec![None; functions.len()];
        let mut functions: Vec<Option<Function>> = functions.into_iter().map(Some).collect();
        for i in order {
            let Some(mut function) = functions.get_mut(i).and_then(Option::take) else { continue };
            let calls = Calls { index: &index, flat: &flat };
            function.nodes = calls.expand(function.nodes, &mut names)?;
            if let Some(slot) = flat.get_mut(i) {
                *slot = Some(function);
            }
        }
        let calls = Calls { index: &index, flat: &flat };
        calls.expand_graph(&mut self.graph, &mut names)?;
        // Nodes know their own version; the list is for readers of the model.
        for import in flat.into_iter().flatten().flat_map(|function| function.opset_imports) {
            if self.opset(&import.domain).is_none() {
                self.opset_imports.push(import);
            }
        }
        Ok(self)
    }
}

fn key_of_function(f: &Function) -> Key {
    (f.domain.clone(), f.name.clone(), f.overload.clone())
}

/// The function that a node calls.
fn callee(node: &Node, index: &HashMap<Key, usize>) -> Option<usize> {
    index.get(&(node.domain.clone(), node.op_type.clone(), node.overload.clone())).copied()
}

/// Adds up what the flat model will hold before any of it is made.
fn check_growth(
    graph: &Graph,
    functions: &[Function],
    index: &HashMap<Key, usize>,
    order: &[usize],
    limits: &Limits,
) -> Result<(), OnnxError> {
    let mut sizes = vec![0u64; functions.len()];
    // Every function is made flat, whether the graph calls it or not.
    let mut total = 0u64;
    for &i in order {
        let nodes = functions.get(i).map_or(&[][..], |f| &f.nodes);
        let size = flat_size(nodes, index, &sizes);
        if let Some(slot) = sizes.get_mut(i) {
            *slot = size;
        }
        total = total.saturating_add(size);
    }
    let total = total.saturating_add(flat_size(&graph.nodes, index, &sizes));
    error::check_limit("nodes after functions are inlined", total, limits.inlined_nodes as u64)
}

/// The nodes of a list and its bodies when flat. A node with long texts and lists counts as several, for they
/// are copied with it.
fn flat_size(nodes: &[Node], index: &HashMap<Key, usize>, sizes: &[u64]) -> u64 {
    let mut total = 0u64;
    for node in nodes {
        // A call is replaced by what it calls.
        let own = callee(node, index).and_then(|i| sizes.get(i).copied()).unwrap_or(1);
        let bodies = node.subgraphs().map(|(_, body)| flat_size(&body.nodes, index, sizes));
        let attributes = node.attributes.iter().map(|(_, value)| weight(value) / 64);
        let text = node.name.len() + node.op_type.len() + node.domain.len() + node.overload.len();
        let lists = node.inputs.len() + node.outputs.len();
        let own = own.saturating_add((text / 512 + lists / 16) as u64);
        let node_size = bodies.chain(attributes).fold(own, u64::saturating_add);
        total = total.saturating_add(node_size);
    }
    total
}

/// Numbers in an attribute; tensors are shared, not copied.
fn weight(value: &AttributeValue) -> u64 {
    let len = match value {
        AttributeValue::String(v) => v.len() / 8,
        AttributeValue::Floats(v) => v.len(),
        AttributeValue::Ints(v) => v.len(),
        AttributeValue::Strings(v) => v.iter().map(|s| 4 + s.len() / 8).sum(),
        AttributeValue::Tensors(v) => v.len() * 16,
        AttributeValue::SparseTensors(v) => v.len() * 16,
        _ => 0,
    };
    len as u64
}

/// The functions that are flat already.
struct Calls<'a> {
    index: &'a HashMap<Key, usize>,
    flat: &'a [Option<Function>],
}

impl Calls<'_> {
    fn callee(&self, node: &Node) -> Option<&Function> {
        self.flat.get(callee(node, self.index)?)?.as_ref()
    }

    fn expand_graph(&self, graph: &mut Graph, names: &mut Names) -> Result<(), OnnxError> {
        graph.nodes = self.expand(std::mem::take(&mut graph.nodes), names)?;
        Ok(())
    }

    fn expand(&self, nodes: Vec<Node>, names: &mut Names) -> Result<Vec<Node>, OnnxError> {
        let mut out = Vec::with_capacity(nodes.len());
        for mut node in nodes {
            for (_, value) in node.attributes.iter_mut() {
                for body in value.graphs_mut() {
                    self.expand_graph(body, names)?;
                }
            }
            match self.callee(&node) {
                Some(function) => inline_call(&node, function, names, &mut out)?,
                None => out.push(node),
            }
        }
        Ok(out)
    }
}

/// Appends the body of `function` in place of `call`.
fn inline_call(
    call: &Node,
    function: &Function,
    names: &mut Names,
    out: &mut Vec<Node>,
) -> Result<(), OnnxError> {
    for (what, formal, actual) in [
        ("inputs", function.inputs.len(), call.inputs.len()),
        ("outputs", function.outputs.len(), call.outputs.len()),
    ] {
        if actual > formal {
            return Err(OnnxError::CallArity { node: call.label(), what, actual, formal });
        }
    }
    let prefix = names.call_prefix(&function.name);
    let mut renaming = Renaming::new(&prefix);
    for (i, formal) in function.inputs.iter().enumerate() {
        renaming.set(formal, call.input(i).unwrap_or_default());
    }
    // An output that is an input handed through has no node to define it.
    let mut handed_through = Vec::new();
    for (i, formal) in function.outputs.iter().enumerate() {
        match call.output(i) {
            None => {}
            Some(actual) if renaming.has(formal) => {
                handed_through.push((renaming.get(formal, names), actual));
            }
            Some(actual) => renaming.set(formal, actual),
        }
    }
    let first = out.len();
    for node in &function.nodes {
        let mut node = node.clone();
        resolve(&mut node.attributes, call, function)?;
        renaming.node(&mut node, names);
        out.push(node);
    }
    let opset = out.get(first).map_or(call.opset, |node| node.opset);
    for (source, target) in handed_through {
        if source.is_empty() {
            let (place, value) = (call.label(), quote(target));
            return Err(OnnxError::Undefined { place, value });
        }
        out.push(Node::new("Identity", opset, &[&source], &[target]));
    }
    Ok(())
}

/// Replaces the references in `attributes`, and in the bodies there, by the values of the call or the
/// function's defaults. One with neither is dropped, as if the node did not have it.
fn resolve(attributes: &mut Attributes, call: &Node, function: &Function) -> Result<(), OnnxError> {
    let mut dropped = Vec::new();
    for (name, value) in attributes.iter_mut() {
        if let AttributeValue::Ref { name: wanted, kind } = value {
            let given = call.attributes.get(wanted).or_else(|| function.defaults.get(wanted));
            match given {
                Some(given) if given.kind() != *kind => {
                    return Err(OnnxError::AttributeKind {
                        node: call.label(),
                        attribute: wanted.clone(),
                        expected: *kind,
                        actual: given.kind(),
                    });
                }
                Some(given) => *value = given.clone(),
                None => dropped.push(name.to_owned()),
            }
            continue;
        }
        for body in value.graphs_mut() {
            for node in &mut body.nodes {
                resolve(&mut node.attributes, call, function)?;
            }
        }
    }
    for name in dropped {
        attributes.remove(&name);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
