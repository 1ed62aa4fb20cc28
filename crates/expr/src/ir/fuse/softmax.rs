//! Powers of e over their sum.

use super::product::run;
use super::{Fused, Steps};
use crate::functions::{Aggregator, Fn1, Fn2};
use crate::types::TensorType;

/// A softmax along `axis` cells that are `inner` from one to the next, in blocks of row-major order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Softmax {
    pub(crate) axis: usize,
    pub(crate) inner: usize,
}

/// `exp(t) / reduce(exp(t), sum, x)` along dimensions without labels that go on from one to the next.
pub(super) fn softmax(steps: &Steps<'_>, at: usize) -> Option<(Fused, Vec<usize>)> {
    let (Fn2::Div, powers, sum) = steps.joined(at)? else { return None };
    let (Aggregator::Sum, summed) = steps.reduced(sum)? else { return None };
    let (Fn1::Exp, of) = steps.mapped(powers)? else { return None };
    let kind = |at: usize| &steps.steps[at].kind;
    let is_in = |kind: &TensorType, name: &str| kind.dimension(name).is_some();
    let (all, left) = (kind(powers), kind(sum));
    if summed != powers || all.is_double() || !all.mapped().all(|d| is_in(left, &d.name)) {
        return None;
    }
    let along = run(all, all, |name| !is_in(left, name))?;
    Some((Fused::Softmax(Softmax { axis: along.len, inner: along.steps[0] }), vec![of]))
}
