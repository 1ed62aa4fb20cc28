//! The tests of forests as one program.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod bad_models;
mod differences;
mod vespa_golden_values;
