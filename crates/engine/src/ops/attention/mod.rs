//! Attention and what goes with it: rotary positions.

use super::{
    NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn, product_flops,
    types,
};
use crate::error::{BuildError, PlanError, RunError};
use mask::Bias;
use operands::Operands;
use stead_kernels::attention::{
    HeadLayout, Heads, MultiHead, Sizes, Stage, multi_head, multi_head_scratch_len, scores,
};
use stead_tensor::DType::{BF16, F16, F32};
use stead_tensor::{DType, Shape};

mod linear;
mod mask;
mod operands;
mod rotary;

pub(crate) use linear::OPS as LINEAR;
pub(crate) use rotary::OPS as ROTARY;

const REAL: TypeSet = TypeSet::of(&[F32, F16, BF16]);
const Q: Param = Param::required(1, REAL);
const V: Param = Param::required(2, REAL);
const MASK: Param = Param::optional(0, REAL.or(types::BOOL));
const PAST_K: Param = Param::optional(1, REAL);
const PAST_V: Param = Param::optional(2, REAL);
const OUTPUTS: &[Out] = &[Out::Like(0), Out::Like(0), Out::Like(2), Out::Like(0)];

/// Attention.
pub const OPS: &[OpDef] = &[
    OpDef::new("Attention", &[Q, Q, V, MASK, PAST_K, PAST_V], OUTPUTS, build).since(23).until(23),
    OpDef::new(
        "Attention",
        &[Q, Q, V, MASK, PAST_K, PAST_V, Param::optional(0, types::I64_ONLY)],
        OUTPUTS,
        build,
    )
    .since(24),
];

/// Inputs after Q, K and V by their positions.
const MASK_INPUT: usize = 3;
const PAST_INPUTS: [usize; 2] = [4, 5];
const LENS_INPUT: usize = 6;

/// The attributes.
#[derive(Debug, Clone, Copy)]
struct Options {
    heads: Option<usize>,
    kv_heads: Option<usize>,
    scale: Option<f32>,
    softcap: Option<f32>,
    causal: bool,
    /// Keys that are seen before and after each query.
    left: Option<isize>,
    right: Option<isize>,
    stage: Stage,
    /// Whether the model is computed in bf16.
    halves: bool,
}

impl Options {
    fn read(spec: &NodeSpec<'_>) -> Result<Options, BuildError> {
        let attributes = spec.attributes();
        let heads = |name: &str| match attributes.int(name)? {
            None => Ok(None),
            Some(n) => match usize::try_from(n) {
                Ok(n) if n > 0 => Ok(Some(n)),
                _ => Err(BuildError::unsupported(format!("{name} of {n}"))),
            },
        };
        let window = |name: &str| match attributes.int_or(name, -1)? {
            -1 => Ok(None),
            n if n >= 0 => Ok(Some(n as isize)),
            n => Err(BuildError::unsupported(format!("{name} of {n}"))),
        };
        // The softmax is always computed in f32, which no type that may be asked for here surpasses but
        // f64, whose digits the operands of at most f32 do not have.
        if let Some(precision) = attributes.int("softmax_precision")?
            && ![1, 10, 11, 16].contains(&precision)
        {
            return Err(BuildError::unsupported(format!("softmax_precision of {precision}")));
        }
        let softcap = attributes.float_or("softcap", 0.0)?;
        let stage = match attributes.int_or("qk_matmul_output_mode", 0)? {
            0 => Stage::Raw,
            1 => Stage::Capped,
            2 => Stage::Biased,
            3 => Stage::Softmax,
            n => return Err(BuildError::unsupported(format!("qk_matmul_output_mode of {n}"))),
        };
        Ok(Options {
            heads: heads("q_num_heads")?,
            kv_heads: heads("kv_num_heads")?,
            scale: attributes.float("scale")?,
            softcap: (softcap > 0.0).then_some(softcap),
            causal: attributes.bool_or("is_causal", false)?,
            left: window("left_window_size")?,
            right: window("right_window_size")?,
            stage,
            halves: spec.packs_bf16(),
        })
    }
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let options = Options::read(spec)?;
    plan_fn(move |cx| plan(cx, options))
}

