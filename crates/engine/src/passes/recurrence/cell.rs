//! Recognises one step of a recurrence by its algebra.

use super::law::{Cell, Function, Gate, Kind, Law, State};
use super::linear::{Factor, Forms, Linear};
use crate::ir::{Node, ValueId};
use stead_tensor::Tensor;

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
pub(super) enum Before {
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

    /// The sigmoid and the other factor of a product.
    pub(super) fn gated(&self, id: Option<ValueId>) -> Option<(&'a Node, ValueId)> {
        let product = self.m.made_by(id, "Mul")?;
        self.m
            .either_way(product)
            .into_iter()
            .find_map(|(gate, other)| Some((self.m.made_by(gate, "Sigmoid")?, other?)))
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
    pub(super) fn operands(&self, sum: &Linear) -> Vec<ValueId> {
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

    pub(super) fn is_before(&self, id: ValueId, before: Before) -> bool {
        match before {
            Before::Value(state) => id == state,
            Before::Zeros => self.m.constant(Some(id)).is_some_and(is_zero_row),
        }
    }

    /// A sum with its products told apart: those of the state, and those of what comes in, which is noted in `xs`.
    pub(super) fn gate(&self, sum: Linear, before: Before, xs: &mut Vec<ValueId>) -> Option<Gate> {
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
    pub(super) fn joined(
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

/// A step whose gates all have one width and whose matrices fit the state.
pub(super) fn cell(
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
