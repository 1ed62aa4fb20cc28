//! Tests of the node as a whole, on models that are one line of text.

mod durable;
pub(crate) mod fake;
mod pipelines;
mod reload;
mod requests;
mod schedule;
mod sequences;
