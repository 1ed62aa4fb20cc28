//! One step of one sequence: from the sums of a cell's gates to its new state.

use super::Function;
use super::function::apply;
use crate::Isa;
use crate::math;
use crate::simd::{Simd, SimdOp, dispatch};

/// What an LSTM cell has beside its sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lstm<'a> {
    pub functions: [Function; 3],
    pub clip: Option<f32>,
    /// The forget gate is one less the input gate.
    pub input_forget: bool,
    /// Weights of the cell state for the input, output and forget gates.
    pub peepholes: Option<&'a [f32]>,
}

impl Lstm<'_> {
    /// The default cell, which has a kernel that does all in one sweep.
    fn is_plain(&self) -> bool {
        self.functions == [Function::SIGMOID, Function::TANH, Function::TANH]
            && self.clip.is_none()
            && self.peepholes.is_none()
            && !self.input_forget
    }

    /// `gates` holds the sums of the input, output, forget and cell gates; `c` and `h` the state.
    pub fn step(&self, isa: Isa, gates: &mut [f32], c: &mut [f32], h: &mut [f32]) {
        if self.is_plain() {
            return dispatch(isa, PlainLstm { gates, c, h });
        }
        let size = h.len();
        let [f, g, out] = self.functions;
        let (i, rest) = gates.split_at_mut(size);
        let (o, rest) = rest.split_at_mut(size);
        let (forget, cell) = rest.split_at_mut(size);
        if let Some(p) = self.peepholes {
            add_product(i, &p[..size], c);
            add_product(forget, &p[2 * size..3 * size], c);
        }
        apply(isa, f, self.clip, i);
        apply(isa, g, self.clip, cell);
        if self.input_forget {
            forget.iter_mut().zip(i.iter()).for_each(|(forget, i)| *forget = 1.0 - *i);
        } else {
            apply(isa, f, self.clip, forget);
        }
        for (j, c) in c.iter_mut().enumerate() {
            *c = forget[j] * *c + i[j] * cell[j];
        }
        if let Some(p) = self.peepholes {
            add_product(o, &p[size..2 * size], c);
        }
        apply(isa, f, self.clip, o);
        h.copy_from_slice(c);
        apply(isa, out, None, h);
        h.iter_mut().zip(o.iter()).for_each(|(h, o)| *h *= *o);
    }
}

fn add_product(sum: &mut [f32], a: &[f32], b: &[f32]) {
    for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
        *sum += a * b;
    }
}

struct PlainLstm<'a> {
    gates: &'a [f32],
    c: &'a mut [f32],
    h: &'a mut [f32],
}

impl SimdOp for PlainLstm<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let size = self.h.len();
        assert!(self.gates.len() == 4 * size && self.c.len() == size, "sizes of an LSTM cell");
        let mut at = 0;
        while at < size {
            let n = (size - at).min(S::LANES);
            // SAFETY: `at + n <= size`, and there are four gates of that size.
            unsafe {
                let gate = |k: usize| s.load_part_ptr(self.gates.as_ptr().add(k * size + at), n);
                let c = self.c.as_mut_ptr().add(at);
                let kept = s.mul(math::sigmoid(s, gate(2)), s.load_part_ptr(c, n));
                let new = s.fma(math::sigmoid(s, gate(0)), math::tanh(s, gate(3)), kept);
                s.store_part_ptr(c, new, n);
                let h = s.mul(math::sigmoid(s, gate(1)), math::tanh(s, new));
                s.store_part_ptr(self.h.as_mut_ptr().add(at), h, n);
            }
            at += n;
        }
    }
}

/// `sums`: those of the candidate state, recurrent part included; `z`: the update gate.
pub(super) fn gru(
    isa: Isa,
    g: Function,
    clip: Option<f32>,
    z: &[f32],
    sums: &mut [f32],
    h: &mut [f32],
) {
    apply(isa, g, clip, sums);
    dispatch(isa, Mix { z, candidate: sums, h });
}

/// `h = (1 - z) candidate + z h`.
struct Mix<'a> {
    z: &'a [f32],
    candidate: &'a [f32],
    h: &'a mut [f32],
}

impl SimdOp for Mix<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for ((h, z), candidate) in self.h.iter_mut().zip(self.z).zip(self.candidate) {
            *h = (1.0 - z) * candidate + z * *h;
        }
    }
}

/// The sums of a cell that is only a function.
pub(super) fn simple(isa: Isa, f: Function, clip: Option<f32>, sums: &mut [f32], h: &mut [f32]) {
    apply(isa, f, clip, sums);
    h.copy_from_slice(sums);
}
