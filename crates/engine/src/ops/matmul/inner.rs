//! The product before a product, in the same step.
//!
//! The two products of a transformer's feed-forward layer have the most columns between them, four times those of the layer. Of
//! many rows they go to memory and come back; block by block they stay in the second-level cache.

use super::super::{NodeSpec, Operand, PlanCx, product_flops};
use super::batch::{Batched, resolve};
use super::product::{Added, PackedB, Product, bias, emit, matrix, pack_at, strided};
use crate::error::{BuildError, PlanError};
use std::sync::Arc;
use stead_kernels::gemm::{Epilogue, Lhs, MatRef, gemm, gemm_scratch_len};
use stead_kernels::{Isa, Parallel};
use stead_tensor::Shape;

/// The right operand of the inner product, a constant matrix, and its bias.
const RIGHT: usize = 7;
const BIAS: usize = 8;

/// An inner product that a node asks for.
#[derive(Clone)]
pub(super) struct Form {
    product: Product,
    packed: Arc<PackedB>,
}

impl Form {
    /// By the inputs and attributes.
    pub fn of(spec: &NodeSpec<'_>) -> Result<Option<Form>, BuildError> {
        if !spec.has_input(RIGHT) {
            return Ok(None);
        }
        let attributes = spec.attributes();
        let transposed = attributes.bool_or("inner_transB", false)?;
        let packed = pack_at(spec, RIGHT, transposed)?
            .ok_or_else(|| BuildError::unsupported("an inner product by what is no constant"))?;
        let product = Product {
            transposed: (false, transposed),
            alpha: attributes.float_or("inner_alpha", 1.0)?,
            activation: crate::ops::activation::from_attributes_of("inner_", attributes)?,
            packed: Some(Arc::clone(&packed)),
        };
        Ok(Some(Form { product, packed }))
    }

    /// The inner product of input 0, and the outer one of its result.
    pub fn plan(
        &self,
        cx: &mut PlanCx<'_>,
        outer: &Product,
    ) -> Result<(Inner, Batched), PlanError> {
        let (x_shape, right) = (cx.shape(0)?, cx.shape(RIGHT)?);
        let x = strided(cx, 0, &x_shape)?;
        let constant = |shape: &Shape| super::super::Strided {
            operand: x.operand.clone(),
            offset: 0,
            strides: shape.strides(),
        };
        let batched = resolve(&x_shape, &right, &x, &constant(&right), self.product.transposed)?;
        let (between, right) = (batched.output, cx.shape(1)?);
        let next =
            resolve(&between, &right, &constant(&between), &constant(&right), outer.transposed)?;
        let bias = bias(cx, BIAS, batched.n)?;
        Ok((Inner { form: self.clone(), batched, x: x.operand, bias }, next))
    }
}

/// An inner product with its operands.
#[derive(Clone)]
pub(super) struct Inner {
    form: Form,
    batched: Batched,
    /// The left operand.
    pub x: Operand,
    bias: Option<Operand>,
}

impl Inner {
    /// Whether the rows of the inner product are those of the outer one.
    pub fn has_rows_of(&self, outer: &Batched) -> bool {
        self.batched.offsets.len() == 1
            && outer.offsets.len() == 1
            && self.batched.m == outer.m
            && self.batched.n == outer.k
    }

    /// As a step of its own: its result.
    pub fn apart(self, cx: &mut PlanCx<'_>) -> Operand {
        let Inner { form, batched, x, bias } = self;
        let slot = cx.temp_of::<f32>(batched.output.elements());
        let added = Added { bias_col: bias, ..Added::default() };
        emit(cx, &form.product, batched, (x, None), added, slot);
        cx.read_back(slot)
    }

    /// Numbers of scratch for so many rows, without their own.
    pub fn scratch_len(&self, isa: Isa, rows: usize) -> usize {
        let (n, k) = (self.batched.n, self.batched.k);
        let lhs = Lhs::Strided(matrix(&[], &self.batched.a));
        gemm_scratch_len(isa, rows, n, k, &lhs, &self.form.packed.rhs())
    }

    /// Columns of the result.
    pub fn columns(&self) -> usize {
        self.batched.n
    }

    /// Multiplications and additions, and bytes of the matrix.
    pub fn cost(&self) -> (u64, usize) {
        let (m, n, k) = (self.batched.m, self.batched.n, self.batched.k);
        (product_flops([1, m, n, k]), self.form.packed.byte_len())
    }

    /// The same with the position at which a step reads the bias.
    pub fn read_by(self, position: &mut dyn FnMut(Option<Operand>) -> Option<usize>) -> Reads {
        let Inner { form, batched, bias, .. } = self;
        Reads { form, batched, bias: position(bias) }
    }
}

/// An inner product whose bias is read at a position.
pub(super) struct Reads {
    form: Form,
    batched: Batched,
    pub bias: Option<usize>,
}

impl Reads {
    /// Computes the rows `from..to` of the result.
    pub fn rows<'o>(
        &self,
        (isa, par): (Isa, &dyn Parallel),
        (x, bias): (&[f32], Option<&[f32]>),
        (from, to): (usize, usize),
        out: &'o mut [f32],
        scratch: &mut [f32],
    ) -> MatRef<'o, f32> {
        let (a, n, k) = (&self.batched.a, self.batched.n, self.batched.k);
        let begin = self.batched.offsets.first().map_or(0, |at| at.0) + from * a.row_stride;
        let lhs = Lhs::Strided(matrix(&x[begin.min(x.len())..], a));
        let Product { alpha, activation, .. } = self.form.product;
        let epilogue = Epilogue { alpha, bias_col: bias, activation, ..Epilogue::default() };
        let (rows, rhs) = (to - from, self.form.packed.rhs());
        gemm(isa, par, rows, n, k, lhs, rhs, out, n, &epilogue, scratch);
        MatRef::rows(out, n)
    }
}
