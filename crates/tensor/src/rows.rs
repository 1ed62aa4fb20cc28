//! Bytes that become longer at their end without a copy: what was appended stays where it is.
//!
//! Many holders may share one buffer, each of its own length ([`Rows`]). One at a time may have the bytes behind
//! its length for writing ([`Tail`]); whoever comes second, or holds a length behind which others have written,
//! appends to a copy. So a holder never sees what was appended after it, and a holder that appends alone never
//! copies but when the capacity doubles.
#![allow(unsafe_code)] // disjoint views of one allocation

use crate::{AlignedBuf, TensorError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The value of [`Shared::taken`] while a [`Tail`] has the bytes behind its start.
const WRITING: usize = usize::MAX;

/// A buffer and how much of it is settled for good.
///
/// All [`Rows`] of the buffer end at or before `taken`, or, while a [`Tail`] writes, at or before the tail's
/// start. Nobody writes below that.
struct Shared {
    buf: AlignedBuf,
    taken: AtomicUsize,
}

impl Shared {
    /// The first `len` bytes.
    fn settled(&self, len: usize) -> &[u8] {
        debug_assert!(len <= self.buf.byte_len());
        // SAFETY: every caller's length lies inside the buffer, which is initialised as a whole, and below what a
        // tail may write: only bytes that no exclusive slice covers.
        unsafe { std::slice::from_raw_parts(self.buf.raw(), len) }
    }
}

/// The beginning of a buffer that may be appended to. Clones share.
#[derive(Clone)]
pub(crate) struct Rows {
    shared: Arc<Shared>,
    len: usize,
}

impl Rows {
    /// No bytes, with room for some.
    pub fn with_capacity(bytes: usize) -> Result<Rows, TensorError> {
        let buf = AlignedBuf::zeroed(bytes)?;
        Ok(Rows { shared: Arc::new(Shared { buf, taken: AtomicUsize::new(0) }), len: 0 })
    }

    pub fn bytes(&self) -> &[u8] {
        self.shared.settled(self.len)
    }

    /// The bytes of the whole buffer, those behind the end among them.
    pub fn capacity(&self) -> usize {
        self.shared.buf.byte_len()
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} of {} bytes)", self.len, self.capacity())
    }
}

/// Rows that are being appended to. Dropping it leaves everything as it was.
#[derive(Debug)]
pub(crate) struct Tail {
    rows: Rows,
    /// Where writing began, if the bytes from there on belong to this tail alone.
    start: Option<usize>,
}

impl Tail {
    pub fn new(rows: Rows) -> Tail {
        let taken = &rows.shared.taken;
        let owns = taken.compare_exchange(rows.len, WRITING, Ordering::Acquire, Ordering::Relaxed);
        let start = owns.is_ok().then_some(rows.len);
        Tail { rows, start }
    }

    /// What there was and what was appended.
    pub fn bytes(&self) -> &[u8] {
        self.rows.bytes()
    }

    /// The next `bytes` bytes, to be written. They hold anything.
    pub fn append(&mut self, bytes: usize) -> Result<&mut [u8], TensorError> {
        let len = self.rows.len;
        let needed = len.checked_add(bytes).ok_or(TensorError::OutOfMemory(usize::MAX))?;
        if self.start.is_none() || needed > self.rows.capacity() {
            let mut next = Tail::new(Rows::with_capacity(needed.max(len.saturating_mul(2)))?);
            next.append(len)?.copy_from_slice(self.bytes());
            *self = next;
        }
        self.rows.len = needed;
        debug_assert!(
            self.start.is_some_and(|start| start <= len) && needed <= self.rows.capacity()
        );
        // SAFETY: the range lies inside the buffer. It begins at or behind the tail's start, so no `Rows` of the
        // buffer reaches into it, and while `taken` says so no other tail can begin; this tail's own slices end
        // with the borrow of `self`.
        unsafe {
            let start = self.rows.shared.buf.raw().add(len);
            Ok(std::slice::from_raw_parts_mut(start, bytes))
        }
    }

    /// Settles what was appended.
    pub fn finish(mut self) -> Rows {
        if self.start.take().is_some() {
            self.rows.shared.taken.store(self.rows.len, Ordering::Release);
        }
        self.rows.clone()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        if let Some(start) = self.start {
            self.rows.shared.taken.store(start, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn appended(rows: &Rows, bytes: &[u8]) -> Rows {
        let mut tail = Tail::new(rows.clone());
        tail.append(bytes.len()).unwrap().copy_from_slice(bytes);
        tail.finish()
    }

    #[test]
    fn alone_it_copies_only_when_it_doubles() {
        let mut rows = Rows::with_capacity(0).unwrap();
        let mut buffers = Vec::new();
        for n in 0..1000usize {
            rows = appended(&rows, &[n as u8]);
            if buffers.last() != Some(&rows.capacity()) {
                buffers.push(rows.capacity());
            }
        }
        assert_eq!(buffers, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
        assert!(rows.bytes().iter().enumerate().all(|(n, b)| *b == n as u8));
    }

    #[test]
    fn a_tail_that_is_dropped_leaves_no_trace() {
        let rows = appended(&Rows::with_capacity(8).unwrap(), b"ab");
        let mut tail = Tail::new(rows.clone());
        tail.append(3).unwrap().copy_from_slice(b"xyz");
        assert_eq!(tail.bytes(), b"abxyz");
        drop(tail);
        let next = appended(&rows, b"c");
        assert_eq!((rows.bytes(), next.bytes()), (&b"ab"[..], &b"abc"[..]));
        assert_eq!(next.bytes().as_ptr(), rows.bytes().as_ptr(), "the place is free again");
    }

    #[test]
    fn who_comes_second_has_a_copy() {
        let rows = appended(&Rows::with_capacity(8).unwrap(), b"ab");
        let mut first = Tail::new(rows.clone());
        let mut second = Tail::new(rows.clone());
        first.append(1).unwrap().copy_from_slice(b"1");
        second.append(1).unwrap().copy_from_slice(b"2");
        let (first, second, third) = (first.finish(), second.finish(), appended(&rows, b"3"));
        assert_eq!([first.bytes(), second.bytes(), third.bytes()], [b"ab1", b"ab2", b"ab3"]);
        assert_eq!(first.bytes().as_ptr(), rows.bytes().as_ptr());
    }

    proptest! {
        /// Any order of appending, forking and giving up is that of plain vectors.
        #[test]
        fn holders_never_see_each_other(ops in prop::collection::vec((0usize..6, 0usize..4, 0u8..4), 1..200)) {
            let mut held = vec![(Rows::with_capacity(0).unwrap(), Vec::new())];
            for (n, (which, len, op)) in ops.into_iter().enumerate() {
                let (rows, bytes) = held[which % held.len()].clone();
                let new = vec![n as u8; len];
                match op {
                    0 => held.push((rows, bytes)),
                    1 if held.len() > 1 => drop(held.remove(which % held.len())),
                    2 => {
                        let mut tail = Tail::new(rows);
                        tail.append(len).unwrap().fill(255);
                    }
                    _ => {
                        let at = which % held.len();
                        held[at] = (appended(&rows, &new), [bytes, new].concat());
                    }
                }
                for (rows, bytes) in &held {
                    prop_assert_eq!(rows.bytes(), &bytes[..]);
                }
            }
        }
    }
}
