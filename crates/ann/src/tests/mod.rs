//! Graphs beside a look at all vectors.

mod changes;
mod filters;
mod model;
mod readers;
mod recall;
