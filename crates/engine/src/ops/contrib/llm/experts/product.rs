//! Products of rows by the weights of experts that each row names.

use std::ops::Range;

use super::super::OWN;
use super::weights::Packed;
use super::{F32, MAYBE};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{
    NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn, product_flops, types,
};
use stead_kernels::gemm::bits::{product, scratch_len};
use stead_kernels::gemm::{Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len};
use stead_kernels::{Isa, Parallel};
use stead_tensor::{DType, Shape};

const IDS: Param = Param::required(1, types::I64_ONLY);
const CODES: Param = Param::required(2, TypeSet::of(&[DType::U8]));
const ZEROS: Param = Param::optional(2, TypeSet::of(&[DType::U8]));

/// Rows `x` of `[tokens, k or 1, K]` and experts `[tokens, k]` become `[tokens, k, N]`; the weights are `[experts, N, K]`, the bias
/// `[experts, N]`. ExpertMatMulNBits has weights of few bits, with scales and zero points.
pub(in super::super) const OPS: &[OpDef] = &[
    OpDef::new("ExpertMatMul", &[F32, IDS, F32, MAYBE], &[Out::Like(0)], build).domain(OWN),
    OpDef::new(
        "ExpertMatMulNBits",
        &[F32, IDS, CODES, F32, ZEROS, MAYBE],
        &[Out::Like(0)],
        build_bits,
    )
    .domain(OWN),
];

/// The most rows that are multiplied at once, which bounds what they take.
const ROWS: usize = 256;

/// Numbers of rows and of weights.
#[derive(Clone, Copy)]
struct Sizes {
    tokens: usize,
    /// Experts of a token.
    each: usize,
    /// Rows of `x` for a token.
    rows: usize,
    experts: usize,
    n: usize,
    k: usize,
}

impl Sizes {
    fn of(cx: &PlanCx<'_>, [experts, n, k]: [usize; 3]) -> Result<Sizes, PlanError> {
        let (x, ids) = (cx.shape(0)?, cx.shape(1)?);
        match (x.dims(), ids.dims()) {
            (&[tokens, rows, width], &[of, each])
                if tokens == of && (rows == 1 || rows == each) && width == k && n > 0 && k > 0 =>
            {
                Ok(Sizes { tokens, each, rows, experts, n, k })
            }
            _ => Err(PlanError::shape(format!("rows of {x} for experts {ids} with {k} inputs"))),
        }
    }

    /// The most rows of a product.
    fn most(&self) -> usize {
        ROWS.min(self.tokens * self.each)
    }

    fn check_bias(&self, cx: &PlanCx<'_>, index: usize) -> Result<(), PlanError> {
        let shape = cx.shape(index)?;
        if shape[..] == [self.experts, self.n] {
            return Ok(());
        }
        let (experts, n) = (self.experts, self.n);
        Err(PlanError::shape(format!("a bias of {shape} for {experts} experts with {n} outputs")))
    }

    /// Calls `multiply` with the expert, its rows and room for their results.
    fn each_expert(
        &self,
        (x, ids): (&[f32], &[i64]),
        (rows, results): (&mut [f32], &mut [f32]),
        out: &mut [f32],
        mut multiply: impl FnMut(usize, usize, &[f32], &mut [f32]),
    ) -> Result<(), RunError> {
        let Sizes { experts, n, k, .. } = *self;
        if let Some(id) = ids.iter().find(|id| !(0..experts as i64).contains(id)) {
            return Err(RunError::value(format!("expert {id} of {experts}")));
        }
        for expert in 0..experts {
            let own = |range: Range<usize>| range.filter(|&at| ids[at] == expert as i64);
            let mut from = 0;
            while from < ids.len() {
                let mut count = 0;
                let start = from;
                for at in own(from..ids.len()).take(self.most()) {
                    let row = if self.rows == 1 { at / self.each } else { at };
                    rows[count * k..][..k].copy_from_slice(&x[row * k..][..k]);
                    (count, from) = (count + 1, at + 1);
                }
                if count == 0 {
                    break;
                }
                multiply(expert, count, &rows[..count * k], &mut results[..count * n]);
                for (at, result) in own(start..from).zip(results.chunks_exact(n)) {
                    out[at * n..][..n].copy_from_slice(result);
                }
            }
        }
        Ok(())
    }
}