/// What stays the same for the steps of one node.
#[derive(Debug, Clone, Copy)]
struct Job {
    batches: usize,
    heads: usize,
    kv_heads: usize,
    sizes: Sizes,
    scale: f32,
    softcap: Option<f32>,
    causal: Option<isize>,
    halves: bool,
    q: HeadLayout,
    k: HeadLayout,
    v: HeadLayout,
}

impl Job {
    fn with<'a>(&self, q: &'a [f32], k: &'a [f32], v: &'a [f32]) -> MultiHead<'a> {
        MultiHead {
            batches: self.batches,
            heads: self.heads,
            kv_heads: self.kv_heads,
            sizes: self.sizes,
            q: Heads { data: q, at: self.q },
            k: Heads { data: k, at: self.k },
            v: Heads { data: v, at: self.v },
            mask: None,
            lens: None,
            scale: self.scale,
            softcap: self.softcap,
            causal: self.causal,
            halves: self.halves,
        }
    }
}

fn plan(cx: &mut PlanCx<'_>, options: Options) -> Result<(), PlanError> {
    let Operands { q, k, v, past } = operands::resolve(cx, options.heads, options.kv_heads)?;
    let (heads, keys) = (q.heads, k.rows);
    if keys != v.rows || k.heads != v.heads || q.width != k.width || !heads.is_multiple_of(k.heads)
    {
        return Err(PlanError::shape(format!(
            "queries of {}, keys of {} and values of {} do not fit each other",
            cx.shape(0)?,
            cx.shape(1)?,
            cx.shape(2)?
        )));
    }
    let sizes = Sizes { queries: q.rows, keys, width: q.width, value_width: v.width };
    // Once a cache outside of the operator says how long it is, the queries are its last keys.
    let lens = lens(cx, q.batches, past)?;
    let job = Job {
        batches: q.batches,
        heads,
        kv_heads: k.heads,
        sizes,
        scale: options.scale.unwrap_or_else(|| 1.0 / (q.width as f32).sqrt()),
        softcap: options.softcap,
        causal: options.causal.then_some(past as isize),
        halves: options.halves,
        q: q.at,
        k: k.at,
        v: v.at,
    };
    let bias = mask::plan(cx, &job, &options, past, lens.clone())?;
    let operands = [q.operand, k.operand, v.operand];
    emit(cx, &job, &operands, bias, lens.clone())?;
    if cx.wants(3) {
        emit_scores(cx, &job, &options, &operands, past, lens)?;
    }
    Ok(())
}

/// The number of keys of each batch entry.
fn lens(cx: &mut PlanCx<'_>, batches: usize, past: usize) -> Result<Option<Operand>, PlanError> {
    if !cx.has_input(LENS_INPUT) {
        return Ok(None);
    }
    let shape = cx.shape(LENS_INPUT)?;
    if shape.dims() != [batches] || past > 0 {
        return Err(PlanError::shape(format!(
            "nonpad_kv_seqlen of {shape} for {batches} batch entries and {past} past keys"
        )));
    }
    cx.input(LENS_INPUT).map(Some)
}

