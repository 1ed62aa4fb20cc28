//! One step of one sequence: from the sums of a cell's gates to its new state.

use super::Function;
use super::function::apply;
use crate::Isa;
use crate::math;
use crate::simd::{Arithmetic, Simd, SimdOp, dispatch, sweep};

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
        // SAFETY: `at + n <= size`, and there are four gates of that size.
        unsafe {
            sweep!(s, size, |s, at, n| {
                let (gates, c) = (self.gates.as_ptr().add(at), self.c.as_mut_ptr().add(at));
                let forget = math::sigmoid(s, s.load_part_ptr(gates.add(2 * size), n));
                let kept = s.mul(forget, s.load_part_ptr(c, n));
                let input = math::sigmoid(s, s.load_part_ptr(gates, n));
                let cell = math::tanh(s, s.load_part_ptr(gates.add(3 * size), n));
                let new = s.fma(input, cell, kept);
                s.store_part_ptr(c, new, n);
                let output = math::sigmoid(s, s.load_part_ptr(gates.add(size), n));
                let h = s.mul(output, math::tanh(s, new));
                s.store_part_ptr(self.h.as_mut_ptr().add(at), h, n);
            });
        }
    }
}

/// What a GRU cell has beside its sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gru {
    pub functions: [Function; 3],
    pub clip: Option<f32>,
}

impl Gru {
    /// The default cell, which has kernels that do all in one sweep.
    fn is_plain(&self) -> bool {
        let [f, g, _] = self.functions;
        f == Function::SIGMOID && g == Function::TANH && self.clip.is_none()
    }

    /// `reset = f(sums) h`: what the candidate's product takes where the reset gate applies to the state.
    pub fn reset(&self, isa: Isa, sums: &mut [f32], h: &[f32], reset: &mut [f32]) {
        if self.is_plain() {
            return dispatch(isa, PlainReset { sums, h, reset });
        }
        apply(isa, self.functions[0], self.clip, sums);
        dispatch(isa, Product { a: sums, b: h, out: reset });
    }

    /// From the sums of the update gate and of the candidate, recurrent parts included, to the new state.
    pub fn step(&self, isa: Isa, update: &mut [f32], candidate: &mut [f32], h: &mut [f32]) {
        if self.is_plain() {
            return dispatch(isa, PlainGru { update, candidate, h });
        }
        apply(isa, self.functions[0], self.clip, update);
        apply(isa, self.functions[1], self.clip, candidate);
        dispatch(isa, Mix { z: update, candidate, h });
    }

    /// As [`Gru::step`] where the reset gate applies to the recurrent product: `sums` are those of the update gate, the
    /// reset gate and the candidate as they come from the input, `recurrent` as they come from the state.
    pub fn step_behind(&self, isa: Isa, sums: &mut [f32], recurrent: &[f32], h: &mut [f32]) {
        if self.is_plain() {
            return dispatch(isa, PlainBehind { sums, recurrent, h });
        }
        let size = h.len();
        let (gates, candidate) = sums.split_at_mut(2 * size);
        let (of_gates, of_candidate) = recurrent.split_at(2 * size);
        gates.iter_mut().zip(of_gates).for_each(|(sum, x)| *sum += x);
        apply(isa, self.functions[0], self.clip, gates);
        let (update, reset) = gates.split_at_mut(size);
        add_product(candidate, reset, of_candidate);
        apply(isa, self.functions[1], self.clip, candidate);
        dispatch(isa, Mix { z: update, candidate, h });
    }
}

struct PlainReset<'a> {
    sums: &'a [f32],
    h: &'a [f32],
    reset: &'a mut [f32],
}

impl SimdOp for PlainReset<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let size = self.reset.len();
        assert!(self.sums.len() == size && self.h.len() == size, "sizes of a GRU cell");
        // SAFETY: `at + n <= size`, which all three have.
        unsafe {
            sweep!(s, size, |s, at, n| {
                let gate = math::sigmoid(s, s.load_part_ptr(self.sums.as_ptr().add(at), n));
                let kept = s.mul(gate, s.load_part_ptr(self.h.as_ptr().add(at), n));
                s.store_part_ptr(self.reset.as_mut_ptr().add(at), kept, n);
            });
        }
    }
}

struct PlainGru<'a> {
    update: &'a [f32],
    candidate: &'a [f32],
    h: &'a mut [f32],
}

impl SimdOp for PlainGru<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let size = self.h.len();
        assert!(self.update.len() == size && self.candidate.len() == size, "sizes of a GRU cell");
        // SAFETY: `at + n <= size`, which all three have.
        unsafe {
            sweep!(s, size, |s, at, n| {
                let z = math::sigmoid(s, s.load_part_ptr(self.update.as_ptr().add(at), n));
                let c = math::tanh(s, s.load_part_ptr(self.candidate.as_ptr().add(at), n));
                let h = self.h.as_mut_ptr().add(at);
                s.store_part_ptr(h, mixed(s, z, c, s.load_part_ptr(h, n)), n);
            });
        }
    }
}

struct PlainBehind<'a> {
    sums: &'a [f32],
    recurrent: &'a [f32],
    h: &'a mut [f32],
}

impl SimdOp for PlainBehind<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let size = self.h.len();
        let wide = 3 * size;
        assert!(self.sums.len() == wide && self.recurrent.len() == wide, "sizes of a GRU cell");
        // SAFETY: `at + n <= size`, and there are three gates of that size.
        unsafe {
            sweep!(s, size, |s, at, n| {
                let (x, r) = (self.sums.as_ptr().add(at), self.recurrent.as_ptr().add(at));
                let z = math::sigmoid(s, s.add(s.load_part_ptr(x, n), s.load_part_ptr(r, n)));
                let (x, r) = (x.add(size), r.add(size));
                let reset = math::sigmoid(s, s.add(s.load_part_ptr(x, n), s.load_part_ptr(r, n)));
                let (x, r) = (s.load_part_ptr(x.add(size), n), s.load_part_ptr(r.add(size), n));
                let c = math::tanh(s, s.fma(reset, r, x));
                let h = self.h.as_mut_ptr().add(at);
                s.store_part_ptr(h, mixed(s, z, c, s.load_part_ptr(h, n)), n);
            });
        }
    }
}

/// `(1 - z) c + z h`.
#[inline(always)]
fn mixed<S: Arithmetic>(s: S, z: S::F32, c: S::F32, h: S::F32) -> S::F32 {
    s.fma(z, h, s.mul(s.sub(s.splat(1.0), z), c))
}

/// `out = a b`.
struct Product<'a> {
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
}

impl SimdOp for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for ((out, a), b) in self.out.iter_mut().zip(self.a).zip(self.b) {
            *out = a * b;
        }
    }
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
