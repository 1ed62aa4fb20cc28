//! Steps of a GRU: an update and a reset gate around a candidate.

use super::blend::{Blend, blend};
use super::cell::{Before, cell};
use super::law::{Cell, Function, Kind, State};
use super::linear::{Factor, Forms, Linear};
use crate::ir::{Node, ValueId};

impl<'a> Forms<'a> {
    /// Functions whose values are multiplied and added to what a node gives.
    pub(super) fn candidates(&self, node: &'a Node) -> Vec<&'a Node> {
        /// `h + z (c - h)` has the candidate below three nodes.
        const DEPTH: usize = 4;
        let (mut found, mut level): (Vec<&Node>, _) = (Vec::new(), vec![node]);
        for _ in 0..DEPTH {
            let mut below = Vec::new();
            for node in level {
                if !["Add", "Sub", "Mul"].iter().any(|op| node.is(op)) {
                    continue;
                }
                for maker in node.inputs.iter().filter_map(|id| self.m.maker(*id)) {
                    if !matches!(Function::of(maker), None | Some(Function::Sigmoid)) {
                        if !found.iter().any(|known| known.output(0) == maker.output(0)) {
                            found.push(maker);
                        }
                    } else {
                        below.push(maker);
                    }
                }
            }
            level = below;
        }
        found
    }

    /// What may be the state of which a candidate is made: of a product with a sigmoid the other factor, or what
    /// that is made of.
    pub(super) fn reset_states(&self, candidate: &Node) -> Vec<ValueId> {
        let mut states = Vec::new();
        for addend in self.addends(candidate.input(0)) {
            if let Some((_, inner)) = self.gated(Some(addend)) {
                let sum = self.linear(Some(inner));
                states.extend(sum.iter().flat_map(|sum| self.operands(sum)));
            } else if let Some(sum) = self.linear(Some(addend)) {
                let gated = self.operands(&sum).into_iter().filter_map(|id| self.gated(Some(id)));
                states.extend(gated.map(|(_, state)| state));
            }
        }
        states.sort();
        states.dedup();
        states
    }

    /// What a sum adds up, sums in it taken apart.
    fn addends(&self, id: Option<ValueId>) -> Vec<ValueId> {
        /// More than the sum of a gate has.
        const MOST: usize = 16;
        let (mut open, mut found): (Vec<ValueId>, _) = (id.into_iter().collect(), Vec::new());
        while let Some(id) = open.pop() {
            match self.m.made_by(Some(id), "Add") {
                Some(add) if found.len() + open.len() < MOST => {
                    open.extend(add.inputs.iter().flatten());
                }
                _ => found.push(id),
            }
        }
        found
    }

    /// The step with this candidate whose state is `h`, if the nodes around them are one.
    pub(super) fn gru(&self, h: ValueId, candidate: &Node, before: Before) -> Option<Cell> {
        let m = self.m;
        let function = Function::of(candidate)?;
        let mut xs = Vec::new();
        let (mut reset, mut linear_before_reset) = (None, false);
        let mut sum: Option<Linear> = None;
        let mut recurrent: Option<Linear> = None;
        for addend in self.addends(candidate.input(0)) {
            if let Some(mut part) = self.linear(Some(addend)) {
                let hidden = part.width();
                let mut products = Vec::new();
                for (left, factor) in part.products {
                    let is_gated = |id| {
                        self.gated(Some(id)).is_some_and(|(_, inner)| self.is_before(inner, before))
                    };
                    products.extend(self.joined(left, factor, is_gated, hidden)?);
                }
                for (left, _) in &mut products {
                    let Some((gate, inner)) = self.gated(Some(*left)) else { continue };
                    if self.is_before(inner, before) {
                        // The gate stands before the product: what it is multiplied with is the state.
                        reset = same_node(reset, gate)?;
                        *left = inner;
                    } else if self.is_before(*left, before) {
                        return None;
                    }
                }
                part.products = products;
                sum = Some(match sum {
                    Some(sum) => sum.plus(part)?,
                    None => part,
                });
            } else {
                let (gate, inner) = self.gated(Some(addend))?;
                let inner = self.linear(Some(inner))?;
                let of_state = |(left, _): &(ValueId, Factor)| self.is_before(*left, before);
                if recurrent.is_some() || !inner.products.iter().all(of_state) {
                    return None;
                }
                reset = same_node(reset, gate)?;
                (linear_before_reset, recurrent) = (true, Some(inner));
            }
        }
        let sum = sum?;
        let reset = reset?;
        let mut candidate_gate = self.gate(sum, before, &mut xs)?;
        if let Some(inner) = recurrent {
            // Then nothing of the state may be added outside of the gate.
            if !candidate_gate.h.is_empty() || inner.width() != candidate_gate.bias.len() {
                return None;
            }
            candidate_gate.recurrent_bias = inner.bias.clone();
            candidate_gate.h = self.gate(inner, before, &mut Vec::new())?.h;
        }
        let state = match before {
            Before::Value(id) => Some(id),
            Before::Zeros => None,
        };
        let Blend { gate: update, keeps } = blend(m, h, candidate.output(0)?, state)?;
        let update = m.made_by(Some(update), "Sigmoid")?;
        let mut update = self.gate(self.linear(update.input(0))?, before, &mut xs)?;
        update.negated = !keeps;
        let reset = self.gate(self.linear(reset.input(0))?, before, &mut xs)?;
        let state = |id| State { h: id, c: id };
        let before = match before {
            Before::Value(id) => state(id),
            Before::Zeros => state(h),
        };
        let kind = Kind::Gru { linear_before_reset, candidate: function };
        cell(kind, vec![update, reset, candidate_gate], xs, before, state(h))
    }
}

fn same_node<'a>(known: Option<&'a Node>, node: &'a Node) -> Option<Option<&'a Node>> {
    match known {
        Some(known) if known.output(0) != node.output(0) => None,
        _ => Some(Some(node)),
    }
}
