//! Sketches of the vectors of a graph, which tell of most that they are too far without a look at them.

use std::ops::Range;

use stead_kernels::Isa;
use stead_kernels::vector::{SKETCH_LEN, SKETCHED, SketchLine, sketch};

use crate::cell::Cell;
use crate::metric::Metric;
use crate::table::Table;

/// A sketch is made where the vector takes at least so many times its memory.
const WORTH: usize = 6;

/// Bytes of vectors that no cache holds. Of those that one holds a look at a sketch takes as long as it saves: searches of 51 MB of 128 f32 were
/// measured to take a tenth longer with sketches, of 512 MB a tenth less, and of 292 MB of 384 f32 a quarter less.
const LARGE: usize = 1 << 27;

/// Lengths of vectors whose products and squares are surely numbers of f32 with all of their digits.
pub(crate) const LENGTHS: Range<f64> = 1e-15..1e18;

/// How much sums of f32 may be off, as a part, for each number of a vector.
const ROUNDING: f64 = 1.0 / (1 << 23) as f64;

/// Numbers of four bits for each node, after an idea of R. Weber et al., *A quantitative analysis and performance study for
/// similarity-search methods in high-dimensional spaces*, 1998; with what is left over at a right angle to the vector, after J. Gao and C. Long,
/// *RaBitQ*, 2024. A number stands for its node's step, times itself less 7.5.
#[derive(Debug, Clone)]
pub(crate) struct Sketches {
    metric: Metric,
    /// The bytes of vectors from which on there are sketches of them
    from: usize,
    /// The numbers of a vector; 0 where there are no sketches
    size: usize,
    lines: Table<SketchLine>,
    notes: Table<u32>,
    /// The square of the length of the longest vector there ever was
    pub(crate) longest: f64,
    /// [`APART_UNIT`] of vectors of that size
    apart_unit: f64,
}

/// What is known of a sketch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Note {
    pub(crate) step: f64,
    /// How far the vector is from what its sketch stands for, at most
    pub(crate) apart: f64,
    /// The square of the length of the vector, or of the longest where it is not needed
    pub(crate) square: f64,
}

/// The lower bits of a packed note, which are for how far a vector is from its sketch; the others have the step without its sign.
const APART_BITS: u32 = 12;

/// Bits of an f32 that a step goes without.
const STEP_SHIFT: u32 = APART_BITS - 1;

/// How far steps are from what would leave over no more than what is at a right angle to the vector, as a part.
pub(crate) const STEP_ERROR: f64 = 1.0 / (1 << 12) as f64;

/// The distance of a sketch that is 1 in its note, as a part of the step and of the root of the number of numbers.
const APART_UNIT: f64 = 1.0 / 2048.0;

impl Sketches {
    /// None, before there are enough vectors: of those that are far, which no cache holds anyway, one is.
    pub(crate) fn new(metric: Metric, is_far: bool) -> Sketches {
        let notes = Table::new(if metric == Metric::PrenormalizedAngular { 1 } else { 2 });
        let from = if is_far { 0 } else { LARGE };
        let (lines, longest, apart_unit) = (Table::new(1), 0.0, 0.0);
        Sketches { metric, from, size: 0, lines, notes, longest, apart_unit }
    }

    /// None, with another limit of bytes.
    #[cfg(test)]
    pub(crate) fn from(metric: Metric, from: usize) -> Sketches {
        Sketches { from, ..Sketches::new(metric, false) }
    }

    /// Of how many numbers; 0 if there are none.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether there are sketches of vectors that are compared in this way.
    pub(crate) fn are_for<T: Cell>(metric: Metric) -> bool {
        T::IS_SKETCHED && !matches!(metric, Metric::Geo | Metric::Hamming)
    }

    /// Whether so many vectors of so many numbers are large, and each is long enough beside its sketch.
    pub(crate) fn are_worth<T: Cell>(&self, vectors: usize, size: usize) -> bool {
        let (bytes, lines) = (size * size_of::<T>(), size.div_ceil(SKETCHED));
        bytes >= WORTH * lines * size_of::<SketchLine>()
            && (1..=SKETCH_LEN).contains(&size)
            && vectors.saturating_mul(bytes) >= self.from
            && Sketches::are_for::<T>(self.metric)
    }

