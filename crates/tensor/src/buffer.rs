//! Byte buffers aligned for SIMD, owned or shared.
#![allow(unsafe_code)] // raw allocation with a chosen alignment

use crate::huge::{self, Chunk};
use crate::places;
use crate::unfilled::Unfilled;
use crate::{Aside, TensorError};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;

/// The alignment of every buffer: one cache line, which is also the widest vector register.
pub const ALIGNMENT: usize = 64;

/// Owned bytes that start at a multiple of [`ALIGNMENT`].
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
    origin: Origin,
}

/// Where the bytes of a buffer are from.
enum Origin {
    /// Allocated for it alone
    Alone,
    /// A part of what others have parts of too, and goes with the last of them
    Part(#[allow(dead_code, reason = "holds the bytes")] Arc<Chunk>),
    /// A [place](places) that is given back
    Place,
}

impl AlignedBuf {
    /// A zeroed buffer of `len` bytes.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] when the allocator refuses.
    pub fn zeroed(len: usize) -> Result<AlignedBuf, TensorError> {
        if len == 0 {
            return AlignedBuf::empty();
        }
        // SAFETY: the layout has a non-zero size.
        let ptr = unsafe { alloc_zeroed(layout(len)?) };
        NonNull::new(ptr)
            .map(|ptr| AlignedBuf { ptr, len, origin: Origin::Alone })
            .ok_or(TensorError::OutOfMemory(len))
    }

    /// A zeroed buffer of `len` bytes on huge pages where the system has them: for what is read whole again and again as
    /// long as a model lives, such as its packed weights.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] when the allocator refuses.
    pub fn lasting(len: usize) -> Result<AlignedBuf, TensorError> {
        if len == 0 {
            return AlignedBuf::empty();
        }
        let (ptr, chunk) = huge::part(len)?;
        Ok(AlignedBuf { ptr, len, origin: Origin::Part(chunk) })
    }

    /// A zeroed buffer of `len` bytes which, where it is large, is the system's again once it is dropped: for weights on the way to the form
    /// that they are packed in. An allocator would keep what nobody asks for again.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] when the allocator refuses.
    pub fn passing(len: usize) -> Result<AlignedBuf, TensorError> {
        match huge::alone(len) {
            Some(alone) => {
                let (ptr, chunk) = alone?;
                Ok(AlignedBuf { ptr, len, origin: Origin::Part(chunk) })
            }
            None => AlignedBuf::zeroed(len),
        }
    }

    /// The bytes of a file that nobody else has.
    pub(crate) fn of_file(file: &Aside, len: usize) -> std::io::Result<AlignedBuf> {
        let chunk = Chunk::of_file(file, len)?;
        Ok(AlignedBuf { ptr: chunk.begin(), len, origin: Origin::Part(Arc::new(chunk)) })
    }

    fn empty() -> Result<AlignedBuf, TensorError> {
        // A well-aligned dangling address; never dereferenced, never freed.
        let ptr = NonNull::new(std::ptr::without_provenance_mut(ALIGNMENT));
        ptr.map(|ptr| AlignedBuf { ptr, len: 0, origin: Origin::Alone })
            .ok_or(TensorError::OutOfMemory(0))
    }

    /// A buffer of `len` bytes with copies of `parts` one after the other. What they leave is zeroed, and what of them
    /// goes beyond is left out.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] when the allocator refuses.
    pub fn of_parts<'a>(
        len: usize,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<AlignedBuf, TensorError> {
        if len == 0 {
            return AlignedBuf::empty();
        }
        // SAFETY: the layout has a non-zero size.
        let ptr = NonNull::new(unsafe { alloc(layout(len)?) });
        let ptr = ptr.ok_or(TensorError::OutOfMemory(len))?;
        let mut at = 0;
        for part in parts {
            let part = &part[..part.len().min(len - at)];
            // SAFETY: `at + part.len() <= len`, all of it in the new buffer, which nothing else points into.
            unsafe { ptr.as_ptr().add(at).copy_from_nonoverlapping(part.as_ptr(), part.len()) };
            at += part.len();
        }
        // SAFETY: the rest of the new buffer.
        unsafe { ptr.as_ptr().add(at).write_bytes(0, len - at) };
        Ok(AlignedBuf { ptr, len, origin: Origin::Alone })
    }

    /// A buffer of `len` bytes that `fill` writes from the first byte to the last: for what is read from a file. Where it is large, it lies
    /// on huge pages and is the system's again once it is dropped. What is left over is zeroed; zeros in all of a large buffer beforehand
    /// would go to memory and back.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] when the allocator refuses; inside, the error of `fill`.
    pub fn filled<E>(
        len: usize,
        fill: impl FnOnce(&mut Unfilled<'_>) -> Result<(), E>,
    ) -> Result<Result<AlignedBuf, E>, TensorError> {
        if len == 0 {
            return AlignedBuf::empty().map(Ok);
        }
        let (ptr, origin) = match huge::alone(len) {
            Some(alone) => alone.map(|(ptr, chunk)| (ptr, Origin::Part(chunk)))?,
            None => {
                // SAFETY: the layout has a non-zero size.
                let ptr = NonNull::new(unsafe { alloc(layout(len)?) });
                (ptr.ok_or(TensorError::OutOfMemory(len))?, Origin::Alone)
            }
        };
        // Nothing reads the buffer before all of it is written; where `fill` fails it is only dropped.
        let buf = AlignedBuf { ptr, len, origin };
        // SAFETY: the new buffer, which nothing else points into; any bytes are allowed in it.
        let room = unsafe { std::slice::from_raw_parts_mut(buf.ptr.as_ptr().cast(), len) };
        let mut unfilled = Unfilled::new(room);
        Ok(fill(&mut unfilled).map(|()| {
            unfilled.zero();
            buf
        }))
    }

    /// A buffer with a copy of `bytes`.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] when the allocator refuses.
    pub fn copy_of(bytes: &[u8]) -> Result<AlignedBuf, TensorError> {
        AlignedBuf::of_parts(bytes.len(), [bytes])
    }

    /// A buffer with a copy of `bytes` beside others of its length, on huge pages once there are enough of them: for what is read here and
    /// there, and replaced now and then by another of the same length.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] when the allocator refuses.
    pub fn pooled(bytes: &[u8]) -> Result<AlignedBuf, TensorError> {
        let len = bytes.len();
        if len == 0 {
            return AlignedBuf::empty();
        }
        let ptr = places::take(len)?;
        // SAFETY: the place has `len` bytes that nobody else has.
        unsafe { ptr.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), len) };
        Ok(AlignedBuf { ptr, len, origin: Origin::Place })
    }
}

