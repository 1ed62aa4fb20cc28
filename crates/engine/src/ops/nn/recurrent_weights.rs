//! Packed weights of recurrent layers.

use super::precision::Numbers;
use super::recurrent::direction_of;
use crate::error::BuildError;
use crate::ops::NodeSpec;
use std::sync::Arc;
use stead_kernels::Isa;
use stead_kernels::gemm::{Bytes, Rhs};
use stead_kernels::rnn::{
    Kind, Layout, Recurrent, bytes_input_len, bytes_recurrent_len, half_input_len,
    half_recurrent_len, pack_input, pack_input_bytes, pack_input_half, pack_recurrent,
    pack_recurrent_bytes, pack_recurrent_half, packed_input_len, packed_recurrent_len,
};
use stead_tensor::{AlignedBuf, DType, Tensor};

/// Which weights of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Input 1 of the node.
    Input,
    /// Input 2 of the node.
    Recurrent,
}

/// The weights of all directions, packed, one after the other.
pub(super) enum Packed {
    /// In f32, and whether these are input weights of which all are finite.
    Wide(Numbers, bool),
    /// In bf16, two in each `u32`.
    Half(AlignedBuf),
    /// In bytes, with a scale for each row.
    Bytes(AlignedBuf, Numbers),
}

impl Packed {
    pub(super) fn layout(&self) -> Layout {
        match self {
            Packed::Wide(_, true) => Layout::Finite,
            Packed::Wide(_, false) => Layout::Packed,
            Packed::Half(_) => Layout::Half,
            Packed::Bytes(..) => Layout::Bytes,
        }
    }

    pub(super) fn byte_len(&self) -> usize {
        match self {
            Packed::Wide(numbers, _) => size_of_val(numbers.as_slice()),
            Packed::Half(lanes) => lanes.len(),
            Packed::Bytes(bytes, scales) => bytes.len() + size_of_val(scales.as_slice()),
        }
    }

    /// Input weights of direction `index` of `directions`.
    pub(super) fn input(&self, (index, directions): (usize, usize)) -> Rhs<'_> {
        match self {
            Packed::Wide(w, true) => Rhs::Finite(direction_of(w.as_slice(), index, directions)),
            Packed::Wide(w, false) => Rhs::Packed(direction_of(w.as_slice(), index, directions)),
            Packed::Half(w) => Rhs::Half(direction_of(lanes(w), index, directions)),
            Packed::Bytes(w, scales) => Rhs::Bytes(bytes_of(w, scales, (index, directions))),
        }
    }

    /// Recurrent weights of direction `index` of `directions`.
    pub(super) fn recurrent(
        &self,
        isa: Isa,
        kind: Kind,
        hidden: usize,
        (index, directions): (usize, usize),
    ) -> Recurrent<'_> {
        match self {
            Packed::Wide(r, _) => {
                Recurrent::packed(isa, kind, hidden, direction_of(r.as_slice(), index, directions))
            }
            Packed::Half(r) => {
                Recurrent::half(isa, kind, hidden, direction_of(lanes(r), index, directions))
            }
            Packed::Bytes(r, scales) => {
                Recurrent::bytes(isa, kind, hidden, bytes_of(r, scales, (index, directions)))
            }
        }
    }
}

fn bytes_of<'a>(
    bytes: &'a AlignedBuf,
    scales: &'a Numbers,
    (index, directions): (usize, usize),
) -> Bytes<'a> {
    Bytes {
        numbers: direction_of(bytemuck::cast_slice(bytes), index, directions),
        scales: direction_of(scales.as_slice(), index, directions),
    }
}

fn lanes(buf: &AlignedBuf) -> &[u32] {
    bytemuck::cast_slice(buf)
}

/// Packs a constant weight, `[directions, gates hidden, k]`, direction by direction.
pub(super) fn packed(
    spec: &NodeSpec<'_>,
    kind: Kind,
    side: Side,
) -> Result<Option<Arc<Packed>>, BuildError> {
    let (isa, gates, halves) = (spec.isa, kind.gates(), spec.packs_bf16());
    let (index, of_scales) = if side == Side::Input { (1, 8) } else { (2, 9) };
    let fits = |w: &Tensor| {
        w.shape().rank() == 3 && w.shape()[1].is_multiple_of(gates) && w.shape().elements() > 0
    };
    if !spec.constant(index).is_some_and(fits) {
        return Ok(None);
    }
    let scales = spec.constant(of_scales);
    spec.pack(index, &format!("recurrent {side:?}, {kind:?}"), |tensor| {
        let shape = tensor.shape();
        let (directions, hidden, k) = (shape[0], shape[1] / gates, shape[2]);
        if side == Side::Recurrent && k != hidden {
            return Err(BuildError::unsupported(format!("recurrent weights of shape {shape}")));
        }
        if tensor.dtype() == DType::I8 {
            let scales = scales.filter(|scales| scales.shape().elements() == directions * shape[1]);
            let Some(scales) = scales else {
                return Err(BuildError::unsupported(format!("bytes of shape {shape} as they are")));
            };
            let len = match side {
                Side::Input => bytes_input_len(isa, kind, hidden, k),
                Side::Recurrent => bytes_recurrent_len(isa, kind, hidden),
            };
            let mut buf = AlignedBuf::lasting(directions.saturating_mul(len))?;
            let all: &mut [i8] = bytemuck::cast_slice_mut(&mut buf);
            let each = tensor.as_slice::<i8>()?.chunks_exact(shape[1] * k);
            for (w, dst) in each.zip(all.chunks_exact_mut(len)) {
                match side {
                    Side::Input => pack_input_bytes(isa, kind, hidden, k, w, dst),
                    Side::Recurrent => pack_recurrent_bytes(isa, kind, hidden, w, dst),
                }
            }
            return Ok(Packed::Bytes(buf, Numbers::of(isa, scales)?));
        }
        // A copy on huge pages would keep its place there as long as the packed weights beside it.
        let widened;
        let wide = match tensor.dtype() {
            DType::F32 => tensor.as_slice::<f32>()?,
            _ => {
                widened = Numbers::of(isa, tensor)?;
                widened.as_slice()
            }
        };
        let each = wide.chunks_exact(shape[1] * k);
        if halves {
            let len = match side {
                Side::Input => half_input_len(isa, kind, hidden, k),
                Side::Recurrent => half_recurrent_len(isa, kind, hidden),
            };
            let bytes = directions.saturating_mul(len).saturating_mul(size_of::<u32>());
            let mut buf = AlignedBuf::lasting(bytes)?;
            let all: &mut [u32] = bytemuck::cast_slice_mut(&mut buf);
            for (w, dst) in each.zip(all.chunks_exact_mut(len)) {
                match side {
                    Side::Input => pack_input_half(isa, kind, hidden, k, w, dst),
                    Side::Recurrent => pack_recurrent_half(isa, kind, hidden, w, dst),
                }
            }
            return Ok(Packed::Half(buf));
        }
        let len = match side {
            Side::Input => packed_input_len(isa, kind, hidden, k),
            Side::Recurrent => packed_recurrent_len(isa, kind, hidden),
        };
        let mut numbers = Numbers::zeros(directions * len)?;
        let mut is_finite = side == Side::Input;
        for (w, dst) in each.zip(numbers.as_mut_slice().chunks_exact_mut(len)) {
            match side {
                Side::Input => is_finite &= pack_input(isa, kind, hidden, k, w, dst),
                Side::Recurrent => pack_recurrent(isa, kind, hidden, w, dst),
            }
        }
        Ok(Packed::Wide(numbers, is_finite))
    })
}
