//! Nearest neighbours: a graph of vectors that others hold, which is read while it changes.
//!
//! ```
//! use stead_ann::{Metric, Options, Query, Request, Rows, Scratch, Writer};
//!
//! let cells = [0.0_f32, 0.0, 3.0, 4.0, 1.0, 1.0];
//! let vectors = Rows::new(&cells, 2);
//! let mut writer = Writer::new(Options::new(Metric::Euclidean));
//! writer.put_all(&vectors, &[0, 1, 2], &stead_ann::alone)?;
//! let graph = writer.publish();
//! let query = Query::new(Metric::Euclidean, &[1.0, 0.5]);
//! let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
//! graph.search(&vectors, &query, &Request::new(2), &mut scratch, &mut hits);
//! assert_eq!(hits.iter().map(|hit| (hit.document, hit.distance)).next(), Some((2, 0.5)));
//! # Ok::<(), stead_ann::AnnError>(())
//! ```
#![forbid(unsafe_code)]

mod cell;
mod compare;
mod distances;
mod error;
mod graph;
mod links;
mod metric;
mod options;
mod pool;
mod search;
mod sketches;
mod stored;
mod table;
#[cfg(test)]
mod tests;
mod vectors;
mod visited;
mod write;

pub use cell::{Cell, Number};
pub use distances::distances;
pub use error::AnnError;
pub use graph::Graph;
pub use metric::Metric;
pub use options::{Options, Tuning};
pub use search::{Hit, Outcome, Query, Request, Scratch, Strategy, exact};
pub use vectors::{Row, Rows, Vectors};
pub use write::{Lent, Writer, alone};
