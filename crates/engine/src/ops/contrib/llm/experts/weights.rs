//! Weights of few bits of several experts.

use std::sync::Arc;

use crate::error::BuildError;
use crate::ops::NodeSpec;
use stead_kernels::gemm::bits::{Bits, Weights, pack, pack_each};
use stead_tensor::{AlignedBuf, Tensor};

/// Inputs of the product that say the weights.
const CODES: usize = 2;
const SCALES: usize = 3;
const ZEROS: usize = 4;

/// The weights of all experts in the form of the kernel, one expert behind the other.
#[derive(Clone)]
pub(super) struct Packed {
    pub experts: usize,
    pub of: Bits,
    words: Arc<AlignedBuf>,
    scales: Arc<AlignedBuf>,
    zeros: Option<Arc<AlignedBuf>>,
}

impl Packed {
    /// Codes `[experts, n, k * bits / 8]`, scales `[experts, n, blocks]`, and zero points in bytes: of each row for itself, or of
    /// all rows of an expert where each has one scale.
    pub fn of(spec: &NodeSpec<'_>) -> Result<Packed, BuildError> {
        let (experts, of, rows) = sizes(spec)?;
        let name = format!("experts {of:?}");
        let words = spec.pack(CODES, &name, |tensor| {
            let (mut all, len) = each(experts, of.packed_len())?;
            let lanes = bytemuck::cast_slice_mut::<u8, i32>(&mut all);
            let bytes = tensor.bytes().chunks_exact((tensor.bytes().len() / experts).max(1));
            for (lanes, bytes) in lanes.chunks_exact_mut(len.max(1)).zip(bytes) {
                pack(&of, bytes, lanes);
            }
            Ok(all)
        })?;
        let blocks = of.n * of.blocks();
        let scales = spec.pack(SCALES, &name, |tensor| {
            let values = tensor.as_slice::<f32>()?;
            numbers(experts, &of, |at| values.get(at).copied().unwrap_or_default())
        })?;
        let zeros = spec.pack(ZEROS, &name, |tensor| {
            let row_bytes = (rows * of.bits).div_ceil(8);
            numbers(experts, &of, |at| {
                // Of a column, or of all columns of an expert.
                let bit = at % rows * of.bits;
                let byte = tensor.bytes().get(at / rows * row_bytes + bit / 8).copied();
                let mask = ((1u16 << of.bits) - 1) as u8;
                f32::from((byte.unwrap_or_default() >> (bit % 8)) & mask)
            })
        })?;
        debug_assert_eq!(blocks % rows, 0, "zero points end with an expert");
        let missing = || BuildError::unsupported("the weights of experts are no constants");
        let (words, scales) = (words.ok_or_else(missing)?, scales.ok_or_else(missing)?);
        Ok(Packed { experts, of, words, scales, zeros })
    }

    /// The weights of one expert.
    pub fn expert(&self, at: usize) -> Weights<'_> {
        let part = |len: usize| at * len..(at + 1) * len;
        let each = part(self.of.each_len());
        Weights {
            of: self.of,
            words: &bytemuck::cast_slice(&self.words)[part(self.of.packed_len())],
            scales: &bytemuck::cast_slice(&self.scales)[each.clone()],
            zeros: self.zeros.as_ref().map(|zeros| &bytemuck::cast_slice(zeros)[each]),
        }
    }
}

/// Experts, the sizes of their weights, and zero points that begin at a whole byte together.
fn sizes(spec: &NodeSpec<'_>) -> Result<(usize, Bits, usize), BuildError> {
    let a = spec.attributes();
    let bits = a.int_or("bits", 4)?;
    if !matches!(bits, 2 | 4 | 8) {
        return Err(BuildError::unsupported(format!("bits is {bits}; supported: 2, 4 and 8")));
    }
    let bits = bits as usize;
    let missing = || BuildError::unsupported("the weights of experts are no constants");
    let codes = spec.constant(CODES).ok_or_else(missing)?;
    let scales = spec.constant(SCALES).ok_or_else(missing)?;
    let refuse = |what: &str, tensor: &Tensor| {
        let shape = tensor.shape();
        Err(BuildError::unsupported(format!("{what} of experts are {shape}, which does not fit")))
    };
    let &[experts, n, bytes] = codes.shape().dims() else { return refuse("weights", codes) };
    let k = bytes.saturating_mul(8 / bits);
    if experts == 0 || n == 0 || k == 0 {
        return refuse("weights", codes);
    }
    let given = usize::try_from(a.int_or("block_size", 0)?).unwrap_or(0);
    let block = if given == 0 { k } else { given };
    let of = Bits { k, n, bits, block };
    let blocks = of.blocks();
    if !k.is_multiple_of(block) || of.block_bytes().saturating_mul(blocks) != bytes {
        return refuse("weights in blocks that do not fill them", codes);
    }
    if scales.shape().elements() != experts * n * blocks {
        return refuse("scales", scales);
    }
    // Without blocks those of all rows of an expert lie side by side.
    let rows = if given == 0 { n } else { blocks };
    if spec.has_input(ZEROS) {
        let zeros = spec.constant(ZEROS).ok_or_else(missing)?;
        let wanted = experts * (n * blocks / rows) * (rows * bits).div_ceil(8);
        if zeros.shape().elements() != wanted {
            return refuse("zero points", zeros);
        }
    }
    Ok((experts, of, rows))
}

/// Room for `len` numbers of four bytes of each expert.
fn each(experts: usize, len: usize) -> Result<(AlignedBuf, usize), BuildError> {
    let bytes = len.saturating_mul(experts).saturating_mul(4);
    Ok((AlignedBuf::lasting(bytes)?, len))
}

/// A number for each block of each column of each expert.
fn numbers(
    experts: usize,
    of: &Bits,
    number: impl Fn(usize) -> f32,
) -> Result<AlignedBuf, BuildError> {
    let (mut all, len) = each(experts, of.each_len())?;
    let blocks = of.n * of.blocks();
    let out = bytemuck::cast_slice_mut::<u8, f32>(&mut all).chunks_exact_mut(len.max(1));
    for (at, out) in out.enumerate() {
        pack_each(of, (0..blocks).map(|block| number(at * blocks + block)), out);
    }
    Ok(all)
}
