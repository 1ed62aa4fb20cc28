//! Which nodes may be near enough, by their sketches.

use std::array;
use std::sync::OnceLock;

use stead_kernels::Isa;
use stead_kernels::vector::{
    MIDDLE, SKETCH_LEN, SKETCH_MOST, SKETCHED, SketchFactors, SketchLine, prefetch, sketch_dots,
};

use crate::cell::Cell;
use crate::compare::{BATCH, Comparer};
use crate::graph::Graph;
use crate::metric::Metric;
use crate::sketches::{LENGTHS, Note, STEP_ERROR, Sketches};

/// How much sums of f32 may be off, as a part, for each number of a vector: several times what they are.
const ROUNDING: f64 = 1.0 / (1 << 22) as f64;

/// A vector that others are compared with, in whole numbers: what sketches are multiplied with.
#[derive(Debug, Clone)]
pub(crate) struct Rough {
    isa: Isa,
    metric: Metric,
    /// How many numbers it has; in `factors` there are whole lines.
    size: usize,
    factors: Vec<SketchFactors>,
    /// What 1 stands for
    unit: f64,
    /// What the products with the middle of the numbers of a sketch sum to
    middle: f64,
    /// Its length, and how far it is from what the numbers stand for
    length: f64,
    apart: f64,
    /// As in a comparer: the square of its length, and of that which all vectors get
    square: f64,
    level: Option<f64>,
}

impl Rough {
    /// Nothing where there are no sketches to compare with.
    pub(crate) fn new<T: Cell>(comparer: &Comparer<'_, T>) -> Option<Rough> {
        let (size, metric) = (comparer.len(), comparer.metric());
        if !Sketches::are_for::<T>(metric) || !(1..=SKETCH_LEN).contains(&size) {
            return None;
        }
        let wide = || comparer.wide().iter().map(|x| -> f64 { (*x).into() });
        let most = wide().fold(0.0_f64, |most, x| most.max(x.abs()));
        let length = wide().map(|x| x * x).sum::<f64>().sqrt();
        if !LENGTHS.contains(&length) {
            return None;
        }
        let unit = most / f64::from(SKETCH_MOST);
        // The nearest whole number, without a call that a cast to one does not need.
        let whole = |x: f64| (x / unit + f64::from(SKETCH_MOST) + 0.5) as i16 - SKETCH_MOST;
        let mut numbers: Vec<i16> = wide().map(whole).collect();
        let apart = wide().zip(&numbers).map(|(x, number)| (x - unit * f64::from(*number)).powi(2));
        let apart = apart.sum::<f64>().sqrt();
        let middle = numbers.iter().map(|x| f64::from(*x)).sum::<f64>() * f64::from(MIDDLE);
        numbers.resize(size.next_multiple_of(SKETCHED), 0);
        let factors = numbers.as_chunks().0.iter().map(SketchFactors::of).collect();
        let (isa, (square, level)) = (comparer.isa(), comparer.squares());
        Some(Rough { isa, metric, size, factors, unit, middle, length, apart, square, level })
    }
}

/// A vector beside the sketches of a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sieve<'s> {
    rough: &'s Rough,
    sketches: &'s Sketches,
}

/// What a vector that is near enough has.
#[derive(Debug, Clone, Copy)]
struct Bar {
    /// What the product with its sketch is at least, and
    least: f64,
    /// by how many times the distance of vector and sketch it may be less.
    reach: f64,
}

impl<'s> Sieve<'s> {
    /// Nothing where there are no sketches, or they are of others.
    pub(crate) fn new<T: Cell>(
        comparer: &Comparer<'_, T>,
        rough: &'s OnceLock<Option<Rough>>,
        graph: &'s Graph,
    ) -> Option<Sieve<'s>> {
        let sketches = &graph.sketches;
        if sketches.size() != comparer.len() {
            return None;
        }
        let rough = rough.get_or_init(|| Rough::new(comparer)).as_ref()?;
        (sketches.longest.sqrt() < LENGTHS.end).then_some(Sieve { rough, sketches })
    }

    /// Asks for the sketch of a node.
    #[inline(always)]
    pub(super) fn prefetch(&self, node: u32) {
        let (lines, note) = self.sketches.places(node);
        prefetch(lines);
        prefetch(note);
    }

    /// Which of at most [`BATCH`] nodes may have an order that is not above a limit: all others have not.
    pub(crate) fn may_pass(&self, nodes: &[u32], limit: f32, pass: &mut [bool; BATCH]) {
        let mut notes = [Note { step: 0.0, apart: 0.0, square: 0.0 }; BATCH];
        let mut lines: [&[SketchLine]; BATCH] = array::from_fn(|_| &[][..]);
        let mut known = [0; BATCH];
        let mut count = 0;
        for (at, node) in nodes.iter().enumerate() {
            pass[at] = true;
            if let Some((note, sketch)) = self.sketches.get(*node) {
                (notes[count], lines[count], known[count]) = (note, sketch, at);
                count += 1;
            }
        }
        let mut dots = [0; BATCH];
        let Rough { isa, factors, metric, .. } = self.rough;
        sketch_dots(*isa, factors, &lines[..count], &mut dots[..count]);
        let limit = f64::from(limit);
        let of_longest = self.bar(limit, self.sketches.longest);
        for ((at, note), dot) in known.iter().zip(&notes).zip(dots).take(count) {
            let bar = match metric {
                Metric::PrenormalizedAngular => of_longest,
                _ => self.bar(limit, note.square),
            };
            let product = self.rough.unit * note.step * (f64::from(dot) - self.rough.middle);
            // What is no number passes.
            let is_too_far = product + bar.reach * note.apart < bar.least;
            pass[*at] = !is_too_far;
        }
    }

    /// What vectors have that are near enough, of which the square of the length is this, or at most this where all that counts are products.
    fn bar(&self, limit: f64, square: f64) -> Bar {
        let Rough { size, metric, length, apart, .. } = *self.rough;
        let rounding = (size + 16) as f64 * ROUNDING;
        let other = square.sqrt() * (1.0 + rounding);
        // The least product of a vector that is near enough, less what sums may be off.
        let mut least = match (metric, self.rough.level) {
            (Metric::Euclidean, _) => {
                let squares = length * length + other * other;
                (squares - limit) / 2.0 - rounding * squares
            }
            (Metric::Angular, _) => (1.0 - limit) * length * other,
            (_, None) => -limit,
            (_, Some(level)) => {
                let rest = |square: f64| (level - square).max(0.0) + rounding * level;
                -limit - (rest(square) * rest(self.rough.square)).sqrt()
            }
        };
        least -= rounding * length * other;
        // With a product of that size no more than this of the vector is at a right angle to the other, and what a sketch leaves over is at one too.
        let along = if least > 0.0 { least / other } else { 0.0 };
        let across = (length * length - along * along).max(0.0).sqrt() + rounding * length;
        Bar { least: least - (apart + STEP_ERROR * length) * other, reach: across + apart }
    }
}
