//! How a log is set up.

use crate::error::LogError;
use crate::format::{MAX_SEGMENT_BYTES, RECORD_HEADER_LEN, SEGMENT_HEADER_LEN, Tag};

/// When records are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// One `fdatasync` for each batch: an acknowledged record survives a loss of power.
    #[default]
    Batch,
    /// None but at the end of a segment, on [`flush`](crate::Log::flush) and on a clean close: an acknowledged
    /// record survives the death of the process (`kill -9`), not that of the machine, and not
    /// a sync that fails.
    Never,
}

/// The options of a log. The defaults suit both records of bytes and of megabytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// What kind of log this is; a folder with another kind is refused.
    pub tag: Tag,
    /// A segment that has reached this many bytes is followed by a new one. At most
    /// [`MAX_SEGMENT_BYTES`](crate::format::MAX_SEGMENT_BYTES).
    pub segment_bytes: u64,
    /// The largest payload; it must fit a segment.
    pub max_record_bytes: usize,
    /// Bytes of records that may wait for the disk before [`append`](crate::Log::append) waits. A larger record
    /// is let in when it is alone.
    pub queue_bytes: usize,
    /// When records are made durable.
    pub sync: SyncMode,
    /// Segments whose records are all older than this LSN are not read when the log is opened.
    pub replay_from: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            tag: Tag::default(),
            // Large enough that the few syncs of a new segment do not show, small enough to prune often.
            segment_bytes: 64 << 20,
            max_record_bytes: 16 << 20,
            queue_bytes: 16 << 20,
            sync: SyncMode::Batch,
            replay_from: 0,
        }
    }
}

impl LogOptions {
    /// # Errors
    /// [`LogError::Option`] if sizes do not fit each other.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        if self.segment_bytes > MAX_SEGMENT_BYTES {
            return Err(LogError::Option("segment_bytes must be at most 1 GiB"));
        }
        let overhead = (SEGMENT_HEADER_LEN + RECORD_HEADER_LEN) as u64;
        if self.max_record_bytes as u64 + overhead > self.segment_bytes {
            return Err(LogError::Option(
                "segment_bytes must hold the largest record and 80 bytes",
            ));
        }
        if self.replay_from > u64::MAX / 2 {
            return Err(LogError::Option("replay_from must be below 2^63"));
        }
        if self.queue_bytes == 0 {
            return Err(LogError::Option("queue_bytes must be at least 1"));
        }
        Ok(())
    }
}

/// A tag from its text: the first 16 bytes, padded with 0.
#[must_use]
pub fn tag(text: &str) -> Tag {
    let mut tag = Tag::default();
    for (to, from) in tag.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_must_fit_each_other() {
        let default = LogOptions::default;
        let cases = [
            ("the defaults", default(), true),
            ("huge segment", LogOptions { segment_bytes: (1 << 30) + 1, ..default() }, false),
            ("huge record", LogOptions { max_record_bytes: 64 << 20, ..default() }, false),
            ("no LSN", LogOptions { replay_from: u64::MAX, ..default() }, false),
            ("no queue", LogOptions { queue_bytes: 0, ..default() }, false),
            (
                "just enough",
                LogOptions { segment_bytes: 1080, max_record_bytes: 1000, ..default() },
                true,
            ),
        ];
        for (label, options, good) in cases {
            assert_eq!(options.check().is_ok(), good, "{label}");
        }
    }

    #[test]
    fn a_tag_is_cut_and_padded() {
        assert_eq!(&tag("state"), b"state\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(&tag("0123456789abcdefXYZ"), b"0123456789abcdef");
    }
}
