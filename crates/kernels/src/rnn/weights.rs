//! Weights of recurrent layers as right operands of products.

use super::Kind;
use crate::Isa;
use crate::gemm::{MatRef, Rhs, pack_b, packed_b_len};

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

    pub(super) fn is_packed(&self) -> bool {
        matches!(self, Recurrent::All(Rhs::Packed(_)) | Recurrent::Split(Rhs::Packed(_), _))
    }
}

fn is_split(kind: Kind) -> bool {
    kind == Kind::Gru { linear_before_reset: false }
}

/// Numbers that [`pack_input`] writes.
pub fn packed_input_len(isa: Isa, kind: Kind, hidden: usize, input: usize) -> usize {
    packed_b_len(isa, input, kind.gates() * hidden)
}

/// Packs the input weights of one direction, `[gates hidden, input]`.
///
/// # Panics
/// If `dst` is not [`packed_input_len`] long or `w` is too short.
pub fn pack_input(isa: Isa, kind: Kind, hidden: usize, input: usize, w: &[f32], dst: &mut [f32]) {
    pack_b(isa, input, kind.gates() * hidden, MatRef::transposed(w, input), dst);
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
