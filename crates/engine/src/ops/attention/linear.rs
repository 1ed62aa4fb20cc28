//! LinearAttention: a state for each head that every position reads and updates.

use super::{FloatOutput, REAL, plan_fn, single};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, product_flops};
use stead_kernels::attention::{Linear, LinearSizes, PerHead, linear_attention};
use stead_kernels::unary::{UnaryOp, map_f32};
use stead_onnx::Attributes;
use stead_tensor::{DType, Shape};

const X: Param = Param::required(1, REAL);
const OPTION: Param = Param::optional(1, REAL);

/// LinearAttention.
pub(crate) const OPS: &[OpDef] = &[OpDef::new(
    "LinearAttention",
    &[X, X, X, Param::optional(2, REAL), OPTION, OPTION],
    &[Out::Like(0), Out::Of(state_type)],
    build,
)
.since(27)];

/// That of the state before, where there is one.
fn state_type(_: &Attributes, inputs: &[Option<DType>]) -> Result<DType, BuildError> {
    let first = |at: usize| inputs.get(at).copied().flatten();
    first(PAST)
        .or_else(|| first(0))
        .ok_or_else(|| BuildError::Arity("input 0 of LinearAttention is missing".into()))
}

/// Inputs after query, key and value by their positions.
const PAST: usize = 3;
const DECAY: usize = 4;
const RATE: usize = 5;

#[derive(Debug, Clone, Copy)]
struct Options {
    query_heads: usize,
    heads: usize,
    scale: f32,
    /// Whether states decay, and whether they are corrected by what they predict.
    gated: bool,
    delta: bool,
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let heads = |name: &str| {
        let count = attributes.int(name)?.ok_or_else(|| attributes.missing(name))?;
        let count = usize::try_from(count).ok().filter(|&n| n > 0);
        count.ok_or_else(|| BuildError::unsupported(format!("{name} is not positive")))
    };
    let (gated, delta) = match attributes.string_or("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => {
            return Err(BuildError::unsupported(format!(
                "update_rule is \"{other}\"; supported: linear, gated, delta, gated_delta"
            )));
        }
    };
    for (needed, index, name) in [(gated, DECAY, "decay"), (delta, RATE, "beta")] {
        if needed && !spec.has_input(index) {
            return Err(BuildError::Arity(format!("the update rule needs input {index}, {name}")));
        }
    }
    // chunk_size is a hint for machines that compute positions side by side; results do not depend on it.
    let options = Options {
        query_heads: heads("q_num_heads")?,
        heads: heads("kv_num_heads")?,
        scale: attributes.float_or("scale", 0.0)?,
        gated,
        delta,
    };
    plan_fn(move |cx| plan(cx, options))
}

