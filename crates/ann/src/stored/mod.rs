//! The links of a graph as bytes, so that it is not built again at a start.
//!
//! All numbers are little endian:
//!
//! | bytes | |
//! |---|---|
//! | 8 | `steadann` |
//! | 4 | the version, 1 |
//! | 1, 1 | the metric by its place in [`METRICS`], and whether documents may have several vectors |
//! | 2 | 0 |
//! | 4, 4 | links of a node on levels above the lowest, and the number of places for nodes |
//! | 4 | the node where searches begin and one more; 0 without nodes |
//! | 8 | the square of the length of the longest vector, f64 |
//! | | for each place, 1: how many levels the node has, 0 where is none; then, where documents may have several vectors, 4 and 4: the document and which of its vectors; then for each level 2: how many links, and 4 for each: a node |
//! | 4 | the CRC-32C of all before |
//!
//! A place takes a byte at least, so that what is read takes no more memory than some hundred times its bytes.

mod read;
#[cfg(test)]
mod tests;
mod write;

use crate::metric::Metric;

const MAGIC: [u8; 8] = *b"steadann";
const VERSION: u32 = 1;
const METRICS: [Metric; 6] = [
    Metric::Euclidean,
    Metric::Angular,
    Metric::DotProduct,
    Metric::PrenormalizedAngular,
    Metric::Geo,
    Metric::Hamming,
];
