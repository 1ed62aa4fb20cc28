//! Graphs beside a look at all vectors.

mod changes;
mod filters;
pub(crate) mod model;
mod readers;
mod recall;
mod sketches;
