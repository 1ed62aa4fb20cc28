//! Rotary positions (Su et al., "RoFormer", 2021): pairs of elements are turned by an angle for each
//! position.

/// Where the pairs of a tensor lie.
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    /// Batch entries, positions, heads, and elements of one head at one position.
    pub dims: [usize; 4],
    /// Elements from one batch entry, position and head to the next.
    pub strides: [usize; 3],
    /// How many elements of a head are turned, an even number; the others stay.
    pub turned: usize,
    /// Whether pairs are neighbours, or one from each half.
    pub interleaved: bool,
    /// Rows of the caches when positions are named, else 0.
    pub cache_rows: usize,
}

/// Turns `x` into `out`. Row `r` of `cos` and `sin` holds the `turned / 2` angles of position `r`: of the
/// position that `ids` names, or of each position of each batch entry in order.
///
/// # Errors
/// The first position outside of the caches.
///
/// # Panics
/// If a slice is too short.
pub fn rotate(
    r: &Rotation,
    x: &[f32],
    cos: &[f32],
    sin: &[f32],
    ids: Option<&[i64]>,
    out: &mut [f32],
) -> Result<(), i64> {
    let [batches, positions, heads, width] = r.dims;
    let half = r.turned / 2;
    for at in 0..batches * positions {
        let row = match ids {
            None => at,
            Some(ids) => match usize::try_from(ids[at]) {
                Ok(row) if row < r.cache_rows => row,
                _ => return Err(ids[at]),
            },
        };
        let (cos, sin) = (&cos[row * half..][..half], &sin[row * half..][..half]);
        let start = at / positions * r.strides[0] + at % positions * r.strides[1];
        for head in 0..heads {
            let start = start + head * r.strides[2];
            let (x, out) = (&x[start..start + width], &mut out[start..start + width]);
            for i in 0..half {
                let (a, b) = if r.interleaved { (2 * i, 2 * i + 1) } else { (i, half + i) };
                out[a] = cos[i] * x[a] - sin[i] * x[b];
                out[b] = sin[i] * x[a] + cos[i] * x[b];
            }
            out[r.turned..].copy_from_slice(&x[r.turned..]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_turned() {
        let r = Rotation {
            dims: [1, 1, 1, 5],
            strides: [5, 5, 5],
            turned: 4,
            interleaved: false,
            cache_rows: 2,
        };
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        // Row 1 turns by a right angle, row 0 not at all.
        let (cos, sin) = ([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]);
        let mut out = [0.0; 5];
        assert_eq!(rotate(&r, &x, &cos, &sin, Some(&[1]), &mut out), Ok(()));
        assert_eq!(out, [-3.0, -4.0, 1.0, 2.0, 5.0]);
        let r = Rotation { interleaved: true, ..r };
        assert_eq!(rotate(&r, &x, &cos, &sin, Some(&[1]), &mut out), Ok(()));
        assert_eq!(out, [-2.0, 1.0, -4.0, 3.0, 5.0]);
        assert_eq!(rotate(&r, &x, &cos, &sin, None, &mut out), Ok(()));
        assert_eq!(out, x);
        for id in [2, -1] {
            assert_eq!(rotate(&r, &x, &cos, &sin, Some(&[id]), &mut out), Err(id));
        }
    }
}
