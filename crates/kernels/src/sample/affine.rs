//! AffineGrid: the points of a regular grid, moved by a matrix.

use super::grid::Coordinate;

/// The sizes of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AffineGrid {
    /// Matrices, one for each batch entry.
    pub batches: usize,
    /// Depth (1 where there are two dimensions), height and width.
    pub dims: [usize; 3],
    /// 2 or 3 dimensions.
    pub rank: usize,
    /// Whether -1 and 1 are the middles of the outermost points, or edges half a step outside of them.
    pub align_corners: bool,
}

/// Writes `[batches, dims, rank]`: each point, with its coordinates along the last dimension first and a 1 behind them,
/// times the matrix `[rank, rank + 1]` of its batch entry.
///
/// # Panics
/// When lengths do not fit.
pub fn affine_grid<T: Coordinate>(g: &AffineGrid, matrices: &[T], out: &mut [T]) {
    let points: usize = g.dims.iter().product();
    let entries = g.rank * (g.rank + 1);
    assert!((2..=3).contains(&g.rank), "number of dimensions");
    assert_eq!(matrices.len(), g.batches * entries, "length of the matrices");
    assert_eq!(out.len(), g.batches * points * g.rank, "length of the grid");
    let place = |i: usize, size: usize| {
        let (i, size) = (i as f64, size as f64);
        T::of(match g.align_corners {
            true if size > 1.0 => -1.0 + 2.0 * i / (size - 1.0),
            true => -1.0,
            false => (2.0 * i + 1.0) / size - 1.0,
        })
    };
    for (at, out) in out.chunks_exact_mut(g.rank).enumerate() {
        let (batch, point) = (at / points, at % points);
        let [_, height, width] = g.dims;
        let (z, y, x) = (point / (height * width), point / width % height, point % width);
        let coordinates = [place(x, width), place(y, height), place(z, g.dims[0])];
        let matrix = &matrices[batch * entries..][..entries];
        for (slot, row) in out.iter_mut().zip(matrix.chunks_exact(g.rank + 1)) {
            let mut sum = row[g.rank];
            for (&factor, &c) in row.iter().zip(&coordinates[..g.rank]) {
                sum = sum + factor * c;
            }
            *slot = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_two_dimensions() {
        let g = AffineGrid { batches: 1, dims: [1, 1, 2], rank: 2, align_corners: false };
        // x and y change places, and y is moved by 5.
        let matrix = [0.0, 1.0, 0.0, 1.0, 0.0, 5.0];
        let mut out = [f64::NAN; 4];
        affine_grid(&g, &matrix, &mut out);
        assert_eq!(out, [0.0, 4.5, 0.0, 5.5]);
        affine_grid(&AffineGrid { align_corners: true, ..g }, &matrix, &mut out);
        assert_eq!(out, [-1.0, 4.0, -1.0, 6.0]);
    }
}
