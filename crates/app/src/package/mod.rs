//! Application packages: their files, and what is wrong with them.

mod diagnostic;
mod files;
mod place;

pub use diagnostic::{Diagnostic, MAX_DIAGNOSTICS, Report, Severity};
pub use files::{MAX_ARCHIVE, MAX_FILES, MAX_TEXT_FILE, PackageError, PackageFiles, ReadSeek};
pub use place::{Located, Place};
