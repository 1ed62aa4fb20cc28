//! The log: standard error, a file if one is named, and the last lines in memory for whoever asks on the deploy port.

use std::fs::OpenOptions;
use std::sync::Mutex;

use stead_server::RecentLog;
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::options::LogOptions;
use super::recent::Recent;
use crate::failure::Failure;

/// Sends events of this process to the log, whose last lines it gives back. Call it once.
///
/// # Errors
/// A log file that cannot be opened.
pub fn start(options: &LogOptions) -> Result<RecentLog, Failure> {
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
    let log = RecentLog::default();
    let recent = Recent(log.clone());
    if options.json {
        builder.json().finish().with(recent).init();
    } else {
        builder.finish().with(recent).init();
    }
    Ok(log)
}
