//! MatMul and its fused form.

use super::super::broadcasting::{aligned, broadcast_shape};
use super::super::{NodeSpec, OpPlan, Operand, PlanCx, Slot, Strided, plan_fn, product_flops};
use super::batch::{Batched, Matrices, resolve, suits};
use super::number::with_number;
use crate::error::{BuildError, PlanError, RunError};
use std::sync::Arc;
use stead_kernels::Isa;
use stead_kernels::broadcast::Broadcast;
use stead_kernels::elementwise::{BinaryOp, Lane, Run};
use stead_kernels::gemm::{
    Activation, Epilogue, Lhs, MatRef, Residual, Rhs, activate_slice, gemm, gemm_scratch_len,
    generic, half_len, pack_b, pack_half, packed_b_len, pays_in_half,
};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// A constant right operand, packed for the kernel.
pub(super) struct PackedB {
    data: AlignedBuf,
    is_half: bool,
    k: usize,
    n: usize,
}

impl PackedB {
    fn rhs(&self) -> Rhs<'_> {
        if self.is_half {
            Rhs::Half(bytemuck::cast_slice(&self.data))
        } else {
            Rhs::Packed(bytemuck::cast_slice(&self.data))
        }
    }
}

/// What a product is made of besides its operands.
#[derive(Clone)]
pub(super) struct Product {
    pub transposed: (bool, bool),
    pub alpha: f32,
    pub activation: Activation,
    pub packed: Option<Arc<PackedB>>,
}

/// What is added to a product.
#[derive(Clone, Default)]
pub(super) struct Added {
    /// `N` numbers, one for each column.
    pub bias_col: Option<Operand>,
    /// `M` numbers, one for each row.
    pub bias_row: Option<Operand>,
    /// A matrix, with the elements from one row to the next (0 repeats one row) and a factor.
    pub residual: Option<(Operand, usize, f32)>,
}

/// Packs input 1 when it is one constant matrix of `f32`.
pub(super) fn pack(
    spec: &NodeSpec<'_>,
    transposed: bool,
) -> Result<Option<Arc<PackedB>>, BuildError> {
    let is_matrix = |t: &Tensor| t.dtype() == DType::F32 && t.shape().rank() == 2;
    if !spec.constant(1).is_some_and(is_matrix) {
        return Ok(None);
    }
    let (isa, halves) = (spec.isa, spec.packs_bf16());
    let layout = if transposed { "gemm b, transposed" } else { "gemm b" };
    spec.pack(1, layout, |tensor| pack_matrix(isa, tensor, transposed, halves))
}

/// Packs a matrix, in bf16 if `halves` says so and the product has columns enough.
fn pack_matrix(
    isa: Isa,
    tensor: &Tensor,
    transposed: bool,
    halves: bool,
) -> Result<PackedB, BuildError> {
    let &[rows, cols] = tensor.shape().dims() else {
        return Err(BuildError::unsupported("a matrix expected"));
    };
    let values = tensor.as_slice::<f32>()?;
    let (k, n, matrix) = if transposed {
        (cols, rows, MatRef::transposed(values, cols))
    } else {
        (rows, cols, MatRef::rows(values, cols))
    };
    packed(isa, matrix, k, n, halves)
}

/// Packs a matrix whose `n` columns of `k` elements lie one behind the other.
pub(super) fn pack_columns(
    isa: Isa,
    columns: &[f32],
    k: usize,
    n: usize,
    halves: bool,
) -> Result<PackedB, BuildError> {
    packed(isa, MatRef::transposed(columns, k), k, n, halves)
}

fn packed(
    isa: Isa,
    matrix: MatRef<'_, f32>,
    k: usize,
    n: usize,
    halves: bool,
) -> Result<PackedB, BuildError> {
    let is_half = halves && pays_in_half(n);
    let len = if is_half { half_len(isa, k, n) } else { packed_b_len(isa, k, n) };
    let mut data = AlignedBuf::lasting(len * size_of::<f32>())?;
    if is_half {
        pack_half(isa, k, n, matrix, bytemuck::cast_slice_mut(&mut data));
    } else {
        pack_b(isa, k, n, matrix, bytemuck::cast_slice_mut(&mut data));
    }
    Ok(PackedB { data, is_half, k, n })
}

/// ONNX MatMul.
pub(super) fn matmul(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let dtype = spec.dtype()?;
    let product = Product {
        transposed: (false, false),
        alpha: 1.0,
        activation: Activation::None,
        packed: pack(spec, false)?,
    };
    plan_fn(move |cx| match dtype {
        DType::F32 => {
            let (batched, operands) = operands(cx, &product)?;
            let output = cx.output(0, batched.output)?;
            emit(cx, &product, batched, operands, Added::default(), output);
            Ok(())
        }
        other => matmul_generic(cx, other),
    })
}

