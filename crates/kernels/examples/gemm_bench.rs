//! Prints GFLOP/s of the matrix product, and what part of the peak of one core (multiply-adds in registers) that is, turn by turn.
//!
//! `cargo run --release -p stead-kernels --example gemm_bench [ISA]`

#![allow(clippy::print_stdout, reason = "what it is for")]

mod timed;

use std::time::Instant;
use stead_kernels::gemm::{
    Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, pack_b, packed_b_len,
};
use stead_kernels::simd::{Simd, SimdOp, dispatch};
use stead_kernels::{Isa, Serial};
use stead_tensor::{AlignedBuf, TensorError};
use timed::{best, calls_of};

/// Multiply-adds without memory: twelve chains, enough for two ports of latency five.
struct Peak(usize);

impl SimdOp for Peak {
    type Output = f32;
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> f32 {
        let mut acc = [s.splat(1.0); 12];
        let (x, y) = (s.splat(std::hint::black_box(0.5)), s.splat(std::hint::black_box(0.5)));
        for _ in 0..self.0 {
            for a in &mut acc {
                *a = s.fma(*a, x, y);
            }
        }
        let mut sum = s.zero();
        for a in acc {
            sum = s.add(sum, a);
        }
        s.sum(sum)
    }
}

/// Seconds for which a product is compared with the peak.
const COMPARED: f64 = 0.4;

/// Seconds of a call of `f`, and the same over those of a call of `other`, turn by turn: medians of both. A core that multiplies all the time
/// is slower than it was at first, by a sixth on some machines, and what else runs there comes and goes: only what is measured side by side
/// compares.
fn beside(mut other: impl FnMut(), mut f: impl FnMut()) -> (f64, f64) {
    let (calls_of_other, calls) = (calls_of(&mut other), calls_of(&mut f));
    let time = |calls: usize, f: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_secs_f64() / calls as f64
    };
    let (mut seconds, mut ratios) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < COMPARED || ratios.len() < 3 {
        let [beside, own] = [time(calls_of_other, &mut other), time(calls, &mut f)];
        seconds.push(own);
        ratios.push(own / beside);
    }
    let median = |mut x: Vec<f64>| {
        x.sort_by(f64::total_cmp);
        x[x.len() / 2]
    };
    (median(seconds), median(ratios))
}

/// Turns of [`Peak`] in a call.
const PEAK: usize = 50_000;

/// Multiplications and additions in a call of [`Peak`] by vectors of `lanes` numbers.
fn flops_of_peak(lanes: usize) -> f64 {
    (PEAK * 12 * lanes * 2) as f64
}

/// Memory for so many numbers as the engine has for weights: aligned, and on huge pages.
fn lasting(numbers: usize) -> Result<AlignedBuf, TensorError> {
    AlignedBuf::lasting(numbers * size_of::<f32>())
}

/// Numbers in all copies of a matrix that is to come from memory: 256 MB.
const FROM_MEMORY: usize = 64 << 20;

