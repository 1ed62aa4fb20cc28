//! Compares products by weights in bf16 with those by weights in f32, turn by turn: GFLOP/s of each and the median of the
//! paired ratios, with one set of weights and with as many as no cache holds.
//!
//! `cargo run --release -p stead-kernels --example half_bench [ISA]`

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::time::Instant;
use stead_kernels::gemm::{
    Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, half_len, pack_b, pack_half, packed_b_len,
};
use stead_kernels::{Isa, Serial};

/// Bytes of the weights that are to come from memory.
const FROM_MEMORY: usize = 128 << 20;

fn main() {
    let isa = match std::env::args().nth(1) {
        None => Isa::detect(),
        Some(name) => Isa::from_name(&name).unwrap_or_else(|| panic!("no instruction set {name}")),
    }
    .effective();
    println!("{isa:?}");
    println!("{:>16} {:>9} {:>9} {:>6} {:>28}", "m x n x k", "f32", "bf16", "ratio", "from memory");
    for (m, n, k) in [
        (1, 2048, 512),
        (1, 512, 512),
        (1, 4096, 1024),
        (4, 2048, 512),
        (8, 768, 768),
        (40, 1536, 512),
        (128, 384, 384),
        (128, 768, 768),
        (128, 3072, 768),
        (128, 768, 3072),
        (512, 512, 512),
    ] {
        let mut line = format!("{:>16}", format!("{m}x{n}x{k}"));
        for far in [false, true] {
            let copies = if far { (FROM_MEMORY / (4 * n * k)).max(1) } else { 1 };
            let (f32, bf16, ratio) = compare(isa, (m, n, k), copies);
            line += &format!(" {f32:9.1} {bf16:9.1} {ratio:6.2}");
        }
        println!("{line}");
    }
}

/// GFLOP/s by f32 and by bf16, and how many times as fast the second is.
fn compare(isa: Isa, (m, n, k): (usize, usize, usize), copies: usize) -> (f64, f64, f64) {
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32).collect();
    let mut wide = vec![0.0; packed_b_len(isa, k, n)];
    pack_b(isa, k, n, MatRef::rows(&b, n), &mut wide);
    let mut half = vec![0; half_len(isa, k, n)];
    pack_half(isa, k, n, MatRef::rows(&b, n), &mut half);
    let (wide, half) = (vec![wide; copies], vec![half; copies]);
    let lhs = Lhs::Strided(MatRef::rows(&a, k));
    let mut c = vec![0.0; m * n];
    let lengths = [Rhs::Packed(&wide[0]), Rhs::Half(&half[0])]
        .map(|rhs| gemm_scratch_len(isa, m, n, k, &lhs, &rhs));
    let mut scratch = vec![0.0; lengths[0].max(lengths[1])];
    let e = Epilogue::default();
    let calls = (20_000_000 / (m * n * k)).max(copies).max(1);
    let mut time = |of: &dyn Fn(usize) -> Rhs<'static>| {
        let start = Instant::now();
        for i in 0..calls {
            let rhs = of(i % copies);
            gemm(isa, &Serial, m, n, k, lhs, rhs, &mut c, n, &e, &mut scratch);
        }
        start.elapsed().as_secs_f64() / calls as f64
    };
    let (wide, half): (&'static [Vec<f32>], &'static [Vec<u32>]) = (wide.leak(), half.leak());
    let turns = if copies > 1 { 15 } else { 41 };
    let (mut first, mut second, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..turns {
        let x = time(&|i| Rhs::Packed(&wide[i]));
        let y = time(&|i| Rhs::Half(&half[i]));
        first.push(x);
        second.push(y);
        ratios.push(x / y);
    }
    let gflops = |t: f64| (2 * m * n * k) as f64 / t / 1e9;
    (gflops(median(first)), gflops(median(second)), median(ratios))
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}
