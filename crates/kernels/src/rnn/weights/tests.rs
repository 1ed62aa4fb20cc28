//! Layers by weights of bytes beside the same in f32.

extern crate std;
use super::super::*;
use crate::Serial;
use crate::gemm::Bytes;
use std::vec;
use std::vec::Vec;

const STEPS: usize = 4;

/// Numbers that look random, in -1..1.
fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

/// `rows x cols` bytes, and a scale for each row.
fn bytes(rows: usize, cols: usize, seed: usize) -> (Vec<i8>, Vec<f32>) {
    let bytes = numbers(rows * cols, seed).iter().map(|x| (x * 127.0) as i8).collect();
    let size = |x: &f32| (0.1 + x.abs()) / 127.0 / (cols as f32).sqrt();
    (bytes, numbers(rows, seed + 1).iter().map(size).collect())
}

fn wide((bytes, scales): &(Vec<i8>, Vec<f32>)) -> Vec<f32> {
    let cols = bytes.len() / scales.len();
    bytes.iter().enumerate().map(|(i, &q)| f32::from(q) * scales[i / cols]).collect()
}

fn states(
    isa: Isa,
    kind: Kind,
    sizes: &Sizes,
    input: Rhs<'_>,
    recurrent: Recurrent<'_>,
) -> Vec<f32> {
    let Sizes { steps, batch, input: width, hidden, .. } = *sizes;
    let bias = numbers(2 * kind.gates() * hidden, 8);
    let direction = Direction {
        index: 0,
        reverse: false,
        input,
        recurrent,
        bias: Some(&bias),
        peepholes: None,
        functions: match kind {
            Kind::Rnn => [Function::TANH; 3],
            _ => [Function::SIGMOID, Function::TANH, Function::TANH],
        },
        clip: None,
    };
    let (x, first) = (numbers(steps * batch * width, 6), numbers(batch * hidden, 7));
    let layouts = (Layout::of(&direction.input), direction.recurrent.layout());
    let mut scratch = vec![f32::NAN; scratch_len(isa, kind, sizes, layouts)];
    let mut y = vec![f32::NAN; steps * batch * hidden];
    let inputs = Inputs { x: &x, lengths: None, h: Some(&first), c: None };
    let mut results = Results { y: Some(&mut y), h: None, c: None };
    run(isa, &Serial, kind, sizes, &direction, &inputs, &mut results, &mut scratch);
    y
}

#[test]
fn bytes_give_what_their_numbers_give() {
    let gru = |linear_before_reset| Kind::Gru { linear_before_reset };
    for isa in Isa::available() {
        for kind in [Kind::Rnn, gru(false), gru(true), Kind::Lstm { input_forget: false }] {
            // A ragged edge, more than one block of columns, and products of few and of many rows.
            for (batch, input, hidden) in [(1, 5, 21), (3, 40, 64), (6, 33, 40), (1, 300, 288)] {
                let sizes =
                    Sizes { steps: STEPS, batch, input, hidden, directions: 1, batch_first: false };
                let rows = kind.gates() * hidden;
                let (w, r) = (bytes(rows, input, 1), bytes(rows, hidden, 3));
                let mut packed_w = vec![0; bytes_input_len(isa, kind, hidden, input)];
                pack_input_bytes(isa, kind, hidden, input, &w.0, &mut packed_w);
                let mut packed_r = vec![0; bytes_recurrent_len(isa, kind, hidden)];
                pack_recurrent_bytes(isa, kind, hidden, &r.0, &mut packed_r);
                let small = states(
                    isa,
                    kind,
                    &sizes,
                    Rhs::Bytes(Bytes { numbers: &packed_w, scales: &w.1 }),
                    Recurrent::bytes(isa, kind, hidden, Bytes { numbers: &packed_r, scales: &r.1 }),
                );
                let (w, r) = (wide(&w), wide(&r));
                let input = Rhs::Strided(crate::gemm::MatRef::transposed(&w, input));
                let large = states(isa, kind, &sizes, input, Recurrent::rows(kind, hidden, &r));
                for (at, (got, want)) in small.iter().zip(&large).enumerate() {
                    let label = std::format!("{isa:?} {kind:?} {batch} of {hidden}, {at}");
                    assert!((got - want).abs() < 1e-5, "{label}: {got} is not {want}");
                }
                assert!(small.iter().any(|x| x.abs() > 0.1), "{isa:?} {kind:?}: no states");
            }
        }
    }
}
