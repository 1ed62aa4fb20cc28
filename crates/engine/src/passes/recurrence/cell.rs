//! Recognises one step of a recurrence by its algebra.

use super::blend::{Blend, blend};
use super::linear::{Factor, Forms, Linear};
use crate::ir::{Node, ValueId};
use stead_tensor::Tensor;

/// What a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `h' = g(sum)`.
    Rnn(Function),
    /// Update and reset gates and a candidate `g(sum)`.
    Gru { linear_before_reset: bool, candidate: Function },
    /// Input, output and forget gates and a cell state.
    Lstm,
}

/// A function of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Tanh,
    Relu,
    Sigmoid,
}

impl Function {
    fn of(node: &Node) -> Option<Function> {
        [Function::Tanh, Function::Relu, Function::Sigmoid].into_iter().find(|f| node.is(f.name()))
    }

    /// The name in ONNX, as operator and as activation.
    pub fn name(self) -> &'static str {
        match self {
            Function::Tanh => "Tanh",
            Function::Relu => "Relu",
            Function::Sigmoid => "Sigmoid",
        }
    }
}

/// One sum: products of what comes in and of the state by constants, and constants.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gate {
    /// Each with the position of its left operand in [`Cell::xs`].
    pub x: Vec<(usize, Factor)>,
    pub h: Vec<Factor>,
    pub bias: Vec<f32>,
    /// What is added to the product of the state before the reset gate applies to it.
    pub recurrent_bias: Vec<f32>,
    /// Whether the sum has the other sign: then its sigmoid is one less what the graph computes.
    pub negated: bool,
}

/// What is the same in all steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Law {
    pub kind: Kind,
    /// In the order of ONNX.
    pub gates: Vec<Gate>,
}

impl Law {
    /// Whether a step from a state of zeros, of which no products are left, obeys this law too.
    pub fn begins_with(&self, first: &Law) -> bool {
        let same = |(all, first): (&Gate, &Gate)| Gate { h: Vec::new(), ..all.clone() } == *first;
        self.kind == first.kind
            && self.gates.len() == first.gates.len()
            && self.gates.iter().zip(&first.gates).all(same)
    }

    /// The numbers in the state.
    pub fn hidden(&self) -> usize {
        self.gates.first().map_or(0, |gate| gate.bias.len())
    }
}

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub law: Law,
    /// What comes in, of rank 2.
    pub xs: Vec<ValueId>,
    pub before: State,
    pub after: State,
}

/// A state: of an LSTM with the cell state, else that is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub h: ValueId,
    pub c: ValueId,
}

/// The parts of a step of an LSTM.
struct Lstm {
    /// Of the input, output and forget gates and of the new cell state.
    sums: [Linear; 4],
    /// The cell states.
    before: ValueId,
    after: ValueId,
}

/// What is taken for the state before the step.
#[derive(Clone, Copy)]
enum Before {
    Value(ValueId),
    /// Zeros, which have been folded into what follows.
    Zeros,
}

impl<'a> Forms<'a> {
    /// The steps that may end in this node, each for another choice of what its state is.
    pub fn steps(&self, node: &Node) -> Vec<Cell> {
        let mut cells = Vec::new();
        let Some(h) = node.output(0) else { return cells };
        if let Some(f) = Function::of(node)
            && let Some(sum) = self.linear(node.input(0))
        {
            for before in self.operands(&sum) {
                cells.extend(self.rnn(h, f, &sum, Before::Value(before)));
            }
        } else if let Some(lstm) = self.lstm(node) {
            for before in self.operands(&lstm.sums[0]) {
                cells.extend(self.lstm_step(h, &lstm, Before::Value(before)));
            }
        } else {
            for candidate in self.candidates(node) {
                for before in self.reset_states(candidate) {
                    cells.extend(self.gru(h, candidate, Before::Value(before)));
                }
            }
        }
        cells
    }

