//! Tile and block sizes, and how rows and columns are cut by them.

use crate::Isa;
use core::ops::Range;

/// Most rows of a tile over all instruction sets.
pub const MAX_ROWS: usize = 14;

/// Most columns of a tile over all instruction sets.
pub const MAX_COLS: usize = 32;

/// Columns up to which `B` is packed transposed, for dot products instead of tiles that would be
/// mostly padding.
pub const MAX_DOT_COLS: usize = 4;

/// Depth of a block of `k`: a sliver of `B` and a panel of `A` stream from the second-level cache once per tile, and the partial
/// sums in `C` are written and read once more for each further block.
pub const DEPTH: usize = 384;

/// Depth of a block for a tile of f32. Sums that are read again cost more than operands from the second-level cache, even where a
/// sliver is three times what the first-level one holds: all of a common `k` is one block, or two even ones.
pub const fn depth(shape: Shape) -> usize {
    match shape.lanes {
        16 => 2 * DEPTH,
        8 => 4 * DEPTH,
        _ => DEPTH,
    }
}

/// Rows of `A` that are packed and worked on together. With AVX-512 a block of them stays in the second-level cache, 1 MiB or more.
/// On processors without it, which have half of that, as many as the tokens of a common text, so that its weights are read once:
/// 66 and 120 rows take the same time, beside a `B` in the third-level cache.
pub const fn rows_together(shape: Shape) -> usize {
    if shape.lanes == 8 { 132 } else { 224 }
}

/// Elements of `B` that are packed together on the fly: 2 MiB.
pub const BLOCK_B: usize = 1 << 19;

/// Whether `panels` panels of `A` read a row-major `B` of `k x n` where it lies. Packing costs a
/// reading and a writing of `B`, and pays when many panels read what does not fit the
/// second-level cache, or rows a multiple of 4 KiB apart, which share few of its sets.
pub fn reads_in_place(panels: usize, k: usize, n: usize, row_stride: usize) -> bool {
    const SMALL: usize = 1 << 19;
    panels == 1 || k.saturating_mul(n) <= SMALL || (panels <= 3 && !row_stride.is_multiple_of(1024))
}

/// Multiply-adds below which another thread costs more than it brings.
pub const WORK_PER_TASK: usize = 1 << 17;

/// Register tile of an instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Most rows of a tile.
    pub rows: usize,
    /// f32 in a vector.
    pub lanes: usize,
}

impl Shape {
    /// Columns of a full tile: always two vectors.
    pub const fn cols(self) -> usize {
        2 * self.lanes
    }
}

/// The tile for `isa`, which must be available: two vectors wide, and as many rows as leave
/// registers for the two vectors of `B` and a broadcast of `A`.
pub const fn shape(isa: Isa) -> Shape {
    match isa {
        // 28 accumulators of 32 registers.
        Isa::Avx512 | Isa::Amx => Shape { rows: 14, lanes: 16 },
        // 12 accumulators of 16 registers.
        Isa::Avx2 => Shape { rows: 6, lanes: 8 },
        // 16 accumulators of 32 registers.
        Isa::Neon => Shape { rows: 8, lanes: 4 },
        Isa::Scalar => Shape { rows: 4, lanes: 4 },
    }
}

/// Rows cut into panels that differ by at most one row, so that no tile is ragged.
#[derive(Clone, Copy, Debug)]
pub struct Panels {
    /// How many.
    pub count: usize,
    small: usize,
    larger: usize,
}

impl Panels {
    /// Cuts `m` rows into panels of at most `most` rows.
    pub fn new(m: usize, most: usize) -> Panels {
        let count = m.div_ceil(most).max(1);
        Panels { count, small: m / count, larger: m % count }
    }

    /// First row of panel `i`; `start(count)` is the number of rows.
    pub fn start(&self, i: usize) -> usize {
        i * self.small + i.min(self.larger)
    }

