//! The tests of expressions as one program, but for those that count what is allocated.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod batch;
mod cells;
mod conformance;
mod expressions;
mod sizes;
