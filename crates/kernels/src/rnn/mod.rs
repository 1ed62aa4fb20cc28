//! Recurrent layers: RNN, GRU and LSTM as ONNX defines them.
//!
//! The part of the sums that comes from the input is one product for all time steps. What remains for a step
//! is a product of the state by the recurrent weights of all gates, added to those sums, and the cell's
//! functions in one sweep; weights that no cache holds are [read there and back](sweep). Weights that are packed ([`pack_input`], [`pack_recurrent`]) are packed once. In bf16
//! ([`pack_input_half`], [`pack_recurrent_half`]) a step takes half the time where it waits for weights; for up to four
//! sequences only the weights are rounded, for more the states are too, in the product. Weights that come as bytes stay bytes
//! ([`pack_input_bytes`], [`pack_recurrent_bytes`]), and the arithmetic f32.

mod cell;
mod function;
mod sweep;
mod weights;

pub use function::Function;
pub use weights::{
    Layout, Recurrent, bytes_input_len, bytes_recurrent_len, half_input_len, half_recurrent_len,
    pack_input, pack_input_bytes, pack_input_half, pack_recurrent, pack_recurrent_bytes,
    pack_recurrent_half, packed_input_len, packed_recurrent_len,
};

use sweep::{Product, Way};

use crate::gemm::{Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len};
use crate::{Isa, Parallel};

/// The kind of cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `h = f(sums)`.
    Rnn,
    /// Gates z (update), r (reset) and h (candidate), in this order.
    Gru {
        /// Whether the reset gate applies to the recurrent product rather than to the state.
        linear_before_reset: bool,
    },
    /// Gates i (input), o (output), f (forget) and c (cell), in this order.
    Lstm {
        /// Whether the forget gate is one less the input gate.
        input_forget: bool,
    },
}

impl Kind {
    /// Gates of a cell.
    pub fn gates(self) -> usize {
        match self {
            Kind::Rnn => 1,
            Kind::Gru { .. } => 3,
            Kind::Lstm { .. } => 4,
        }
    }

    /// Whether the reset gate applies to the recurrent product.
    fn resets_product(self) -> bool {
        self == Kind::Gru { linear_before_reset: true }
    }
}

/// The sizes of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Time steps.
    pub steps: usize,
    /// Sequences.
    pub batch: usize,
    /// Numbers in an element of a sequence.
    pub input: usize,
    /// Numbers in the state.
    pub hidden: usize,
    /// 1 or 2.
    pub directions: usize,
    /// `[batch, steps, ...]` rather than `[steps, batch, ...]`.
    pub batch_first: bool,
}

impl Sizes {
    /// The row of `(step, sequence)` in the input.
    fn row(&self, step: usize, sequence: usize) -> usize {
        if self.batch_first { sequence * self.steps + step } else { step * self.batch + sequence }
    }

    /// Where the output of `(step, direction, sequence)` begins.
    fn output(&self, step: usize, direction: usize, sequence: usize) -> usize {
        let row = if self.batch_first {
            (sequence * self.steps + step) * self.directions + direction
        } else {
            (step * self.directions + direction) * self.batch + sequence
        };
        row * self.hidden
    }

    /// Where the state of `(direction, sequence)` begins, in initial and final states.
    fn state(&self, direction: usize, sequence: usize) -> usize {
        let row = if self.batch_first {
            sequence * self.directions + direction
        } else {
            direction * self.batch + sequence
        };
        row * self.hidden
    }
}

/// One direction of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Direction<'a> {
    /// The position of this direction in the outputs and states.
    pub index: usize,
    /// Whether time runs backwards.
    pub reverse: bool,
    /// Input weights as the right operand of a product, `input x (gates hidden)`.
    pub input: Rhs<'a>,
    /// Recurrent weights.
    pub recurrent: Recurrent<'a>,
    /// Biases of the input and of the recurrent product, `2 gates hidden` numbers.
    pub bias: Option<&'a [f32]>,
    /// Weights of the cell state for the gates i, o and f of an LSTM, `3 hidden` numbers.
    pub peepholes: Option<&'a [f32]>,
    /// The functions f, g, h of ONNX, as many as the cell has.
    pub functions: [Function; 3],
    /// What the arguments of functions are limited to.
    pub clip: Option<f32>,
}

