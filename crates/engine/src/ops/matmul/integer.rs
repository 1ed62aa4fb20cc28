//! MatMulInteger, QLinearMatMul, and the quantised product whose sums become floats at once.

use super::batch::{Batched, resolve, suits};
use super::fused::added_to;
use super::product::matrix;
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::nn::conv_integer::{check_count, combine_scales, emit_requantize, first, zero_of};
use crate::ops::nn::precision;
use crate::ops::{Args, NodeSpec, OpPlan, Operand, PlanCx, Slot, Strided, plan_fn, product_flops};
use std::sync::Arc;
use stead_kernels::gemm::integer::{
    Along, Byte, Left, Right, Rounded, Scaled, Target, ZeroPoint, gemm, pack, packed_len,
    scratch_len,
};
use stead_kernels::gemm::{Activation, MatRef, Residual};
use stead_tensor::{AlignedBuf, DType, Element, Tensor};

/// A constant right operand, packed for the kernel.
struct PackedB {
    data: AlignedBuf,
}

impl PackedB {
    fn lanes(&self) -> &[i32] {
        bytemuck::cast_slice(&self.data)
    }
}

/// Packs an input when it is one constant matrix.
fn packed(spec: &NodeSpec<'_>, index: usize) -> Result<Option<Arc<PackedB>>, BuildError> {
    let is_matrix = |t: &Tensor| t.shape().rank() == 2;
    if !spec.constant(index).is_some_and(is_matrix) {
        return Ok(None);
    }
    spec.pack(index, "gemm integer b", |tensor| match tensor.dtype() {
        DType::U8 => pack_of::<u8>(tensor),
        _ => pack_of::<i8>(tensor),
    })
}

fn pack_of<B: Element + Byte>(tensor: &Tensor) -> Result<PackedB, BuildError> {
    let &[k, n] = tensor.shape().dims() else {
        return Err(BuildError::unsupported("a matrix expected"));
    };
    let values = tensor.as_slice::<B>()?;
    let mut data = AlignedBuf::lasting(packed_len(k, n).saturating_mul(size_of::<i32>()))?;
    pack(k, n, MatRef::rows(values, n), bytemuck::cast_slice_mut(&mut data));
    Ok(PackedB { data })
}

/// ONNX MatMulInteger.
pub(super) fn matmul(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let packed = packed(spec, 1)?;
    plan_fn(move |cx| {
        let sums = resolve_sums(cx, [0, 1], [2, 3], packed.clone())?;
        let y = cx.output(0, sums.batched.output)?;
        sums.emit(cx, y, End::Sums);
        Ok(())
    })
}

