//! Copies by strides, for elements of any width.

use super::by_width;

/// The most dimensions of a copy. Tile and DepthToSpace split the dimensions of a tensor in two.
pub const MAX_DIMS: usize = 16;

/// The side of the tiles in which two dimensions are swapped: sixteen elements of four bytes fill one
/// cache line, so that every line that a tile touches is used whole.
const TILE: usize = 16;

/// How a tensor's elements lie in a slice, in elements.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    /// The position of the first element.
    pub offset: usize,
    /// The distance between neighbours along each dimension.
    pub strides: &'a [isize],
}

/// Copies a strided tensor of `element` bytes to row-major `dst`.
///
/// `offset` and `strides` count elements of `src`; `dims` gives the extent of each dimension.
///
/// # Panics
/// When an element lies outside of `src`, or `dst` has another size than `dims` gives.
pub fn copy_strided(
    element: usize,
    src: &[u8],
    offset: usize,
    strides: &[isize],
    dims: &[usize],
    dst: &mut [u8],
) {
    let elements = dims.iter().product::<usize>();
    assert_eq!(dst.len(), elements * element, "the destination has another size");
    let mut to = [0isize; MAX_DIMS];
    let mut step = 1isize;
    for axis in (0..dims.len()).rev() {
        to[axis] = step;
        step *= dims[axis].max(1) as isize;
    }
    copy_layout(
        element,
        dims,
        src,
        Layout { offset, strides },
        dst,
        Layout { offset: 0, strides: &to },
    );
}

/// Copies a tensor of `element` bytes from one layout to another.
///
/// # Panics
/// When an element lies outside of its slice, or `element` is none of 1, 2, 4, 8, 16.
pub fn copy_layout(
    element: usize,
    dims: &[usize],
    src: &[u8],
    from: Layout<'_>,
    dst: &mut [u8],
    to: Layout<'_>,
) {
    if dims.contains(&0) {
        return;
    }
    let mut loops = Loops::new(dims, from, to);
    let element = loops.widen(element);
    // Every address that the loops visit lies between these, which is what the unsafe code relies on.
    let (low, high) = loops.reach(|l| l.from, loops.from);
    assert!(
        low >= 0 && (high as usize) < src.len() / element,
        "a copy reads outside of its tensor"
    );
    let (low, high) = loops.reach(|l| l.to, loops.to);
    assert!(low >= 0 && (high as usize) < dst.len() / element, "a copy writes outside");
    by_width!(
        element,
        run(&loops, src.as_ptr(), dst.as_mut_ptr()),
        else panic!("elements of {element} bytes cannot be copied")
    );
}

/// One loop of a copy: its length and the distances between rounds.
#[derive(Clone, Copy, Default)]
struct Loop {
    n: usize,
    from: isize,
    to: isize,
}

/// The loops of a copy, outermost first, with those merged that walk both sides evenly.
struct Loops {
    list: [Loop; MAX_DIMS],
    count: usize,
    from: isize,
    to: isize,
}

impl Loops {
    fn new(dims: &[usize], from: Layout<'_>, to: Layout<'_>) -> Loops {
        let mut loops = Loops {
            list: [Loop::default(); MAX_DIMS],
            count: 0,
            from: from.offset as isize,
            to: to.offset as isize,
        };
        for (axis, &n) in dims.iter().enumerate() {
            if n == 1 {
                continue;
            }
            let next = Loop { n, from: from.strides[axis], to: to.strides[axis] };
            let span = n as isize;
            match loops.list[..loops.count].last_mut() {
                Some(outer) if outer.from == next.from * span && outer.to == next.to * span => {
                    *outer = Loop { n: outer.n * n, ..next };
                }
                _ => {
                    loops.list[loops.count] = next;
                    loops.count += 1;
                }
            }
        }
        loops
    }