fn main() -> Result<(), TensorError> {
    let isa = match std::env::args().nth(1) {
        None => Isa::detect(),
        Some(name) => Isa::from_name(&name).unwrap_or_else(|| panic!("no instruction set {name}")),
    }
    .effective();
    let lanes = [4, 8, 16, 16, 4][isa as usize];
    let t = best(|| {
        std::hint::black_box(dispatch(isa, Peak(PEAK)));
    });
    println!("{isa:?}: peak {:.1} GFLOP/s on one core", flops_of_peak(lanes) / t / 1e9);
    println!(
        "{:>20} {:>22} {:>22} {:>22} {:>22}",
        "m x n x k", "B packed", "B packed, from memory", "B rows", "B columns"
    );
    for (m, n, k) in [
        (1, 512, 256),
        (1, 128, 512),
        (1, 1, 128),
        (1, 512, 512),
        (1, 1536, 384),
        (2, 512, 512),
        (4, 512, 512),
        (8, 512, 512),
        (14, 512, 512),
        (40, 1536, 512),
        (40, 4096, 512),
        (40, 512, 4096),
        (64, 256, 256),
        (128, 384, 384),
        (128, 1536, 384),
        (128, 384, 1536),
        (128, 128, 32),
        (128, 32, 128),
        (512, 512, 512),
        (1024, 1024, 1024),
    ] {
        let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32).collect();
        let bias = vec![1.0; n];
        let len = packed_b_len(isa, k, n);
        // As many copies as no cache holds, in turn: the weights of a large model.
        let count = (FROM_MEMORY / len.max(1)).clamp(1, 4096);
        let mut copies = lasting(count * len)?;
        let copies = bytemuck::cast_slice_mut::<u8, f32>(&mut copies);
        let (packed, others) = copies.split_at_mut(len);
        pack_b(isa, k, n, MatRef::rows(&b, n), packed);
        others.chunks_exact_mut(len).for_each(|copy| copy.copy_from_slice(packed));
        let copies = &*copies;
        let packed = &copies[..len];
        let mut c = vec![0.0; m * n];
        let lhs = Lhs::Strided(MatRef::rows(&a, k));
        let mut line = format!("{:>20}", format!("{m}x{n}x{k}"));
        let mut turn = 0;
        for (rhs, is_far) in [
            (Rhs::Finite(packed), false),
            (Rhs::Finite(packed), true),
            (Rhs::Strided(MatRef::rows(&b, n)), false),
            (Rhs::Strided(MatRef::transposed(&b, k)), false),
        ] {
            let mut scratch = vec![0.0; gemm_scratch_len(isa, m, n, k, &lhs, &rhs)];
            let e = Epilogue { bias_col: Some(&bias), ..Epilogue::default() };
            let peak = || {
                std::hint::black_box(dispatch(isa, Peak(PEAK)));
            };
            let (t, ratio) = beside(peak, || {
                turn = (turn + 1) % count;
                let rhs = if is_far { Rhs::Finite(&copies[turn * len..][..len]) } else { rhs };
                gemm(isa, &Serial, m, n, k, lhs, rhs, &mut c, n, &e, &mut scratch);
            });
            let flops = (2 * m * n * k) as f64;
            let part = flops / (ratio * flops_of_peak(lanes));
            line += &format!(" {:8.1} {:3.0}% {:6.2}us", flops / t / 1e9, 100.0 * part, t * 1e6);
        }
        println!("{line}");
    }
    streamed(isa)
}

/// Products of few rows by packed weights of 512 x 512 in turn, as the steps of recurrent layers take them: how fast
/// the weights come, by how many bytes of them there are.
fn streamed(isa: Isa) -> Result<(), TensorError> {
    let (n, k) = (512, 512);
    println!(
        "{:>20} {:>12} {:>12} {:>12} {:>12}",
        "MB of weights", "1 row", "2 rows", "3 rows", "4 rows"
    );
    for count in [1, 2, 3, 6, 12, 64] {
        let len = packed_b_len(isa, k, n);
        let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32).collect();
        let mut packed = lasting(count * len)?;
        let packed = bytemuck::cast_slice_mut::<u8, f32>(&mut packed);
        for part in packed.chunks_exact_mut(len) {
            pack_b(isa, k, n, MatRef::rows(&b, n), part);
        }
        let mut line = format!("{count:>20}");
        for m in 1..=4 {
            let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32).collect();
            let mut c = vec![0.0; m * n];
            let lhs = Lhs::Strided(MatRef::rows(&a, k));
            let e = Epilogue::default();
            let t = best(|| {
                for part in packed.chunks_exact(len) {
                    gemm(isa, &Serial, m, n, k, lhs, Rhs::Packed(part), &mut c, n, &e, &mut []);
                }
            });
            line += &format!(" {:7.1} GB/s", (4 * packed.len()) as f64 / t / 1e9);
        }
        println!("{line}");
    }
    Ok(())
}