fn emit(
    cx: &mut PlanCx<'_>,
    job: &Job,
    operands: &[Operand; 3],
    bias: Option<Bias>,
    lens: Option<Operand>,
) -> Result<(), PlanError> {
    let Sizes { queries, value_width, .. } = job.sizes;
    let row = job.heads * value_width;
    let flat = cx.shape(0)?.rank() == 3;
    let (shape, at) = if flat {
        let at = HeadLayout { offset: 0, batch: queries * row, head: value_width, row };
        (Shape::new(&[job.batches, queries, row])?, at)
    } else {
        let head = queries * value_width;
        let at = HeadLayout { offset: 0, batch: job.heads * head, head, row: value_width };
        (Shape::new(&[job.batches, job.heads, queries, value_width])?, at)
    };
    let mut reads = operands.to_vec();
    let bias_at = bias.as_ref().map(|bias| bias.at);
    reads.extend(bias.map(|bias| bias.operand));
    let lens_read = lens.map(|lens| {
        reads.push(lens);
        reads.len() - 1
    });
    let out = FloatOutput::new(cx, 0, shape)?;
    let varied = lens_read.is_some();
    let len =
        multi_head_scratch_len(cx.isa, job.sizes, job.batches * job.heads, varied, job.halves);
    let scratch = cx.temp_of::<f32>(len);
    let job = *job;
    cx.step("attention", &reads, &[out.slot, scratch], move |a| {
        let mask =
            bias_at.map(|at| Ok::<_, RunError>(Heads { data: a.read(3)?, at })).transpose()?;
        let lens = lens_read.map(|at| a.read::<i64>(at)).transpose()?;
        let many = MultiHead { mask, lens, ..job.with(a.read(0)?, a.read(1)?, a.read(2)?) };
        let (out, scratch) = (a.write::<f32>()?, a.write::<f32>()?);
        multi_head(a.isa, a.parallel, &many, out, at, scratch);
        Ok(())
    });
    let Sizes { queries, keys, width, value_width } = job.sizes;
    // Two products; what a causal mask leaves out is counted too.
    cx.count(product_flops([job.batches * job.heads, queries, keys, width + value_width]), 0);
    out.finish(cx);
    Ok(())
}

/// The output with the scores, computed a second time: only those who look into a model ask for it.
fn emit_scores(
    cx: &mut PlanCx<'_>,
    job: &Job,
    options: &Options,
    operands: &[Operand; 3],
    past: usize,
    lens: Option<Operand>,
) -> Result<(), PlanError> {
    let Sizes { queries, keys, .. } = job.sizes;
    let shape = Shape::new(&[job.batches, job.heads, queries, keys])?;
    let bias = mask::plan_whole(cx, job, options, past, lens)?;
    let [q, k, v] = operands.clone();
    let out = FloatOutput::new(cx, 3, shape)?;
    let (job, stage, at) = (*job, options.stage, bias.at);
    cx.step("attention scores", &[q, k, v, bias.operand], &[out.slot], move |a| {
        let many = job.with(a.read(0)?, a.read(1)?, a.read(2)?);
        scores(&many, stage, Heads { data: a.read(3)?, at }, a.write::<f32>()?);
        Ok(())
    });
    out.finish(cx);
    Ok(())
}

/// An input as contiguous f32.
pub(crate) fn single(cx: &mut PlanCx<'_>, index: usize) -> Result<Operand, PlanError> {
    let (dtype, elements) = (cx.dtype(index)?, cx.shape(index)?.elements());
    let whole = cx.input(index)?;
    Ok(operands::widened(cx, whole, dtype, elements))
}

/// An output that is computed in f32 and narrowed if it has a shorter type.
pub(crate) struct FloatOutput {
    /// What the step writes.
    pub slot: Slot,
    narrow: Option<(DType, Slot)>,
}

impl FloatOutput {
    pub fn new(cx: &mut PlanCx<'_>, index: usize, shape: Shape) -> Result<FloatOutput, PlanError> {
        let dtype = if cx.wants(index) { cx.output_type(index)? } else { F32 };
        let out = cx.output(index, shape)?;
        if dtype == F32 {
            return Ok(FloatOutput { slot: out, narrow: None });
        }
        let slot = cx.temp_of::<f32>(shape.elements());
        Ok(FloatOutput { slot, narrow: Some((dtype, out)) })
    }

    pub fn finish(self, cx: &mut PlanCx<'_>) {
        let Some((dtype, out)) = self.narrow else { return };
        let wide = cx.read_back(self.slot);
        cx.step("narrow", &[wide], &[out], move |a| operands::narrow(a, dtype));
    }
}
