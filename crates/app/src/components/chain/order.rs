//! The order of the components of a chain.

use std::collections::{BTreeMap, BTreeSet};

use super::{Dependencies, Phase};

/// The name of everything.
const ALL: &str = "*";

/// Why there is no order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum OrderError {
    /// Names of phases mark points; no component stands there.
    #[error("{component} provides {phase}, which is the name of a phase")]
    Phase {
        /// The phase.
        phase: String,
        /// The component.
        component: String,
    },
    /// Each of these comes before the next, and the last before the first.
    #[error("each of these must come before the next one: {}, {}", .0.join(", "), .0.first().map_or("", String::as_str))]
    Cycle(Vec<String>),
}

/// What stands in the graph: components, names, what comes before all and what comes after all.
struct Graph<'a> {
    components: &'a [(&'a str, &'a Dependencies)],
    /// The nodes of names.
    names: BTreeMap<&'a str, usize>,
    phases: BTreeSet<&'a str>,
    /// The names that components provide.
    provided: BTreeSet<&'a str>,
    /// For each node the nodes behind it.
    behind: Vec<Vec<usize>>,
    /// The node whose nodes behind it come when nothing else is left.
    rest: usize,
}

/// The numbers of components in the order in which they run. Of those that may stand anywhere, the one that was declared
/// first comes first. A name that nobody provides is a point like a phase: what is before it comes before what is after it.
pub(super) fn order(
    components: &[(&str, &Dependencies)],
    phases: &[Phase],
) -> Result<Vec<usize>, OrderError> {
    let graph = Graph::new(components, phases)?;
    let mut waiting = vec![0_usize; graph.behind.len()];
    graph.behind.iter().flatten().for_each(|node| waiting[*node] += 1);
    // Nothing is before the rest, but it waits until nothing else is ready.
    waiting[graph.rest] += 1;
    let mut ready: BTreeSet<usize> =
        (0..waiting.len()).filter(|node| waiting[*node] == 0).collect();
    let (mut sorted, mut rest) = (Vec::new(), Some(graph.rest));
    loop {
        // Names first: they only let go what is behind them. Components have the lower numbers.
        let next = ready.range(components.len()..).next().or(ready.first()).copied();
        let Some(node) = next.or_else(|| rest.take()) else { break };
        ready.remove(&node);
        waiting[node] = 0;
        if node < components.len() {
            sorted.push(node);
        }
        for behind in &graph.behind[node] {
            waiting[*behind] -= 1;
            if waiting[*behind] == 0 {
                ready.insert(*behind);
            }
        }
    }
    if sorted.len() == components.len() {
        return Ok(sorted);
    }
    Err(OrderError::Cycle(graph.cycle(&waiting)))
}

impl<'a> Graph<'a> {
    fn new(
        components: &'a [(&'a str, &'a Dependencies)],
        phases: &'a [Phase],
    ) -> Result<Graph<'a>, OrderError> {
        let in_phases = |phase: &'a Phase| {
            let others = phase.before.iter().chain(&phase.after);
            [&phase.name].into_iter().chain(others).map(String::as_str)
        };
        let phase_names: BTreeSet<&str> =
            phases.iter().flat_map(in_phases).filter(|name| *name != ALL).collect();
        let mut provided = BTreeSet::new();
        for (id, dependencies) in components {
            for name in &dependencies.provides {
                if phase_names.contains(name.as_str()) {
                    let (phase, component) = (name.clone(), (*id).to_owned());
                    return Err(OrderError::Phase { phase, component });
                }
                provided.insert(name.as_str());
            }
        }
        let wanted = components.iter().flat_map(|(_, d)| d.before.iter().chain(&d.after));
        let wanted = wanted.map(String::as_str).filter(|name| *name != ALL);
        let all: BTreeSet<&str> =
            phase_names.iter().copied().chain(provided.iter().copied()).chain(wanted).collect();
        let first = components.len();
        let names: BTreeMap<&str, usize> =
            all.into_iter().enumerate().map(|(at, name)| (name, first + at)).collect();
        let rest = first + names.len();
        let behind = vec![Vec::new(); rest + 2];
        let mut graph = Graph { components, names, phases: phase_names, provided, behind, rest };
        graph.add_phases(phases);
        graph.add_components();
        Ok(graph)
    }

    fn node(&self, name: &str) -> usize {
        self.names.get(name).copied().unwrap_or(self.rest)
    }

    fn add(&mut self, before: usize, after: usize) {
        self.behind[before].push(after);
    }

    fn add_phases(&mut self, phases: &[Phase]) {
        for phase in phases {
            let node = self.node(&phase.name);
            for after in phase.before.iter().filter(|name| *name != ALL) {
                self.add(node, self.node(after));
            }
            for before in &phase.after {
                self.add(self.node(before), node);
            }
        }
    }

    fn add_components(&mut self) {
        let components = self.components;
        let start = self.rest + 1;
        let providers = |name: &str| {
            let provides =
                |(_, d): &(usize, &(&str, &Dependencies))| d.1.provides.iter().any(|n| n == name);
            components.iter().enumerate().filter(provides).map(|(at, _)| at).collect::<Vec<_>>()
        };
        // What comes before all does not come before what has its name.
        let mut exempt: BTreeSet<&str> = BTreeSet::new();
        for (component, (_, dependencies)) in components.iter().enumerate() {
            for name in &dependencies.provides {
                self.add(self.node(name), component);
            }
            for name in &dependencies.before {
                if name == ALL {
                    self.add(component, start);
                    exempt.extend(dependencies.provides.iter().map(String::as_str));
                } else {
                    self.add(component, self.node(name));
                }
            }
            for name in &dependencies.after {
                self.add(self.node(name), component);
                if name != ALL {
                    for provider in providers(name) {
                        self.add(provider, component);
                    }
                }
            }
        }
        let behind: Vec<usize> = self
            .names
            .iter()
            .filter(|(name, _)| !exempt.contains(*name))
            .map(|(_, node)| *node)
            .collect();
        self.behind[start].extend(behind);
    }

    /// A cycle among the nodes that still wait, by names, the one before first.
    fn cycle(&self, waiting: &[usize]) -> Vec<String> {
        let waits = |node: usize| waiting.get(node).is_some_and(|count| *count > 0);
        let before = |node: usize| {
            let leads = |from: &usize| waits(*from) && self.behind[*from].contains(&node);
            (0..self.behind.len()).find(leads)
        };
        let mut way: Vec<usize> = Vec::new();
        let mut node = (0..self.components.len()).find(|node| waits(*node));
        while let Some(here) = node {
            if let Some(at) = way.iter().position(|seen| *seen == here) {
                let mut names: Vec<String> =
                    way[at..].iter().rev().filter_map(|node| self.name(*node)).collect();
                // What is provided by one that stands beside it is left out, so that one may stand twice in a row.
                names.dedup();
                return names;
            }
            way.push(here);
            node = before(here);
        }
        Vec::new()
    }

    /// How a node is called in messages; not at all if it is a name that a component provides.
    fn name(&self, node: usize) -> Option<String> {
        if let Some((id, _)) = self.components.get(node) {
            return Some((*id).to_owned());
        }
        let (name, _) = self.names.iter().find(|(_, at)| **at == node)?;
        match (self.phases.contains(name), self.provided.contains(name)) {
            (true, _) => Some(format!("phase {name}")),
            (false, true) => None,
            (false, false) => Some(format!("\"{name}\"")),
        }
    }
}

#[cfg(test)]
mod tests;