/// The fused form: bias (input 2) and residual (input 3) are added and the activation applied while the
/// result is in registers.
pub(super) fn fused(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let transposed = (attributes.bool_or("transA", false)?, attributes.bool_or("transB", false)?);
    let product = Product {
        transposed,
        alpha: attributes.float_or("alpha", 1.0)?,
        activation: crate::ops::activation::from_attributes(attributes)?,
        packed: pack(spec, transposed.1)?,
    };
    plan_fn(move |cx| {
        let (batched, operands) = operands(cx, &product)?;
        let mut added = Added::default();
        if cx.has_input(2) {
            let bias = cx.shape(2)?;
            if bias.elements() != batched.n {
                return Err(PlanError::shape(format!(
                    "a bias of {} elements expected, got {bias}",
                    batched.n
                )));
            }
            added.bias_col = Some(cx.input(2)?);
        }
        if cx.has_input(3) {
            let residual = cx.shape(3)?;
            let is_row = residual.elements() == batched.n
                && residual.last() == Some(&batched.n)
                && residual.rank() <= batched.output.rank();
            if residual == batched.output {
                added.residual = Some((cx.input(3)?, batched.n, 1.0));
            } else if is_row {
                // One row for all, such as the half of a layer that was computed before.
                added.residual = Some((cx.input(3)?, 0, 1.0));
            } else {
                return add_broadcast(cx, &product, batched, operands, added);
            }
        }
        let output = cx.output(0, batched.output)?;
        emit(cx, &product, batched, operands, added, output);
        Ok(())
    })
}

/// The fused form where the residual has another shape than the product and one is broadcast to the other:
/// passes do not know shapes. The sum and the activation are steps of their own then.
fn add_broadcast(
    cx: &mut PlanCx<'_>,
    product: &Product,
    batched: Batched,
    operands: (Operand, Option<Operand>),
    added: Added,
) -> Result<(), PlanError> {
    let from = batched.output;
    let slot = cx.temp_of::<f32>(from.elements());
    let plain = Product { activation: Activation::None, ..product.clone() };
    emit(cx, &plain, batched, operands, added, slot);
    added_to(cx, slot, from, 3, product.activation)
}

/// The output as the sum of a product of shape `from` and an input, one of which is broadcast to the other, and what the
/// activation makes of it.
pub(super) fn added_to(
    cx: &mut PlanCx<'_>,
    product: Slot,
    from: Shape,
    input: usize,
    activation: Activation,
) -> Result<(), PlanError> {
    let residual = cx.shape(input)?;
    let shape = broadcast_shape(&from, &residual)?;
    let strides = [
        aligned(&from, &from.strides(), &shape)?,
        aligned(&residual, &residual.strides(), &shape)?,
    ];
    let plan = Broadcast::new(&shape, std::array::from_fn(|k| &strides[k][..]), [0, 0]);
    let reads = [cx.read_back(product), cx.input(input)?];
    let output = cx.output(0, shape)?;
    cx.step("add", &reads, &[output], move |args| {
        let (x, y, out) = (args.read::<f32>(0)?, args.read::<f32>(1)?, args.write::<f32>()?);
        let run = Run { isa: args.isa, parallel: args.parallel, plan: &plan };
        Lane::binary(run, BinaryOp::Add, x, y, out);
        activate_slice(args.isa, activation, out);
        Ok(())
    });
    Ok(())
}

/// The operands of a product as they lie, or copied where the kernel cannot take the strides.
pub(super) fn operands(
    cx: &mut PlanCx<'_>,
    product: &Product,
) -> Result<(Batched, (Operand, Option<Operand>)), PlanError> {
    let (a_shape, b_shape) = (cx.shape(0)?, cx.shape(1)?);
    let a = strided(cx, 0, &a_shape)?;
    if product.packed.is_some() {
        let b = Strided { operand: a.operand.clone(), offset: 0, strides: b_shape.strides() };
        let batched = resolve(&a_shape, &b_shape, &a, &b, product.transposed)?;
        return Ok((batched, (a.operand, None)));
    }
    let b = strided(cx, 1, &b_shape)?;
    let batched = resolve(&a_shape, &b_shape, &a, &b, product.transposed)?;
    Ok((batched, (a.operand, Some(b.operand))))
}

pub(super) fn strided(
    cx: &mut PlanCx<'_>,
    index: usize,
    shape: &Shape,
) -> Result<Strided, PlanError> {
    let strided = cx.strided(index)?;
    if suits(shape, &strided) {
        return Ok(strided);
    }
    let operand = cx.input(index)?;
    Ok(Strided { operand, offset: 0, strides: shape.strides() })
}

