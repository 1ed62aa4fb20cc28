//! New names for the values of an inlined body.

use crate::{Function, Graph, Node};
use std::collections::{HashMap, HashSet};

/// The longest name that is made by putting prefixes before a name; a longer one becomes a number.
const MAX_NAME: usize = 256;

/// All names of values in the model.
pub(super) struct Names {
    used: HashSet<String>,
    calls: usize,
    numbered: usize,
}

impl Names {
    /// The names of a graph and its bodies.
    pub(super) fn new(graph: &Graph) -> Names {
        let mut names = Names { used: HashSet::new(), calls: 0, numbered: 0 };
        names.reserve_graph(graph);
        names
    }

    fn reserve_graph(&mut self, graph: &Graph) {
        let inputs = graph.inputs.iter().map(|v| &v.name);
        self.used.extend(inputs.chain(graph.initializers.iter().map(|(n, _)| n)).cloned());
        self.reserve_nodes(&graph.nodes);
    }

    fn reserve_nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.used.extend(node.outputs.iter().cloned());
            for (_, body) in node.subgraphs() {
                self.reserve_graph(body);
            }
        }
    }

    /// The names of a function's body.
    pub(super) fn reserve_function(&mut self, function: &Function) {
        self.used.extend(function.inputs.iter().cloned());
        self.reserve_nodes(&function.nodes);
    }

    /// What the names of one call begin with, such as `gelu.3/`.
    pub(super) fn call_prefix(&mut self, function: &str) -> String {
        self.calls += 1;
        let short: String = function.chars().take(64).collect();
        format!("{short}.{}/", self.calls)
    }

    /// A name that nothing has, made from `wanted`.
    fn fresh(&mut self, mut wanted: String) -> String {
        while wanted.len() > MAX_NAME || self.used.contains(&wanted) {
            self.numbered += 1;
            wanted = format!("inlined.{}", self.numbered);
        }
        self.used.insert(wanted.clone());
        wanted
    }
}

/// How the names of one body translate.
pub(super) struct Renaming<'a> {
    prefix: &'a str,
    /// The function's own names, and those of the bodies around the current node, innermost last.
    scopes: Vec<HashMap<String, String>>,
}

impl<'a> Renaming<'a> {
    /// No name translated yet.
    pub(super) fn new(prefix: &'a str) -> Renaming<'a> {
        Renaming { prefix, scopes: vec![HashMap::new()] }
    }

    /// Lets `name` of the function stand for `actual` of the caller, `""` for an absent input.
    pub(super) fn set(&mut self, name: &str, actual: &str) {
        if let Some(scope) = self.scopes.first_mut() {
            scope.insert(name.to_owned(), actual.to_owned());
        }
    }

    /// Whether `name` has a translation.
    pub(super) fn has(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains_key(name))
    }

    /// The translation of `name`, which is fresh when it has none: a value inside of the function.
    pub(super) fn get(&mut self, name: &str, names: &mut Names) -> String {
        if name.is_empty() {
            return String::new();
        }
        if let Some(known) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return known.clone();
        }
        let fresh = names.fresh(format!("{}{name}", self.prefix));
        self.set(name, &fresh);
        fresh
    }

    /// Translates all names of a node and its bodies. The depth is that of bodies, which the reader limits.
    pub(super) fn node(&mut self, node: &mut Node, names: &mut Names) {
        for name in node.inputs.iter_mut().chain(&mut node.outputs) {
            *name = self.get(name, names);
        }
        if !node.name.is_empty() {
            node.name = names.node_name(self.prefix, &node.name);
        }
        let label = node.label();
        for (_, value) in node.attributes.iter_mut() {
            for body in value.graphs_mut() {
                self.graph(body, names);
            }
        }
        node.attributes.set_label(label);
    }

    fn graph(&mut self, graph: &mut Graph, names: &mut Names) {
        // What the body defines itself hides the function's value of the same name.
        let defined = graph.inputs.iter().map(|v| &v.name);
        let defined = defined.chain(graph.initializers.iter().map(|(name, _)| name));
        let defined = defined.chain(graph.nodes.iter().flat_map(|node| &node.outputs));
        let mut scope = HashMap::new();
        for name in defined.filter(|name| !name.is_empty()) {
            scope
                .entry(name.clone())
                .or_insert_with(|| names.fresh(format!("{}{name}", self.prefix)));
        }
        self.scopes.push(scope);
        let infos = graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_info);
        for info in infos {
            info.name = self.get(&info.name, names);
        }
        for (name, _) in &mut graph.initializers {
            *name = self.get(name, names);
        }
        for node in &mut graph.nodes {
            self.node(node, names);
        }
        self.scopes.pop();
    }
}

impl Names {
    /// A name for a node; nodes need no unique ones, only short ones.
    fn node_name(&self, prefix: &str, name: &str) -> String {
        let full = format!("{prefix}{name}");
        if full.len() > MAX_NAME { name.to_owned() } else { full }
    }
}
