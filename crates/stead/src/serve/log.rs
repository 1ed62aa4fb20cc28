//! The log: standard error, and a file if one is named.

use std::fs::OpenOptions;
use std::sync::Mutex;

use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt};

use super::options::LogOptions;
use crate::failure::Failure;

/// Sends events of this process to the log. Call it once.
///
/// # Errors
/// A log file that cannot be opened.
pub fn start(options: &LogOptions) -> Result<(), Failure> {
    let writer = match &options.path {
        None => BoxMakeWriter::new(std::io::stderr),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let file = file.map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
            BoxMakeWriter::new(std::io::stderr.and(Mutex::new(file)))
        }
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(options.level)
        .with_ansi(false) // the log is read by files and collectors more often than by people
        .with_target(false)
        .with_writer(writer);
    if options.json {
        builder.json().init();
    } else {
        builder.init();
    }
    Ok(())
}