fn plan(cx: &mut PlanCx<'_>, options: Options) -> Result<(), PlanError> {
    let z = sizes(cx, options)?;
    let tokens = [z.batches, z.positions];
    let mut reads = Vec::new();
    for index in 0..3 {
        reads.push(single(cx, index)?);
    }
    let mut optional = |cx: &mut PlanCx<'_>, index: usize, wanted: bool| {
        if !wanted || !cx.has_input(index) {
            return Ok::<_, PlanError>(None);
        }
        reads.push(single(cx, index)?);
        Ok(Some(reads.len() - 1))
    };
    let past = optional(cx, PAST, true)?;
    let decay = optional(cx, DECAY, options.gated)?;
    let rate = optional(cx, RATE, options.delta)?;
    let states = Shape::new(&[z.batches, z.heads, z.key_width, z.value_width])?;
    if past.is_some() && cx.shape(PAST)? != states {
        return Err(PlanError::shape(format!("past_state is {}, not {states}", cx.shape(PAST)?)));
    }
    let decay_width = match decay {
        Some(_) => Some(per_head(cx, DECAY, tokens, z.heads, &[1, z.key_width])?),
        None => None,
    };
    let rate_width = match rate {
        Some(_) => Some(per_head(cx, RATE, tokens, z.heads, &[1, 0])?),
        None => None,
    };
    if let Some(decay) = decay {
        // Given as logarithms.
        let factors = cx.temp_of::<f32>(cx.shape(DECAY)?.elements());
        cx.step("map", &[reads[decay].clone()], &[factors], move |a| {
            map_f32(a.isa, UnaryOp::Exp, a.read(0)?, a.write()?);
            Ok(())
        });
        reads[decay] = cx.read_back(factors);
    }
    let scale = match options.scale {
        0.0 => 1.0 / (z.key_width as f32).sqrt(),
        scale => scale,
    };
    let result = Shape::new(&[z.batches, z.positions, z.query_heads * z.value_width])?;
    let out = FloatOutput::new(cx, 0, result)?;
    let present = FloatOutput::new(cx, 1, states)?;
    cx.step("linear attention", &reads, &[out.slot, present.slot], move |a| {
        let numbers = |at: Option<usize>, width: Option<usize>| match (at, width) {
            (Some(at), Some(width)) => Ok(Some(PerHead { data: a.read(at)?, width })),
            _ => Ok::<_, crate::RunError>(None),
        };
        let job = Linear {
            sizes: z,
            q: a.read(0)?,
            k: a.read(1)?,
            v: a.read(2)?,
            decay: numbers(decay, decay_width)?,
            rate: numbers(rate, rate_width)?,
            past: past.map(|at| a.read(at)).transpose()?,
            scale,
        };
        let (out, state) = (a.write::<f32>()?, a.write::<f32>()?);
        linear_attention(a.isa, a.parallel, &job, out, state);
        Ok(())
    });
    let passes = z.query_heads + z.heads * if options.delta { 2 } else { 1 };
    cx.count(product_flops([z.batches * z.positions, passes, z.key_width, z.value_width]), 0);
    out.finish(cx);
    present.finish(cx);
    Ok(())
}

fn sizes(cx: &PlanCx<'_>, options: Options) -> Result<LinearSizes, PlanError> {
    let (q, k, v) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
    let Options { query_heads, heads, .. } = options;
    let fail = || {
        PlanError::shape(format!(
            "queries of {q}, keys of {k} and values of {v} do not fit {query_heads} and {heads} heads"
        ))
    };
    let (&[batches, positions, q_row], &[kb, kp, k_row], &[vb, vp, v_row]) =
        (q.dims(), k.dims(), v.dims())
    else {
        return Err(fail());
    };
    let fits = [kb, vb] == [batches; 2]
        && [kp, vp] == [positions; 2]
        && query_heads.is_multiple_of(heads)
        && k_row.is_multiple_of(heads)
        && v_row.is_multiple_of(heads)
        && Some(q_row) == (k_row / heads).checked_mul(query_heads);
    if !fits {
        return Err(fail());
    }
    let (key_width, value_width) = (k_row / heads, v_row / heads);
    Ok(LinearSizes { batches, positions, query_heads, heads, key_width, value_width })
}

/// The numbers of a head in an input of `[batches, positions, heads * width]`; a width of 0 stands for one number that
/// all heads share.
fn per_head(
    cx: &PlanCx<'_>,
    index: usize,
    [batches, positions]: [usize; 2],
    heads: usize,
    widths: &[usize],
) -> Result<usize, PlanError> {
    let shape = cx.shape(index)?;
    let row = |width: usize| (heads * width).max(1);
    let fits = |&&width: &&usize| shape.dims() == [batches, positions, row(width)];
    widths.iter().find(fits).copied().ok_or_else(|| {
        let rows: Vec<_> = widths.iter().map(|&width| row(width).to_string()).collect();
        PlanError::shape(format!(
            "input {index} is {shape}, not {batches} x {positions} x {}",
            rows.join(" or ")
        ))
    })
}
