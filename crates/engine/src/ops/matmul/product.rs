//! MatMul, and the step of a product with what is added to it.

use super::super::{NodeSpec, OpPlan, Operand, PlanCx, Slot, Strided, plan_fn, product_flops};
use super::batch::{Batched, Matrices, resolve, suits};
use super::inner::Inner;
use super::normal::Normal;
use super::number::with_number;
use super::rows::Rows;
use crate::error::{BuildError, PlanError, RunError};
use std::ops::Range;
use std::sync::Arc;
use stead_kernels::Isa;
use stead_kernels::gemm::{
    Activation, Epilogue, Lhs, MatRef, Residual, Rhs, gemm, gemm_scratch_len, generic, half_len,
    pack_b, pack_half, packed_b_len, pays_in_half,
};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// A constant right operand, packed for the kernel.
pub(super) struct PackedB {
    data: AlignedBuf,
    is_half: bool,
    is_finite: bool,
    k: usize,
    n: usize,
}

impl PackedB {
    /// For the kernel.
    pub fn rhs(&self) -> Rhs<'_> {
        match (self.is_half, self.is_finite) {
            (true, _) => Rhs::Half(bytemuck::cast_slice(&self.data)),
            (false, true) => Rhs::Finite(bytemuck::cast_slice(&self.data)),
            (false, false) => Rhs::Packed(bytemuck::cast_slice(&self.data)),
        }
    }

    /// Bytes of it.
    pub fn byte_len(&self) -> usize {
        self.data.len()
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
    /// A matrix.
    pub residual: Option<Addend>,
    /// What rows are normalised by when they are complete.
    pub normal: Option<Normal>,
    /// The product whose result is the left operand, block by block.
    pub inner: Option<Inner>,
}

/// A matrix that is added to a product.
#[derive(Clone)]
pub(super) struct Addend {
    pub operand: Operand,
    /// The position of its first element.
    pub offset: usize,
    /// Elements from one row to the next; 0 repeats one row.
    pub row_stride: usize,
    /// A factor.
    pub scale: f32,
}

impl Addend {
    /// A matrix without gaps, whose rows have `row_stride` elements; 0 for one row.
    pub fn new(operand: Operand, row_stride: usize, scale: f32) -> Addend {
        Addend { operand, offset: 0, row_stride, scale }
    }
}

/// Packs input 1 when it is one constant matrix of `f32`.
pub(super) fn pack(
    spec: &NodeSpec<'_>,
    transposed: bool,
) -> Result<Option<Arc<PackedB>>, BuildError> {
    pack_at(spec, 1, transposed)
}