/// Whole lines: allocators have blocks of such sizes that are aligned by themselves, and cut all others out of larger
/// ones.
fn layout(len: usize) -> Result<Layout, TensorError> {
    let lines = len.checked_next_multiple_of(ALIGNMENT);
    let layout = lines.and_then(|lines| Layout::from_size_align(lines, ALIGNMENT).ok());
    layout.ok_or(TensorError::OutOfMemory(len))
}

impl AlignedBuf {
    /// The start of the buffer, with leave to write: for [`crate::Blocks`] and the rows of growing tensors,
    /// which prove that their slices are disjoint.
    pub(crate) const fn raw(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// The number of bytes, without a view of them.
    pub(crate) const fn byte_len(&self) -> usize {
        self.len
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        match self.origin {
            Origin::Alone if self.len > 0 => {
                // SAFETY: the buffer was allocated for itself with exactly this layout, which was valid then.
                unsafe {
                    let lines = self.len.next_multiple_of(ALIGNMENT);
                    dealloc(self.ptr.as_ptr(), Layout::from_size_align_unchecked(lines, ALIGNMENT));
                }
            }
            // SAFETY: it was taken for `len` bytes, and who had a view of them has none any more.
            Origin::Place => unsafe { places::give_back(self.ptr, self.len) },
            Origin::Alone | Origin::Part(_) => {}
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `ptr` covers `len` initialised bytes that this value owns.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

// SAFETY: the buffer is plain owned memory; shared access only reads.
unsafe impl Send for AlignedBuf {}
// SAFETY: as above.
unsafe impl Sync for AlignedBuf {}

/// A range of bytes in a buffer that others share: an initializer inside a model file, a tensor inside the
/// body of a request.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl SharedBytes {
    /// The bytes `range` of `owner`, or `None` when the range does not lie inside.
    pub fn new(
        owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
        range: Range<usize>,
    ) -> Option<SharedBytes> {
        (*owner).as_ref().get(range.clone())?;
        Some(SharedBytes { owner, range })
    }
}

impl Deref for SharedBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // `new` checked the range; an empty slice can only stand here if the owner changed its mind.
        (*self.owner).as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.range.len())
    }
}

impl AsRef<[u8]> for AlignedBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_zeroed() {
        for len in [0, 1, 63, 64, 4097, (128 << 10) - 1, 128 << 10, (4 << 20) + 1] {
            for make in [AlignedBuf::zeroed, AlignedBuf::lasting, AlignedBuf::passing] {
                let mut buf = make(len).unwrap();
                assert_eq!(buf.len(), len);
                assert_eq!(buf.as_ptr() as usize % ALIGNMENT, 0);
                assert!(buf.iter().all(|&b| b == 0));
                buf.fill(0xff);
            }
        }
    }

    #[test]
    fn a_buffer_is_filled_from_the_first_byte_to_the_last() {
        for len in [0, 1, 65, 128 << 10, (128 << 10) + 1, (4 << 20) - 1, (4 << 20) + 3] {
            let bytes: Vec<u8> = (0..len / 2).map(|i| i as u8 | 1).collect();
            let filled = AlignedBuf::filled(len, |room| {
                assert_eq!(room.left(), len);
                room.read(len / 2, &bytes[..])
            });
            let buf = filled.unwrap().unwrap();
            assert_eq!(buf.len(), len);
            assert_eq!(buf.as_ptr() as usize % ALIGNMENT, 0);
            assert!(buf[..len / 2] == bytes, "{len}");
            assert!(buf[len / 2..].iter().all(|&b| b == 0), "{len}: what is left over");
        }
    }

    #[test]
    fn what_cannot_be_filled_says_why() {
        for len in [1, 1 << 20, 5 << 20] {
            let filled = AlignedBuf::filled(len, |room| {
                room.read(len / 2, std::io::repeat(1)).map_err(|_| "no bytes")?;
                Err("the end")
            });
            assert_eq!(filled.unwrap().err(), Some("the end"), "{len}");
        }
        for len in [usize::MAX, usize::MAX / 2] {
            let err = AlignedBuf::filled(len, |_| Ok::<(), ()>(())).unwrap_err();
            assert_eq!(err, TensorError::OutOfMemory(len));
        }
    }

    #[test]
    fn an_absurd_size_is_an_error_not_an_abort() {
        let err = AlignedBuf::zeroed(usize::MAX / 2).unwrap_err();
        assert_eq!(err, TensorError::OutOfMemory(usize::MAX / 2));
    }

    #[test]
    fn shared_bytes_stay_inside_their_owner() {
        let owner = Arc::new(AlignedBuf::copy_of(&[1, 2, 3, 4]).unwrap());
        assert_eq!(&*SharedBytes::new(owner.clone(), 1..3).unwrap(), &[2, 3]);
        assert!(SharedBytes::new(owner, 3..5).is_none());
    }
}