/// What a layer reads beside its weights.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The sequences.
    pub x: &'a [f32],
    /// Steps of each sequence, at most [`Sizes::steps`]; the others give zeros.
    pub lengths: Option<&'a [i32]>,
    /// The first state, zero if absent.
    pub h: Option<&'a [f32]>,
    /// The first cell state of an LSTM, zero if absent.
    pub c: Option<&'a [f32]>,
}

/// What a layer writes.
#[derive(Debug)]
pub struct Results<'a> {
    /// The state after every step.
    pub y: Option<&'a mut [f32]>,
    /// The last state.
    pub h: Option<&'a mut [f32]>,
    /// The last cell state of an LSTM.
    pub c: Option<&'a mut [f32]>,
}

/// The parts of the scratch of a direction.
struct Parts {
    /// Sums of all steps.
    sums: usize,
    /// States.
    state: usize,
    /// One bias for the product of the input and one for the recurrent product.
    bias: usize,
    /// The recurrent product of a step or the reset state, where it is kept apart.
    apart: usize,
    /// For the products.
    product: usize,
}

fn parts(isa: Isa, kind: Kind, sizes: &Sizes, layouts: (Layout, Layout)) -> Parts {
    let Sizes { steps, batch, input, hidden, .. } = *sizes;
    let wide = kind.gates() * hidden;
    let rows = steps * batch;
    let x = Lhs::Strided(MatRef::rows(&[], input));
    let h = Lhs::Strided(MatRef::rows(&[], hidden));
    let hoisted = gemm_scratch_len(isa, rows, wide, input, &x, &layouts.0.empty(input));
    let b = layouts.1.empty(hidden);
    let step = [hidden, 2 * hidden, wide]
        .map(|n| gemm_scratch_len(isa, batch, n, hidden, &h, &b))
        .into_iter()
        .fold(0, usize::max);
    Parts {
        sums: rows * wide,
        state: batch * hidden,
        bias: wide,
        apart: if matches!(kind, Kind::Gru { .. }) { batch * wide } else { 0 },
        product: hoisted.max(step),
    }
}

/// Numbers of scratch that [`run`] needs; `layouts` are those of the input and of the recurrent weights.
pub fn scratch_len(isa: Isa, kind: Kind, sizes: &Sizes, layouts: (Layout, Layout)) -> usize {
    let p = parts(isa, kind, sizes, layouts);
    p.sums + 2 * p.state + 2 * p.bias + p.apart + p.product
}

