//! How a store is set up.

use std::sync::Arc;
use std::time::Duration;

use stead_log::{Clock, LogOptions, SystemClock};

use super::room::RoomOptions;
use crate::indexing::Scripts;

/// How a store keeps its documents.
#[derive(Clone)]
pub struct StoreOptions {
    /// How the log is written. Its tag is that of the store.
    pub log: LogOptions,
    /// What `now()` of conditions is told by.
    pub clock: Arc<dyn Clock>,
    /// The scripts that run when documents of their types are put or updated. What they give is in the log, and they do not run again.
    pub scripts: Vec<Scripts>,
    /// When snapshots are taken.
    pub snapshots: SnapshotOptions,
    /// What operations that are not yet done may come to.
    pub room: RoomOptions,
    /// The most bytes that are kept in memory of columns that lie on disk (`attribute: paged`), of all types together. What queries
    /// hold while they work comes on top: a column of a block for each such attribute and thread.
    pub page_bytes: usize,
    /// How long nothing changes before the segments of indexes of texts become as few as [`FieldWriter::rest`](stead_text::FieldWriter::rest) makes them;
    /// never without.
    pub rest_after: Option<Duration>,
}

/// When snapshots are taken, besides when [somebody asks](Store::snapshot) and when the store is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// After this many bytes of records, or a quarter of what snapshots take on disk if that is more.
    pub log_bytes: u64,
    /// After this many operations.
    pub operations: u64,
    /// A file of columns and bodies that has this many bytes is followed by another.
    pub pack_bytes: u64,
}

impl Default for SnapshotOptions {
    fn default() -> SnapshotOptions {
        // What is replayed in about half a second.
        let (log_bytes, operations) = (64 << 20, 500_000);
        SnapshotOptions { log_bytes, operations, pack_bytes: 256 << 20 }
    }
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        let log = LogOptions {
            // The longest document as JSON is 64 MiB; its bytes are fewer.
            max_record_bytes: 64 << 20,
            segment_bytes: 128 << 20,
            // All that there is room for, so that nobody waits who submits: the bytes that fill it, one record more, and what
            // the log counts for each.
            queue_bytes: 256 << 20,
            ..LogOptions::default()
        };
        let snapshots = SnapshotOptions::default();
        StoreOptions {
            log,
            clock: Arc::new(SystemClock::default()),
            scripts: Vec::new(),
            snapshots,
            room: RoomOptions::default(),
            // Some hundreds of columns of a block.
            page_bytes: 64 << 20,
            // Longer than between the documents of a feed.
            rest_after: Some(Duration::from_secs(1)),
        }
    }
}