/// ONNX QLinearMatMul.
pub(super) fn qlinear(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let packed = packed(spec, 3)?;
    plan_fn(move |cx| {
        let sums = resolve_sums(cx, [0, 3], [2, 5], packed.clone())?;
        let (m, n, out) = (sums.rows, sums.batched.n, sums.batched.output);
        for (index, counts) in [(1, [1, m]), (4, [1, n]), (6, [1, m]), (7, [1, m])] {
            check_count(cx, index, &counts)?;
        }
        let mut single = true;
        for index in [1, 6, 7] {
            single &= cx.shape(index)?.elements() == 1;
        }
        if single {
            let rounding = Rounding {
                scales: [
                    precision::input(cx, 1)?,
                    precision::input(cx, 4)?,
                    precision::input(cx, 6)?,
                ],
                zero: cx.input(7)?,
                dtype: cx.dtype(7)?,
            };
            let y = cx.output(0, out)?;
            sums.emit(cx, y, End::Bytes(rounding));
            return Ok(());
        }
        let acc = cx.temp_of::<i32>(out.elements());
        sums.emit(cx, acc, End::Sums);
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

/// `activation(a_scale b_scale (A - a_zero)(B - b_zero) + bias + residual)`: MatMulIntegerToFloat of `com.microsoft`, and
/// with the residual (input 7) and an activation what passes make of MatMulInteger and the nodes behind it.
pub(super) fn to_float(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let packed = packed(spec, 1)?;
    let activation = crate::ops::activation::from_attributes(spec.attributes())?;
    plan_fn(move |cx| {
        let sums = resolve_sums(cx, [0, 1], [4, 5], packed.clone())?;
        let (n, out) = (sums.batched.n, sums.batched.output);
        for (index, counts) in [(2, &[1][..]), (3, &[1, n]), (6, &[n])] {
            check_count(cx, index, counts)?;
        }
        let bias = if cx.has_input(6) { Some(cx.input(6)?) } else { None };
        let scales = [cx.input(2)?, cx.input(3)?];
        let mut floats = Floats { scales, bias, residual: None, activation };
        if !cx.has_input(7) {
            let y = cx.output(0, out)?;
            sums.emit(cx, y, End::Floats(floats));
        } else if cx.shape(7)? == out {
            floats.residual = Some(cx.input(7)?);
            let y = cx.output(0, out)?;
            sums.emit(cx, y, End::Floats(floats));
        } else {
            floats.activation = Activation::None;
            let slot = cx.temp_of::<f32>(out.elements());
            sums.emit(cx, slot, End::Floats(floats));
            added_to(cx, slot, out, 7, activation)?;
        }
        Ok(())
    })
}

/// What becomes of sums.
enum End {
    /// They are the result.
    Sums,
    Floats(Floats),
    Bytes(Rounding),
}

/// What makes bytes of sums, by one scale for all or one for each column.
struct Rounding {
    /// Of A, B and the result.
    scales: [Operand; 3],
    /// Of the result.
    zero: Operand,
    /// The type of the result.
    dtype: DType,
}

/// What makes floats of sums.
struct Floats {
    /// Of A and B.
    scales: [Operand; 2],
    bias: Option<Operand>,
    /// Of the output's shape.
    residual: Option<Operand>,
    activation: Activation,
}

/// Where its operands stand among the reads of the step.
#[derive(Clone, Copy)]
struct FloatReads {
    scales: usize,
    bias: Option<usize>,
    residual: Option<usize>,
    activation: Activation,
}

/// The sums of a quantised product.
struct Sums {
    batched: Batched,
    /// Rows of one matrix of the left operand, before batches are joined.
    rows: usize,
    reads: Vec<Operand>,
    /// The right operand, which is not among the reads then.
    packed: Option<Arc<PackedB>>,
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
    packed: Option<Arc<PackedB>>,
) -> Result<Sums, PlanError> {
    let shapes = [cx.shape(operands[0])?, cx.shape(operands[1])?];
    let mut strided = Vec::new();
    for (at, (&index, shape)) in operands.iter().zip(&shapes).enumerate() {
        if let (1, Some(_), Some(Strided { operand, .. })) = (at, &packed, strided.first()) {
            let operand = Operand::clone(operand);
            strided.push(Strided { operand, offset: 0, strides: shape.strides() });
            continue;
        }
        let as_it_lies = cx.strided(index)?;
        strided.push(if suits(shape, &as_it_lies) {
            as_it_lies
        } else {
            Strided { operand: cx.input(index)?, offset: 0, strides: shape.strides() }
        });
    }
    let batched = resolve(&shapes[0], &shapes[1], &strided[0], &strided[1], (false, false))?;
    let rows = if shapes[0].rank() > 1 { shapes[0][shapes[0].rank() - 2] } else { 1 };
    let count = if packed.is_some() { 1 } else { 2 };
    let mut reads: Vec<_> = strided.into_iter().take(count).map(|s| s.operand).collect();
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
    Ok(Sums { batched, rows, reads, packed, zeros, row_zeros, types })
}

impl Sums {
    fn emit(self, cx: &mut PlanCx<'_>, y: Slot, end: End) {
        match self.types {
            (DType::U8, DType::U8) => self.emit_of::<u8, u8>(cx, y, end),
            (DType::U8, _) => self.emit_of::<u8, i8>(cx, y, end),
            (_, DType::U8) => self.emit_of::<i8, u8>(cx, y, end),
            _ => self.emit_of::<i8, i8>(cx, y, end),
        }
    }

    fn emit_of<A: Element + Byte, B: Element + Byte>(self, cx: &mut PlanCx<'_>, y: Slot, end: End) {
        let Sums { batched, mut reads, packed, zeros, row_zeros, .. } = self;
        let (m, n, k) = (batched.m, batched.n, batched.k);
        let count = batched.offsets.len();
        let (name, end) = place(end, &mut reads);
        // Sizes and strides tell how much is needed.
        let a = Left { matrix: matrix(&[], &batched.a), zero: ZeroPoint::One(A::zeroed()) };
        let of_b = Right {
            matrix: Some(matrix(&[], &batched.b)),
            packed: packed.as_ref().map(|b| b.lanes()),
            zero: ZeroPoint::One(B::zeroed()),
        };
        let scratch = cx.temp_of::<i32>(scratch_len(cx.isa, m, n, k, &a, &of_b));
        let packed_bytes = packed.as_ref().map_or(0, |b| b.data.len());
        let mut writes = vec![y, scratch];
        writes.extend(row_zeros);
        if matches!(end, EndReads::Bytes { .. }) {
            writes.push(cx.temp_of::<f32>(n));
        }
        cx.step(name, &reads, &writes, move |args| {
            let a = args.read::<A>(0)?;
            let b = if packed.is_some() { &[] } else { args.read::<B>(1)? };
            let at = 2 - usize::from(packed.is_some());
            let at = [at, at + usize::from(zeros[0].is_some())];
            let mut out = match end {
                EndReads::Sums => Out::Sums(args.write::<i32>()?),
                EndReads::Floats(floats) => Out::Floats(args.write::<f32>()?, floats),
                EndReads::Bytes { scales, dtype } => Out::Bytes(args.write_bytes()?, scales, dtype),
            };
            let scratch = args.write::<i32>()?;
            let mut rounded = None;
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
            if let Out::Bytes(_, at, dtype) = out {
                let scale = args.write::<f32>()?;
                rounded = Some(rounding(args, at, dtype, &mut scale[..n])?);
            }
            for (index, &(at_a, at_b)) in batched.offsets.iter().enumerate() {
                let a = Left { matrix: matrix(&a[at_a.min(a.len())..], &batched.a), zero: a_zero };
                let packed = packed.as_ref().map(|b| b.lanes());
                let in_place = matrix(&b[at_b.min(b.len())..], &batched.b);
                let matrix = packed.is_none().then_some(in_place);
                let b = Right { matrix, packed, zero: b_zero };
                let range = index * m * n..(index + 1) * m * n;
                let target = match &mut out {
                    Out::Bytes(out, ..) => match rounded {
                        Some(rounded) => Target::Bytes(&mut out[range], rounded),
                        None => return Err(RunError::Internal("no scales")),
                    },
                    Out::Sums(out) => Target::Sums(&mut out[range]),
                    Out::Floats(out, floats) => {
                        let scaled = floats.read(args, range.start, n)?;
                        Target::Floats(&mut out[range], scaled)
                    }
                };
                gemm(args.isa, args.parallel, m, n, k, a, b, target, n, scratch);
            }
            Ok(())
        });
        cx.count(product_flops([count, m, n, k]), packed_bytes);
    }
}

/// The output of a step.
enum Out<'a> {
    Sums(&'a mut [i32]),
    Floats(&'a mut [f32], FloatReads),
    Bytes(&'a mut [u8], usize, DType),
}

/// [`End`] with the places of its operands among the reads of the step.
#[derive(Clone, Copy)]
enum EndReads {
    Sums,
    Floats(FloatReads),
    Bytes { scales: usize, dtype: DType },
}

/// Adds the operands to the reads of a step, and names it.
fn place(end: End, reads: &mut Vec<Operand>) -> (&'static str, EndReads) {
    let floats = match end {
        End::Sums => return ("gemm integer", EndReads::Sums),
        End::Bytes(Rounding { scales, zero, dtype }) => {
            let at = reads.len();
            reads.extend(scales);
            reads.push(zero);
            return ("gemm integer to bytes", EndReads::Bytes { scales: at, dtype });
        }
        End::Floats(floats) => floats,
    };
    let mut position = |operand: Option<Operand>| {
        operand.map(|operand| {
            reads.push(operand);
            reads.len() - 1
        })
    };
    let (bias, residual) = (position(floats.bias), position(floats.residual));
    let scales = reads.len();
    reads.extend(floats.scales);
    let reads = FloatReads { scales, bias, residual, activation: floats.activation };
    ("gemm integer to float", EndReads::Floats(reads))
}

/// How sums become bytes: scales of A, B and the result, and its zero point, stand at `at`.
fn rounding<'a>(
    args: &Args<'a>,
    at: usize,
    dtype: DType,
    scale: &'a mut [f32],
) -> Result<Rounded<'a>, RunError> {
    combine_scales(first(args, at)?, args.read(at + 1)?, first(args, at + 2)?, scale);
    let (zero, limits) = zero_of(args, at + 3, dtype)?;
    Ok(Rounded { scale, bias: None, along: Along::Columns, zero, limits })
}

impl FloatReads {
    /// The operands for the product whose numbers begin at `start` of the output.
    fn read<'a>(&self, args: &Args<'a>, start: usize, n: usize) -> Result<Scaled<'a>, RunError> {
        let residual = self.residual.map(|i| args.read::<f32>(i)).transpose()?;
        Ok(Scaled {
            a_scale: first(args, self.scales)?,
            b_scale: args.read::<f32>(self.scales + 1)?,
            bias: self.bias.map(|i| args.read::<f32>(i)).transpose()?,
            along: Along::Columns,
            residual: residual.map(|data| Residual {
                data: &data[start..],
                row_stride: n,
                scale: 1.0,
            }),
            activation: self.activation,
        })
    }
}
