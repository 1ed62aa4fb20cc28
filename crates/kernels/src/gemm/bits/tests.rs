//! Products by weights of few bits against plain loops in f64, on every instruction set.

extern crate std;
use super::*;
use crate::Serial;
use std::vec;
use std::vec::Vec;

struct Two;

impl Parallel for Two {
    fn threads(&self) -> usize {
        2
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(f);
    }
}

fn number(of: &Bits, bytes: &[u8], column: usize, row: usize) -> f64 {
    let block = (column * of.blocks() + row / of.block) * of.block_bytes();
    let bit = row % of.block * of.bits;
    let byte = bytes[block + bit / 8];
    f64::from((u16::from(byte) >> (bit % 8)) & ((1 << of.bits) - 1))
}

fn check(of: Bits, m: usize, with_zeros: bool, with_bias: bool) {
    let blocks = of.blocks();
    let bytes: Vec<u8> = (0..of.n * blocks * of.block_bytes())
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8)
        .collect();
    let scales: Vec<f32> = (0..of.n * blocks).map(|i| (i % 7 + 1) as f32 / 64.0).collect();
    let zeros: Vec<f32> = (0..of.n * blocks).map(|i| (i % (1 << of.bits)) as f32).collect();
    let bias: Vec<f32> = (0..of.n).map(|i| i as f32 - 3.0).collect();
    let a: Vec<f32> = (0..m * of.k).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect();
    let mut words = vec![-1; of.packed_len()];
    pack(&of, &bytes, &mut words);
    let (mut of_scales, mut of_zeros) = (vec![9.0; of.each_len()], vec![9.0; of.each_len()]);
    pack_each(&of, scales.iter().copied(), &mut of_scales);
    pack_each(&of, zeros.iter().copied(), &mut of_zeros);
    let weights = Weights {
        of,
        words: &words,
        scales: &of_scales,
        zeros: with_zeros.then_some(&of_zeros[..]),
    };
    for isa in Isa::available() {
        for par in [&Serial as &dyn Parallel, &Two] {
            let mut scratch = vec![f32::NAN; scratch_len(isa, m, &of)];
            let mut c = vec![f32::NAN; m * of.n];
            let given = with_bias.then_some(&bias[..]);
            product(isa, par, m, &a, &weights, given, &mut c, &mut scratch);
            for (at, got) in c.iter().enumerate() {
                let (row, column) = (at / of.n, at % of.n);
                let (mut sum, mut size) =
                    (if with_bias { f64::from(bias[column]) } else { 0.0 }, 0.0);
                for k in 0..of.k {
                    let each = column * blocks + k / of.block;
                    let middle = f64::from(1u32 << (of.bits - 1));
                    let zero = if with_zeros { f64::from(zeros[each]) } else { middle };
                    let (x, q) = (f64::from(a[row * of.k + k]), number(&of, &bytes, column, k));
                    sum += x * f64::from(scales[each]) * (q - zero);
                    size += x.abs() * f64::from(scales[each]) * (q + zero);
                }
                // Each of both sums of a block is off by at most its numbers times half a unit of their sizes.
                let bound = (of.k as f64 + 4.0) * 6e-8 * (size + sum.abs()) + 1e-12;
                let error = (f64::from(*got) - sum).abs();
                assert!(error <= bound, "{of:?} {m} {isa:?}: {got} for {sum} at {at}");
            }
        }
    }
}

#[test]
fn products_are_those_of_plain_loops() {
    for bits in [2, 4, 8] {
        for (k, n, block) in
            [(64, 5, 32), (40, 33, 16), (50, 70, 32), (256, 130, 128), (37, 16, 37), (1, 1, 16)]
        {
            for m in [1, 2, 3, 4, 5, 9] {
                check(Bits { bits, k, n, block }, m, m % 2 == 0, m % 3 != 0);
                check(Bits { bits, k, n, block }, m, m % 2 == 1, m % 3 == 0);
            }
        }
    }
}

#[test]
fn empty_products_write_nothing() {
    for (k, n) in [(0, 3), (4, 0)] {
        check(Bits { bits: 4, k, n, block: 16 }, 2, true, true);
    }
}
