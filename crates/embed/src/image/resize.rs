//! Images in another size, cell by cell as Pillow makes them, by which image models are trained: two passes of weights in fixed point, each
//! rounded to bytes (facts: Pillow, `src/libImaging/Resample.c`; cells across before cells down, as
//! Pillow 10 does it).

use super::Pixels;

/// The bits of a weight behind the point.
const BITS: u32 = 22;

/// How cells of a resized image are made of those around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resample {
    /// The nearest one.
    Nearest,
    /// A triangle as wide as what becomes one cell.
    Bilinear,
    /// A cubic of twice that width, with -1/2.
    Bicubic,
    /// A windowed sinc of three times that width.
    Lanczos,
}

impl Resample {
    /// How far from the centre there are weights, in cells of the smaller image.
    fn support(self) -> f64 {
        match self {
            Resample::Nearest => 0.5,
            Resample::Bilinear => 1.0,
            Resample::Bicubic => 2.0,
            Resample::Lanczos => 3.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        const A: f64 = -0.5;
        let (x, sinc) = (x.abs(), |x: f64| match x {
            0.0 => 1.0,
            x => (x * std::f64::consts::PI).sin() / (x * std::f64::consts::PI),
        });
        match self {
            Resample::Nearest => f64::from(u8::from(x <= 0.5)),
            Resample::Bilinear if x < 1.0 => 1.0 - x,
            Resample::Bicubic if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
            Resample::Bicubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
            Resample::Lanczos if x < 3.0 => sinc(x) * sinc(x / 3.0),
            _ => 0.0,
        }
    }
}

/// Cells of one axis of the result that are wanted, of an image with more of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The cells that the axis would have as a whole.
    pub size: usize,
    /// The first that is wanted.
    pub from: usize,
    /// How many are wanted.
    pub count: usize,
}

impl Window {
    /// All cells.
    #[must_use]
    pub fn all(size: usize) -> Window {
        Window { size, from: 0, count: size }
    }
}

/// The cells that a cell is made of: the first, and the weight of each.
struct Sum {
    first: usize,
    weights: Vec<i64>,
}

/// A part of the image in another size. Time and memory are those of the part and of what it is made of.
#[must_use]
pub fn resize(image: &Pixels, columns: Window, rows: Window, by: Resample) -> Pixels {
    let (across, down) = (sums(image.width, columns, by), sums(image.height, rows, by));
    // Only rows that the second pass reads.
    let top = down.iter().map(|sum| sum.first).min().unwrap_or(0);
    let bottom = down.iter().map(|sum| sum.first + sum.weights.len()).max().unwrap_or(0);
    let height = bottom.saturating_sub(top);
    let mut middle = Pixels::black(columns.count, height);
    for y in 0..height {
        for (x, sum) in across.iter().enumerate() {
            let cells = (sum.first..).map(|x| image.at(x, top + y));
            middle.set(x, y, weighted(sum, cells));
        }
    }
    let mut found = Pixels::black(columns.count, rows.count);
    for (y, sum) in down.iter().enumerate() {
        for x in 0..columns.count {
            let cells = (sum.first - top..).map(|y| middle.at(x, y));
            found.set(x, y, weighted(sum, cells));
        }
    }
    found
}

fn weighted(sum: &Sum, cells: impl Iterator<Item = [u8; 3]>) -> [u8; 3] {
    let mut total = [1_i64 << (BITS - 1); 3];
    for (weight, cell) in sum.weights.iter().zip(cells) {
        for (total, value) in total.iter_mut().zip(cell) {
            *total += i64::from(value) * weight;
        }
    }
    total.map(|total| (total >> BITS).clamp(0, 255) as u8)
}

/// What each wanted cell of an axis with `from` cells is made of.
fn sums(from: usize, window: Window, by: Resample) -> Vec<Sum> {
    let cells = window.from..window.from + window.count;
    // As it is, nothing is weighed.
    if from == window.size {
        return cells.map(|at| Sum { first: at, weights: vec![1 << BITS] }).collect();
    }
    let scale = from as f64 / window.size as f64;
    if by == Resample::Nearest {
        let nearest =
            |at: usize| (((at as f64 + 0.5) * scale) as usize).min(from.saturating_sub(1));
        return cells.map(|at| Sum { first: nearest(at), weights: vec![1 << BITS] }).collect();
    }
    let wide = scale.max(1.0);
    let support = by.support() * wide;
    let sum = |at: usize| {
        let centre = (at as f64 + 0.5) * scale;
        // Negative numbers become 0.
        let first = (centre - support + 0.5) as usize;
        let end = ((centre + support + 0.5) as usize).min(from);
        let weight = |x: usize| by.weight((x as f64 - centre + 0.5) / wide);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let total: f64 = weights.iter().sum();
        let part = |weight: f64| if total == 0.0 { weight } else { weight / total };
        let fixed = |weight: f64| (part(weight) * f64::from(1 << BITS)).round() as i64;
        Sum { first, weights: weights.into_iter().map(fixed).collect() }
    };
    cells.map(sum).collect()
}
