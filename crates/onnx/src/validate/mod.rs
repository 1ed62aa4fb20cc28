//! Checks that a model's names make a graph that can be run in order, and puts nodes into such an order.

mod sort;

use crate::{Graph, Model, Node, OnnxError, error::quote};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The names that a graph uses and does not define, each with a place that uses it.
type Free = BTreeMap<String, String>;

/// Validates and sorts the main graph and all functions.
pub(crate) fn model(model: &mut Model) -> Result<(), OnnxError> {
    let free = graph(&mut model.graph)?;
    closed(free)?;
    unique(model.graph.outputs.iter().map(|o| o.name.as_str()), "the list of outputs")?;
    let mut keys = HashSet::new();
    for function in &mut model.functions {
        let key = (function.domain.clone(), function.name.clone(), function.overload.clone());
        let name = quote(&function.name);
        if !keys.insert(key) {
            return Err(OnnxError::DuplicateFunction { function: name });
        }
        let place = format!("function {name}");
        let parameters: Vec<&str> = function.inputs.iter().map(String::as_str).collect();
        unique(parameters.iter().copied(), &place)?;
        unique(function.outputs.iter().map(String::as_str), &place)?;
        let outputs = function.outputs.clone();
        let free = scope(&place, &parameters, &mut function.nodes, &outputs)?;
        closed(free)?;
    }
    Ok(())
}

/// Refuses a graph that uses what nothing defines.
fn closed(free: Free) -> Result<(), OnnxError> {
    match free.into_iter().next() {
        None => Ok(()),
        Some((name, place)) => Err(OnnxError::Undefined { place, value: quote(&name) }),
    }
}

fn unique<'a>(names: impl Iterator<Item = &'a str>, place: &str) -> Result<(), OnnxError> {
    let mut seen = HashSet::new();
    for name in names {
        if name.is_empty() {
            return Err(OnnxError::Missing { place: format!("a value of {place}"), what: "name" });
        }
        if !seen.insert(name) {
            return Err(OnnxError::Redefined { place: place.to_owned(), value: quote(name) });
        }
    }
    Ok(())
}

/// Validates and sorts a graph and the bodies in it. The recursion follows bodies in bodies, whose depth
/// the reader has limited.
///
/// A body may define a name that a graph around it defines too; inside of the body it means the body's.
pub(crate) fn graph(graph: &mut Graph) -> Result<Free, OnnxError> {
    let place = format!("graph {}", quote(&graph.name));
    unique(
        graph.inputs.iter().map(|i| i.name.as_str()),
        &format!("the list of inputs of {place}"),
    )?;
    unique(
        graph.initializers.iter().map(|(name, _)| name.as_str()),
        &format!("the list of initializers of {place}"),
    )?;
    let outputs: Vec<String> = graph.outputs.iter().map(|o| o.name.clone()).collect();
    let inputs = graph.inputs.iter().map(|i| i.name.as_str());
    let given: Vec<&str> =
        inputs.chain(graph.initializers.iter().map(|(name, _)| name.as_str())).collect();
    scope(&place, &given, &mut graph.nodes, &outputs)
}

/// Validates and sorts the nodes of a graph or function in which `given` is defined from the start.
fn scope(
    place: &str,
    given: &[&str],
    nodes: &mut Vec<Node>,
    outputs: &[String],
) -> Result<Free, OnnxError> {
    let mut captured = Vec::with_capacity(nodes.len());
    for node in nodes.iter_mut() {
        captured.push(captures(node)?);
    }
    let mut free = Free::new();
    let order = {
        let given: HashSet<&str> = given.iter().copied().collect();
        let producers = producers(nodes, &given)?;
        // For each node the nodes that it waits for.
        let mut waits = Vec::with_capacity(nodes.len());
        for (node, captured) in nodes.iter().zip(&captured) {
            let inputs = node.inputs.iter().filter(|name| !name.is_empty());
            let mut of_node = Vec::new();
            for name in inputs.chain(captured.keys()) {
                match producers.get(name.as_str()) {
                    Some(&producer) => of_node.push(producer),
                    None if given.contains(name.as_str()) => {}
                    None => {
                        let user = captured.get(name).cloned().unwrap_or_else(|| node.label());
                        free.entry(name.clone()).or_insert(user);
                    }
                }
            }
            waits.push(of_node);
        }
        for name in outputs {
            if name.is_empty() {
                let place = format!("an output of {place}");
                return Err(OnnxError::Missing { place, what: "name" });
            }
            if !producers.contains_key(name.as_str()) && !given.contains(name.as_str()) {
                free.entry(name.clone()).or_insert_with(|| format!("an output of {place}"));
            }
        }
        sort::order(&waits).map_err(|at| OnnxError::Cycle {
            node: nodes.get(at).map(Node::label).unwrap_or_default(),
        })?
    };
    if let Some(order) = order {
        let mut slots: Vec<Option<Node>> = nodes.drain(..).map(Some).collect();
        nodes.extend(order.into_iter().filter_map(|i| slots.get_mut(i).and_then(Option::take)));
    }
    Ok(free)
}

/// Which node defines each name.
fn producers<'a>(
    nodes: &'a [Node],
    given: &HashSet<&str>,
) -> Result<HashMap<&'a str, usize>, OnnxError> {
    let mut producers = HashMap::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            if given.contains(name.as_str()) || producers.insert(name.as_str(), i).is_some() {
                return Err(OnnxError::Redefined { place: node.label(), value: quote(name) });
            }
        }
    }
    Ok(producers)
}

/// Validates the bodies of a node and returns the names that they take from outside.
fn captures(node: &mut Node) -> Result<Free, OnnxError> {
    let mut captured = Free::new();
    for (_, value) in node.attributes.iter_mut() {
        for body in value.graphs_mut() {
            for (name, place) in graph(body)? {
                captured.entry(name).or_insert(place);
            }
        }
    }
    Ok(captured)
}