/// Runs one direction of a layer over all steps.
///
/// # Panics
/// If an operand is smaller than `sizes` says, a length is negative, or `scratch` is shorter than
/// [`scratch_len`].
#[expect(clippy::too_many_arguments, reason = "a layer, its operands and its room")]
pub fn run(
    isa: Isa,
    par: &dyn Parallel,
    kind: Kind,
    sizes: &Sizes,
    direction: &Direction<'_>,
    inputs: &Inputs<'_>,
    results: &mut Results<'_>,
    scratch: &mut [f32],
) {
    let Sizes { steps, batch, input, hidden, .. } = *sizes;
    if hidden == 0 || batch == 0 {
        return;
    }
    let layouts = (Layout::of(&direction.input), direction.recurrent.layout());
    let p = parts(isa, kind, sizes, layouts);
    let (sums, rest) = scratch.split_at_mut(p.sums);
    let (h, rest) = rest.split_at_mut(p.state);
    let (c, rest) = rest.split_at_mut(p.state);
    let (bias, rest) = rest.split_at_mut(p.bias);
    let (recurrent_bias, rest) = rest.split_at_mut(p.bias);
    let (apart, room) = rest.split_at_mut(p.apart);
    split_bias(kind, hidden, direction.bias, bias, recurrent_bias);
    for b in 0..batch {
        let at = sizes.state(direction.index, b);
        for (state, first) in [(&mut *h, inputs.h), (&mut *c, inputs.c)] {
            let state = &mut state[b * hidden..][..hidden];
            match first {
                Some(first) => state.copy_from_slice(&first[at..at + hidden]),
                None => state.fill(0.0),
            }
        }
    }
    let (wide, rows) = (p.bias, steps * batch);
    let epilogue = Epilogue { bias_col: Some(&*bias), ..Epilogue::default() };
    let x = Lhs::Strided(MatRef::rows(inputs.x, input));
    let w = direction.input;
    gemm(isa, par, rows, wide, input, x, w, sums, wide, &epilogue, room);
    let mut layer = Layer { isa, par, kind, sizes, direction, h, c, recurrent_bias, apart, room };
    for i in 0..steps {
        let step = if direction.reverse { steps - 1 - i } else { i };
        let at = sizes.row(step, 0) * wide;
        let stride = if sizes.batch_first { steps * wide } else { wide };
        let way = Way::of_step(i, par.threads(), batch, wide * hidden * size_of::<f32>());
        let step_of = Step { from_zero: i == 0 && inputs.h.is_none(), way };
        layer.add_recurrent(&mut sums[at..], stride, step_of);
        for b in 0..batch {
            let runs = inputs.lengths.is_none_or(|lengths| step < lengths[b] as usize);
            if runs {
                layer.cell(b, &mut sums[at + b * stride..][..wide]);
            }
            if let Some(y) = &mut results.y {
                let y = &mut y[sizes.output(step, direction.index, b)..][..hidden];
                if runs { y.copy_from_slice(&layer.h[b * hidden..][..hidden]) } else { y.fill(0.0) }
            }
        }
    }
    for b in 0..batch {
        let at = sizes.state(direction.index, b);
        for (last, state) in [(&mut results.h, &*layer.h), (&mut results.c, &*layer.c)] {
            if let Some(last) = last {
                last[at..at + hidden].copy_from_slice(&state[b * hidden..][..hidden]);
            }
        }
    }
}

/// The biases that can be added with the input go there; those of the candidate of a GRU that resets the
/// product must stay with the recurrent product.
fn split_bias(kind: Kind, hidden: usize, bias: Option<&[f32]>, x: &mut [f32], h: &mut [f32]) {
    x.fill(0.0);
    h.fill(0.0);
    let Some(bias) = bias else { return };
    let (of_x, of_h) = bias.split_at(x.len());
    x.copy_from_slice(of_x);
    for (i, b) in of_h[..h.len()].iter().enumerate() {
        if kind.resets_product() && i >= 2 * hidden { h[i] = *b } else { x[i] += b }
    }
}

/// A direction while it runs.
struct Layer<'a> {
    isa: Isa,
    par: &'a dyn Parallel,
    kind: Kind,
    sizes: &'a Sizes,
    direction: &'a Direction<'a>,
    h: &'a mut [f32],
    c: &'a mut [f32],
    recurrent_bias: &'a [f32],
    apart: &'a mut [f32],
    /// For the products.
    room: &'a mut [f32],
}

/// What is particular about a step.
#[derive(Clone, Copy)]
struct Step {
    /// Nothing comes from a state of zeros.
    from_zero: bool,
    /// Through the weights.
    way: Way,
}

