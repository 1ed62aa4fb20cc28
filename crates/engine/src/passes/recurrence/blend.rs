//! The mean of a state and a candidate, weighted by a gate, in whatever way it is written.

use crate::ir::ValueId;
use crate::passes::pattern::Matcher;
use std::collections::BTreeMap;

/// `h' = z h + (1 - z) c`, or with the two exchanged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Blend {
    /// z.
    pub gate: ValueId,
    /// Whether the gate is the part of the old state, as in ONNX, rather than that of the candidate.
    pub keeps: bool,
}

/// A sum of products of values, each with a factor: `h - z h + z c`.
type Polynomial = BTreeMap<Vec<ValueId>, f64>;

/// Products that a polynomial may have.
const MOST_TERMS: usize = 8;
/// `(1 - z) h + z c` is three deep.
const DEPTH: usize = 5;

/// The blend of `candidate` and `state` that `value` is. Without a state it is one with zeros.
pub(super) fn blend(
    m: &Matcher<'_>,
    value: ValueId,
    candidate: ValueId,
    state: Option<ValueId>,
) -> Option<Blend> {
    let terms = expand(m, value, &[Some(candidate), state], DEPTH)?;
    let factor = |product: &[ValueId]| {
        let mut key = product.to_vec();
        key.sort();
        terms.get(&key).copied().unwrap_or(0.0)
    };
    let mut others = terms.keys().flatten().filter(|id| **id != candidate && Some(**id) != state);
    let gate = *others.next()?;
    let of = |id: Option<ValueId>| id.map_or([0.0; 2], |id| [factor(&[id]), factor(&[gate, id])]);
    let mut wanted = vec![(of(Some(candidate)), [0.0, 1.0], [1.0, -1.0])];
    if state.is_some() {
        wanted.push((of(state), [1.0, -1.0], [0.0, 1.0]));
    }
    let new = wanted.iter().all(|(is, new, _)| is == new);
    let keeps = wanted.iter().all(|(is, _, keeps)| is == keeps);
    let count = if state.is_some() { 3 } else { 1 + usize::from(keeps) };
    ((new || keeps) && terms.len() == count).then_some(Blend { gate, keeps })
}

fn expand(
    m: &Matcher<'_>,
    id: ValueId,
    symbols: &[Option<ValueId>],
    depth: usize,
) -> Option<Polynomial> {
    if symbols.contains(&Some(id)) {
        return Some(Polynomial::from([(vec![id], 1.0)]));
    }
    if let Some(tensor) = m.constant(Some(id)) {
        // A number, or the zeros of a state that is left out; neither adds dimensions.
        if tensor.shape().rank() > 2 {
            return None;
        }
        let number = m.number(Some(id)).or_else(|| super::cell::is_zero_row(tensor).then_some(0.0));
        return number.map(|v| tidy(Polynomial::from([(Vec::new(), f64::from(v))])));
    }
    let node = m.maker(Some(id)).filter(|n| ["Add", "Sub", "Mul", "Neg"].iter().any(|op| n.is(op)));
    let Some(node) = node else { return Some(Polynomial::from([(vec![id], 1.0)])) };
    let depth = depth.checked_sub(1)?;
    let operand = |index: usize| expand(m, node.input(index)?, symbols, depth);
    let sign = if node.is("Sub") { -1.0 } else { 1.0 };
    let mut result = Polynomial::new();
    match node.op_type.as_str() {
        "Neg" => result.extend(operand(0)?.into_iter().map(|(key, v)| (key, -v))),
        "Mul" => {
            let (a, b) = (operand(0)?, operand(1)?);
            for (left, x) in &a {
                for (right, y) in &b {
                    let mut key = [left.as_slice(), right].concat();
                    key.sort();
                    *result.entry(key).or_insert(0.0) += x * y;
                }
            }
        }
        _ => {
            result = operand(0)?;
            for (key, v) in operand(1)? {
                *result.entry(key).or_insert(0.0) += sign * v;
            }
        }
    }
    let result = tidy(result);
    (result.len() <= MOST_TERMS).then_some(result)
}

fn tidy(mut polynomial: Polynomial) -> Polynomial {
    polynomial.retain(|_, factor| *factor != 0.0);
    polynomial
}
