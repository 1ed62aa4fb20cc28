//! Prints billions of operations a second of the quantised product beside the peak of one core (products of bytes in
//! registers), with packed weights that stay in the cache and such that come from memory.
//!
//! `cargo run --release -p stead-kernels --example integer_bench [ISA]`

#![allow(clippy::print_stdout, reason = "what it is for")]

mod timed;

use stead_kernels::gemm::integer::{
    Along, Left, Right, Scaled, Target, ZeroPoint, gemm, pack, packed_len, scratch_len,
};
use stead_kernels::gemm::{Activation, MatRef};
use stead_kernels::quantize::{dynamic_scale, quantize_bytes};
use stead_kernels::{Isa, Serial};
use timed::best;

/// Bytes in all copies of a matrix that is to come from memory.
const FROM_MEMORY: usize = 256 << 20;

fn main() {
    let isa = match std::env::args().nth(1) {
        None => Isa::detect(),
        Some(name) => Isa::from_name(&name).unwrap_or_else(|| panic!("no instruction set {name}")),
    }
    .effective();
    println!("{isa:?}, one instruction for four products: {}", isa.has_dot4());
    for (label, activation) in ACTIVATIONS {
        println!("A {label}");
        println!("{:>20} {:>39} {:>39}", "m x n x k", "B packed", "B packed, from memory");
        products(isa, activation);
    }
    let x: Vec<f32> = (0..128 * 1536).map(|i| (i % 1013) as f32 * 0.01 - 4.0).collect();
    let mut q = vec![0u8; x.len()];
    let t = best(|| {
        let (scale, zero) = dynamic_scale(isa, &x);
        quantize_bytes(isa, &Serial, &x, scale, zero, &mut q);
    });
    println!("quantising 128 x 1536: {:.1} us", t * 1e6);
}

/// What stands at a place of `A`, and the zero point.
type Activations = (fn(usize) -> u8, u8);

/// Kinds of left operands: how far they are from their zero point matters where the machine has no products of bytes.
const ACTIVATIONS: [(&str, Activations); 3] = [
    ("of all numbers alike", (|i| (i % 251) as u8, 117)),
    // The sum of four that look random, about the zero point: of a hundred one or two are outside of the middle half.
    ("mostly near the zero point", (near, 128)),
    // Half of them 0, and the others seldom large.
    ("behind Relu", (|i| 2 * near(i).saturating_sub(128), 0)),
];

fn near(i: usize) -> u8 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let sum: u64 = (0..4).map(|part| (x >> (16 * part)) & 0xff).sum();
    (128 - 93 + sum * 2 / 11) as u8
}

/// Products with left operands of one kind.
fn products(isa: Isa, (number, zero): Activations) {
    for (m, n, k) in [
        (1, 512, 512),
        (1, 1536, 384),
        (1, 4096, 1024),
        (4, 1536, 384),
        (14, 512, 512),
        (40, 1536, 512),
        (128, 384, 384),
        (128, 1536, 384),
        (128, 384, 1536),
        (512, 1024, 4096),
        (1024, 1024, 1024),
    ] {
        let a: Vec<u8> = (0..m * k).map(number).collect();
        let b: Vec<i8> = (0..k * n).map(|i| (i % 253) as u8 as i8).collect();
        let mut packed = vec![0; packed_len(k, n)];
        pack(k, n, MatRef::rows(&b, n), &mut packed);
        let copies = (FROM_MEMORY / (4 * packed.len())).clamp(1, 2048);
        let copies: Vec<Vec<i32>> = vec![packed; copies];
        let left = Left { matrix: MatRef::rows(&a, k), zero: ZeroPoint::One(zero) };
        let right =
            |packed| Right { matrix: None, packed: Some(packed), zero: ZeroPoint::One(0i8) };
        let mut scratch = vec![0; scratch_len(isa, m, n, k, &left, &right(&copies[0]))];
        let (scales, bias, mut c) = (vec![0.01; n], vec![1.0; n], vec![0.0; m * n]);
        let mut line = format!("{:>20}", format!("{m}x{n}x{k}"));
        let mut turn = 0;
        for count in [1, copies.len()] {
            let t = best(|| {
                turn += 1;
                let scaled = Scaled {
                    a_scale: 0.1,
                    b_scale: &scales,
                    bias: Some(&bias),
                    along: Along::Columns,
                    residual: None,
                    activation: Activation::None,
                };
                let target = Target::Floats(&mut c, scaled);
                let right = right(&copies[turn % count]);
                gemm(isa, &Serial, m, n, k, left, right, target, n, &mut scratch);
            });
            let (ops, read) = ((2 * m * n * k) as f64, (n * k) as f64);
            line += &format!(
                " {:8.1} GOP/s {:6.1} GB/s {:6.1} us",
                ops / t / 1e9,
                read / t / 1e9,
                t * 1e6
            );
        }
        println!("{line}");
    }
}