    /// Rows of panel `i`.
    pub fn rows(&self, i: usize) -> usize {
        self.small + usize::from(i < self.larger)
    }
}

/// Rows cut into blocks that a product works on one after the other, each of whole panels.
#[derive(Clone, Copy, Debug)]
pub struct RowBlocks {
    panels: Panels,
    blocks: Panels,
}

impl RowBlocks {
    /// Cuts `m` rows into blocks of as many rows as a product with packed weights works on at a time on `isa`, of which 1,000 columns are in
    /// the second-level cache.
    pub fn new(isa: Isa, m: usize) -> RowBlocks {
        let (rows, most) = RowBlocks::sizes(isa);
        RowBlocks::cut(m, rows, most)
    }

    /// Most rows of a block.
    pub fn most(isa: Isa) -> usize {
        RowBlocks::sizes(isa).1
    }

    /// Rows that a product needs for the same way as one of more rows: threads that share rows must get as many, so that results do not depend on
    /// how many there are.
    pub fn least(isa: Isa) -> usize {
        match isa.effective() {
            #[cfg(target_arch = "x86_64")]
            Isa::Amx => super::thirds::LEAST_ROWS,
            _ => super::vector::MAX_VECTOR_ROWS + 1,
        }
    }

    /// Most rows of a panel and of a block.
    fn sizes(isa: Isa) -> (usize, usize) {
        match isa.effective() {
            // Whole tiles, two and two.
            Isa::Amx => (16, 256),
            isa => (shape(isa).rows, rows_together(shape(isa))),
        }
    }

    /// Cuts `m` rows into blocks of about `most` rows that differ by at most one panel of at most `rows` rows.
    fn cut(m: usize, rows: usize, most: usize) -> RowBlocks {
        let panels = Panels::new(m, rows);
        RowBlocks { panels, blocks: Panels::new(panels.count, (most / rows).max(1)) }
    }

    /// The rows of each block.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let RowBlocks { panels, blocks } = *self;
        let start = move |block: usize| panels.start(blocks.start(block));
        (0..blocks.count).map(move |block| start(block)..start(block + 1))
    }
}

/// `len` things cut into `parts` ranges as even as possible; range `i`.
pub fn part(len: usize, parts: usize, i: usize) -> (usize, usize) {
    let panels = Panels { count: parts, small: len / parts, larger: len % parts };
    (panels.start(i), panels.start(i + 1))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn panels_cover_the_rows_evenly() {
        for (m, most, want) in
            [(40, 14, &[14usize, 13, 13][..]), (1, 14, &[1]), (0, 6, &[0]), (13, 6, &[5, 4, 4])]
        {
            let p = Panels::new(m, most);
            assert_eq!(p.count, want.len(), "{m}");
            let mut at = 0;
            for (i, &rows) in want.iter().enumerate() {
                assert_eq!((p.start(i), p.rows(i)), (at, rows), "{m} panel {i}");
                at += rows;
            }
            assert_eq!(p.start(p.count), m);
        }
    }

    #[test]
    fn blocks_are_whole_panels() {
        for (m, most, ends) in
            [(0, 8, &[0][..]), (8, 8, &[8]), (9, 8, &[6, 9]), (17, 8, &[8, 14, 17]), (3, 1, &[3])]
        {
            let mut at = 0;
            let blocks: Vec<_> = RowBlocks::cut(m, 4, most).ranges().collect();
            for block in &blocks {
                assert_eq!(block.start, at, "{m} by {most}");
                at = block.end;
            }
            assert!(blocks.iter().map(|block| &block.end).eq(ends), "{m} by {most}: {blocks:?}");
        }
    }

    #[test]
    fn parts_tile_the_range() {
        assert_eq!((part(7, 3, 0), part(7, 3, 1), part(7, 3, 2)), ((0, 3), (3, 5), (5, 7)));
        assert_eq!(part(1, 3, 2), (1, 1));
    }
}
