//! Adagrad, Adam and Momentum: one step of a training run, which models that learn while they serve hold.

use super::maths::Maths;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, types};
use stead_tensor::DType::{F32, F64, I64};

/// The domain of what training needs.
pub(in crate::ops) const DOMAIN: &str = "ai.onnx.preview.training";
const REAL: crate::ops::TypeSet = crate::ops::TypeSet::of(&[F32, F64]);

/// The rate, the number of steps so far, then the tensors, their gradients and what is accumulated of these, group by
/// group.
const INPUTS: &[Param] = &[
    Param::required(0, REAL),
    Param::required(0, crate::ops::TypeSet::of(&[I64])),
    Param::variadic(1, types::FLOAT),
];

/// Adagrad, Adam, Momentum.
pub const OPS: &[OpDef] = &[
    OpDef::function("Adagrad", INPUTS, &[Out::Like(2)], adagrad).variadic_outputs().domain(DOMAIN),
    OpDef::function("Adam", INPUTS, &[Out::Like(2)], adam).variadic_outputs().domain(DOMAIN),
    OpDef::function("Momentum", INPUTS, &[Out::Like(2)], momentum)
        .variadic_outputs()
        .domain(DOMAIN),
];

impl Maths<'_, '_> {
    /// `yes` from the first step on, before it `no`.
    fn after_first(&mut self, yes: ValueId, no: ValueId) -> Result<ValueId, LoadError> {
        let steps = self.0.input(1)?;
        let zero = self.0.scalar(0i64)?;
        let later = self.0.call("Greater", &[steps, zero], &[])?;
        self.0.call("Where", &[later, yes, no], &[])
    }

    /// The gradient with that of `factor / 2` times the squared norm of the tensor.
    fn regularized(
        &mut self,
        tensor: ValueId,
        gradient: ValueId,
        factor: f32,
    ) -> Result<ValueId, LoadError> {
        let pull = self.scaled(tensor, factor)?;
        self.add(pull, gradient)
    }
}

/// The tensors of each variable: `N` groups of equal size follow the rate and the count.
fn groups<const N: usize>(f: &FunctionBody<'_>) -> Result<Vec<[ValueId; N]>, LoadError> {
    let inputs = (2..f.input_count()).map(|i| f.input(i)).collect::<Result<Vec<_>, _>>()?;
    if inputs.is_empty() || !inputs.len().is_multiple_of(N) {
        let count = inputs.len();
        return Err(f.refuse(format!("{count} tensors do not fall apart into {N} groups")));
    }
    let each = inputs.len() / N;
    let of = |variable: usize| std::array::from_fn(|group| inputs[group * each + variable]);
    Ok((0..each).map(of).collect())
}

fn adagrad(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let attributes = f.attributes();
    let (decay, epsilon, norm) = (
        attributes.float_or("decay_factor", 0.0)?,
        attributes.float_or("epsilon", 1e-6)?,
        attributes.float_or("norm_coefficient", 0.0)?,
    );
    let variables = groups::<3>(f)?;
    let (rate, steps) = (f.input(0)?, f.input(1)?);
    for (at, &[x, g, h]) in variables.iter().enumerate() {
        let mut m = Maths(f);
        let (rate, steps) = (m.like(rate, x)?, m.like(steps, x)?);
        let slowed = m.scaled(steps, decay)?;
        let slowed = m.plus(slowed, 1.0)?;
        let rate = m.div(rate, slowed)?;
        let g = m.regularized(x, g, norm)?;
        let square = m.mul(g, g)?;
        let h = m.add(h, square)?;
        let root = m.sqrt(h)?;
        let root = m.plus(root, epsilon)?;
        let step = m.mul(rate, g)?;
        let step = m.div(step, root)?;
        let x = m.sub(x, step)?;
        f.give(at, x);
        f.give(variables.len() + at, h);
    }
    Ok(())
}

fn adam(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let attributes = f.attributes();
    let (alpha, beta, epsilon) = (
        attributes.float_or("alpha", 0.9)?,
        attributes.float_or("beta", 0.999)?,
        attributes.float_or("epsilon", 1e-6)?,
    );
    let norm = attributes.float_or("norm_coefficient", 0.0)?;
    let shrink = attributes.float_or("norm_coefficient_post", 0.0)?;
    let variables = groups::<4>(f)?;
    let (rate, steps) = (f.input(0)?, f.input(1)?);
    for (at, &[x, g, v, h]) in variables.iter().enumerate() {
        let mut m = Maths(f);
        let (rate, steps) = (m.like(rate, x)?, m.like(steps, x)?);
        let g = m.regularized(x, g, norm)?;
        let (kept, new) = (m.scaled(v, alpha)?, m.scaled(g, 1.0 - alpha)?);
        let v = m.add(kept, new)?;
        let square = m.mul(g, g)?;
        let (kept, new) = (m.scaled(h, beta)?, m.scaled(square, 1.0 - beta)?);
        let h = m.add(kept, new)?;
        let root = m.sqrt(h)?;
        let root = m.plus(root, epsilon)?;
        let rest = |m: &mut Maths<'_, '_>, base: f32| {
            let base = m.0.number(base.into(), x)?;
            let power = m.0.call("Pow", &[base, steps], &[])?;
            m.rest_of_one(power)
        };
        let (first, second) = (rest(&mut m, alpha)?, rest(&mut m, beta)?);
        let second = m.sqrt(second)?;
        let adjusted = m.mul(rate, second)?;
        let adjusted = m.div(adjusted, first)?;
        let rate = m.after_first(adjusted, rate)?;
        let step = m.mul(rate, v)?;
        let step = m.div(step, root)?;
        let x = m.sub(x, step)?;
        let x = m.scaled(x, 1.0 - shrink)?;
        f.give(at, x);
        f.give(variables.len() + at, v);
        f.give(2 * variables.len() + at, h);
    }
    Ok(())
}

fn momentum(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let required = |name: &str| {
        let attributes = f.attributes();
        attributes.float(name)?.ok_or_else(|| attributes.missing(name))
    };
    let (alpha, beta, norm) =
        (required("alpha")?, required("beta")?, required("norm_coefficient")?);
    let nesterov = match f.attributes().string("mode")? {
        Some("nesterov") => true,
        Some("standard") => false,
        other => {
            let text = format!("mode is {other:?}; supported: nesterov, standard");
            return Err(f.refuse(text));
        }
    };
    let variables = groups::<3>(f)?;
    let rate = f.input(0)?;
    for (at, &[x, g, v]) in variables.iter().enumerate() {
        let mut m = Maths(f);
        let rate = m.like(rate, x)?;
        let g = m.regularized(x, g, norm)?;
        let (share, all) = (m.0.number(beta.into(), x)?, m.0.number(1.0, x)?);
        let share = m.after_first(share, all)?;
        let (kept, new) = (m.scaled(v, alpha)?, m.mul(share, g)?);
        let v = m.add(kept, new)?;
        let way = match nesterov {
            true => {
                let ahead = m.scaled(v, alpha)?;
                m.add(g, ahead)?
            }
            false => v,
        };
        let step = m.mul(rate, way)?;
        let x = m.sub(x, step)?;
        f.give(at, x);
        f.give(variables.len() + at, v);
    }
    Ok(())
}
