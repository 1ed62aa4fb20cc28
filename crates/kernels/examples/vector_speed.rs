//! How fast the kernels of rankings are, and what the machine could do.
//!
//!     cargo run --release -p stead-kernels --example vector_speed
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use stead_kernels::reduce::{ReduceOp, reduce_f32};
use stead_kernels::simd::{Simd, SimdOp, dispatch};
use stead_kernels::vector::{self, Extreme, Measure};
use stead_kernels::{Isa, Serial};

fn best(mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best
}

/// As many multiply-adds as fit, on numbers in registers.
struct Peak(usize);

impl SimdOp for Peak {
    type Output = f32;
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> f32 {
        let mut sums = [s.zero(); 12];
        let (x, y) = (s.splat(black_box(0.5)), s.splat(black_box(0.25)));
        for _ in 0..self.0 / (12 * S::LANES) {
            for sum in &mut sums {
                *sum = s.fma(*sum, x, y);
            }
        }
        let mut all = s.zero();
        for sum in sums {
            all = s.add(all, sum);
        }
        s.sum(all)
    }
}

fn main() {
    let isa = Isa::detect();
    const WORK: usize = 32 * 128 * 130_000;
    let peak = best(|| {
        black_box(dispatch(isa, Peak(WORK)));
    });
    let tera = |work: usize, time: Duration| work as f64 / time.as_secs_f64() / 1e9;
    println!(
        "multiply-adds: {:.1} G/s, 32 x 128 x 130,000 in {:.2} ms",
        tera(WORK, peak),
        peak.as_secs_f64() * 1e3
    );

    for count in [2_000, 1_000_000] {
        let list = vec![1.0_f32; count * 128];
        let q = vec![0.5_f32; 128];
        let mut out = vec![0.0; count];
        let repeat = 1_000_000 / count;
        let dot = best(|| {
            for _ in 0..repeat {
                for (list, out) in list.chunks(1024 * 128).zip(out.chunks_mut(1024)) {
                    vector::rows(isa, Measure::Dot, &q, list, out);
                }
            }
        });
        let mut sum = [0.0];
        let read = best(|| {
            for _ in 0..repeat {
                let shape = (1, list.len(), 1);
                reduce_f32(isa, &Serial, ReduceOp::Sum, shape, black_box(&list), &mut sum);
            }
        });
        let bytes = (repeat * list.len() * 4) as f64 / 1e9;
        println!(
            "dot 128 x {count}: {:.1} GB/s, sum {:.1} GB/s",
            bytes / dot.as_secs_f64(),
            bytes / read.as_secs_f64()
        );
    }

    let few = vec![0x55_i8; 32 * 16];
    let many = vec![0x33_i8; 130 * 16];
    let mut words = vec![0; vector::hamming_words_len(32, 16)];
    vector::hamming_words(32, 16, &few, &mut words);
    let mut nearest = vec![u64::MAX; 32];
    let time = best(|| {
        for _ in 0..1000 {
            vector::hamming_tokens(isa, 16, Extreme::Least, &words, &many, &mut nearest);
        }
    });
    println!("hamming 32 x 130,000 tokens of 16 bytes: {:.2} ms", time.as_secs_f64() * 1e3);
}
