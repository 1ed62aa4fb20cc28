//! Where each position of a resized axis lies in the original one, and what it is made of.

use stead_kernels::resample::OUTSIDE;

/// How positions are mapped, by the names of the definition of Resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfHalfPixelForNn,
    TfCropAndResize,
}

/// Which neighbour stands for a position between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
    /// Until opset 10: up when the axis shrinks, else down.
    Simple,
}

/// How a position between elements is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Filter {
    Linear,
    /// Keys' cubic convolution with this coefficient.
    Cubic(f64),
}

/// An axis to resize.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    pub from: usize,
    pub to: usize,
    pub scale: f32,
    /// The part of the axis that is seen, from 0 to 1, for `TfCropAndResize`.
    pub crop: (f32, f32),
    pub coordinates: Coordinates,
}

impl Axis {
    /// Whether nothing changes.
    pub fn is_identity(&self) -> bool {
        let whole = self.coordinates != Coordinates::TfCropAndResize || self.crop == (0.0, 1.0);
        self.from == self.to && self.scale == 1.0 && whole
    }

    /// The extent that the scale gives before it is cut to a whole number; other engines differ here from
    /// the definition.
    fn resized(&self) -> f32 {
        let exact = self.scale * self.from as f32;
        // Scales that were computed from sizes are only rounded.
        let whole = self.to as f32;
        if (exact - whole).abs() < 1e-3 { whole } else { exact }
    }

    /// The position in the original axis; `None` outside of it where that matters. Computed in f32, as
    /// other engines do, so that ties between neighbours fall the same way.
    fn original(&self, at: usize) -> Option<f32> {
        let x = at as f32;
        let (from, to) = (self.from as f32, self.resized());
        Some(match self.coordinates {
            Coordinates::HalfPixel => (x + 0.5) / self.scale - 0.5,
            Coordinates::HalfPixelSymmetric => {
                let adjustment = self.to as f32 / to;
                from / 2.0 * (1.0 - adjustment) + (x + 0.5) / self.scale - 0.5
            }
            Coordinates::PytorchHalfPixel if to == 1.0 => 0.0,
            Coordinates::PytorchHalfPixel => (x + 0.5) / self.scale - 0.5,
            Coordinates::AlignCorners if to == 1.0 => 0.0,
            Coordinates::AlignCorners => x * (from - 1.0) / (to - 1.0),
            Coordinates::Asymmetric => x / self.scale,
            Coordinates::TfHalfPixelForNn => (x + 0.5) / self.scale,
            Coordinates::TfCropAndResize => {
                let (start, end) = self.crop;
                let x = if to != 1.0 {
                    start * (from - 1.0) + x * (end - start) * (from - 1.0) / (to - 1.0)
                } else {
                    0.5 * (start + end) * (from - 1.0)
                };
                return (0.0..=from - 1.0).contains(&x).then_some(x);
            }
        })
    }

    /// The original position of each position for nearest neighbours, -1 for the value outside.
    pub fn nearest(&self, mode: Nearest) -> Vec<isize> {
        let last = self.from as isize - 1;
        let pick = |x: f32| match mode {
            Nearest::RoundPreferFloor => (x - 0.5).ceil(),
            Nearest::RoundPreferCeil => (x + 0.5).floor(),
            Nearest::Floor => x.floor(),
            Nearest::Ceil => x.ceil(),
            Nearest::Simple if self.scale < 1.0 => x.ceil(),
            Nearest::Simple => x.trunc(),
        };
        let position = |at| self.original(at).map_or(-1, |x| (pick(x) as isize).clamp(0, last));
        (0..self.to).map(position).collect()
    }

    /// The first neighbour of each position, counted from the one before it, and how many there are.
    pub fn tap_count(&self, filter: Filter, antialias: bool) -> (isize, usize) {
        let reach = match filter {
            Filter::Linear => 1.0,
            Filter::Cubic(_) => 2.0,
        };
        // A hostile scale must not make more taps than there are elements to reach.
        let reach = (-reach / self.stretch(antialias)).floor() + 1.0;
        let first = reach.max(-(self.from as f64) - 1.0) as isize;
        (first, (2 - 2 * first).unsigned_abs())
    }

    /// How much wider the filter is. Only where an axis shrinks is there something to smooth.
    fn stretch(&self, antialias: bool) -> f64 {
        if antialias { f64::from(self.scale).min(1.0) } else { 1.0 }
    }

