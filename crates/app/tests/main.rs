//! The tests of packages as one program.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod common;

mod hostile_packages;
mod packages;
mod schema_meaning;
mod schema_syntax;
