//! What is added to the scores of attention, and the scores themselves for those who ask for them.

use super::{Heads, MultiHead, Sizes};

/// How far scores are computed before they are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// `scale Q K^T`.
    Raw,
    /// After the soft cap.
    Capped,
    /// With the bias added.
    Biased,
    /// After the softmax.
    Softmax,
}

/// Computes the scores of every head up to `stage`: one row of `keys` numbers for each query in `out`, in
/// row-major order. `bias` holds what is added, as [`write_bias`] makes it.
///
/// # Panics
/// If a slice is too small.
pub fn scores(job: &MultiHead<'_>, stage: Stage, bias: Heads<'_>, out: &mut [f32]) {
    let Sizes { queries, keys, width, .. } = job.sizes;
    for (at, row) in out.chunks_exact_mut(keys.max(1)).enumerate() {
        let (index, query) = (at / queries.max(1), at % queries.max(1));
        let (batch, head) = (index / job.heads, index % job.heads);
        let q = job.q.at.start(batch, head) + query * job.q.at.row;
        let q = &job.q.data[q..q + width];
        let k = job.k.at.start(batch, job.shared(head));
        let b = bias.at.start(batch, head) + query * bias.at.row;
        let b = &bias.data[b..b + keys];
        for (key, score) in row.iter_mut().enumerate() {
            let k = k + key * job.k.at.row;
            let k = &job.k.data[k..k + width];
            *score = q.iter().zip(k).map(|(x, y)| x * y).sum::<f32>() * job.scale;
            if let (Some(cap), true) = (job.softcap, stage > Stage::Raw) {
                *score = cap * libm::tanhf(*score / cap);
            }
        }
        if stage >= Stage::Biased {
            row.iter_mut().zip(b).for_each(|(score, bias)| *score += bias);
        }
        if stage == Stage::Softmax {
            softmax(row, b);
        }
    }
}

/// Softmax of one row; zeros where the bias hides every key.
fn softmax(row: &mut [f32], bias: &[f32]) {
    let hidden = bias.iter().all(|&b| b == f32::NEG_INFINITY);
    let max = row.iter().fold(f32::NEG_INFINITY, |m, &v| if v > m { v } else { m });
    if hidden || max == f32::NEG_INFINITY {
        row.fill(0.0);
        return;
    }
    let mut sum = 0.0;
    for v in row.iter_mut() {
        *v = libm::expf(*v - max);
        sum += *v;
    }
    row.iter_mut().for_each(|v| *v /= sum);
}

/// Which keys [`write_bias`] hides.
#[derive(Debug, Clone, Copy)]
pub struct Hide<'a> {
    /// The position of the first query among the keys.
    pub first: isize,
    /// How many of the keys each batch entry has, all if absent: the queries are then its last ones.
    pub lens: Option<&'a [i64]>,
    /// Hides keys after the query.
    pub causal: bool,
    /// Hides keys more than this many positions before the query.
    pub left: Option<isize>,
    /// Hides keys more than this many positions after it.
    pub right: Option<isize>,
}

/// Fills `out`, of `[batches, heads, queries, keys]`, with what is to be added to the scores: the mask,
/// whose rows are `mask_keys` long, and minus infinity beyond its end and for every key that is hidden.
///
/// # Panics
/// If the mask is too small.
pub fn write_bias(
    [batches, heads, queries, keys]: [usize; 4],
    mask: Option<Heads<'_>>,
    mask_keys: usize,
    hide: Hide<'_>,
    out: &mut [f32],
) {
    debug_assert_eq!(out.len(), batches * heads * queries * keys);
    for (at, row) in out.chunks_exact_mut(keys.max(1)).enumerate() {
        let (index, query) = (at / queries.max(1), at % queries.max(1));
        let (batch, head) = (index / heads.max(1), index % heads.max(1));
        let len = hide.lens.and_then(|lens| lens.get(batch)).map(|&len| len as isize);
        let first = len.map_or(hide.first, |len| len.saturating_sub(queries as isize));
        let position = first.saturating_add(query as isize);
        match mask {
            None => row.fill(0.0),
            Some(mask) => {
                let start = mask.at.start(batch, head) + query * mask.at.row;
                let given = mask_keys.min(keys);
                row[..given].copy_from_slice(&mask.data[start..start + given]);
                row[given..].fill(f32::NEG_INFINITY);
            }
        }
        for (key, bias) in row.iter_mut().enumerate() {
            let after = (key as isize).saturating_sub(position);
            let hidden = hide.causal && after > 0
                || hide.left.is_some_and(|left| after < -left)
                || hide.right.is_some_and(|right| after > right)
                || len.is_some_and(|len| key as isize >= len);
            if hidden {
                *bias = f32::NEG_INFINITY;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::HeadLayout;
    use super::*;

    #[test]
    fn hidden_keys_get_minus_infinity() {
        const NO: f32 = f32::NEG_INFINITY;
        let none = Hide { first: 0, lens: None, causal: false, left: None, right: None };
        let window = Hide { left: Some(0), right: Some(0), ..none };
        let cases: [(&str, Hide<'_>, [f32; 6]); 4] = [
            ("causal", Hide { causal: true, ..none }, [0.0, NO, NO, 0.0, 0.0, NO]),
            (
                "causal after a cache",
                Hide { first: 1, causal: true, ..none },
                [0.0, 0.0, NO, 0.0, 0.0, 0.0],
            ),
            ("window", Hide { first: 1, ..window }, [NO, 0.0, NO, NO, NO, 0.0]),
            ("padded", Hide { lens: Some(&[2]), ..none }, [0.0, 0.0, NO, 0.0, 0.0, NO]),
        ];
        for (label, hide, expected) in cases {
            let mut out = [9.0; 6];
            write_bias([1, 1, 2, 3], None, 0, hide, &mut out);
            assert_eq!(out, expected, "{label}");
        }
        let at = HeadLayout { offset: 0, batch: 0, head: 0, row: 0 };
        let mask = Heads { data: &[1.0, 2.0], at };
        let mut out = [9.0; 6];
        write_bias([1, 1, 2, 3], Some(mask), 2, none, &mut out);
        assert_eq!(out, [1.0, 2.0, NO, 1.0, 2.0, NO], "short mask for all rows");
    }
}