    /// Takes short contiguous runs as one wider element when everything is a multiple of the run; gives
    /// the new width.
    fn widen(&mut self, element: usize) -> usize {
        let Some((&inner, outer)) = self.list[..self.count].split_last() else { return element };
        let n = inner.n as isize;
        let even = |v: isize| v % n == 0;
        let wide = element.saturating_mul(inner.n);
        let fits = inner.from == 1
            && inner.to == 1
            && matches!(wide, 2 | 4 | 8 | 16)
            && even(self.from)
            && even(self.to)
            && outer.iter().all(|l| even(l.from) && even(l.to));
        if !fits {
            return element;
        }
        self.count -= 1;
        self.from /= n;
        self.to /= n;
        for l in &mut self.list[..self.count] {
            l.from /= n;
            l.to /= n;
        }
        wide
    }

    /// The lowest and the highest position that one side visits.
    fn reach(&self, stride: fn(&Loop) -> isize, start: isize) -> (isize, isize) {
        self.list[..self.count].iter().fold((start, start), |(low, high), l| {
            let end = stride(l) * (l.n as isize - 1);
            (low + end.min(0), high + end.max(0))
        })
    }

    /// Calls `f` with both offsets for every round of the loops but those at `skip`.
    #[inline(always)]
    fn outer(&self, skip: [usize; 2], mut f: impl FnMut(isize, isize)) {
        let mut list = [Loop::default(); MAX_DIMS];
        let mut count = 0;
        for (i, l) in self.list[..self.count].iter().enumerate() {
            if !skip.contains(&i) {
                list[count] = *l;
                count += 1;
            }
        }
        let mut at = [0usize; MAX_DIMS];
        let (mut from, mut to) = (self.from, self.to);
        loop {
            f(from, to);
            let mut axis = count;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                let l = list[axis];
                at[axis] += 1;
                from += l.from;
                to += l.to;
                if at[axis] < l.n {
                    break;
                }
                from -= l.from * l.n as isize;
                to -= l.to * l.n as isize;
                at[axis] = 0;
            }
        }
    }
}

/// Runs the loops on elements of `W` bytes. The caller has checked the reach of both sides.
fn run<const W: usize>(loops: &Loops, src: *const u8, dst: *mut u8) {
    let src = src.cast::<[u8; W]>();
    let dst = dst.cast::<[u8; W]>();
    let none = usize::MAX;
    let list = &loops.list[..loops.count];
    let Some((&inner, outer)) = list.split_last() else {
        // SAFETY: both offsets lie in their slices (`copy_layout` checked the reach); `[u8; W]` has no
        // alignment.
        unsafe { *dst.offset(loops.to) = *src.offset(loops.from) };
        return;
    };
    let last = loops.count - 1;
    if inner.from == 1 && inner.to == 1 {
        loops.outer([last, none], |from, to| {
            // SAFETY: both ends of the run lie in their slices (`copy_layout` checked the reach), and
            // the slices cannot overlap, since one is borrowed mutably.
            unsafe {
                core::ptr::copy_nonoverlapping(src.offset(from), dst.offset(to), inner.n);
            }
        });
        return;
    }
    let swapped = outer.iter().rposition(|l| l.from == 1);
    if let (1, Some(across)) = (inner.to, swapped) {
        let rows = list[across];
        loops.outer([across, last], |from, to| {
            // SAFETY: every element of the two loops lies in its slice (`copy_layout` checked the reach).
            unsafe { transpose(src.offset(from), dst.offset(to), rows, inner) }
        });
        return;
    }
    loops.outer([last, none], |from, to| {
        for i in 0..inner.n as isize {
            // SAFETY: every element of the loop lies in its slice (`copy_layout` checked the reach).
            unsafe { *dst.offset(to + i * inner.to) = *src.offset(from + i * inner.from) };
        }
    });
}

