//! Loops over two operands.

use super::CHUNK;
use crate::broadcast::Broadcast;
use crate::simd::{Scalar, Simd, SimdOp, dispatch};
use crate::split::split;
use crate::{Isa, Parallel};

/// How a function of two operands is computed.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The instruction set.
    pub isa: Isa,
    /// Threads that may help.
    pub parallel: &'a dyn Parallel,
    /// How the elements meet. Strides along rows must be 0 or 1.
    pub plan: &'a Broadcast<2>,
}

/// A function of two numbers, mostly of no size, so that loops are compiled for each. Implementations are
/// `#[inline(always)]`.
pub(super) trait Pair<A, B, O>: Copy + Send + Sync {
    fn of(self, a: A, b: B) -> O;
}

/// `out = f(a, b)`. `wide`: compiled for every instruction set, not only the baseline.
///
/// # Panics
/// When strides along rows are others than 0 and 1, or operands are shorter than the plan says.
pub(super) fn zip<A, B, O, F>(run: Run<'_>, wide: bool, f: F, a: &[A], b: &[B], out: &mut [O])
where
    A: Copy + Sync,
    B: Copy + Sync,
    O: Copy + Send,
    F: Pair<A, B, O>,
{
    let Run { isa, parallel, plan } = run;
    assert!(plan.row_strides().iter().all(|s| [0, 1].contains(s)), "strided rows");
    assert_eq!(plan.elements(), out.len(), "the result has another size");
    split(parallel, out, &|start, out| {
        let zip = Zip { plan, f, a, b, out, start };
        if wide { dispatch(isa, zip) } else { zip.eval(Scalar) }
    });
}

struct Zip<'a, A, B, O, F> {
    plan: &'a Broadcast<2>,
    f: F,
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [O],
    start: usize,
}

impl<A: Copy, B: Copy, O: Copy, F: Pair<A, B, O>> SimdOp for Zip<'_, A, B, O, F> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Zip { plan, f, a, b, out, start } = self;
        let [step_a, step_b] = plan.row_strides();
        for row in plan.rows(start..start + out.len()) {
            let n = row.len;
            let out = &mut out[row.start - start..][..n];
            match (step_a, step_b) {
                (1, 1) => {
                    let (a, b) = (&a[row.at[0]..][..n], &b[row.at[1]..][..n]);
                    for i in 0..n {
                        out[i] = f.of(a[i], b[i]);
                    }
                }
                (1, _) => {
                    let (a, b) = (&a[row.at[0]..][..n], b[row.at[1]]);
                    for i in 0..n {
                        out[i] = f.of(a[i], b);
                    }
                }
                (_, 1) => {
                    let (a, b) = (a[row.at[0]], &b[row.at[1]..][..n]);
                    for i in 0..n {
                        out[i] = f.of(a, b[i]);
                    }
                }
                _ => out.fill(f.of(a[row.at[0]], b[row.at[1]])),
            }
        }
    }
}

/// A half-precision type, computed with in f32.
pub(crate) trait Half: Copy + Send + Sync + 'static {
    fn widen(isa: Isa, src: &[Self], dst: &mut [f32]);
    fn narrow(isa: Isa, src: &[f32], dst: &mut [Self]);
}

impl Half for half::f16 {
    fn widen(isa: Isa, src: &[Self], dst: &mut [f32]) {
        crate::convert::f16_to_f32(isa, src, dst);
    }
    fn narrow(isa: Isa, src: &[f32], dst: &mut [Self]) {
        crate::convert::f32_to_f16(isa, src, dst);
    }
}

impl Half for half::bf16 {
    fn widen(isa: Isa, src: &[Self], dst: &mut [f32]) {
        crate::convert::bf16_to_f32(isa, src, dst);
    }
    fn narrow(isa: Isa, src: &[f32], dst: &mut [Self]) {
        crate::convert::f32_to_bf16(isa, src, dst);
    }
}

/// What a function of two halves gives: a half again, or the byte of a truth value.
pub(super) trait FromWide: Copy + Send {
    /// What is computed.
    type Wide: Copy + Default;
    fn put(isa: Isa, src: &[Self::Wide], dst: &mut [Self]);
}

impl<H: Half> FromWide for H {
    type Wide = f32;
    fn put(isa: Isa, src: &[f32], dst: &mut [Self]) {
        H::narrow(isa, src, dst);
    }
}

impl FromWide for u8 {
    type Wide = u8;
    fn put(_: Isa, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
    }
}

/// As [`zip`], for halves, a chunk of a row at a time.
pub(super) fn zip_half<H, O, F>(run: Run<'_>, f: F, a: &[H], b: &[H], out: &mut [O])
where
    H: Half,
    O: FromWide,
    F: Pair<f32, f32, O::Wide>,
{
    let Run { isa, parallel, plan } = run;
    assert!(plan.row_strides().iter().all(|s| [0, 1].contains(s)), "strided rows");
    assert_eq!(plan.elements(), out.len(), "the result has another size");
    let steps = plan.row_strides();
    split(parallel, out, &|start, out| {
        let mut wide = [[0f32; CHUNK]; 2];
        let mut result = [O::Wide::default(); CHUNK];
        for row in plan.rows(start..start + out.len()) {
            for from in (0..row.len).step_by(CHUNK) {
                let n = CHUNK.min(row.len - from);
                for (k, src) in [a, b].into_iter().enumerate() {
                    if steps[k] == 1 {
                        H::widen(isa, &src[row.at[k] + from..][..n], &mut wide[k][..n]);
                    } else {
                        H::widen(isa, &src[row.at[k]..][..1], &mut wide[k][..1]);
                    }
                }
                let chunk = Broadcast::new(&[n], [&steps[..1], &steps[1..]], [0, 0]);
                let [a, b] = &wide;
                let zip = Zip { plan: &chunk, f, a, b, out: &mut result[..n], start: 0 };
                dispatch(isa, zip);
                O::put(isa, &result[..n], &mut out[row.start - start + from..][..n]);
            }
        }
    });
}