    /// Whether so many vectors are so far below the limit that sketches of them only take memory: not before they are half of it, so that a few
    /// that come and go do not make all sketches again.
    pub(crate) fn are_too_few<T: Cell>(&self, vectors: usize) -> bool {
        vectors.saturating_mul(self.size * size_of::<T>()) < self.from / 2
    }

    /// None yet, of vectors of so many numbers; 0 for none at all.
    pub(crate) fn empty(&self, size: usize) -> Sketches {
        let lines = Table::new(size.div_ceil(SKETCHED).max(1));
        let apart_unit = APART_UNIT * (size as f64).sqrt();
        Sketches { from: self.from, size, lines, apart_unit, ..Sketches::new(self.metric, false) }
    }

    /// Sketches the vector of a node, of which the square of the length is known; nothing where there are no sketches.
    pub(crate) fn put<T: Cell>(&mut self, isa: Isa, node: u32, vector: &[T], square: f64) {
        if self.size == 0 {
            return;
        }
        let notes = self.notes.get_mut(node);
        notes.fill(0);
        if vector.len() != self.size {
            return;
        }
        let numbers = T::floats(vector);
        let (dot, of_sketch) = sketch(isa, &numbers, self.lines.get_mut(node));
        if let Some(note) = packed(self.size, square, dot.into(), of_sketch.into()) {
            notes[0] = note;
            notes.iter_mut().skip(1).for_each(|place| *place = (square as f32).to_bits());
        }
        self.longest = self.longest.max(square);
    }

    /// Takes those of some nodes, which have numbers from 0 on in the others, of vectors of the same length.
    pub(crate) fn take(&mut self, nodes: Range<u32>, others: &Sketches) {
        self.longest = self.longest.max(others.longest);
        for (at, node) in (0..).zip(nodes) {
            let (lines, notes) = others.places(at);
            if notes.first().is_some_and(|note| *note != 0) {
                self.lines.get_mut(node).copy_from_slice(lines);
                self.notes.get_mut(node).copy_from_slice(notes);
            }
        }
    }

    /// The sketch of a node, if it has one.
    #[inline(always)]
    pub(crate) fn get(&self, node: u32) -> Option<(Note, &[SketchLine])> {
        let (step, apart, square) = match *self.notes.get(node) {
            [note] => (note >> APART_BITS, note, self.longest),
            [note, square] => (note >> APART_BITS, note, f32::from_bits(square).into()),
            _ => return None,
        };
        let step = f64::from(f32::from_bits(step << STEP_SHIFT));
        let apart = f64::from(apart & ((1 << APART_BITS) - 1));
        let apart = apart * step * self.apart_unit;
        (step > 0.0).then(|| (Note { step, apart, square }, self.lines.get(node)))
    }

    /// Where the sketch of a node lies, and where what is known of it.
    #[inline(always)]
    pub(crate) fn places(&self, node: u32) -> (&[SketchLine], &[u32]) {
        (self.lines.get(node), self.notes.get(node))
    }

    /// As [`Graph::settle`](crate::Graph::settle).
    pub(crate) fn settle(&mut self) {
        self.lines.settle();
        self.notes.settle();
    }

    /// The memory that they take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.lines.memory() + self.notes.memory()
    }
}

/// What is known of a sketch of so many numbers, by the square of the length of the vector, its product with the numbers of the sketch, and the
/// square of the length of these; nothing where it cannot be told.
fn packed(size: usize, square: f64, dot: f64, of_sketch: f64) -> Option<u32> {
    // With this step the vector and what its sketch leaves over are at a right angle.
    let step = (square / dot) as f32;
    if !(dot > 0.0 && step.is_normal() && LENGTHS.contains(&square.sqrt())) {
        return None;
    }
    let bits = (step.to_bits() + (1 << (STEP_SHIFT - 1))) >> STEP_SHIFT;
    let step = f64::from(f32::from_bits(bits << STEP_SHIFT));
    let rounding = (size + 32) as f64 * ROUNDING * square;
    let apart = (square - 2.0 * step * dot + step * step * of_sketch).max(0.0) + rounding;
    let apart = (apart / size as f64).sqrt() / (step * APART_UNIT);
    let is_near = apart.ceil() < f64::from(1 << APART_BITS) && step.is_finite();
    is_near.then(|| bits << APART_BITS | apart.ceil() as u32)
}