impl<'a> Layer<'a> {
    /// Adds what comes from the state to the sums of a step, whose sequences are `stride` apart.
    fn add_recurrent(&mut self, sums: &mut [f32], stride: usize, step: Step) {
        let wide = self.kind.gates() * self.sizes.hidden;
        match (self.kind, self.direction.recurrent) {
            (Kind::Gru { linear_before_reset: true }, Recurrent::All(r)) => {
                let product =
                    Product { bias: Some(self.recurrent_bias), ..self.product(r, wide, step) };
                product.run(0..wide, self.h, self.apart, wide, self.room);
            }
            (Kind::Gru { .. }, Recurrent::Split(gates, candidate)) => {
                self.add_split(gates, candidate, sums, stride, step);
            }
            (_, Recurrent::All(r)) => {
                if !step.from_zero {
                    self.product(r, wide, step).run(0..wide, self.h, sums, stride, self.room);
                }
            }
            (_, Recurrent::Split(..)) => panic!("recurrent weights split for a cell without reset"),
        }
    }

    /// The same for a GRU whose reset gate applies to the state.
    fn add_split(
        &mut self,
        gates: Rhs<'_>,
        candidate: Rhs<'_>,
        sums: &mut [f32],
        stride: usize,
        step: Step,
    ) {
        let (isa, hidden) = (self.isa, self.sizes.hidden);
        let gates = self.product(gates, 2 * hidden, step);
        let candidate = self.product(candidate, hidden, step);
        // Only the reset gate has to be there before the candidate. What a step ends with the next one begins with: the update
        // gate is the last on the way there and the first on the way back.
        let (before, apart, behind) = match step.way {
            _ if !gates.divides(hidden) => (0..2 * hidden, None, None),
            Way::Back => (0..hidden, Some(hidden..2 * hidden), None),
            Way::There | Way::Whole => (hidden..2 * hidden, None, Some(0..hidden)),
        };
        if !step.from_zero {
            for range in core::iter::once(before).chain(apart) {
                let sums = &mut sums[range.start..];
                gates.run(range, self.h, sums, stride, self.room);
            }
        }
        let Direction { functions, clip, .. } = *self.direction;
        for b in 0..self.sizes.batch {
            let sums = &mut sums[b * stride + hidden..][..hidden];
            let at = b * hidden..(b + 1) * hidden;
            let (h, reset) = (&self.h[at.clone()], &mut self.apart[at]);
            cell::Gru { functions, clip }.reset(isa, sums, h, reset);
        }
        if !step.from_zero {
            candidate.run(0..hidden, self.apart, &mut sums[2 * hidden..], stride, self.room);
            if let Some(range) = behind {
                gates.run(range, self.h, sums, stride, self.room);
            }
        }
    }

    /// A product of the states by recurrent weights.
    fn product<'p>(&self, weights: Rhs<'p>, columns: usize, step: Step) -> Product<'p>
    where
        'a: 'p,
    {
        let Sizes { batch, hidden, .. } = *self.sizes;
        let (isa, par, way) = (self.isa, self.par, step.way);
        Product { isa, par, batch, hidden, weights, columns, way, bias: None }
    }

    /// Takes sequence `b` from the sums of a step to its new state.
    fn cell(&mut self, b: usize, sums: &mut [f32]) {
        let (isa, hidden) = (self.isa, self.sizes.hidden);
        let Direction { functions, clip, peepholes, .. } = *self.direction;
        let h = &mut self.h[b * hidden..][..hidden];
        match self.kind {
            Kind::Rnn => cell::simple(isa, functions[0], clip, sums, h),
            Kind::Lstm { input_forget } => {
                let c = &mut self.c[b * hidden..][..hidden];
                cell::Lstm { functions, clip, input_forget, peepholes }.step(isa, sums, c, h);
            }
            Kind::Gru { linear_before_reset: true } => {
                let recurrent = &self.apart[b * 3 * hidden..][..3 * hidden];
                cell::Gru { functions, clip }.step_behind(isa, sums, recurrent, h);
            }
            Kind::Gru { .. } => {
                let (gates, candidate) = sums.split_at_mut(2 * hidden);
                cell::Gru { functions, clip }.step(isa, &mut gates[..hidden], candidate, h);
            }
        }
    }
}
