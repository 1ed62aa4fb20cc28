//! The log without a thread: records are staged, written together and made durable by the caller.
//!
//! [`Log`](crate::Log) runs one of these on a thread of its own. A simulation, which must not have threads,
//! uses it alone.

use crate::error::LogError;
use crate::format::{RECORD_HEADER_LEN, SEGMENT_HEADER_LEN, SegmentHeader, encode_record};
use crate::io::{DirLock, Io, IoFile};
use crate::options::{LogOptions, SyncMode};
use crate::rng::Rng;
use crate::segments::{self, Recovery, Sealed};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A staging buffer that grew beyond this for one large batch is given back.
const KEEP_STAGED_BYTES: usize = 4 << 20;

/// The end of a log, open for writing. Holds the folder's lock while it lives.
pub struct LogWriter {
    io: Arc<dyn Io>,
    rng: Arc<dyn Rng>,
    options: LogOptions,
    header: SegmentHeader,
    file: Box<dyn IoFile>,
    /// Bytes of the segment that were written, and how many of them are durable.
    written: u64,
    synced: u64,
    staged: Vec<u8>,
    staged_records: u64,
    /// LSN of the next record to be staged.
    next_lsn: u64,
    shelf: Arc<Shelf>,
    stopped: Option<Arc<LogError>>,
    _lock: Box<dyn DirLock>,
}

/// The segments that take no more records; shared, so that pruning does not disturb the writer.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    sealed: Mutex<VecDeque<Sealed>>,
    pruning: Mutex<()>,
}

