//! From the sum of a forest to what the library predicts.

/// What happens to the sums of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Link {
    /// Nothing.
    Identity,
    /// `1 / (1 + exp(-k x))` of each output.
    Sigmoid(f64),
    /// `exp(x)` of each output.
    Exp,
    /// `ln(1 + exp(x))` of each output.
    LogOnePlusExp,
    /// `sign(x) x^2` of each output.
    SignedSquare,
    /// 1 where `x > 0`, else 0.
    Step,
    /// `exp(x_i) / sum_j exp(x_j)`.
    Softmax,
    /// The number of the largest output: one output in place of all.
    ArgMax,
}

impl Link {
    /// How many numbers a row has afterwards.
    pub(crate) fn outputs(self, sums: usize) -> usize {
        if self == Link::ArgMax { 1 } else { sums }
    }

    /// Applies the link to the sums of one row; `out` has [`Link::outputs`] numbers.
    ///
    /// `narrow`: in f32 as XGBoost computes, otherwise in f64 as LightGBM does.
    pub(crate) fn apply(self, sums: &mut [f64], narrow: bool, out: &mut [f64]) {
        match self {
            Link::ArgMax => {
                // The first of equals, as `std::max_element` has it.
                let mut best = 0;
                for (i, x) in sums.iter().enumerate() {
                    if *x > sums[best] {
                        best = i;
                    }
                }
                out[0] = best as f64;
                return;
            }
            Link::Softmax => softmax(sums, narrow),
            _ => sums.iter_mut().for_each(|x| *x = self.one(*x, narrow)),
        }
        out.copy_from_slice(sums);
    }

    fn one(self, x: f64, narrow: bool) -> f64 {
        match self {
            // XGBoost: `Sigmoid` of src/common/math.h; the bound keeps `exp` finite.
            Link::Sigmoid(_) if narrow => {
                let e = (-x as f32).min(88.7).exp();
                f64::from(1.0 / (e + 1.0 + 1e-16))
            }
            Link::Sigmoid(k) => 1.0 / (1.0 + (-k * x).exp()),
            Link::Exp if narrow => f64::from((x as f32).exp()),
            Link::Exp => x.exp(),
            Link::LogOnePlusExp => x.exp().ln_1p(),
            Link::SignedSquare => {
                // The sign of 0 is 0 there, which the product is anyway.
                x.signum() * x * x
            }
            Link::Step => f64::from(u8::from(x > 0.0)),
            Link::Identity | Link::Softmax | Link::ArgMax => x,
        }
    }
}

fn softmax(sums: &mut [f64], narrow: bool) {
    let max = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if narrow {
        // XGBoost sums in f64 and divides in f32 (`Softmax` of src/common/math.h).
        let mut total = 0.0;
        for x in sums.iter_mut() {
            *x = f64::from((*x as f32 - max as f32).exp());
            total += *x;
        }
        sums.iter_mut().for_each(|x| *x = f64::from(*x as f32 / total as f32));
    } else {
        let mut total = 0.0;
        for x in sums.iter_mut() {
            *x = (*x - max).exp();
            total += *x;
        }
        sums.iter_mut().for_each(|x| *x /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_one_row() {
        let cases: &[(Link, &[f64], &[f64])] = &[
            (Link::Identity, &[1.5, -2.0], &[1.5, -2.0]),
            (Link::Sigmoid(1.0), &[0.0], &[0.5]),
            (Link::Sigmoid(2.0), &[0.5], &[0.731_058_578_630_004_9]),
            (Link::Exp, &[1.0], &[std::f64::consts::E]),
            (Link::LogOnePlusExp, &[0.0], &[std::f64::consts::LN_2]),
            (Link::SignedSquare, &[-3.0, 2.0, 0.0], &[-9.0, 4.0, 0.0]),
            (Link::Step, &[0.1, 0.0, -1.0], &[1.0, 0.0, 0.0]),
            (Link::Softmax, &[1000.0, 1000.0], &[0.5, 0.5]),
            (Link::ArgMax, &[1.0, 3.0, 3.0], &[1.0]),
        ];
        for (link, sums, expected) in cases {
            for narrow in [false, true] {
                if narrow && *link == Link::Sigmoid(2.0) {
                    continue; // XGBoost has no such parameter.
                }
                let mut out = vec![0.0; link.outputs(sums.len())];
                link.apply(&mut sums.to_vec(), narrow, &mut out);
                for (x, y) in out.iter().zip(*expected) {
                    assert!((x - y).abs() < if narrow { 1e-6 } else { 1e-15 }, "{link:?}: {out:?}");
                }
            }
        }
    }
}
