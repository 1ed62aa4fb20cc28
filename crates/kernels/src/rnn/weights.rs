//! Weights of recurrent layers as right operands of products.

use super::Kind;
use crate::Isa;
use crate::gemm::{
    Bytes, MatRef, Rhs, bytes_len, half_len, pack_b, pack_bytes, pack_half, packed_b_len,
};

/// How the weights of a product lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As ONNX has them, row-major.
    Rows,
    /// Packed in f32.
    Packed,
    /// The same, of finite numbers; for input weights alone.
    Finite,
    /// Rounded to bf16 and packed.
    Half,
    /// Packed bytes with a scale for each column.
    Bytes,
}

impl Layout {
    pub(super) fn of(rhs: &Rhs<'_>) -> Layout {
        match rhs {
            Rhs::Strided(_) => Layout::Rows,
            Rhs::Packed(_) => Layout::Packed,
            Rhs::Finite(_) => Layout::Finite,
            Rhs::Half(_) => Layout::Half,
            Rhs::Bytes(_) => Layout::Bytes,
        }
    }

    /// An operand of this layout with `k` rows, without elements.
    pub(super) fn empty(self, k: usize) -> Rhs<'static> {
        match self {
            Layout::Rows => Rhs::Strided(MatRef::transposed(&[], k)),
            Layout::Packed => Rhs::Packed(&[]),
            Layout::Finite => Rhs::Finite(&[]),
            Layout::Half => Rhs::Half(&[]),
            Layout::Bytes => Rhs::Bytes(Bytes { numbers: &[], scales: &[] }),
        }
    }
}

/// Recurrent weights, `hidden x (gates hidden)`.
#[derive(Debug, Clone, Copy)]
pub enum Recurrent<'a> {
    /// Those of all gates in one operand.
    All(Rhs<'a>),
    /// For a GRU whose reset gate applies to the state: update and reset gates, then the candidate.
    Split(Rhs<'a>, Rhs<'a>),
}

