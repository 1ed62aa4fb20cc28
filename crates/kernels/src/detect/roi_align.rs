//! RoiAlign: regions of a feature map, each as a grid of the same size (He et al., "Mask R-CNN", 2017).

use core::ops::Range;

use crate::Parallel;
use crate::par::{Output, for_ranges};

/// What becomes of the points of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoiMode {
    /// Their mean.
    Mean,
    /// The largest of the four weighted elements of any point, as ONNX Runtime has it.
    Max,
}

/// The sizes and the rules of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoiAlign {
    /// Channels, height and width of a map.
    pub map: [usize; 3],
    /// Maps.
    pub batches: usize,
    /// Height and width of the result for a region.
    pub cells: [usize; 2],
    /// Points of a cell in each direction; 0 for as many as it covers elements.
    pub sampling: usize,
    /// What the numbers of regions are multiplied by to be elements.
    pub scale: f32,
    /// Whether element 0 is centred at 0.5 and not at 0.
    pub half_pixel: bool,
    /// The mean or the maximum.
    pub mode: RoiMode,
}

/// Points that a cell has in one direction at most when their number follows from the region. Of a region that is made up they
/// lie far apart, so that few of them are inside of the map, and the others are not visited.
const MOST_POINTS: f32 = 4096.0;

/// From so many points of a cell on it is worth to look which are inside of the map.
const MANY_POINTS: usize = 64;

/// Writes `[regions, channels, cells]`. `regions` are x1, y1, x2, y2 each, `maps` says which map each is of.
///
/// # Errors
/// The first index that names no map.
///
/// # Panics
/// When lengths do not fit.
pub fn roi_align(
    r: &RoiAlign,
    parallel: &dyn Parallel,
    x: &[f32],
    regions: &[f32],
    maps: &[i64],
    out: &mut [f32],
) -> Result<(), i64> {
    let [channels, height, width] = r.map;
    let (plane, cells) = (height * width, r.cells[0] * r.cells[1]);
    assert_eq!(x.len(), r.batches * channels * plane, "length of the maps");
    assert_eq!(regions.len(), 4 * maps.len(), "four numbers for each region");
    assert_eq!(out.len(), maps.len() * channels * cells, "length of the output");
    if let Some(&bad) = maps.iter().find(|&&m| usize::try_from(m).is_err() || m >= r.batches as i64)
    {
        return Err(bad);
    }
    let work = cells.saturating_mul(4 * r.sampling.max(1) * r.sampling.max(1));
    let out = Output::new(out);
    for_ranges(parallel, maps.len() * channels, work, &|from, to| {
        for row in from..to {
            let (region, channel) = (row / channels, row % channels);
            // SAFETY: each row is in one range.
            let out = unsafe { out.part(row * cells, cells) };
            let map = maps[region] as usize * channels + channel;
            align(r, &x[map * plane..][..plane], &regions[4 * region..][..4], out);
        }
    });
    Ok(())
}

/// One channel of one region.
fn align(r: &RoiAlign, x: &[f32], region: &[f32], out: &mut [f32]) {
    let offset = if r.half_pixel { 0.5 } else { 0.0 };
    let [left, top, right, bottom] = [0, 1, 2, 3].map(|i| region[i] * r.scale - offset);
    let (mut width, mut height) = (right - left, bottom - top);
    if !r.half_pixel {
        // Regions have at least one element, as the first version had it.
        (width, height) = (width.max(1.0), height.max(1.0));
    }
    let [rows, columns] = r.cells;
    let (cell_height, cell_width) = (height / rows as f32, width / columns as f32);
    let points = |size: f32| match r.sampling {
        0 => libm::ceilf(size).clamp(0.0, MOST_POINTS) as usize,
        n => n,
    };
    let (down, across) = (points(cell_height), points(cell_width));
    let all = down.saturating_mul(across);
    let count = all.max(1) as f32;
    for (i, slot) in out.iter_mut().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let (mut sum, mut largest) = (0.0f32, f32::NEG_INFINITY);
        let y = |a: usize| top + cell_height * (row as f32 + (a as f32 + 0.5) / down as f32);
        let z = |b: usize| left + cell_width * (column as f32 + (b as f32 + 0.5) / across as f32);
        let (mut visited_down, mut visited_across) = (0..down, 0..across);
        if all > MANY_POINTS {
            visited_down = inside(down, r.map[1], y);
            visited_across = inside(across, r.map[2], z);
            if visited_down.len() < down || visited_across.len() < across {
                // What the points outside give.
                largest = 0.0;
            }
        }
        for a in visited_down {
            for b in visited_across.clone() {
                for term in terms(x, r.map[1], r.map[2], y(a), z(b)) {
                    sum += term;
                    largest = largest.max(term);
                }
            }
        }
        *slot = match r.mode {
            RoiMode::Mean => sum / count,
            RoiMode::Max if all == 0 => 0.0,
            RoiMode::Max => largest,
        };
    }
}

