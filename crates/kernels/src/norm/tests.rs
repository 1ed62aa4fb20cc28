//! Against f64 on every instruction set.

extern crate std;
use super::*;
use crate::{Isa, Serial};
use std::vec::Vec;

fn numbers(n: usize, k: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * k) % 101) as f32 * 0.03 + 5.0).collect()
}

fn moments(x: &[f32]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    (mean, x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n)
}

fn assert_close(got: f32, want: f64, what: &str) {
    assert!((f64::from(got) - want).abs() <= 1e-5 * (1.0 + want.abs()), "{what}: {got}, {want}");
}

#[test]
fn rows_agree_with_f64() {
    for isa in Isa::available() {
        for cols in [1, 3, 16, 47, 384, 1000] {
            for form in [RowNorm::Layer, RowNorm::Rms] {
                let rows = 3;
                let x = numbers(rows * cols, 37);
                let (scale, bias) = (numbers(cols, 11), numbers(cols, 13));
                let mut y = std::vec![0.0; x.len()];
                let (mut mean, mut inv) = (std::vec![9.0; rows], std::vec![9.0; rows]);
                let stats = RowStats { mean: Some(&mut mean), inv_std: Some(&mut inv) };
                norm_rows(
                    isa,
                    &Serial,
                    form,
                    cols,
                    &x,
                    Some(&scale),
                    Some(&bias),
                    1e-2,
                    &mut y,
                    stats,
                );
                let mut plain = std::vec![0.0; x.len()];
                norm_rows(
                    isa,
                    &Serial,
                    form,
                    cols,
                    &x,
                    None,
                    None,
                    1e-2,
                    &mut plain,
                    RowStats::default(),
                );
                let mut there = x.clone();
                let (s, b) = (Some(scale.as_slice()), Some(bias.as_slice()));
                norm_rows_in_place(isa, &Serial, form, cols, &mut there, s, b, 1e-2);
                assert_eq!(there, y, "{isa:?} {form:?} {cols} in place");
                for r in 0..rows {
                    let row = &x[r * cols..][..cols];
                    let (mut m, mut v) = moments(row);
                    if form == RowNorm::Rms {
                        v += m * m;
                        m = 0.0;
                    }
                    let what = std::format!("{isa:?} {form:?} {cols}");
                    assert_close(mean[r], m, &what);
                    assert_close(inv[r], 1.0 / (v + 1e-2).sqrt(), &what);
                    for j in 0..cols {
                        let z = (f64::from(row[j]) - m) / (v + 1e-2).sqrt();
                        assert_close(plain[r * cols + j], z, &what);
                        let want = z * f64::from(scale[j]) + f64::from(bias[j]);
                        assert_close(y[r * cols + j], want, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn channels_agree_with_f64() {
    for isa in Isa::available() {
        for (shape, groups) in [((2, 6, 35), 3), ((1, 4, 1), 2), ((3, 5, 7), 5), ((2, 4, 64), 1)] {
            let (batch, channels, inner) = shape;
            let x = numbers(batch * channels * inner, 29);
            let (scale, bias) = (numbers(channels, 7), numbers(channels, 5));
            let mut y = std::vec![0.0; x.len()];
            scale_shift(isa, &Serial, shape, &x, &scale, &bias, &mut y);
            for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
                let c = i / inner % channels;
                let want = f64::from(x) * f64::from(scale[c]) + f64::from(bias[c]);
                assert_close(y, want, &std::format!("{isa:?} scale_shift {shape:?}"));
            }
            group_norm(isa, &Serial, shape, groups, &x, &scale, &bias, 1e-3, &mut y);
            let len = channels / groups * inner;
            for (i, (&got, &xi)) in y.iter().zip(&x).enumerate() {
                let (m, v) = moments(&x[i / len * len..][..len]);
                let c = i / inner % channels;
                let z = (f64::from(xi) - m) / (v + 1e-3).sqrt();
                let want = z * f64::from(scale[c]) + f64::from(bias[c]);
                // Scale times mean over deviation cancels: the bound grows with them.
                let bound =
                    1e-5 * (1.0 + m.abs() / (v + 1e-3).sqrt()) * (1.0 + f64::from(scale[c]));
                assert!(
                    (f64::from(got) - want).abs() <= bound,
                    "{isa:?} {shape:?} {groups}: {got} {want}"
                );
            }
        }
    }
}

#[test]
fn batch_norm_folds() {
    let (mut factor, mut shift) = ([0.0], [0.0]);
    batch_norm_affine(&[3.0], &[1.0], &[2.0], &[4.0], 0.0, &mut factor, &mut shift);
    assert_eq!((factor, shift), ([1.5], [-2.0]));
}
