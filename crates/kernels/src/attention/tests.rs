//! Against the definition in f64, on every instruction set.

extern crate std;
use super::*;
use std::vec::Vec;

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..n)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn reference(z: Sizes, a: &Attention<'_>) -> Vec<f64> {
    let mut out = std::vec![0.0; z.queries * z.value_width];
    for i in 0..z.queries {
        let scores: Vec<f64> = (0..z.keys)
            .map(|j| {
                let dot: f64 = (0..z.width)
                    .map(|p| {
                        f64::from(a.q.data[i * a.q.row_stride + p])
                            * f64::from(a.k.data[j * a.k.row_stride + p])
                    })
                    .sum();
                let mut x = dot * f64::from(a.scale);
                if let Some(cap) = a.softcap {
                    x = (x / f64::from(cap)).tanh() * f64::from(cap);
                }
                if let Some(m) = a.mask {
                    x += f64::from(m.data[i * m.row_stride + j]);
                }
                if a.causal.is_some_and(|offset| j as isize > i as isize + offset) {
                    x = f64::NEG_INFINITY;
                }
                x
            })
            .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> =
            scores.iter().map(|x| if max.is_infinite() { 0.0 } else { (x - max).exp() }).collect();
        let sum: f64 = weights.iter().sum();
        for c in 0..z.value_width {
            let y: f64 = weights
                .iter()
                .enumerate()
                .map(|(j, w)| w * f64::from(a.v.data[j * a.v.row_stride + c]))
                .sum();
            out[i * z.value_width + c] = if sum == 0.0 { 0.0 } else { y / sum };
        }
    }
    out
}

fn check(
    isa: Isa,
    z: Sizes,
    label: &str,
    mask: Option<Mask<'_>>,
    softcap: Option<f32>,
    causal: Option<isize>,
) {
    let strides = [z.width + 3, z.width, z.value_width + 1];
    let q = numbers(z.queries * strides[0], 1);
    let k = numbers(z.keys * strides[1], 2);
    let v = numbers(z.keys * strides[2], 3);
    let row = |data, row_stride| MatRef { data, row_stride, col_stride: 1 };
    let job = Attention {
        q: row(&q, strides[0]),
        k: row(&k, strides[1]),
        v: row(&v, strides[2]),
        mask,
        scale: 1.7,
        softcap,
        causal,
    };
    let out_stride = z.value_width + 2;
    let mut out = std::vec![9.0f32; z.queries * out_stride];
    let mut scratch = std::vec![f32::NAN; attention_scratch_len(isa, z)];
    attention(isa, z, &job, &mut out, out_stride, &mut scratch);
    let want = reference(z, &job);
    for i in 0..z.queries {
        for c in 0..out_stride {
            let got = out[i * out_stride + c];
            let want = if c < z.value_width { want[i * z.value_width + c] } else { 9.0 };
            let close = (f64::from(got) - want).abs() <= 2e-6;
            assert!(close, "{isa:?} {z:?} {label} ({i}, {c}): {got}, expected {want}");
        }
    }
}

/// Against the definition by operands of bf16, and by f32 where such products do not gain.
fn check_halves(z: Sizes, label: &str, mask: Option<Mask<'_>>) {
    let isa = Isa::Amx;
    let [q, k, v] = [(z.queries, z.width), (z.keys, z.width), (z.keys, z.value_width)]
        .map(|(rows, cols)| numbers(rows * cols, (rows + 7 * cols) as u32));
    let job = Attention {
        q: MatRef::rows(&q, z.width),
        k: MatRef::rows(&k, z.width),
        v: MatRef::rows(&v, z.value_width),
        mask,
        scale: 0.4,
        softcap: None,
        causal: None,
    };
    let mut out = std::vec![9.0f32; z.queries * z.value_width];
    let mut scratch = std::vec![f32::NAN; half::scratch_len(isa, z)];
    half::attention(isa, z, &job, &mut out, z.value_width, &mut scratch);
    // Each operand is off by at most 2^-9 of itself, and with it a score by the sum of products times twice that; a weight, and
    // the sum of weights, by the exponential of that; weights and values again by 2^-9, and all numbers are below 1.
    let score = 0.4 * z.width as f64 * 2f64.powi(-8) * 1.01;
    let bound = 2.0 * (score.exp() - 1.0) + 2f64.powi(-8) * 1.01;
    for (i, (got, want)) in out.iter().zip(reference(z, &job)).enumerate() {
        let close = (f64::from(*got) - want).abs() <= bound;
        assert!(close, "{z:?} {label} {i}: {got}, expected {want} within {bound:.1e}");
    }
}

#[test]
fn operands_of_bf16_are_within_their_bound() {
    if !Isa::Amx.is_available() {
        return;
    }
    let sizes =
        [(5, 5, 1, 5), (6, 40, 17, 33), (70, 33, 7, 50), (130, 129, 40, 64), (260, 16, 32, 16)];
    for (queries, keys, width, value_width) in sizes {
        let z = Sizes { queries, keys, width, value_width };
        assert!(half::pays(Isa::Amx, z), "{z:?}");
        let hides = |i: usize| if i.is_multiple_of(3) { f32::NEG_INFINITY } else { 0.0 };
        let all: Vec<f32> = (0..queries * (keys + 1)).map(hides).collect();
        let one: Vec<f32> = (0..keys).map(|j| hides(j + 1)).collect();
        let none = std::vec![f32::NEG_INFINITY; keys];
        check_halves(z, "plain", None);
        check_halves(z, "one mask", Some(Mask { data: &one, row_stride: 0 }));
        check_halves(z, "mask per query", Some(Mask { data: &all, row_stride: keys + 1 }));
        check_halves(z, "no key to see", Some(Mask { data: &none, row_stride: 0 }));
    }
    let z = Sizes { queries: 4, keys: 64, width: 64, value_width: 64 };
    assert!(!half::pays(Isa::Amx, z), "few queries wait for the keys");
    assert!(!half::pays(Isa::Avx512, Sizes { queries: 64, ..z }), "no tiles");
}

const SIZES: [(usize, usize, usize, usize); 11] = [
    (6, 4, 0, 4),
    (1, 1, 1, 1),
    (1, 70, 40, 64),
    (4, 9, 5, 3),
    (5, 3, 8, 16),
    (12, 12, 32, 32),
    (70, 33, 7, 50),
    (64, 128, 32, 32),
    (33, 300, 16, 17),
    (130, 129, 64, 64),
    (6, 0, 4, 4),
];

#[test]
fn agrees_with_the_definition() {
    for isa in Isa::available() {
        for (queries, keys, width, value_width) in SIZES {
            let z = Sizes { queries, keys, width, value_width };
            let full = {
                let mut m = numbers(queries * (keys + 1), 5);
                for x in m.iter_mut().step_by(3) {
                    *x = f32::NEG_INFINITY;
                }
                m
            };
            let padding: Vec<f32> =
                (0..keys).map(|j| if 2 * j < keys { 0.0 } else { f32::NEG_INFINITY }).collect();
            let padding = Some(Mask { data: &padding, row_stride: 0 });
            let full = Some(Mask { data: &full, row_stride: keys + 1 });
            check(isa, z, "plain", None, None, None);
            check(isa, z, "one mask", padding, None, None);
            check(isa, z, "mask per query", full, None, None);
            check(isa, z, "softcap and mask", padding, Some(0.8), None);
            for offset in [0, 5, -3, -1000, 1000] {
                check(isa, z, "causal", None, None, Some(offset));
            }
        }
    }
}
