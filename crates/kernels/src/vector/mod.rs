//! What rankings are made of: measures between vectors of a query and vectors of many documents, and functions of
//! numbers of many documents.
//!
//! The vectors of documents lie behind each other and are read where they lie, in the type in which they are stored.
//!
//! ```
//! use stead_kernels::Isa;
//! use stead_kernels::vector::{Measure, rows};
//! let documents: [i8; 6] = [1, 2, 3, 4, 5, 6];
//! let mut scores = [0.0_f32; 3];
//! rows(Isa::detect(), Measure::Dot, &[10.0, 1.0], &documents, &mut scores);
//! assert_eq!(scores, [12.0, 34.0, 56.0]);
//! ```

mod bits;
mod hamming;
mod numbers;
mod rows;
mod scattered;
mod sketch;
mod tokens;

pub use bits::{bit_sums, bit_tables, bit_tables_len, bit_tokens};
pub use hamming::{
    Extreme, hamming_lanes, hamming_rows, hamming_tokens, hamming_words, hamming_words_len,
};
pub use numbers::{Operand, Zip, add_scaled, widen, zip};
pub use rows::{Floats, Measure, Wide, Widen, dot_i8, rows};
pub use scattered::{dots_and_squares, hamming_scattered, prefetch, prefetch_begin, scattered};
pub use sketch::{
    MIDDLE, SKETCH_LEN, SKETCH_MOST, SKETCHED, SketchFactors, SketchLine, sketch, sketch_dots,
};
pub use tokens::{LANES, lanes, lanes_len, tokens};

#[cfg(test)]
mod tests;