/// Swaps two dimensions tile by tile: `rows` runs along the source, `cols` along the destination.
///
/// # Safety
/// All elements that the two loops visit must lie in their allocations.
#[inline(always)]
unsafe fn transpose<const W: usize>(
    src: *const [u8; W],
    dst: *mut [u8; W],
    rows: Loop,
    cols: Loop,
) {
    debug_assert!(rows.from == 1 && cols.to == 1);
    for row in (0..rows.n).step_by(TILE) {
        let height = TILE.min(rows.n - row);
        for col in (0..cols.n).step_by(TILE) {
            let width = TILE.min(cols.n - col);
            // SAFETY: the tile's corner is an element that the loops visit.
            let (from, to) = unsafe {
                (
                    src.offset(row as isize + col as isize * cols.from),
                    dst.offset(row as isize * rows.to + col as isize),
                )
            };
            // SAFETY: `height` and `width` keep the tile inside the loops.
            unsafe {
                if height == TILE && width == TILE {
                    tile(from, to, TILE, TILE, rows.to, cols.from);
                } else {
                    tile(from, to, height, width, rows.to, cols.from);
                }
            }
        }
    }
}

/// Swaps one tile: `height` destination rows of `width` elements.
///
/// # Safety
/// As [`transpose`].
#[inline(always)]
unsafe fn tile<const W: usize>(
    src: *const [u8; W],
    dst: *mut [u8; W],
    height: usize,
    width: usize,
    dst_row: isize,
    src_row: isize,
) {
    for r in 0..height {
        for c in 0..width {
            // SAFETY: the caller promises that the tile lies in both allocations.
            unsafe {
                *dst.offset(r as isize * dst_row + c as isize) =
                    *src.offset(c as isize * src_row + r as isize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_copied_row_major() {
        let src: [u8; 12] = core::array::from_fn(|i| i as u8);
        let cases: [(&str, usize, &[isize], &[usize], &[u8]); 8] = [
            ("transpose 3x4", 0, &[1, 4], &[4, 3], &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
            ("column", 1, &[4], &[3], &[1, 5, 9]),
            ("reversed", 3, &[-1], &[4], &[3, 2, 1, 0]),
            ("broadcast", 2, &[0, 1], &[2, 2], &[2, 3, 2, 3]),
            (
                "pairs as wide elements",
                0,
                &[2, 6, 1],
                &[3, 2, 2],
                &[0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11],
            ),
            ("pairs at an odd start", 1, &[6, 1], &[2, 2], &[1, 2, 7, 8]),
            ("scalar", 7, &[], &[], &[7]),
            ("empty", 0, &[4, 1], &[0, 4], &[]),
        ];
        for (label, offset, strides, dims, expected) in cases {
            let mut dst = [0u8; 12];
            let dst = &mut dst[..expected.len()];
            copy_strided(1, &src, offset, strides, dims, dst);
            assert_eq!(dst, expected, "{label}");
        }
    }

    #[test]
    fn swaps_of_all_widths_and_ragged_sizes_are_right() {
        let mut src = [0u8; 40 * 37 * 16];
        for (i, byte) in src.iter_mut().enumerate() {
            *byte = (i * 31 % 251) as u8;
        }
        let mut dst = [0u8; 40 * 37 * 16];
        for width in [1, 2, 4, 8, 16] {
            for (rows, cols) in [(40, 37), (16, 16), (3, 40), (40, 3), (1, 5), (17, 33)] {
                let bytes = rows * cols * width;
                let dst = &mut dst[..bytes];
                copy_strided(width, &src, 0, &[1, cols as isize], &[cols, rows], dst);
                for (i, element) in dst.chunks_exact(width).enumerate() {
                    let from = (i % rows * cols + i / rows) * width;
                    assert_eq!(element, &src[from..from + width], "{width}: {rows}x{cols} at {i}");
                }
            }
        }
    }

    #[test]
    fn a_region_of_the_destination_is_written() {
        let mut dst = [0u8; 9];
        let from = Layout { offset: 0, strides: &[2, 1] };
        let to = Layout { offset: 4, strides: &[3, 1] };
        copy_layout(1, &[2, 2], &[1, 2, 3, 4], from, &mut dst, to);
        assert_eq!(dst, [0, 0, 0, 0, 1, 2, 0, 3, 4]);
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn a_copy_outside_of_the_source_panics() {
        copy_strided(1, &[0; 4], 1, &[1], &[4], &mut [0; 4]);
    }
}
