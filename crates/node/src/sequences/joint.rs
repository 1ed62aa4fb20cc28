//! The states of several models as one, so that they change together or not at all.

use super::Layout;
use super::State;
use crate::servable::Servable;
use crate::{Code, Error, ErrorKind};
use std::sync::Arc;
use stead_tensor::Tensor;

/// The stateful nodes of a pipeline: their names and models. The state of a sequence holds the values of the
/// first node, then those of the second, and so on.
pub(crate) struct Joint(Vec<(String, Arc<Servable>)>);

impl Joint {
    /// The joint state of these nodes, whose models are stateful.
    pub(crate) fn new(nodes: Vec<(String, Arc<Servable>)>) -> Joint {
        Joint(nodes)
    }

    fn layouts(&self) -> impl Iterator<Item = (&str, &Layout)> {
        self.0.iter().filter_map(|(name, model)| Some((&**name, model.sequences().ok()?.layout()?)))
    }

    /// As [`Layout::describe`], with the names of the nodes in front.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        let part = |(node, layout): (&str, &Layout)| {
            let named = |(name, text)| (format!("node.{node}.{name}"), text);
            layout.describe().into_iter().map(named).collect::<Vec<_>>()
        };
        self.layouts().flat_map(part).collect()
    }

    /// As [`Layout::names`], in the form `node/state`.
    pub(crate) fn names(&self) -> Vec<String> {
        let part = |(node, layout): (&str, &Layout)| {
            layout.names().map(|name| format!("{node}/{name}")).collect::<Vec<_>>()
        };
        self.layouts().flat_map(part).collect()
    }

    /// The number that tells the states of other models apart; a model that is not durable itself counts with
    /// the form of its states alone.
    pub(crate) fn fingerprint(&self) -> u64 {
        let own = self.0.iter().filter_map(|(_, model)| model.sequences().ok()?.fingerprint());
        let line = |(node, layout): (&str, &Layout)| {
            layout.identity().into_iter().map(|line| format!("{node} {line}")).collect::<Vec<_>>()
        };
        let lines = self.layouts().flat_map(line);
        stead_sequence::durable::fingerprint(lines.chain(own.map(|n| format!("{n:016x}"))))
    }

    /// As [`Layout::state_of`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn state_of(&self, mut values: Vec<(String, Tensor)>) -> Result<State, Error> {
        let mut parts = Vec::new();
        for (node, layout) in self.layouts() {
            let mut own = Vec::new();
            for name in layout.names() {
                let full = format!("{node}/{name}");
                if let Some(place) = values.iter().position(|(n, _)| *n == full) {
                    own.push((name.to_owned(), values.swap_remove(place).1));
                }
            }
            parts.push(layout.state_of(own).map_err(|e| at_node(node, e))?);
        }
        match values.first() {
            Some((name, _)) => {
                let text = format!("the pipeline has no state {name:?}");
                Err(Error { code: Code::InvalidArgument, kind: ErrorKind::Protocol(text) })
            }
            None => Ok(Joint::join(parts)),
        }
    }

    /// One state of those of the nodes.
    pub(crate) fn join(parts: Vec<State>) -> State {
        State(parts.iter().flat_map(|part| part.0.iter().cloned()).collect())
    }

    /// The state of each node.
    pub(crate) fn split(&self, state: &State) -> Vec<State> {
        let mut rest = &*state.0;
        let mut parts = Vec::with_capacity(self.0.len());
        for (_, layout) in self.layouts() {
            let (part, behind) = rest.split_at(layout.names().count().min(rest.len()));
            parts.push(State(part.into()));
            rest = behind;
        }
        parts
    }
}

/// The same error with the name of the node.
fn at_node(node: &str, error: Error) -> Error {
    let text = format!("node {node:?}: {error}");
    Error { code: error.code, kind: ErrorKind::Protocol(text) }
}
