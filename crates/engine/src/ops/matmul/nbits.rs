//! MatMulNBits of `com.microsoft`: a product by weights of few bits with a scale for each block.

use super::super::{NodeSpec, OpPlan, plan_fn, product_flops};
use super::product::bias;
use crate::error::{BuildError, PlanError};
use std::sync::Arc;
use stead_kernels::gemm::bits::{
    Bits, Weights, pack, pack_each, product, scratch_len, widens_in_registers,
};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// The sizes that the attributes say.
fn sizes(spec: &NodeSpec<'_>) -> Result<Bits, BuildError> {
    let a = spec.attributes();
    let size = |name: &str, value: i64| {
        usize::try_from(value).ok().filter(|&v| v > 0).ok_or_else(|| {
            BuildError::unsupported(format!("{name} is {value}; supported: 1 and more"))
        })
    };
    let of = Bits {
        k: size("K", a.int("K")?.unwrap_or(0))?,
        n: size("N", a.int("N")?.unwrap_or(0))?,
        bits: size("bits", a.int_or("bits", 4)?)?,
        block: size("block_size", a.int("block_size")?.unwrap_or(0))?,
    };
    if !matches!(of.bits, 2 | 4 | 8) {
        return Err(BuildError::unsupported(format!("bits is {}; supported: 2, 4 and 8", of.bits)));
    }
    Ok(of)
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

/// Weights in the form of the kernel, as small as they came.
#[derive(Clone)]
struct Packed {
    words: Arc<AlignedBuf>,
    scales: Arc<AlignedBuf>,
    zeros: Option<Arc<AlignedBuf>>,
}

impl Packed {
    fn of(spec: &NodeSpec<'_>, of: Bits) -> Result<Packed, BuildError> {
        let Bits { k, n, bits, block } = of;
        let too_large = || BuildError::unsupported("weights larger than memory");
        let blocks = n.checked_mul(of.blocks()).ok_or_else(too_large)?;
        let zero_bytes = (of.blocks() * bits).div_ceil(8);
        let bytes = blocks.checked_mul(of.block_bytes()).ok_or_else(too_large)?;
        constant(spec, (1, "B"), DType::U8, bytes)?;
        constant(spec, (2, "scales"), DType::F32, blocks)?;
        if spec.has_input(3) {
            constant(spec, (3, "zero_points"), DType::U8, n * zero_bytes)?;
        }
        let name = format!("n bits {k} {n} {bits} {block}");
        let words = spec.pack(1, &name, |tensor| {
            let mut words = AlignedBuf::lasting(of.packed_len().saturating_mul(4))?;
            pack(&of, tensor.bytes(), bytemuck::cast_slice_mut(&mut words));
            Ok(words)
        })?;
        let scales = spec.pack(2, &name, |tensor| {
            let mut scales = AlignedBuf::lasting(of.each_len().saturating_mul(4))?;
            let values = tensor.as_slice::<f32>()?.iter().copied();
            pack_each(&of, values, bytemuck::cast_slice_mut(&mut scales));
            Ok(scales)
        })?;
        let zeros = spec.pack(3, &name, |tensor| {
            let mut zeros = AlignedBuf::lasting(of.each_len().saturating_mul(4))?;
            let per_column = of.blocks();
            // Packed from the lowest bits on, each column from a whole byte on.
            let values = (0..blocks).map(|at| {
                let bit = at % per_column * bits;
                let byte = tensor.bytes().get(at / per_column * zero_bytes + bit / 8);
                let mask = ((1u16 << bits) - 1) as u8;
                f32::from((byte.copied().unwrap_or_default() >> (bit % 8)) & mask)
            });
            pack_each(&of, values, bytemuck::cast_slice_mut(&mut zeros));
            Ok(zeros)
        })?;
        let missing = || BuildError::unsupported("the weights are no constants");
        Ok(Packed { words: words.ok_or_else(missing)?, scales: scales.ok_or_else(missing)?, zeros })
    }

    fn bytes(&self) -> usize {
        self.words.len() + self.scales.len() + self.zeros.as_ref().map_or(0, |z| z.len())
    }

    fn weights(&self, of: Bits) -> Weights<'_> {
        Weights {
            of,
            words: bytemuck::cast_slice(&self.words),
            scales: bytemuck::cast_slice(&self.scales),
            zeros: self.zeros.as_ref().map(|zeros| bytemuck::cast_slice(zeros)),
        }
    }
}

/// The operator of `com.microsoft`.
pub(super) fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let block = sizes(spec)?.block;
    if block < 16 || !block.is_power_of_two() {
        return Err(BuildError::unsupported(format!(
            "block_size is {block}; supported: powers of two from 16 on"
        )));
    }
    if spec.has_input(4) {
        return Err(BuildError::unsupported("the order of K by g_idx is not supported"));
    }
    if spec.attributes().int_or("weight_prepacked", 0)? != 0 {
        return Err(BuildError::unsupported("weights packed for another engine are not supported"));
    }
    build_blocks(spec)
}

/// The same with blocks of any size, as passes make it of weights with a scale for each column.
pub(super) fn build_blocks(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let of = sizes(spec)?;
    let packed = Packed::of(spec, of)?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        if shape.rank() == 0 || shape.last() != Some(&of.k) {
            return Err(PlanError::shape(format!(
                "A has shape {shape}; its last dimension must be K = {}",
                of.k
            )));
        }
        let mut dims = shape.to_vec();
        let m = shape.elements() / of.k;
        if let Some(last) = dims.last_mut() {
            *last = of.n;
        }
        let mut reads = vec![cx.input(0)?];
        let bias = bias(cx, 5, of.n)?;
        let has_bias = bias.is_some();
        reads.extend(bias);
        let y = cx.output(0, Shape::new(&dims)?)?;
        let scratch = cx.temp_of::<f32>(scratch_len(cx.isa, m, &of));
        let (name, bytes) = (
            if widens_in_registers(m, &of) { "gemv n bits" } else { "gemm n bits" },
            packed.bytes(),
        );
        let packed = packed.clone();
        cx.step(name, &reads, &[y, scratch], move |a| {
            let x = a.read::<f32>(0)?;
            let bias = if has_bias { Some(a.read::<f32>(1)?) } else { None };
            let (y, scratch) = (a.write::<f32>()?, a.write::<f32>()?);
            product(a.isa, a.parallel, m, x, &packed.weights(of), bias, y, scratch);
            Ok(())
        });
        cx.count(product_flops([1, m, of.n, of.k]), bytes);
        Ok(())
    })
}