/// Which of `count` points that lie further and further to the end are inside of an axis of `size` elements, or at most one
/// element outside.
fn inside(count: usize, size: usize, at: impl Fn(usize) -> f32) -> Range<usize> {
    // The first point for which something does not hold that holds for all before it.
    let first_not = |holds: &dyn Fn(f32) -> bool| {
        let (mut from, mut to) = (0, count);
        while from < to {
            let middle = from + (to - from) / 2;
            match holds(at(middle)) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from
    };
    first_not(&|at| at < -1.0)..first_not(&|at| at <= size as f32)
}

/// The four elements around a point, weighted; zeros for a point more than one element outside.
fn terms(x: &[f32], height: usize, width: usize, y: f32, z: f32) -> [f32; 4] {
    let inside = |at: f32, size: usize| at >= -1.0 && at <= size as f32;
    if !(inside(y, height) && inside(z, width)) || height == 0 || width == 0 {
        return [0.0; 4];
    }
    let around = |at: f32, size: usize| {
        let at = at.max(0.0);
        let low = at as usize;
        match low + 1 >= size {
            true => (size - 1, size - 1, 0.0),
            false => (low, low + 1, at - low as f32),
        }
    };
    let ((top, bottom, down), (left, right, across)) = (around(y, height), around(z, width));
    [
        x[top * width + left] * ((1.0 - down) * (1.0 - across)),
        x[top * width + right] * ((1.0 - down) * across),
        x[bottom * width + left] * (down * (1.0 - across)),
        x[bottom * width + right] * (down * across),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn regions_of_a_ramp() {
        let x: [f32; 16] = core::array::from_fn(|i| (i % 4) as f32);
        let r = RoiAlign {
            map: [1, 4, 4],
            batches: 1,
            cells: [1, 2],
            sampling: 2,
            scale: 1.0,
            half_pixel: false,
            mode: RoiMode::Mean,
        };
        let mut out = [f32::NAN; 2];
        let mut run = |r: &RoiAlign, region: [f32; 4]| {
            roi_align(r, &Serial, &x, &region, &[0], &mut out).map(|()| out)
        };
        // Points of the cells lie at 0.25, 0.75 and 1.25, 1.75 of the ramp.
        assert_eq!(run(&r, [0.0, 0.0, 2.0, 2.0]), Ok([0.5, 1.5]));
        assert_eq!(run(&RoiAlign { sampling: 0, ..r }, [0.0, 0.0, 2.0, 2.0]), Ok([0.5, 1.5]));
        assert_eq!(run(&r, [40.0, 40.0, 42.0, 42.0]), Ok([0.0, 0.0]), "outside");
        // Many points, 8 rows of 16 for a cell, of which 5 of 5 are inside: 0, 1, 2, 3 and once more 3 in each row.
        let adaptive = RoiAlign { sampling: 0, ..r };
        let [first, second] = run(&adaptive, [-0.5, -0.5, 31.5, 7.5]).unwrap();
        assert_eq!((first, second), (5.0 * 9.0 / 128.0, 0.0), "partly outside");
        let max = RoiAlign { mode: RoiMode::Max, ..adaptive };
        assert_eq!(run(&max, [-0.5, -0.5, 31.5, 7.5]), Ok([3.0, 0.0]));
        assert_eq!(run(&adaptive, [f32::NAN, 0.0, 1e30, 1e30]), Ok([0.0; 2]));
        let half = RoiAlign { half_pixel: true, ..r };
        assert_eq!(run(&half, [0.5, 0.5, 2.5, 2.5]), Ok([0.5, 1.5]));
        assert_eq!(roi_align(&r, &Serial, &x, &[0.0; 4], &[1], &mut out), Err(1));
    }
}
