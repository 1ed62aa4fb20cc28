//! What can go wrong with a log. No text holds a path of the server.

use std::io;
use std::sync::Arc;

/// An error of the log, a manifest or the folder that holds them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The operating system refused an operation.
    #[error("cannot {action} {what}: {kind}")]
    Io {
        /// The verb: `open`, `append to`, `sync` and so on.
        action: &'static str,
        /// The file's name within the folder of the log, or `the folder of the log`.
        what: String,
        /// What the operating system answered.
        kind: io::ErrorKind,
    },
    /// Another process holds the folder.
    #[error("the folder of the log is in use by another process")]
    Locked,
    /// A segment holds bytes that were not written like this.
    #[error("segment {segment} is corrupt at byte {offset}: {reason}")]
    Corrupt {
        /// The segment's number.
        segment: u64,
        /// Where in the segment the first damaged structure begins.
        offset: u64,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The numbers of the segments have a gap.
    #[error("segment {segment} is missing")]
    Missing {
        /// The first number without a file.
        segment: u64,
    },
    /// A newer stead wrote the segment.
    #[error("segment {segment} has format version {found}, expected {expected}")]
    Version {
        /// The segment's number.
        segment: u64,
        /// The version in its header.
        found: u32,
        /// The version that this build reads and writes.
        expected: u32,
    },
    /// The segment belongs to a log of another kind.
    #[error("segment {segment} has tag \"{found}\", expected \"{expected}\"")]
    Tag {
        /// The segment's number.
        segment: u64,
        /// The tag in its header.
        found: String,
        /// The tag in [`LogOptions`](crate::LogOptions).
        expected: String,
    },
    /// A record is larger than [`LogOptions::max_record_bytes`](crate::LogOptions::max_record_bytes).
    #[error("record has {len} bytes, expected at most {max}")]
    TooLarge {
        /// The record's length.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// The queue of records that wait for the disk is full, and the caller must not or would not wait.
    #[error("the queue of the log is full")]
    QueueFull,
    /// An operation that waits for the log was called by one of the log's own callbacks.
    #[error("the log cannot be waited for on its own thread")]
    OnLogThread,
    /// An earlier error has stopped the log for good; what was acknowledged before is safe.
    #[error("the log has stopped: {0}")]
    Stopped(Arc<LogError>),
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// A manifest is damaged or not a manifest.
    #[error("manifest {name} is corrupt: {reason}")]
    Manifest {
        /// The manifest's name.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// An option has a value that cannot work.
    #[error("{0}")]
    Option(&'static str),
}

impl LogError {
    /// Wraps an answer of the operating system; `what` is a name within the folder, never a path.
    pub(crate) fn io(action: &'static str, what: &str, error: &io::Error) -> Self {
        LogError::Io { action, what: what.to_owned(), kind: error.kind() }
    }
}
