//! Layers whose weights are read there and back, beside the same in f64.

extern crate std;
use super::super::*;
use super::{MAX_BATCH, STREAMED};
use crate::Serial;
use std::vec;
use std::vec::Vec;

/// Numbers that look random, of either sign and at most `scale`.
fn numbers(n: usize, seed: usize, scale: f32) -> Vec<f32> {
    (0..n).map(|i| scale * (((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0)).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// One step of one sequence in f64: `x` are the sums of the gates that come from the input, with all biases but those of a
/// candidate whose recurrent product is reset, which are in `bias`.
fn step(kind: Kind, x: &[f64], r: &[f32], bias: &[f32], h: &mut [f64], c: &mut [f64]) {
    let size = h.len();
    let dot = |gate: usize, j: usize, h: &[f64]| -> f64 {
        let row = &r[(gate * size + j) * size..][..size];
        row.iter().zip(h).map(|(&r, h)| f64::from(r) * h).sum()
    };
    let gate = |gate: usize, j: usize, h: &[f64]| x[gate * size + j] + dot(gate, j, h);
    let old = h.to_vec();
    let reset: Vec<f64> = match kind {
        Kind::Gru { .. } => (0..size).map(|j| sigmoid(gate(1, j, &old))).collect(),
        _ => Vec::new(),
    };
    let kept: Vec<f64> = reset.iter().zip(&old).map(|(r, h)| r * h).collect();
    for j in 0..size {
        h[j] = match kind {
            Kind::Rnn => gate(0, j, &old).tanh(),
            Kind::Gru { linear_before_reset } => {
                let new = match linear_before_reset {
                    true => {
                        x[2 * size + j]
                            + reset[j] * (dot(2, j, &old) + f64::from(bias[2 * size + j]))
                    }
                    false => gate(2, j, &kept),
                };
                let z = sigmoid(gate(0, j, &old));
                (1.0 - z) * new.tanh() + z * old[j]
            }
            Kind::Lstm { .. } => {
                c[j] = sigmoid(gate(2, j, &old)) * c[j]
                    + sigmoid(gate(0, j, &old)) * gate(3, j, &old).tanh();
                sigmoid(gate(1, j, &old)) * c[j].tanh()
            }
        };
    }
}

/// The operands of a layer of [`STEPS`] steps with inputs of [`INPUT`] numbers.
struct Operands {
    x: Vec<f32>,
    w: Vec<f32>,
    r: Vec<f32>,
    bias: Vec<f32>,
    first: Vec<f32>,
}

const STEPS: usize = 3;
const INPUT: usize = 2;

impl Operands {
    fn new(kind: Kind, batch: usize, hidden: usize) -> Operands {
        let wide = kind.gates() * hidden;
        Operands {
            x: numbers(STEPS * batch * INPUT, 1, 1.0),
            w: numbers(wide * INPUT, 2, 1.0),
            r: numbers(wide * hidden, 3, 0.1),
            bias: numbers(2 * wide, 4, 0.5),
            first: numbers(batch * hidden, 5, 1.0),
        }
    }
}

/// Two threads' worth of tasks.
struct Two;

impl Parallel for Two {
    fn threads(&self) -> usize {
        2
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(f);
    }
}

/// Runs a layer with packed recurrent weights: the states after all steps.
fn states(isa: Isa, par: &dyn Parallel, kind: Kind, batch: usize, hidden: usize) -> Vec<f32> {
    let (steps, input) = (STEPS, INPUT);
    let sizes = Sizes { steps, batch, input, hidden, directions: 1, batch_first: false };
    let Operands { x, w, r, bias, first } = Operands::new(kind, batch, hidden);
    let mut packed = vec![f32::NAN; packed_recurrent_len(isa, kind, hidden)];
    pack_recurrent(isa, kind, hidden, &r, &mut packed);
    let direction = Direction {
        index: 0,
        reverse: false,
        input: Rhs::Strided(MatRef::transposed(&w, input)),
        recurrent: Recurrent::packed(isa, kind, hidden, &packed),
        bias: Some(&bias),
        peepholes: None,
        functions: match kind {
            Kind::Rnn => [Function::TANH; 3],
            _ => [Function::SIGMOID, Function::TANH, Function::TANH],
        },
        clip: None,
    };
    let layouts = (Layout::Rows, Layout::Packed);
    let mut scratch = vec![f32::NAN; scratch_len(isa, kind, &sizes, layouts)];
    let mut y = vec![f32::NAN; steps * batch * hidden];
    let inputs = Inputs { x: &x, lengths: None, h: Some(&first), c: None };
    let mut results = Results { y: Some(&mut y), h: None, c: None };
    run(isa, par, kind, &sizes, &direction, &inputs, &mut results, &mut scratch);
    y
}

/// Compares all states.
fn check(isa: Isa, kind: Kind, batch: usize, hidden: usize) {
    let y = states(isa, &Serial, kind, batch, hidden);
    let (input, wide) = (INPUT, kind.gates() * hidden);
    let Operands { x, w, r, bias, first } = Operands::new(kind, batch, hidden);
    let apart = kind == Kind::Gru { linear_before_reset: true };
    for b in 0..batch {
        let mut h: Vec<f64> = first[b * hidden..][..hidden].iter().map(|&x| f64::from(x)).collect();
        let mut c = vec![0.0; hidden];
        for t in 0..STEPS {
            let x = &x[(t * batch + b) * input..][..input];
            let sums: Vec<f64> = (0..wide)
                .map(|j| {
                    let w = &w[j * input..][..input];
                    let of_state = if apart && j >= 2 * hidden { 0.0 } else { bias[wide + j] };
                    let biases = f64::from(bias[j]) + f64::from(of_state);
                    x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum::<f64>()
                        + biases
                })
                .collect();
            step(kind, &sums, &r, &bias[wide..], &mut h, &mut c);
            for (j, (&got, &want)) in y[(t * batch + b) * hidden..].iter().zip(&h).enumerate() {
                let off = (f64::from(got) - want).abs();
                assert!(
                    off < 2e-5,
                    "{isa:?} {kind:?}, {batch} of {hidden}: step {t}, {b}, {j}: {got} is not {want}"
                );
            }
        }
    }
}

#[test]
fn layers_that_no_cache_holds() {
    let gru = |linear_before_reset| Kind::Gru { linear_before_reset };
    let lstm = Kind::Lstm { input_forget: false };
    for isa in Isa::available() {
        for (kind, hidden) in [
            (Kind::Rnn, 520),
            (gru(true), 320),
            // Its gates divide.
            (gru(false), 320),
            // Between two slivers, so that they do not.
            (gru(false), 299),
            (lstm, 264),
            (lstm, 257),
        ] {
            assert!(kind.gates() * hidden * hidden * size_of::<f32>() > STREAMED);
            for batch in [1, 3] {
                check(isa, kind, batch, hidden);
            }
        }
    }
}

#[test]
fn layers_beside_those_that_are_read_there_and_back() {
    // Few enough weights, and more sequences than are swept.
    let kind = Kind::Gru { linear_before_reset: false };
    check(Isa::detect(), kind, 1, 64);
    check(Isa::detect(), kind, MAX_BATCH + 1, 320);
}

/// Threads that come and go.
struct Sometimes(core::sync::atomic::AtomicUsize);

impl Parallel for Sometimes {
    fn threads(&self) -> usize {
        1 + self.0.fetch_add(1, core::sync::atomic::Ordering::Relaxed) % 2
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(f);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let isa = Isa::detect();
    for kind in [Kind::Gru { linear_before_reset: false }, Kind::Lstm { input_forget: false }] {
        let alone = states(isa, &Serial, kind, 1, 320);
        assert_eq!(alone, states(isa, &Two, kind, 1, 320), "{kind:?}, two threads");
        for first in 0..2 {
            let threads = Sometimes(first.into());
            assert_eq!(alone, states(isa, &threads, kind, 1, 320), "{kind:?}, {first} comes first");
        }
    }
}