impl LogWriter {
    /// Takes the folder, hands every record that is in it to `visit` (LSN, payload) in order, cuts what a crash
    /// left of an unfinished write, and goes on after the last record. An empty folder becomes a log whose
    /// first LSN is 1.
    ///
    /// If the log ends before [`LogOptions::replay_from`] (its end was lost with [`SyncMode::Never`], but what
    /// it led to is safe elsewhere), it goes on at that LSN.
    ///
    /// # Errors
    /// [`LogError::Locked`]; [`LogError::Corrupt`], [`LogError::Missing`], [`LogError::Version`] or
    /// [`LogError::Tag`] for what is in the folder, which is then left as it is; [`LogError::Io`]; and what
    /// `visit` returns, which ends the reading.
    pub fn open<E: From<LogError>>(
        io: Arc<dyn Io>,
        rng: Arc<dyn Rng>,
        options: LogOptions,
        visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(Self, Recovery), E> {
        options.check()?;
        let lock = io.lock().map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => LogError::Locked,
            _ => LogError::io("lock", "the folder of the log", &error),
        })?;
        let mut recovered = segments::recover(&*io, &options, visit)?;
        let next_lsn = recovered.report.next_lsn.max(options.replay_from);
        let kept = match recovered.last.take() {
            Some((_, header, bytes)) if recovered.report.next_lsn < next_lsn => {
                let number = header.number;
                recovered.sealed.push(Sealed { number, end_lsn: next_lsn, bytes });
                Err(number + 1)
            }
            Some(last) => Ok(last),
            None => {
                recovered.report.first_lsn = next_lsn;
                Err(1)
            }
        };
        let (file, header, written) = match kept {
            Ok(last) => last,
            Err(number) => {
                let header = new_header(&*rng, &options, number, next_lsn)?;
                recovered.report.segments += 1;
                (segments::create(&*io, &header)?, header, SEGMENT_HEADER_LEN as u64)
            }
        };
        recovered.report.next_lsn = next_lsn;
        let shelf = Shelf { sealed: Mutex::new(recovered.sealed.into()), ..Shelf::default() };
        let writer = Self {
            io,
            rng,
            options,
            header,
            file,
            written,
            synced: written,
            staged: Vec::new(),
            staged_records: 0,
            next_lsn,
            shelf: Arc::new(shelf),
            stopped: None,
            _lock: lock,
        };
        Ok((writer, recovered.report))
    }

    /// Stages a record and returns its LSN; [`LogWriter::commit`] writes it. Where it does not fit the segment,
    /// what was staged before is committed and the next segment begun.
    ///
    /// # Errors
    /// [`LogError::TooLarge`]; otherwise those of [`LogWriter::commit`].
    pub fn append(&mut self, payload: &[u8]) -> Result<u64, LogError> {
        self.append_with_crc(payload, crc32c::crc32c(payload))
    }

    /// [`LogWriter::append`] for a caller that has computed the payload's crc32c already.
    pub(crate) fn append_with_crc(&mut self, payload: &[u8], crc: u32) -> Result<u64, LogError> {
        self.check_running()?;
        check_len(payload.len(), &self.options)?;
        let len = (RECORD_HEADER_LEN + payload.len()) as u64;
        if self.position() + len > self.options.segment_bytes {
            self.commit()?;
            self.rotate()?;
        }
        // Both fit: a segment is at most 1 GiB.
        let (offset, synced) = (self.position() as u32, self.synced as u32);
        encode_record(&mut self.staged, self.header.salt, offset, synced, payload, crc);
        self.staged_records += 1;
        let lsn = self.next_lsn;
        self.next_lsn += 1;
        Ok(lsn)
    }

    /// Writes what is staged in one call, and makes it durable if [`SyncMode::Batch`] says so. On success every
    /// record that was appended is acknowledged.
    ///
    /// # Errors
    /// [`LogError::Io`] the first time, [`LogError::Stopped`] for ever after. The records of a commit that failed
    /// are cut off again where the file system still allows it; otherwise they may be found when the log
    /// is opened next. After an error the process should end or open the log anew.
    pub fn commit(&mut self) -> Result<(), LogError> {
        self.write()?;
        match self.options.sync {
            SyncMode::Batch => self.sync(),
            SyncMode::Never => Ok(()),
        }
    }

    /// Commits and makes everything durable, whatever the [`SyncMode`].
    ///
    /// # Errors
    /// Those of [`LogWriter::commit`].
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.write()?;
        self.sync()
    }

    /// The LSN after the last acknowledged record.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.next_lsn - self.staged_records
    }

    /// The LSN that the next record gets.
    #[must_use]
    pub fn next_lsn(&self) -> u64 {
        self.next_lsn
    }

    /// Removes the segments whose records all have an LSN below `up_to`; the newest segment always stays. Returns
    /// how many were removed.
    ///
    /// # Errors
    /// [`LogError::Io`]. The log goes on.
    pub fn prune(&mut self, up_to: u64) -> Result<usize, LogError> {
        self.shelf.prune(&*self.io, up_to)
    }

    pub(crate) fn shelf(&self) -> Arc<Shelf> {
        Arc::clone(&self.shelf)
    }

    /// Bytes of the segment that is written to.
    pub(crate) fn segment_len(&self) -> u64 {
        self.written
    }

    fn position(&self) -> u64 {
        self.written + self.staged.len() as u64
    }

    fn check_running(&self) -> Result<(), LogError> {
        match &self.stopped {
            Some(cause) => Err(LogError::Stopped(Arc::clone(cause))),
            None => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), LogError> {
        self.check_running()?;
        if self.staged.is_empty() {
            return Ok(());
        }
        let keep = match self.options.sync {
            SyncMode::Batch => self.synced,
            SyncMode::Never => self.written,
        };
        let result = self.file.append(&self.staged);
        result.map_err(|error| self.stop("append to", &error, keep))?;
        self.written += self.staged.len() as u64;
        if self.options.sync == SyncMode::Never {
            self.staged_records = 0;
        }
        self.staged.clear();
        self.staged.shrink_to(KEEP_STAGED_BYTES);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LogError> {
        if self.synced < self.written {
            self.file.sync_data().map_err(|error| self.stop("sync", &error, self.synced))?;
            self.synced = self.written;
        }
        self.staged_records = 0;
        Ok(())
    }

    /// Begins the next segment. The old one is durable as a whole before: so only the last segment can be torn.
    fn rotate(&mut self) -> Result<(), LogError> {
        self.sync()?;
        let (number, first_lsn) = (self.header.number + 1, self.next_lsn);
        let made = new_header(&*self.rng, &self.options, number, first_lsn)
            .and_then(|header| Ok((segments::create(&*self.io, &header)?, header)));
        let (file, header) = made.inspect_err(|error| {
            self.stopped = Some(Arc::new(error.clone()));
        })?;
        let sealed = Sealed { number: self.header.number, end_lsn: first_lsn, bytes: self.written };
        self.shelf.lock().push_back(sealed);
        self.file = file;
        self.header = header;
        self.written = SEGMENT_HEADER_LEN as u64;
        self.synced = self.written;
        Ok(())
    }

    /// Stops for good. What was not acknowledged is cut off, so that a caller who was told of the failure does
    /// not meet the record again; where even that fails, the next opening decides. After a failed sync nothing
    /// that it concerned is kept, acknowledged or not: it may be in the page cache alone, from where the next
    /// opening would take it for durable.
    fn stop(&mut self, action: &'static str, error: &std::io::Error, keep: u64) -> LogError {
        let error = LogError::io(action, &segments::file_name(self.header.number), error);
        let _ = self.file.truncate(keep);
        self.stopped = Some(Arc::new(error.clone()));
        error
    }
}

/// A clean close: what is staged is committed and durable. Errors have no one left to tell; the records that
/// they concern were never acknowledged.
impl Drop for LogWriter {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

impl Shelf {
    pub(crate) fn prune(&self, io: &dyn Io, up_to: u64) -> Result<usize, LogError> {
        // One at a time and oldest first, each durable before the next: a crash in between leaves no gap.
        let _one_at_a_time = self.pruning.lock().unwrap_or_else(PoisonError::into_inner);
        let mut removed = 0;
        loop {
            let Some(oldest) = self.lock().front().copied().filter(|s| s.end_lsn <= up_to) else {
                return Ok(removed);
            };
            let name = segments::file_name(oldest.number);
            io.remove(&name).map_err(|error| LogError::io("remove", &name, &error))?;
            self.lock().pop_front();
            removed += 1;
            io.sync_dir().map_err(|error| LogError::io("sync", "the folder of the log", &error))?;
        }
    }

    /// How many sealed segments there are, and their bytes.
    pub(crate) fn size(&self) -> (usize, u64) {
        let sealed = self.lock();
        (sealed.len(), sealed.iter().map(|s| s.bytes).sum())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Sealed>> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn check_len(len: usize, options: &LogOptions) -> Result<(), LogError> {
    let max = options.max_record_bytes;
    if len > max { Err(LogError::TooLarge { len, max }) } else { Ok(()) }
}

fn new_header(
    rng: &dyn Rng,
    options: &LogOptions,
    number: u64,
    first_lsn: u64,
) -> Result<SegmentHeader, LogError> {
    let random = rng
        .next_u64()
        .map_err(|error| LogError::io("draw", "random bits for a segment", &error))?;
    Ok(SegmentHeader { number, first_lsn, salt: (random >> 32) as u32, tag: options.tag })
}
