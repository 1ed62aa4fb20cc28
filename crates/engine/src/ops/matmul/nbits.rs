//! MatMulNBits of `com.microsoft`: a product by weights of few bits with a scale for each block.

use super::super::{NodeSpec, OpPlan, Strided, plan_fn};
use super::batch::resolve;
use super::product::{Added, PackedB, Product, emit, pack_columns, strided};
use crate::error::{BuildError, PlanError};
use std::sync::Arc;
use stead_kernels::gemm::Activation;
use stead_tensor::{DType, Shape, Tensor};

/// How the weights of a column lie: blocks of K one behind the other, each from a whole byte on.
#[derive(Clone, Copy)]
struct Layout {
    k: usize,
    n: usize,
    bits: usize,
    block: usize,
}

impl Layout {
    fn of(spec: &NodeSpec<'_>) -> Result<Layout, BuildError> {
        let a = spec.attributes();
        let size = |name: &str, value: i64| {
            usize::try_from(value).ok().filter(|&v| v > 0).ok_or_else(|| {
                BuildError::unsupported(format!("{name} is {value}; supported: 1 and more"))
            })
        };
        let layout = Layout {
            k: size("K", a.int("K")?.unwrap_or(0))?,
            n: size("N", a.int("N")?.unwrap_or(0))?,
            bits: size("bits", a.int_or("bits", 4)?)?,
            block: size("block_size", a.int("block_size")?.unwrap_or(0))?,
        };
        if !matches!(layout.bits, 2 | 4 | 8) {
            return Err(BuildError::unsupported(format!(
                "bits is {}; supported: 2, 4 and 8",
                layout.bits
            )));
        }
        if layout.block < 16 || !layout.block.is_power_of_two() {
            return Err(BuildError::unsupported(format!(
                "block_size is {}; supported: powers of two from 16 on",
                layout.block
            )));
        }
        Ok(layout)
    }

    fn blocks(&self) -> usize {
        self.k.div_ceil(self.block)
    }

    /// Bytes of a block of weights, and of the zero points of a column.
    fn bytes(&self) -> (usize, usize) {
        ((self.block * self.bits).div_ceil(8), (self.blocks() * self.bits).div_ceil(8))
    }

    /// The number at a place among numbers that are packed from the lowest bits on.
    fn number(&self, bytes: &[u8], at: usize) -> f32 {
        let bit = at * self.bits;
        let byte = bytes.get(bit / 8).copied().unwrap_or_default();
        let mask = ((1u16 << self.bits) - 1) as u8;
        f32::from((byte >> (bit % 8)) & mask)
    }
}

/// An input that every run has the same, with so many elements of this type.
fn constant<'a>(
    spec: &NodeSpec<'a>,
    (index, name): (usize, &str),
    dtype: DType,
    elements: usize,
) -> Result<&'a Tensor, BuildError> {
    let tensor = spec.constant(index);
    let tensor = tensor.ok_or_else(|| BuildError::unsupported(format!("{name} is no constant")))?;
    if tensor.dtype() != dtype || tensor.shape().elements() != elements {
        return Err(BuildError::unsupported(format!(
            "{name} is {}{}; {elements} elements of {dtype} expected",
            tensor.dtype(),
            tensor.shape()
        )));
    }
    Ok(tensor)
}

/// The weights as the kernel of `f32` takes them.
fn pack(spec: &NodeSpec<'_>, layout: Layout) -> Result<Arc<PackedB>, BuildError> {
    let Layout { k, n, bits, block } = layout;
    let (blocks, (block_bytes, zero_bytes)) = (layout.blocks(), layout.bytes());
    constant(spec, (1, "B"), DType::U8, n * blocks * block_bytes)?;
    let scales = constant(spec, (2, "scales"), DType::F32, n * blocks)?;
    let zeros = match spec.has_input(3) {
        true => Some(constant(spec, (3, "zero_points"), DType::U8, n * zero_bytes)?),
        false => None,
    };
    let middle = (1u32 << (bits - 1)) as f32;
    // The same weights with other scales are others.
    let of = |tensor: &Tensor| tensor.bytes().as_ptr() as usize;
    let name = format!("n bits {k} {n} {bits} {block} {:x} {:x}", of(scales), zeros.map_or(0, of));
    let (isa, halves) = (spec.isa, spec.packs_bf16());
    let packed = spec.pack(1, &name, |weights| {
        let (bytes, scales) = (weights.bytes(), scales.as_slice::<f32>()?);
        let value = |column: usize, row: usize| {
            let at = column * blocks + row / block;
            let zero = zeros.map_or(middle, |zeros| {
                let column = zeros.bytes().get(column * zero_bytes..).unwrap_or_default();
                layout.number(column, row / block)
            });
            let numbers = bytes.get(at * block_bytes..).unwrap_or_default();
            let scale = scales.get(at).copied().unwrap_or_default();
            scale * (layout.number(numbers, row % block) - zero)
        };
        let mut columns = Vec::with_capacity(n * k);
        for column in 0..n {
            columns.extend((0..k).map(|row| value(column, row)));
        }
        pack_columns(isa, &columns, k, n, halves)
    })?;
    packed.ok_or_else(|| BuildError::unsupported("B is no constant"))
}

pub(super) fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let layout = Layout::of(spec)?;
    if spec.has_input(4) {
        return Err(BuildError::unsupported("the order of K by g_idx is not supported"));
    }
    if spec.attributes().int_or("weight_prepacked", 0)? != 0 {
        return Err(BuildError::unsupported("weights packed for another engine are not supported"));
    }
    let product = Product {
        transposed: (false, false),
        alpha: 1.0,
        activation: Activation::None,
        packed: Some(pack(spec, layout)?),
    };
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        if shape.rank() == 0 || shape.last() != Some(&layout.k) {
            return Err(PlanError::shape(format!(
                "A has shape {shape}; its last dimension must be K = {}",
                layout.k
            )));
        }
        let matrix = Shape::new(&[layout.k, layout.n])?;
        let a = strided(cx, 0, &shape)?;
        let b = Strided { operand: a.operand.clone(), offset: 0, strides: matrix.strides() };
        let batched = resolve(&shape, &matrix, &a, &b, product.transposed)?;
        let mut added = Added::default();
        if cx.has_input(5) {
            let bias = cx.shape(5)?;
            if bias.elements() != layout.n {
                return Err(PlanError::shape(format!(
                    "a bias of {} elements expected, got {bias}",
                    layout.n
                )));
            }
            added.bias_col = Some(cx.input(5)?);
        }
        let output = cx.output(0, batched.output)?;
        emit(cx, &product, batched, (a.operand, None), added, output);
        Ok(())
    })
}
