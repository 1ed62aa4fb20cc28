//! CausalConvWithState: a convolution of each channel over what was and is, step by step.

use super::SINGLE;
use crate::error::{BuildError, PlanError};
use crate::ops::attention::{FloatOutput, single};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, product_flops};
use stead_kernels::conv::{Causal, causal};
use stead_tensor::Shape;

const X: Param = Param::required(1, SINGLE);
const OPTION: Param = Param::optional(1, SINGLE);

/// CausalConvWithState.
pub const OPS: &[OpDef] = &[OpDef::new(
    "CausalConvWithState",
    &[X, X, OPTION, OPTION],
    &[Out::Like(0), Out::Like(0)],
    build,
)
.since(27)];

/// Inputs after input and weight by their positions.
const BIAS: usize = 2;
const PAST: usize = 3;

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let silu = match spec.attributes().string_or("activation", "none")? {
        "none" => false,
        "silu" | "swish" => true,
        other => {
            return Err(BuildError::unsupported(format!(
                "activation is \"{other}\"; supported: none, silu, swish"
            )));
        }
    };
    plan_fn(move |cx| plan(cx, silu))
}

fn plan(cx: &mut PlanCx<'_>, silu: bool) -> Result<(), PlanError> {
    let (x, weights) = (cx.shape(0)?, cx.shape(1)?);
    let fail = || PlanError::shape(format!("weights of {weights} for an input of {x}"));
    let (&[batches, channels, positions], &[filters, 1, taps]) = (x.dims(), weights.dims()) else {
        return Err(fail());
    };
    if taps == 0 {
        return Err(fail());
    }
    let states = Shape::new(&[batches, channels, taps - 1])?;
    let fits = filters == channels
        && (!cx.has_input(BIAS) || cx.shape(BIAS)?.dims() == [channels])
        && (!cx.has_input(PAST) || cx.shape(PAST)? == states);
    if !fits {
        return Err(PlanError::shape(format!(
            "weights of {weights}, bias or state do not fit an input of {x}"
        )));
    }
    let mut reads = vec![single(cx, 0)?, single(cx, 1)?];
    let mut optional = |cx: &mut PlanCx<'_>, index: usize| {
        if !cx.has_input(index) {
            return Ok::<_, PlanError>(None);
        }
        reads.push(single(cx, index)?);
        Ok(Some(reads.len() - 1))
    };
    let (bias, past) = (optional(cx, BIAS)?, optional(cx, PAST)?);
    let out = FloatOutput::new(cx, 0, x)?;
    let present = FloatOutput::new(cx, 1, states)?;
    let sizes = [batches, channels, positions, taps];
    cx.step("causal convolution", &reads, &[out.slot, present.slot], move |a| {
        let job = Causal {
            sizes,
            x: a.read(0)?,
            weights: a.read(1)?,
            bias: bias.map(|at| a.read(at)).transpose()?,
            past: past.map(|at| a.read(at)).transpose()?,
            silu,
        };
        let (out, present) = (a.write::<f32>()?, a.write::<f32>()?);
        causal(a.isa, a.parallel, &job, out, present);
        Ok(())
    });
    cx.count(product_flops(sizes), 0);
    out.finish(cx);
    present.finish(cx);
    Ok(())
}
