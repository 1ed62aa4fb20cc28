//! Which regions are worth their borders.

use super::choose::{Choice, Choices, Form};
use crate::ir::{Body, ValueId};
use std::collections::{HashMap, HashSet};

/// Borders that a convolution over neighbours or of lone channels pays for: one before it and one behind. Pointwise
/// ones are as fast in planes.
const BORDERS_PAID: usize = 2;

/// Sets: each member's parent, or itself.
struct Sets(Vec<usize>);

impl Sets {
    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a] = b;
    }
}

/// Leaves regions in planes whose borders cost more than their convolutions gain.
pub(super) fn drop_poor(body: &Body, choices: &mut Choices) {
    let nodes = &choices.nodes;
    let chosen = || nodes.iter().enumerate().filter_map(|(i, c)| Some((i, c.as_ref()?)));
    let makers: HashMap<ValueId, usize> =
        chosen().filter_map(|(i, c)| Some((c.result?, i))).collect();
    let mut sets = Sets((0..nodes.len()).collect());
    for (at, choice) in chosen() {
        for maker in choice.reads.iter().filter_map(|id| makers.get(id)) {
            sets.join(at, *maker);
        }
    }
    let plain = read_in_planes(body, nodes);
    // For each region, by its first member: values that cross its border, and what pays for them.
    let mut borders: HashMap<usize, HashSet<ValueId>> = HashMap::new();
    let mut paid: HashMap<usize, usize> = HashMap::new();
    for (at, choice) in chosen() {
        let region = sets.find(at);
        let entering = choice.reads.iter().filter(|id| !makers.contains_key(id));
        let leaving = choice.result.iter().filter(|id| plain.contains(id));
        borders.entry(region).or_default().extend(entering.chain(leaving));
        if let Form::Conv { taps: 2.., .. } = choice.form {
            *paid.entry(region).or_default() += BORDERS_PAID;
        }
    }
    let poor: Vec<usize> = (0..nodes.len())
        .filter(|&at| {
            let region = sets.find(at);
            let paid = paid.get(&region).copied().unwrap_or(0);
            paid == 0 || borders.get(&region).is_some_and(|b| b.len() > paid)
        })
        .collect();
    for at in poor {
        choices.nodes[at] = None;
    }
}

/// Values that something reads which is not computed in blocks, or that leave the body.
fn read_in_planes(body: &Body, nodes: &[Option<Choice>]) -> HashSet<ValueId> {
    let mut plain: HashSet<ValueId> = body.outputs.iter().copied().collect();
    for (node, choice) in body.nodes.iter().zip(nodes) {
        let in_blocks = |id: &ValueId| choice.as_ref().is_some_and(|c| c.reads.contains(id));
        plain.extend(node.inputs.iter().flatten().filter(|id| !in_blocks(id)));
        node.bodies.iter().for_each(|(_, inner)| {
            inner.each_use(&mut |id| {
                plain.insert(id);
            })
        });
    }
    plain
}
