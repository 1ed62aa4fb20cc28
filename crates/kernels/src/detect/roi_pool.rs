//! MaxRoiPool: the greatest elements of regions in a grid of the same size (R. Girshick, "Fast R-CNN", 2015).

use crate::Parallel;
use crate::par::{Output, for_ranges};

/// The sizes of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoiPool {
    /// Channels, height and width of a map.
    pub map: [usize; 3],
    /// Maps.
    pub batches: usize,
    /// Height and width of the result for a region.
    pub cells: [usize; 2],
    /// What the numbers of regions are multiplied by to be elements.
    pub scale: f32,
}

/// The numbers of a region: the map, then left, top, right and bottom, both of the latter included.
pub const REGION: usize = 5;

/// Writes `[regions, channels, cells]`. A cell without elements is 0.
///
/// # Errors
/// The first number that names no map.
///
/// # Panics
/// When lengths do not fit.
pub fn max_roi_pool(
    p: &RoiPool,
    parallel: &dyn Parallel,
    x: &[f32],
    regions: &[f32],
    out: &mut [f32],
) -> Result<(), f32> {
    let [channels, height, width] = p.map;
    let (plane, cells) = (height * width, p.cells[0] * p.cells[1]);
    let regions = regions.as_chunks::<REGION>().0;
    assert_eq!(x.len(), p.batches * channels * plane, "length of the maps");
    assert_eq!(out.len(), regions.len() * channels * cells, "length of the output");
    let is_map = |map: f32| map >= 0.0 && map < p.batches as f32;
    if let Some([bad, ..]) = regions.iter().find(|region| !is_map(region[0])) {
        return Err(*bad);
    }
    let out = Output::new(out);
    for_ranges(parallel, regions.len() * channels, plane.max(cells), &|from, to| {
        for row in from..to {
            let (region, channel) = (&regions[row / channels], row % channels);
            // SAFETY: each row is in one range.
            let out = unsafe { out.part(row * cells, cells) };
            let map = region[0] as usize * channels + channel;
            pool(p, &x[map * plane..][..plane], region, out);
        }
    });
    Ok(())
}

/// One channel of one region.
fn pool(p: &RoiPool, x: &[f32], region: &[f32; REGION], out: &mut [f32]) {
    let [left, top, right, bottom] = [1, 2, 3, 4].map(|i| libm::roundf(region[i] * p.scale));
    let [rows, columns] = p.cells;
    // A region has at least one element.
    let cell = |first: f32, last: f32, cells: usize, size: usize| {
        let length = (last - first + 1.0).max(1.0) / cells as f32;
        let within = move |place: f32| place.clamp(0.0, size as f32) as usize;
        move |at: usize| {
            let begin = within(libm::floorf(at as f32 * length) + first);
            begin..within(libm::ceilf((at + 1) as f32 * length) + first)
        }
    };
    let down = cell(top, bottom, rows, p.map[1]);
    let across = cell(left, right, columns, p.map[2]);
    for (i, slot) in out.iter_mut().enumerate() {
        let across = across(i % columns);
        let lines = down(i / columns).filter(|_| !across.is_empty());
        let greatest = lines.flat_map(|y| &x[y * p.map[2]..][across.clone()]).copied();
        *slot = greatest.reduce(|a, b| if b > a { b } else { a }).unwrap_or(0.0);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::{RoiPool, max_roi_pool};
    use crate::Serial;

    #[test]
    fn cells_have_their_greatest_elements() {
        let x: Vec<f32> = (0..24).map(|n| n as f32).collect();
        let pool = RoiPool { map: [1, 3, 4], batches: 2, cells: [2, 2], scale: 1.0 };
        for (label, scale, region, expected) in [
            (
                "the whole of the second map",
                1.0,
                [1.0, 0.0, 0.0, 3.0, 2.0],
                [17.0, 19.0, 21.0, 23.0],
            ),
            ("at half the size", 0.5, [0.0, 0.0, 0.0, 6.0, 4.0], [5.0, 7.0, 9.0, 11.0]),
            ("one element", 1.0, [0.0, 1.0, 1.0, 1.0, 1.0], [5.0, 5.0, 5.0, 5.0]),
            ("upside down: one element", 1.0, [0.0, 2.0, 2.0, 0.0, 0.0], [10.0, 10.0, 10.0, 10.0]),
            ("outside", 1.0, [0.0, 9.0, 9.0, 12.0, 12.0], [0.0, 0.0, 0.0, 0.0]),
        ] {
            let mut out = [f32::NAN; 4];
            max_roi_pool(&RoiPool { scale, ..pool }, &Serial, &x, &region, &mut out).unwrap();
            assert_eq!(out, expected, "{label}");
        }
        for map in [2.0, -1.0, f32::NAN] {
            let region = [map, 0.0, 0.0, 1.0, 1.0];
            let error = max_roi_pool(&pool, &Serial, &x, &region, &mut [0.0; 4]).unwrap_err();
            assert_eq!(error.to_bits(), map.to_bits());
        }
    }
}
