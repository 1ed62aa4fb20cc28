//! MatMulInteger and QLinearMatMul.

use super::batch::{Batched, resolve, suits};
use super::product::matrix;
use crate::error::{BuildError, PlanError};
use crate::ops::nn::conv_integer::{check_count, emit_requantize, first};
use crate::ops::nn::precision;
use crate::ops::{NodeSpec, OpPlan, Operand, PlanCx, Slot, Strided, plan_fn, product_flops};
use stead_kernels::gemm::integer::{Byte, ZeroPoint, gemm};
use stead_tensor::{DType, Element};

/// ONNX MatMulInteger.
pub(super) fn matmul(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let sums = resolve_sums(cx, [0, 1], [2, 3])?;
        let y = cx.output(0, sums.batched.output)?;
        sums.emit(cx, y);
        Ok(())
    })
}

/// ONNX QLinearMatMul.
pub(super) fn qlinear(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let sums = resolve_sums(cx, [0, 3], [2, 5])?;
        let (m, n, out) = (sums.rows, sums.batched.n, sums.batched.output);
        for (index, counts) in [(1, [1, m]), (4, [1, n]), (6, [1, m]), (7, [1, m])] {
            check_count(cx, index, &counts)?;
        }
        let acc = cx.temp_of::<i32>(out.elements());
        sums.emit(cx, acc);
        let reads = [
            cx.read_back(acc),
            precision::input(cx, 1)?,
            precision::input(cx, 4)?,
            precision::input(cx, 6)?,
            cx.input(7)?,
        ];
        let y = cx.output(0, out)?;
        if cx.dtype(7)? == DType::U8 {
            emit_requantize::<u8>(cx, &reads, y, out.elements(), n);
        } else {
            emit_requantize::<i8>(cx, &reads, y, out.elements(), n);
        }
        Ok(())
    })
}

/// The sums of a quantised product.
struct Sums {
    batched: Batched,
    /// Rows of one matrix of the left operand, before batches are joined.
    rows: usize,
    reads: Vec<Operand>,
    /// Zero points: none, one, or one for each row or column.
    zeros: [Option<usize>; 2],
    /// Where the zero points of the left operand are repeated for joined batches.
    row_zeros: Option<Slot>,
    types: (DType, DType),
}

fn resolve_sums(
    cx: &mut PlanCx<'_>,
    operands: [usize; 2],
    zero_points: [usize; 2],
) -> Result<Sums, PlanError> {
    let shapes = [cx.shape(operands[0])?, cx.shape(operands[1])?];
    let mut strided = Vec::new();
    for (&index, shape) in operands.iter().zip(&shapes) {
        let as_it_lies = cx.strided(index)?;
        strided.push(if suits(shape, &as_it_lies) {
            as_it_lies
        } else {
            Strided { operand: cx.input(index)?, offset: 0, strides: shape.strides() }
        });
    }
    let batched = resolve(&shapes[0], &shapes[1], &strided[0], &strided[1], (false, false))?;
    let rows = if shapes[0].rank() > 1 { shapes[0][shapes[0].rank() - 2] } else { 1 };
    let mut reads: Vec<_> = strided.into_iter().map(|s| s.operand).collect();
    let mut zeros = [None; 2];
    for ((zero, &index), count) in zeros.iter_mut().zip(&zero_points).zip([rows, batched.n]) {
        check_count(cx, index, &[1, count])?;
        if cx.has_input(index) {
            *zero = Some(cx.shape(index)?.elements());
            reads.push(cx.input(index)?);
        }
    }
    let by_row = zeros[0].is_some_and(|n| n > 1) && batched.m != rows;
    let row_zeros = by_row.then(|| cx.temp(batched.m));
    let types = (cx.dtype(operands[0])?, cx.dtype(operands[1])?);
    Ok(Sums { batched, rows, reads, zeros, row_zeros, types })
}

impl Sums {
    fn emit(self, cx: &mut PlanCx<'_>, y: Slot) {
        match self.types {
            (DType::U8, DType::U8) => self.emit_of::<u8, u8>(cx, y),
            (DType::U8, _) => self.emit_of::<u8, i8>(cx, y),
            (_, DType::U8) => self.emit_of::<i8, u8>(cx, y),
            _ => self.emit_of::<i8, i8>(cx, y),
        }
    }

    fn emit_of<A: Element + Byte, B: Element + Byte>(self, cx: &mut PlanCx<'_>, y: Slot) {
        let Sums { batched, reads, zeros, row_zeros, .. } = self;
        let flops = product_flops([batched.offsets.len(), batched.m, batched.n, batched.k]);
        let mut writes = vec![y];
        writes.extend(row_zeros);
        cx.step("gemm integer", &reads, &writes, move |args| {
            let (a, b) = (args.read::<A>(0)?, args.read::<B>(1)?);
            let at = [2, 2 + usize::from(zeros[0].is_some())];
            let out = args.write::<i32>()?;
            let a_zero = match zeros[0] {
                None => ZeroPoint::One(A::zeroed()),
                Some(1) => ZeroPoint::One(first(args, at[0])?),
                Some(count) => {
                    let each = &args.read::<A>(at[0])?[..count];
                    if row_zeros.is_some() {
                        let repeated = args.write::<A>()?;
                        repeated
                            .chunks_mut(count)
                            .for_each(|r| r.copy_from_slice(&each[..r.len()]));
                        ZeroPoint::Each(&*repeated)
                    } else {
                        ZeroPoint::Each(each)
                    }
                }
            };
            let b_zero = match zeros[1] {
                None => ZeroPoint::One(B::zeroed()),
                Some(1) => ZeroPoint::One(first(args, at[1])?),
                Some(_) => ZeroPoint::Each(args.read::<B>(at[1])?),
            };
            let (m, n, k) = (batched.m, batched.n, batched.k);
            for (index, &(at_a, at_b)) in batched.offsets.iter().enumerate() {
                let a = matrix(&a[at_a.min(a.len())..], &batched.a);
                let b = matrix(&b[at_b.min(b.len())..], &batched.b);
                let c = &mut out[index * m * n..(index + 1) * m * n];
                gemm(args.isa, args.parallel, m, n, k, a, a_zero, b, b_zero, c, n);
            }
            Ok(())
        });
        cx.count(flops, 0);
    }
}
