//! Prints how long the kernels beside the matrix product take: attention, softmax, normalisation,
//! reductions, element-wise functions, and a small perceptron end to end.
//!
//! `cargo run --release -p stead-kernels --example kernel_bench [ISA]`

#![allow(clippy::print_stdout, reason = "what it is for")]

mod timed;

use stead_kernels::attention::{Attention, Mask, Sizes, attention, attention_scratch_len};
use stead_kernels::gemm::{
    Activation, Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, pack_b, packed_b_len,
};
use stead_kernels::norm::{RowNorm, RowStats, norm_rows};
use stead_kernels::reduce::{ReduceOp, reduce_f32};
use stead_kernels::softmax::{Softmax, softmax};
use stead_kernels::unary::{UnaryOp, map_f32};
use stead_kernels::{Isa, Serial};
use timed::best;

/// Microseconds of a call.
fn micros(f: impl FnMut()) -> f64 {
    best(f) * 1e6
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1000) as f32 * 0.002 - 1.0).collect()
}

fn main() {
    let isa = match std::env::args().nth(1) {
        None => Isa::detect(),
        Some(name) => Isa::from_name(&name).unwrap_or_else(|| panic!("no instruction set {name}")),
    }
    .effective();
    println!("{isa:?}");
    attentions(isa);
    elements(isa);
    rows(isa);
    perceptron(isa);
}

fn attentions(isa: Isa) {
    for (queries, keys, width) in
        [(128, 128, 32), (128, 128, 64), (40, 40, 128), (1024, 1024, 64), (1, 1024, 64)]
    {
        let z = Sizes { queries, keys, width, value_width: width };
        // As they lie in a model: twelve heads side by side.
        let stride = 12 * width;
        let (q, k, v) = (numbers(queries * stride), numbers(keys * stride), numbers(keys * stride));
        let mut out = vec![0.0; queries * stride];
        let mask = vec![0.0; keys];
        let row = |data| MatRef { data, row_stride: stride, col_stride: 1 };
        let job = Attention {
            q: row(&q),
            k: row(&k),
            v: row(&v),
            mask: Some(Mask { data: &mask, row_stride: 0 }),
            scale: 0.2,
            softcap: None,
            causal: None,
        };
        let mut scratch = vec![0.0; attention_scratch_len(isa, z)];
        let t = micros(|| attention(isa, z, &job, &mut out, stride, &mut scratch));
        let gflops = (4 * queries * keys * width) as f64 / t / 1e3;
        println!("attention {queries}x{keys}x{width}: {t:.2} us, {gflops:.1} GFLOP/s");
    }
}

fn elements(isa: Isa) {
    let n = 16 * 1024;
    let x = numbers(n);
    let mut y = vec![0.0; n];
    for op in [
        UnaryOp::Abs,
        UnaryOp::Exp,
        UnaryOp::Log,
        UnaryOp::Sin,
        UnaryOp::Erf,
        UnaryOp::Activation(Activation::Sigmoid),
        UnaryOp::Activation(Activation::Tanh),
        UnaryOp::Activation(Activation::GeluErf),
        UnaryOp::Activation(Activation::GeluTanh),
        UnaryOp::Activation(Activation::Silu),
        UnaryOp::Activation(Activation::Softplus),
    ] {
        let t = micros(|| map_f32(isa, op, &x, &mut y));
        println!("{op:?}: {:.3} ns per element", t * 1e3 / n as f64);
    }
}

fn rows(isa: Isa) {
    for (rows, cols) in [(128, 384), (1536, 128), (32, 1000), (1, 100_000)] {
        let n = rows * cols;
        let x = numbers(n);
        let mut y = vec![0.0; n];
        let per = |t: f64| t * 1e3 / n as f64;
        let t = micros(|| softmax(isa, &Serial, Softmax::Normal, (rows, cols, 1), &x, &mut y));
        println!("softmax {rows}x{cols}: {t:.2} us, {:.3} ns per element", per(t));
        let t = micros(|| softmax(isa, &Serial, Softmax::Normal, (1, rows, cols), &x, &mut y));
        println!("softmax down {rows}x{cols}: {t:.2} us, {:.3} ns per element", per(t));
        let s = numbers(cols);
        let t = micros(|| {
            let stats = RowStats::default();
            norm_rows(
                isa,
                &Serial,
                RowNorm::Layer,
                cols,
                &x,
                Some(&s),
                Some(&s),
                1e-5,
                &mut y,
                stats,
            );
        });
        println!("layer norm {rows}x{cols}: {t:.2} us, {:.3} ns per element", per(t));
        let mut sums = vec![0.0; rows.max(cols)];
        let op = ReduceOp::Sum;
        let t = micros(|| reduce_f32(isa, &Serial, op, (rows, cols, 1), &x, &mut sums[..rows]));
        println!("sum {rows}x{cols}: {t:.2} us, {:.3} ns per element", per(t));
        let t = micros(|| reduce_f32(isa, &Serial, op, (1, rows, cols), &x, &mut sums[..cols]));
        println!("sum down {rows}x{cols}: {t:.2} us, {:.3} ns per element", per(t));
    }
}

/// 256-512-128-1 with ReLU.
fn perceptron(isa: Isa) {
    let widths = [256, 512, 128, 1];
    for m in [1, 8, 64] {
        let layers: Vec<_> = widths
            .windows(2)
            .map(|w| {
                let mut packed = vec![0.0; packed_b_len(isa, w[0], w[1])];
                pack_b(isa, w[0], w[1], MatRef::rows(&numbers(w[0] * w[1]), w[1]), &mut packed);
                (w[0], w[1], packed, numbers(w[1]))
            })
            .collect();
        let mut x = numbers(m * 512);
        let mut y = vec![0.0; m * 512];
        let mut scratch = vec![0.0; 1 << 20];
        let t = micros(|| {
            for (k, n, packed, bias) in &layers {
                let a = Lhs::Strided(MatRef::rows(&x, *k));
                let b = Rhs::Packed(packed);
                let e = Epilogue {
                    bias_col: Some(bias),
                    activation: Activation::Relu,
                    ..Epilogue::default()
                };
                assert!(gemm_scratch_len(isa, m, *n, *k, &a, &b) <= scratch.len());
                gemm(isa, &Serial, m, *n, *k, a, b, &mut y, *n, &e, &mut scratch);
                std::mem::swap(&mut x, &mut y);
            }
        });
        println!("perceptron {widths:?} batch {m}: {t:.2} us");
    }
}