    /// Positions and weights for an interpolation, and how many there are for each element.
    pub fn taps(
        &self,
        filter: Filter,
        antialias: bool,
        exclude_outside: bool,
    ) -> (usize, Vec<usize>, Vec<f64>) {
        let stretch = self.stretch(antialias);
        let (first, count) = self.tap_count(filter, antialias);
        let entries = self.to * count;
        let (mut positions, mut weights) =
            (Vec::with_capacity(entries), Vec::with_capacity(entries));
        for at in 0..self.to {
            let Some(x) = self.original(at) else {
                positions.extend(std::iter::repeat_n(OUTSIDE, count));
                weights.extend(std::iter::repeat_n(0.0, count));
                continue;
            };
            let mut floor = f64::from(x).floor();
            let mut ratio = f64::from(x) - floor;
            if ratio == 0.0 {
                // The window prefers elements before the position.
                (floor, ratio) = (floor - 1.0, 1.0);
            }
            let start = weights.len();
            for tap in first..first + count as isize {
                let position = floor as isize + tap;
                let inside = (0..self.from as isize).contains(&position);
                let weight = match filter {
                    _ if exclude_outside && !inside => 0.0,
                    Filter::Linear => linear((tap as f64 - ratio) * stretch),
                    Filter::Cubic(a) => cubic((tap as f64 - ratio) * stretch, a),
                };
                positions.push(position.clamp(0, self.from as isize - 1) as usize);
                weights.push(weight);
            }
            let sum: f64 = weights[start..].iter().sum();
            if (antialias || exclude_outside) && sum != 0.0 {
                weights[start..].iter_mut().for_each(|w| *w /= sum);
            }
        }
        (count, positions, weights)
    }
}

/// The triangle filter.
fn linear(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// Keys, "Cubic convolution interpolation for digital image processing", 1981.
fn cubic(x: f64, a: f64) -> f64 {
    let x = x.abs();
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(from: usize, to: usize, coordinates: Coordinates) -> Axis {
        Axis { from, to, scale: to as f32 / from as f32, crop: (0.0, 1.0), coordinates }
    }

    #[test]
    fn nearest_neighbours_follow_the_mode() {
        use Coordinates::{AlignCorners, Asymmetric, HalfPixel};
        let cases: [(&str, Axis, Nearest, &[isize]); 5] = [
            ("twice", axis(2, 4, HalfPixel), Nearest::RoundPreferFloor, &[0, 0, 1, 1]),
            ("half, floor", axis(4, 2, HalfPixel), Nearest::RoundPreferFloor, &[0, 2]),
            ("half, ceil", axis(4, 2, HalfPixel), Nearest::RoundPreferCeil, &[1, 3]),
            ("corners", axis(3, 5, AlignCorners), Nearest::Ceil, &[0, 1, 1, 2, 2]),
            ("old and shrinking", axis(5, 2, Asymmetric), Nearest::Simple, &[0, 3]),
        ];
        for (label, axis, mode, expected) in cases {
            assert_eq!(axis.nearest(mode), expected, "{label}");
        }
    }

    #[test]
    fn weights_sum_to_one() {
        use Coordinates::HalfPixel;
        for (from, to) in [(4, 7), (7, 4), (10, 3), (1, 3)] {
            for filter in [Filter::Linear, Filter::Cubic(-0.75)] {
                for antialias in [false, true] {
                    let (count, positions, weights) =
                        axis(from, to, HalfPixel).taps(filter, antialias, false);
                    assert!(positions.iter().all(|&p| p < from));
                    for row in weights.chunks_exact(count) {
                        let sum: f64 = row.iter().sum();
                        assert!((sum - 1.0).abs() < 1e-9, "{from} to {to}, {filter:?}: {sum}");
                    }
                }
            }
        }
    }

    #[test]
    fn positions_outside_of_a_crop_are_marked() {
        let crop = Axis { crop: (0.0, 2.0), ..axis(3, 3, Coordinates::TfCropAndResize) };
        assert_eq!(crop.nearest(Nearest::RoundPreferFloor), [0, 2, -1]);
        let (count, positions, _) = crop.taps(Filter::Linear, false, false);
        assert_eq!(positions[2 * count], OUTSIDE);
    }
}