/// Plans the step: `scratch` numbers for a product, and the product itself.
fn plan(
    cx: &mut PlanCx<'_>,
    z: Sizes,
    more: &[usize],
    scratch: usize,
    multiply: impl Fn(Given<'_>, &mut [f32], &mut [f32]) + Send + Sync + 'static,
) -> Result<(), PlanError> {
    let mut reads = vec![cx.input(0)?, cx.input(1)?];
    for &index in more {
        reads.push(cx.input(index)?);
    }
    let count = more.len();
    let slot = cx.output(0, Shape::new(&[z.tokens, z.each, z.n])?)?;
    let rows = cx.temp_of::<f32>(z.most() * z.k);
    let results = cx.temp_of::<f32>(z.most() * z.n);
    let scratch = cx.temp_of::<f32>(scratch);
    cx.step("experts", &reads, &[slot, rows, results, scratch], move |a| {
        let (x, ids) = (a.read::<f32>(0)?, a.read::<i64>(1)?);
        let mut more: [&[f32]; 2] = [&[]; 2];
        for (at, more) in more.iter_mut().enumerate().take(count) {
            *more = a.read::<f32>(2 + at)?;
        }
        let (out, rows) = (a.write::<f32>()?, a.write::<f32>()?);
        let (results, scratch) = (a.write::<f32>()?, a.write::<f32>()?);
        z.each_expert((x, ids), (rows, results), out, |expert, m, rows, results| {
            let given = Given { isa: a.isa, parallel: a.parallel, expert, m, rows, more };
            multiply(given, results, scratch);
        })
    });
    cx.count(product_flops([1, z.tokens * z.each, z.n, z.k]), 0);
    Ok(())
}

/// What a product is made of.
struct Given<'a> {
    isa: Isa,
    parallel: &'a dyn Parallel,
    expert: usize,
    m: usize,
    rows: &'a [f32],
    /// Further inputs.
    more: [&'a [f32]; 2],
}

fn build(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let weights = cx.shape(2)?;
        let &[experts, n, k] = weights.dims() else {
            return Err(PlanError::shape(format!("weights of experts of {weights}")));
        };
        let z = Sizes::of(cx, [experts, n, k])?;
        let has_bias = cx.has_input(3);
        if has_bias {
            z.check_bias(cx, 3)?;
        }
        let (a, b) = (MatRef::rows(&[], k), MatRef::transposed(&[], k));
        let (a, b) = (Lhs::Strided(a), Rhs::Strided(b));
        let len = |m| gemm_scratch_len(cx.isa, m, n, k, &a, &b);
        let scratch = (1..=z.most()).map(len).max().unwrap_or(0);
        let more: &[usize] = if has_bias { &[2, 3] } else { &[2] };
        plan(cx, z, more, scratch, move |g, results, scratch| {
            let weights = &g.more[0][g.expert * n * k..][..n * k];
            let bias_col = has_bias.then(|| &g.more[1][g.expert * n..][..n]);
            let epilogue = Epilogue { bias_col, ..Epilogue::default() };
            let a = Lhs::Strided(MatRef::rows(g.rows, k));
            let b = Rhs::Strided(MatRef::transposed(weights, k));
            gemm(g.isa, g.parallel, g.m, n, k, a, b, results, n, &epilogue, scratch);
        })
    })
}

fn build_bits(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let packed = Packed::of(spec)?;
    plan_fn(move |cx| {
        let of = packed.of;
        let z = Sizes::of(cx, [packed.experts, of.n, of.k])?;
        let has_bias = cx.has_input(5);
        if has_bias {
            z.check_bias(cx, 5)?;
        }
        let len = |m| scratch_len(cx.isa, m, &of);
        let scratch = (1..=z.most()).map(len).max().unwrap_or(0);
        let packed = packed.clone();
        let more: &[usize] = if has_bias { &[5] } else { &[] };
        plan(cx, z, more, scratch, move |g, results, scratch| {
            let bias = has_bias.then(|| &g.more[0][g.expert * of.n..][..of.n]);
            let weights = packed.expert(g.expert);
            product(g.isa, g.parallel, g.m, g.rows, &weights, bias, results, scratch);
        })
    })
}