/// Emits the step of a product of `f32`.
pub(super) fn emit(
    cx: &mut PlanCx<'_>,
    product: &Product,
    batched: Batched,
    (a, b): (Operand, Option<Operand>),
    added: Added,
    output: Slot,
) {
    let (m, n, k) = (batched.m, batched.n, batched.k);
    let isa = cx.isa;
    let lhs = Lhs::Strided(matrix(&[], &batched.a));
    let scratch_len = match &product.packed {
        Some(packed) => gemm_scratch_len(isa, m, n, k, &lhs, &packed.rhs()),
        None => gemm_scratch_len(isa, m, n, k, &lhs, &Rhs::Strided(matrix(&[], &batched.b))),
    };
    let scratch = cx.temp_of::<f32>(scratch_len);
    let mut reads = vec![a];
    let mut position = |operand: Option<Operand>| {
        operand.map(|o| {
            reads.push(o);
            reads.len() - 1
        })
    };
    let b_at = position(b);
    let bias_col = position(added.bias_col);
    let bias_row = position(added.bias_row);
    let residual =
        added.residual.and_then(|(o, stride, scale)| Some((position(Some(o))?, stride, scale)));
    let Product { alpha, activation, packed, .. } = product.clone();
    let (count, packed_bytes) =
        (batched.offsets.len(), packed.as_ref().map_or(0, |b| b.data.len()));
    let name = match (packed.as_ref().map(|b| b.is_half), m <= 4) {
        (Some(true), true) => "gemv bf16",
        (Some(true), false) => "gemm bf16",
        (Some(false), true) => "gemv packed",
        (Some(false), false) => "gemm packed",
        (None, _) => "gemm",
    };
    cx.step(name, &reads, &[output, scratch], move |args| {
        let a = args.read::<f32>(0)?;
        let b = b_at.map(|i| args.read::<f32>(i)).transpose()?;
        let bias_col = bias_col.map(|i| args.read::<f32>(i)).transpose()?;
        let bias_row = bias_row.map(|i| args.read::<f32>(i)).transpose()?;
        let residual_data = residual.map(|(i, ..)| args.read::<f32>(i)).transpose()?;
        let out = args.write::<f32>()?;
        let scratch = args.write::<f32>()?;
        for (index, &(at_a, at_b)) in batched.offsets.iter().enumerate() {
            let lhs = Lhs::Strided(matrix(&a[at_a.min(a.len())..], &batched.a));
            let rhs = match (&packed, b) {
                (Some(packed), _) => {
                    debug_assert!(packed.k == k && packed.n == n);
                    packed.rhs()
                }
                (None, Some(b)) => Rhs::Strided(matrix(&b[at_b.min(b.len())..], &batched.b)),
                (None, None) => return Err(RunError::Internal("a product without a right side")),
            };
            let start = index * m * n;
            let epilogue = Epilogue {
                alpha,
                accumulate: false,
                bias_col,
                bias_row,
                residual: residual.zip(residual_data).map(|((_, row_stride, scale), data)| {
                    Residual {
                        data: if row_stride == 0 { data } else { &data[start..] },
                        row_stride,
                        scale,
                    }
                }),
                activation,
            };
            let c = &mut out[start..start + m * n];
            gemm(args.isa, args.parallel, m, n, k, lhs, rhs, c, n, &epilogue, scratch);
        }
        Ok(())
    });
    cx.count(product_flops([count, m, n, k]), packed_bytes);
}

pub(super) fn matrix<'a, T>(data: &'a [T], m: &Matrices) -> MatRef<'a, T> {
    MatRef { data, row_stride: m.row_stride, col_stride: m.col_stride }
}

/// MatMul of the element types without a kernel of their own.
fn matmul_generic(cx: &mut PlanCx<'_>, dtype: DType) -> Result<(), PlanError> {
    let product = Product {
        transposed: (false, false),
        alpha: 1.0,
        activation: Activation::None,
        packed: None,
    };
    let (batched, (a, b)) = operands(cx, &product)?;
    let b = b.ok_or_else(|| PlanError::shape("a product without a right side"))?;
    let output = cx.output(0, batched.output)?;
    let flops = product_flops([batched.offsets.len(), batched.m, batched.n, batched.k]);
    with_number!(dtype, T => {
        cx.step("gemm generic", &[a, b], &[output], move |args| {
            let (a, b) = (args.read::<T>(0)?, args.read::<T>(1)?);
            let out = args.write::<T>()?;
            let (m, n, k) = (batched.m, batched.n, batched.k);
            for (index, &(at_a, at_b)) in batched.offsets.iter().enumerate() {
                let a = matrix(&a[at_a.min(a.len())..], &batched.a);
                let b = matrix(&b[at_b.min(b.len())..], &batched.b);
                let c = &mut out[index * m * n..(index + 1) * m * n];
                generic::gemm(args.isa, args.parallel, m, n, k, a, b, c, n, false);
            }
            Ok(())
        });
    });
    cx.count(flops, 0);
    Ok(())
}