/// As [`pack`], of another input.
pub(super) fn pack_at(
    spec: &NodeSpec<'_>,
    index: usize,
    transposed: bool,
) -> Result<Option<Arc<PackedB>>, BuildError> {
    let is_matrix = |t: &Tensor| t.dtype() == DType::F32 && t.shape().rank() == 2;
    if spec.constant(index).is_some_and(|tensor| !is_matrix(tensor)) {
        return Ok(None);
    }
    let (isa, halves) = (spec.isa, spec.packs_bf16());
    let layout = if transposed { "gemm b, transposed" } else { "gemm b" };
    spec.pack(index, layout, |tensor| pack_matrix(isa, tensor, transposed, halves))
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
    let is_finite = if is_half {
        pack_half(isa, k, n, matrix, bytemuck::cast_slice_mut(&mut data));
        false
    } else {
        pack_b(isa, k, n, matrix, bytemuck::cast_slice_mut(&mut data))
    };
    Ok(PackedB { data, is_half, is_finite, k, n })
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

/// The bias of a product with `n` columns, if it has one: input `index`.
pub(super) fn bias(
    cx: &mut PlanCx<'_>,
    index: usize,
    n: usize,
) -> Result<Option<Operand>, PlanError> {
    if !cx.has_input(index) {
        return Ok(None);
    }
    let bias = cx.shape(index)?;
    if bias.elements() != n {
        return Err(PlanError::shape(format!("a bias of {n} elements expected, got {bias}")));
    }
    cx.input(index).map(Some)
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
    let scratch_of = |m: usize| match &product.packed {
        Some(packed) => gemm_scratch_len(isa, m, n, k, &lhs, &packed.rhs()),
        None => gemm_scratch_len(isa, m, n, k, &lhs, &Rhs::Strided(matrix(&[], &batched.b))),
    };
    // What lies between both products comes before the scratch.
    let between_cols = added.inner.as_ref().map_or(0, Inner::columns);
    let room_of = |m: usize| {
        let inner = added.inner.as_ref().map_or(0, |inner| inner.scratch_len(isa, m));
        m * between_cols + scratch_of(m).max(inner)
    };
    let (inner_flops, inner_bytes) = added.inner.as_ref().map_or((0, 0), Inner::cost);
    let packed_bytes = product.packed.as_ref().map_or(0, |b| b.byte_len());
    let is_full = product.packed.as_ref().is_some_and(|b| !b.is_half);
    let rows = match is_full || added.normal.is_some() || added.inner.is_some() {
        true => Rows::in_blocks(isa, m, packed_bytes + inner_bytes, room_of),
        false => Rows::at_once(m, room_of(m)),
    };
    let scratch = cx.temp_of::<f32>(rows.scratch_len());
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
    let residual = added.residual.and_then(|addend| {
        let Addend { operand, offset, row_stride, scale } = addend;
        Some((position(Some(operand))?, offset, row_stride, scale))
    });
    let normal = added.normal.map(|normal| normal.read_by(&mut position));
    let inner = added.inner.map(|inner| inner.read_by(&mut position));
    let Product { alpha, activation, packed, .. } = product.clone();
    let count = batched.offsets.len();
    let is_half = packed.as_ref().map(|b| b.is_half);
    let name = match (is_half, m <= 4, inner.is_some(), normal.is_some()) {
        (Some(true), _, true, false) => "feed forward bf16",
        (Some(true), _, true, true) => "feed forward bf16, norm",
        (_, _, true, false) => "feed forward",
        (_, _, true, true) => "feed forward, norm",
        (Some(true), true, ..) => "gemv bf16",
        (Some(true), false, _, false) => "gemm bf16",
        (Some(true), false, _, true) => "gemm bf16, norm",
        (Some(false), true, ..) => "gemv packed",
        (Some(false), false, _, false) => "gemm packed",
        (Some(false), false, _, true) => "gemm packed, norm",
        (None, ..) => "gemm",
    };
    cx.step(name, &reads, &[output, scratch], move |args| {
        let a = args.read::<f32>(0)?;
        let b = b_at.map(|i| args.read::<f32>(i)).transpose()?;
        let bias_col = bias_col.map(|i| args.read::<f32>(i)).transpose()?;
        let bias_row = bias_row.map(|i| args.read::<f32>(i)).transpose()?;
        let residual_data = residual.map(|(i, ..)| args.read::<f32>(i)).transpose()?;
        let normal = normal.as_ref().map(|normal| normal.of(args)).transpose()?;
        let inner_bias = inner.as_ref().and_then(|inner| inner.bias);
        let inner_bias = inner_bias.map(|i| args.read::<f32>(i)).transpose()?;
        let out = args.write::<f32>()?;
        let scratch = args.write::<f32>()?;
        let isa = args.isa;
        for (index, &(at_a, at_b)) in batched.offsets.iter().enumerate() {
            let rhs = match (&packed, b) {
                (Some(packed), _) => {
                    debug_assert!(packed.k == k && packed.n == n);
                    packed.rhs()
                }
                (None, Some(b)) => Rhs::Strided(matrix(&b[at_b.min(b.len())..], &batched.b)),
                (None, None) => return Err(RunError::Internal("a product without a right side")),
            };
            let out = &mut out[index * m * n..(index + 1) * m * n];
            rows.each(args.parallel, (out, n), scratch, &|part, par, c, room| {
                let Range { start: from, end: to } = part;
                let (between, scratch) = room.split_at_mut((to - from) * between_cols);
                let lhs = match &inner {
                    Some(inner) => {
                        inner.rows((isa, par), (a, inner_bias), (from, to), between, scratch)
                    }
                    None => {
                        let at_a = at_a + from * batched.a.row_stride;
                        matrix(&a[at_a.min(a.len())..], &batched.a)
                    }
                };
                let lhs = Lhs::Strided(lhs);
                let epilogue = Epilogue {
                    alpha,
                    accumulate: false,
                    bias_col,
                    bias_row: bias_row.map(|bias| &bias[from..]),
                    residual: residual.zip(residual_data).map(|((_, at, row_stride, scale), r)| {
                        let at = at + (index * m + from) * row_stride;
                        Residual { data: &r[at.min(r.len())..], row_stride, scale }
                    }),
                    activation,
                };
                gemm(isa, par, to - from, n, k, lhs, rhs, c, n, &epilogue, scratch);
                if let Some(normal) = &normal {
                    normal.rows(isa, par, n, c);
                }
            });
        }
        Ok(())
    });
    cx.count(product_flops([count, m, n, k]) + inner_flops, packed_bytes + inner_bytes);
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