    /// The step that ends in this node and begins with zeros, if there is one.
    pub fn first(&self, node: &Node, of: Kind) -> Option<Cell> {
        let h = node.output(0)?;
        match of {
            Kind::Rnn(f) => self.rnn(h, f, &self.linear(node.input(0))?, Before::Zeros),
            Kind::Lstm => self.lstm_step(h, &self.lstm(node)?, Before::Zeros),
            Kind::Gru { .. } => {
                let mut candidates = self.candidates(node).into_iter();
                candidates.find_map(|candidate| self.gru(h, candidate, Before::Zeros))
            }
        }
    }

    fn rnn(&self, h: ValueId, f: Function, sum: &Linear, before: Before) -> Option<Cell> {
        let mut xs = Vec::new();
        let gate = self.gate(sum.clone(), before, &mut xs)?;
        let state = |id| State { h: id, c: id };
        let before = match before {
            Before::Value(id) => state(id),
            Before::Zeros => state(h),
        };
        cell(Kind::Rnn(f), vec![gate], xs, before, state(h))
    }

    /// Functions whose values are multiplied and added to what a node gives.
    fn candidates(&self, node: &'a Node) -> Vec<&'a Node> {
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
    fn reset_states(&self, candidate: &Node) -> Vec<ValueId> {
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

    /// The sigmoid and the other factor of a product.
    fn gated(&self, id: Option<ValueId>) -> Option<(&'a Node, ValueId)> {
        let product = self.m.made_by(id, "Mul")?;
        self.m
            .either_way(product)
            .into_iter()
            .find_map(|(gate, other)| Some((self.m.made_by(gate, "Sigmoid")?, other?)))
    }

    fn gru(&self, h: ValueId, candidate: &Node, before: Before) -> Option<Cell> {
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

    /// `h' = o tanh(f c + i g)`.
    fn lstm(&self, node: &Node) -> Option<Lstm> {
        let m = self.m;
        let product = Some(node).filter(|n| n.is("Mul"))?;
        let (output, squashed) = m.either_way(product).into_iter().find_map(|(gate, cell)| {
            Some((m.made_by(gate, "Sigmoid")?, m.made_by(cell, "Tanh")?))
        })?;
        let after = squashed.input(0)?;
        let sum = m.made_by(Some(after), "Add")?;
        let (kept, (input, new)) = m.either_way(sum).into_iter().find_map(|(kept, added)| {
            let (input, new) = self.gated(added)?;
            Some((kept, (input, m.made_by(Some(new), "Tanh")?)))
        })?;
        let (forget, before) = self.gated(kept)?;
        let sum = |gate: &Node| self.linear(gate.input(0));
        let sums = [sum(input)?, sum(output)?, sum(forget)?, sum(new)?];
        Some(Lstm { sums, before, after })
    }

    fn lstm_step(&self, h: ValueId, lstm: &Lstm, before: Before) -> Option<Cell> {
        let mut xs = Vec::new();
        let gates = lstm.sums.iter().map(|sum| self.gate(sum.clone(), before, &mut xs));
        let gates = gates.collect::<Option<Vec<_>>>()?;
        let after = State { h, c: lstm.after };
        let before = match before {
            Before::Value(h) => State { h, c: lstm.before },
            Before::Zeros if self.m.constant(Some(lstm.before)).is_some_and(is_zero_row) => after,
            Before::Zeros => return None,
        };
        cell(Kind::Lstm, gates, xs, before, after)
    }

    /// The left operands of products, those joined to one apart.
    fn operands(&self, sum: &Linear) -> Vec<ValueId> {
        let mut found = Vec::new();
        for (left, _) in &sum.products {
            match self.m.made_by(Some(*left), "Concat") {
                Some(concat) => found.extend(concat.inputs.iter().flatten()),
                None => found.push(*left),
            }
        }
        found.sort();
        found.dedup();
        found
    }

    fn is_before(&self, id: ValueId, before: Before) -> bool {
        match before {
            Before::Value(state) => id == state,
            Before::Zeros => self.m.constant(Some(id)).is_some_and(is_zero_row),
        }
    }

    /// A sum with its products told apart: those of the state, and those of what comes in, which is noted in `xs`.
    fn gate(&self, sum: Linear, before: Before, xs: &mut Vec<ValueId>) -> Option<Gate> {
        let hidden = sum.width();
        let (mut x, mut h) = (Vec::new(), Vec::new());
        for (left, factor) in sum.products {
            for (left, factor) in
                self.joined(left, factor, |id| self.is_before(id, before), hidden)?
            {
                if self.is_before(left, before) {
                    // Nothing comes from a state of zeros.
                    if matches!(before, Before::Value(_)) {
                        h.push(factor);
                    }
                    continue;
                }
                let known = xs.iter().position(|id| *id == left);
                let at = known.unwrap_or(xs.len());
                if known.is_none() {
                    xs.push(left);
                }
                x.push((at, factor));
            }
        }
        let recurrent_bias = vec![0.0; hidden];
        Some(Gate { x, h, bias: sum.bias, recurrent_bias, negated: false })
    }

    /// The product of a concatenation of the state and something else, as two products.
    fn joined(
        &self,
        left: ValueId,
        factor: Factor,
        is_state: impl Fn(ValueId) -> bool,
        hidden: usize,
    ) -> Option<Vec<(ValueId, Factor)>> {
        let Some(concat) = self.m.made_by(Some(left), "Concat") else {
            return Some(vec![(left, factor)]);
        };
        let is_last = matches!(concat.attributes.int("axis"), Ok(Some(-1 | 1)));
        let (&[Some(a), Some(b)], true) = (concat.inputs.as_slice(), is_last) else {
            return Some(vec![(left, factor)]);
        };
        let (start, end) = (factor.rows.start, factor.rows.end);
        let middle = match (is_state(a), is_state(b)) {
            (true, false) => start + hidden,
            (false, true) => end.checked_sub(hidden)?,
            _ => return Some(vec![(left, factor)]),
        };
        if middle <= start || middle >= end {
            return None;
        }
        let first = Factor { rows: start..middle, ..factor.clone() };
        Some(vec![(a, first), (b, Factor { rows: middle..end, ..factor })])
    }
}

/// Whether a constant is zero everywhere, and the same for all rows.
pub(super) fn is_zero_row(tensor: &Tensor) -> bool {
    let is_row = matches!(tensor.shape().dims(), [_] | [1, _]);
    is_row && tensor.as_slice::<f32>().is_ok_and(|values| values.iter().all(|v| *v == 0.0))
}

fn same_node<'a>(known: Option<&'a Node>, node: &'a Node) -> Option<Option<&'a Node>> {
    match known {
        Some(known) if known.output(0) != node.output(0) => None,
        _ => Some(Some(node)),
    }
}

/// A step whose gates all have one width and whose matrices fit the state.
fn cell(
    kind: Kind,
    gates: Vec<Gate>,
    xs: Vec<ValueId>,
    before: State,
    after: State,
) -> Option<Cell> {
    let law = Law { kind, gates };
    let hidden = law.hidden();
    let mut widths: Vec<Option<usize>> = vec![None; xs.len()];
    let fits = law.gates.iter().all(|gate| {
        let x_fits = gate.x.iter().all(|(at, factor)| {
            let width = factor.rows.len();
            *widths[*at].get_or_insert(width) == width && factor.cols.len() == hidden
        });
        let h_fits = |f: &Factor| f.rows.len() == hidden && f.cols.len() == hidden;
        gate.bias.len() == hidden && x_fits && gate.h.iter().all(h_fits)
    });
    let takes = law.gates.iter().any(|gate| !gate.x.is_empty());
    (fits && takes && hidden > 0).then_some(Cell { law, xs, before, after })
}
