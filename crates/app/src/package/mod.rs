//! Application packages: their files, and what is wrong with them.

mod diagnostic;
mod place;

pub use diagnostic::{Diagnostic, MAX_DIAGNOSTICS, Report, Severity};
pub use place::{Located, Place};
