//! Gemm: `alpha A' B' + beta C` of two matrices.

use super::super::{NodeSpec, OpPlan, Operand, PlanCx, plan_fn, product_flops};
use super::number::{ScaleAdd, with_number};
use super::product::{Added, Addend, Product, emit, operands, pack};
use crate::error::{BuildError, PlanError};
use stead_kernels::gemm::{Activation, MatRef, generic};
use stead_kernels::movement::copy_strided;
use stead_tensor::{DType, MAX_RANK, Shape};

/// ONNX Gemm, all versions.
pub(super) fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let dtype = spec.dtype()?;
    let attributes = spec.attributes();
    let transposed = (attributes.bool_or("transA", false)?, attributes.bool_or("transB", false)?);
    let beta = attributes.float_or("beta", 1.0)?;
    let product = Product {
        transposed,
        alpha: attributes.float_or("alpha", 1.0)?,
        activation: Activation::None,
        packed: pack(spec, transposed.1)?,
    };
    plan_fn(move |cx| {
        for index in 0..2 {
            let shape = cx.shape(index)?;
            if shape.rank() != 2 {
                return Err(PlanError::shape(format!(
                    "input {index}: a matrix expected, got {shape}"
                )));
            }
        }
        match dtype {
            DType::F32 => gemm_f32(cx, &product, beta),
            other => gemm_generic(cx, &product, beta, other),
        }
    })
}

fn gemm_f32(cx: &mut PlanCx<'_>, product: &Product, beta: f32) -> Result<(), PlanError> {
    let (batched, operands) = operands(cx, product)?;
    let (m, n) = (batched.m, batched.n);
    let output = cx.output(0, batched.output)?;
    let mut added = Added::default();
    if cx.has_input(2) && beta != 0.0 {
        match strides_of_c(&cx.shape(2)?, m, n)? {
            (0, 1) if beta == 1.0 => added.bias_col = Some(cx.input(2)?),
            (1, 0) if beta == 1.0 => added.bias_row = Some(cx.input(2)?),
            (row, 1) => added.residual = Some(Addend::new(cx.input(2)?, row, beta)),
            // A single number, or a column with a factor, is written out, so that the kernel has one form
            // to read.
            strides => added.residual = Some(Addend::new(expand(cx, strides, m, n)?, n, beta)),
        }
    }
    emit(cx, product, batched, operands, added, output);
    Ok(())
}

/// Row and column strides of `C`, which must broadcast to `m x n`.
fn strides_of_c(c: &Shape, m: usize, n: usize) -> Result<(usize, usize), PlanError> {
    let fail = || PlanError::shape(format!("cannot add {c} to a product of shape [{m},{n}]"));
    let (rows, cols) = match c.dims() {
        [] => (1, 1),
        [cols] => (1, *cols),
        [rows, cols] => (*rows, *cols),
        _ => return Err(fail()),
    };
    if (rows != m && rows != 1) || (cols != n && cols != 1) {
        return Err(fail());
    }
    Ok((if rows == 1 { 0 } else { cols }, usize::from(cols != 1 || n == 1)))
}

/// `C` written out as `m x n`.
fn expand(
    cx: &mut PlanCx<'_>,
    (row, col): (usize, usize),
    m: usize,
    n: usize,
) -> Result<Operand, PlanError> {
    let dtype = cx.dtype(2)?;
    let c = cx.input(2)?;
    let slot = cx.temp(Shape::new(&[m, n])?.byte_len(dtype));
    let mut strides = [0isize; MAX_RANK];
    strides[0] = row as isize;
    strides[1] = col as isize;
    cx.step("expand", &[c], &[slot], move |args| {
        let (src, dst) = (args.read_bytes(0)?, args.write_bytes()?);
        copy_strided(dtype.size(), src, 0, &strides, &[m, n], dst);
        Ok(())
    });
    Ok(cx.read_back(slot))
}

/// The other element types: the plain product, then factors and `C` element by element.
fn gemm_generic(
    cx: &mut PlanCx<'_>,
    product: &Product,
    beta: f32,
    dtype: DType,
) -> Result<(), PlanError> {
    let (batched, (a, b)) = operands(cx, product)?;
    let b = b.ok_or_else(|| PlanError::shape("a product without a right side"))?;
    let output = cx.output(0, batched.output)?;
    let (m, n, k, alpha) = (batched.m, batched.n, batched.k, product.alpha);
    let mut reads = vec![a, b];
    if cx.has_input(2) {
        let strides = strides_of_c(&cx.shape(2)?, m, n)?;
        reads.push(expand(cx, strides, m, n)?);
    }
    let has_c = reads.len() > 2;
    with_number!(dtype, T => {
        cx.step("gemm generic", &reads, &[output], move |args| {
            let (a, b) = (args.read::<T>(0)?, args.read::<T>(1)?);
            let c = if has_c { args.read::<T>(2)? } else { &[] };
            let out = args.write::<T>()?;
            let a = MatRef {
                data: &a[batched.a.offset.min(a.len())..],
                row_stride: batched.a.row_stride,
                col_stride: batched.a.col_stride,
            };
            let b = MatRef {
                data: &b[batched.b.offset.min(b.len())..],
                row_stride: batched.b.row_stride,
                col_stride: batched.b.col_stride,
            };
            generic::gemm(args.isa, args.parallel, m, n, k, a, b, out, n, false);
            let zero = T::default();
            for (i, x) in out.iter_mut().enumerate() {
                *x = x.scale_add(alpha, beta, *c.get(i).unwrap_or(&zero));
            }
            Ok(())
        });
    });
    cx.count(product_flops([1, m, n, k]), 0);
    Ok(())
}