impl<'a> Recurrent<'a> {
    /// One direction of row-major ONNX weights, `[gates hidden, hidden]`.
    pub fn rows(kind: Kind, hidden: usize, r: &'a [f32]) -> Recurrent<'a> {
        let of = |data| Rhs::Strided(MatRef::transposed(data, hidden));
        if is_split(kind) {
            let (gates, candidate) = r.split_at(2 * hidden * hidden);
            Recurrent::Split(of(gates), of(candidate))
        } else {
            Recurrent::All(of(r))
        }
    }

    /// One direction of what [`pack_recurrent`] made.
    pub fn packed(isa: Isa, kind: Kind, hidden: usize, r: &'a [f32]) -> Recurrent<'a> {
        if is_split(kind) {
            let (gates, candidate) = r.split_at(packed_b_len(isa, hidden, 2 * hidden));
            Recurrent::Split(Rhs::Packed(gates), Rhs::Packed(candidate))
        } else {
            Recurrent::All(Rhs::Packed(r))
        }
    }

    /// One direction of what [`pack_recurrent_half`] made.
    pub fn half(isa: Isa, kind: Kind, hidden: usize, r: &'a [u32]) -> Recurrent<'a> {
        if is_split(kind) {
            let (gates, candidate) = r.split_at(half_len(isa, hidden, 2 * hidden));
            Recurrent::Split(Rhs::Half(gates), Rhs::Half(candidate))
        } else {
            Recurrent::All(Rhs::Half(r))
        }
    }

    /// One direction of what [`pack_recurrent_bytes`] made.
    pub fn bytes(isa: Isa, kind: Kind, hidden: usize, r: Bytes<'a>) -> Recurrent<'a> {
        if is_split(kind) {
            let (gates, candidate) = r.numbers.split_at(bytes_len(isa, hidden, 2 * hidden));
            let (of_gates, of_candidate) = r.scales.split_at(2 * hidden);
            let of = |numbers, scales| Rhs::Bytes(Bytes { numbers, scales });
            Recurrent::Split(of(gates, of_gates), of(candidate, of_candidate))
        } else {
            Recurrent::All(Rhs::Bytes(r))
        }
    }

    pub(super) fn layout(&self) -> Layout {
        let (Recurrent::All(r) | Recurrent::Split(r, _)) = self;
        Layout::of(r)
    }
}

fn is_split(kind: Kind) -> bool {
    kind == Kind::Gru { linear_before_reset: false }
}

/// Numbers that [`pack_input`] writes.
pub fn packed_input_len(isa: Isa, kind: Kind, hidden: usize, input: usize) -> usize {
    packed_b_len(isa, input, kind.gates() * hidden)
}

/// Packs the input weights of one direction, `[gates hidden, input]`. Returns whether all are finite.
///
/// # Panics
/// If `dst` is not [`packed_input_len`] long or `w` is too short.
pub fn pack_input(
    isa: Isa,
    kind: Kind,
    hidden: usize,
    input: usize,
    w: &[f32],
    dst: &mut [f32],
) -> bool {
    pack_b(isa, input, kind.gates() * hidden, MatRef::transposed(w, input), dst)
}

/// Numbers that [`pack_recurrent`] writes.
pub fn packed_recurrent_len(isa: Isa, kind: Kind, hidden: usize) -> usize {
    if is_split(kind) {
        packed_b_len(isa, hidden, 2 * hidden) + packed_b_len(isa, hidden, hidden)
    } else {
        packed_b_len(isa, hidden, kind.gates() * hidden)
    }
}

/// Packs the recurrent weights of one direction, `[gates hidden, hidden]`.
///
/// # Panics
/// If `dst` is not [`packed_recurrent_len`] long or `r` is too short.
pub fn pack_recurrent(isa: Isa, kind: Kind, hidden: usize, r: &[f32], dst: &mut [f32]) {
    if is_split(kind) {
        let (gates, candidate) = r.split_at(2 * hidden * hidden);
        let (first, second) = dst.split_at_mut(packed_b_len(isa, hidden, 2 * hidden));
        pack_b(isa, hidden, 2 * hidden, MatRef::transposed(gates, hidden), first);
        pack_b(isa, hidden, hidden, MatRef::transposed(candidate, hidden), second);
    } else {
        let n = kind.gates() * hidden;
        pack_b(isa, hidden, n, MatRef::transposed(r, hidden), dst);
    }
}

/// Lanes that [`pack_input_half`] writes.
pub fn half_input_len(isa: Isa, kind: Kind, hidden: usize, input: usize) -> usize {
    half_len(isa, input, kind.gates() * hidden)
}

/// Packs the input weights of one direction, `[gates hidden, input]`, in bf16.
///
/// # Panics
/// If `dst` is not [`half_input_len`] long or `w` is too short.
pub fn pack_input_half(
    isa: Isa,
    kind: Kind,
    hidden: usize,
    input: usize,
    w: &[f32],
    dst: &mut [u32],
) {
    pack_half(isa, input, kind.gates() * hidden, MatRef::transposed(w, input), dst);
}

/// Lanes that [`pack_recurrent_half`] writes.
pub fn half_recurrent_len(isa: Isa, kind: Kind, hidden: usize) -> usize {
    if is_split(kind) {
        half_len(isa, hidden, 2 * hidden) + half_len(isa, hidden, hidden)
    } else {
        half_len(isa, hidden, kind.gates() * hidden)
    }
}

/// Packs the recurrent weights of one direction, `[gates hidden, hidden]`, in bf16.
///
/// # Panics
/// If `dst` is not [`half_recurrent_len`] long or `r` is too short.
pub fn pack_recurrent_half(isa: Isa, kind: Kind, hidden: usize, r: &[f32], dst: &mut [u32]) {
    if is_split(kind) {
        let (gates, candidate) = r.split_at(2 * hidden * hidden);
        let (first, second) = dst.split_at_mut(half_len(isa, hidden, 2 * hidden));
        pack_half(isa, hidden, 2 * hidden, MatRef::transposed(gates, hidden), first);
        pack_half(isa, hidden, hidden, MatRef::transposed(candidate, hidden), second);
    } else {
        let n = kind.gates() * hidden;
        pack_half(isa, hidden, n, MatRef::transposed(r, hidden), dst);
    }
}

/// Bytes that [`pack_input_bytes`] writes.
pub fn bytes_input_len(isa: Isa, kind: Kind, hidden: usize, input: usize) -> usize {
    bytes_len(isa, input, kind.gates() * hidden)
}

/// Packs the input weights of one direction, `[gates hidden, input]` of bytes.
///
/// # Panics
/// If `dst` is not [`bytes_input_len`] long or `w` is too short.
pub fn pack_input_bytes(
    isa: Isa,
    kind: Kind,
    hidden: usize,
    input: usize,
    w: &[i8],
    dst: &mut [i8],
) {
    pack_bytes(isa, input, kind.gates() * hidden, MatRef::transposed(w, input), dst);
}

/// Bytes that [`pack_recurrent_bytes`] writes.
pub fn bytes_recurrent_len(isa: Isa, kind: Kind, hidden: usize) -> usize {
    if is_split(kind) {
        bytes_len(isa, hidden, 2 * hidden) + bytes_len(isa, hidden, hidden)
    } else {
        bytes_len(isa, hidden, kind.gates() * hidden)
    }
}

/// Packs the recurrent weights of one direction, `[gates hidden, hidden]` of bytes.
///
/// # Panics
/// If `dst` is not [`bytes_recurrent_len`] long or `r` is too short.
pub fn pack_recurrent_bytes(isa: Isa, kind: Kind, hidden: usize, r: &[i8], dst: &mut [i8]) {
    if is_split(kind) {
        let (gates, candidate) = r.split_at(2 * hidden * hidden);
        let (first, second) = dst.split_at_mut(bytes_len(isa, hidden, 2 * hidden));
        pack_bytes(isa, hidden, 2 * hidden, MatRef::transposed(gates, hidden), first);
        pack_bytes(isa, hidden, hidden, MatRef::transposed(candidate, hidden), second);
    } else {
        let n = kind.gates() * hidden;
        pack_bytes(isa, hidden, n, MatRef::transposed(r, hidden), dst);
    }
}

#[cfg(test)]
mod tests;
