//! Against the recurrence in f64, on every instruction set.

extern crate std;
use super::*;
use crate::Serial;
use std::vec::Vec;

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Output and states, position by position and number by number.
fn reference(job: &Linear<'_>) -> (Vec<f64>, Vec<f64>) {
    let z = job.sizes;
    let (rows, width, group) = (z.key_width, z.value_width, z.query_heads / z.heads);
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let mut state = match job.past {
        Some(past) => wide(past),
        None => std::vec![0.0; z.batches * z.heads * rows * width],
    };
    let mut out = std::vec![0.0; z.batches * z.positions * z.query_heads * width];
    for token in 0..z.batches * z.positions {
        for head in 0..z.heads {
            let state = &mut state[(token / z.positions * z.heads + head) * rows * width..];
            let k = wide(&job.k[(token * z.heads + head) * rows..][..rows]);
            let v = wide(&job.v[(token * z.heads + head) * width..][..width]);
            for row in 0..rows {
                let factor = job.decay.map_or(1.0, |d| {
                    let of_head = &d.data[(token * z.heads + head) * d.width..];
                    f64::from(of_head[if d.width == 1 { 0 } else { row }])
                });
                state[row * width..][..width].iter_mut().for_each(|x| *x *= factor);
            }
            for c in 0..width {
                let u = match job.rate {
                    None => v[c],
                    Some(r) => {
                        let known: f64 = (0..rows).map(|row| k[row] * state[row * width + c]).sum();
                        let at = if r.width == 0 { token } else { token * z.heads + head };
                        f64::from(r.data[at]) * (v[c] - known)
                    }
                };
                (0..rows).for_each(|row| state[row * width + c] += k[row] * u);
                for member in 0..group {
                    let head = token * z.query_heads + head * group + member;
                    let q = &job.q[head * rows..][..rows];
                    let sum: f64 =
                        (0..rows).map(|row| f64::from(q[row]) * state[row * width + c]).sum();
                    out[head * width + c] = f64::from(job.scale) * sum;
                }
            }
        }
    }
    (out, state)
}

#[test]
fn agrees_with_the_recurrence() {
    // Batches, positions, heads of queries, heads, rows and columns of a state; then width of the decay, width of the
    // rate, and whether there are states before.
    let cases = [
        ("one number", [1, 1, 1, 1, 1, 1], None, None, false),
        ("plain", [2, 5, 2, 2, 4, 8], None, None, false),
        ("plain, from a state", [2, 5, 2, 2, 4, 7], None, None, true),
        ("a factor a head", [1, 6, 3, 3, 5, 16], Some(1), None, true),
        ("a factor a row", [1, 6, 2, 2, 5, 17], Some(5), None, true),
        ("the delta rule", [2, 4, 2, 2, 16, 64], None, Some(1), true),
        ("one rate for all heads", [2, 4, 2, 2, 3, 65], None, Some(0), false),
        ("gated, queries share states", [1, 3, 6, 2, 8, 133], Some(8), Some(1), true),
        ("a step", [3, 1, 4, 1, 32, 80], Some(1), Some(0), true),
        ("no position", [2, 0, 2, 2, 3, 5], None, None, true),
        ("no column", [2, 3, 2, 2, 3, 0], None, Some(1), true),
    ];
    for isa in Isa::available() {
        for (seed, (label, sizes, decay, rate, past)) in (1u32..).zip(cases) {
            let [batches, positions, query_heads, heads, key_width, value_width] = sizes;
            let z = LinearSizes { batches, positions, query_heads, heads, key_width, value_width };
            let tokens = batches * positions;
            let q = numbers(tokens * query_heads * key_width, seed);
            let k = numbers(tokens * heads * key_width, seed + 100);
            let v = numbers(tokens * heads * value_width, seed + 200);
            let per_head = |width: usize, seed: u32| {
                numbers(tokens * (heads * width).max(1), seed)
                    .iter()
                    .map(|x| 0.75 + 0.25 * x)
                    .collect::<Vec<f32>>()
            };
            let factors = per_head(decay.unwrap_or(1), seed + 300);
            let rates = per_head(rate.unwrap_or(1), seed + 400);
            let before = numbers(batches * heads * key_width * value_width, seed + 500);
            let job = Linear {
                sizes: z,
                q: &q,
                k: &k,
                v: &v,
                decay: decay.map(|width| PerHead { data: &factors, width }),
                rate: rate.map(|width| PerHead { data: &rates, width }),
                past: past.then_some(&before[..]),
                scale: 0.3,
            };
            let mut out = std::vec![f32::NAN; tokens * query_heads * value_width];
            let mut state = std::vec![f32::NAN; before.len()];
            linear_attention(isa, &Serial, &job, &mut out, &mut state);
            let (want_out, want_state) = reference(&job);
            for (what, got, want) in [("output", &out, want_out), ("state", &state, want_state)] {
                for (i, (got, want)) in got.iter().zip(want).enumerate() {
                    // Sums of up to 32 products through 6 positions that grow by at most a few times each.
                    let off = (f64::from(*got) - want).abs();
                    assert!(
                        off <= 2e-5 * (1.0 + want.abs()),
                        "{label}, {isa:?}: {what} {i}: {got}, {want}"
                    );
                }
            }
        }
    }
}
