//! Places for buffers of one length, of which there are many that come and go: they share regions of memory, each of which
//! lies on [huge pages](crate::huge) once all of it is in use.
//!
//! Who reads here and there in buffers of some hundred kilobytes, such as the columns of blocks of documents, waits for the tables of
//! pages as much as for the numbers. A region is ordinary memory at first, so that few buffers take no more than their own bytes; the buffer
//! that takes its last place has what there is put together. Places that were given back are taken first.
#![allow(unsafe_code)] // parts of regions are handed out, each to one at a time

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::TensorError;
use crate::buffer::ALIGNMENT;
use crate::huge::{Chunk, PAGE, gather};

/// The most huge pages of a region: the more, the less is left over at its end, and the longer it stays as it is at first.
const MOST_PAGES: usize = 16;

/// The part of a region that may be left over at its end: memory that nobody has, once it lies on huge pages.
const LEFT_OVER: usize = 32;

/// Places of one size behind each other.
#[derive(Debug)]
struct Region {
    chunk: Chunk,
    /// The numbers of those that nobody has.
    free: BTreeSet<usize>,
    count: usize,
    /// Whether all of it has been in use.
    is_gathered: bool,
}

/// The regions with places of a size, by where they begin.
#[derive(Debug, Default)]
struct Regions {
    all: BTreeMap<usize, Region>,
    /// Those with a place that nobody has: whether there are places that nobody has had yet, and where it begins. Places that were given
    /// back come first: their memory is there.
    open: BTreeSet<(bool, usize)>,
}

/// By the size of their places, in bytes.
static REGIONS: Mutex<BTreeMap<usize, Regions>> = Mutex::new(BTreeMap::new());

/// The bytes of a region for places of a size, and how many there are.
fn region_of(size: usize) -> Option<(usize, usize)> {
    let pages = (1..=MOST_PAGES).find(|pages| {
        let bytes = pages * PAGE;
        size <= bytes && (bytes % size) * LEFT_OVER <= bytes
    });
    let bytes = match pages {
        Some(pages) => pages * PAGE,
        // What is longer than all of these is alone, and what is left over of it stays on small pages.
        None => (MOST_PAGES * PAGE).max(size),
    };
    Some((bytes, bytes / size)).filter(|_| size <= isize::MAX as usize)
}

/// `len` bytes at a multiple of [`ALIGNMENT`], which nobody else has until they are [given back](give_back). They hold anything.
///
/// # Errors
/// [`TensorError::OutOfMemory`] when the allocator refuses.
pub(crate) fn take(len: usize) -> Result<NonNull<u8>, TensorError> {
    let short = || TensorError::OutOfMemory(len);
    let size = len.max(1).checked_next_multiple_of(ALIGNMENT).ok_or_else(short)?;
    let (bytes, count) = region_of(size).ok_or_else(short)?;
    let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let Regions { all, open } = regions.entry(size).or_default();
    let begin = match open.first() {
        Some((_, begin)) => *begin,
        None => {
            let region = Region {
                chunk: Chunk::plain(bytes)?,
                free: (0..count).collect(),
                count,
                is_gathered: false,
            };
            let begin = region.chunk.begin().addr().get();
            all.insert(begin, region);
            open.insert((true, begin));
            begin
        }
    };
    let region = all.get_mut(&begin).ok_or_else(short)?;
    let number = region.free.pop_first().ok_or_else(short)?;
    debug_assert!((number + 1) * size <= bytes, "a place inside the region");
    // SAFETY: the place lies inside the region.
    let place = unsafe { region.chunk.begin().add(number * size) };
    if region.free.is_empty() {
        open.remove(&(!region.is_gathered, begin));
        if !std::mem::replace(&mut region.is_gathered, true) {
            let chunk = region.chunk.begin();
            // Others need not wait while it is done: the place that was taken keeps the region.
            drop(regions);
            gather(chunk.as_ptr(), bytes);
        }
    }
    Ok(place)
}

/// Gives back what was [taken](take) for so many bytes. A region of which nobody has a place is let go.
///
/// # Safety
/// The place was taken for the same number of bytes, and nothing points into it any more.
pub(crate) unsafe fn give_back(place: NonNull<u8>, len: usize) {
    let size = len.max(1).next_multiple_of(ALIGNMENT);
    let address = place.addr().get();
    let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Regions { all, open }) = regions.get_mut(&size) else { return };
    let Some((&begin, region)) = all.range_mut(..=address).next_back() else { return };
    debug_assert!(
        (address - begin).is_multiple_of(size) && (address - begin) / size < region.count
    );
    let is_new = region.free.insert((address - begin) / size);
    debug_assert!(is_new, "a place is given back once");
    let entry = (!region.is_gathered, begin);
    open.insert(entry);
    let is_unused = region.free.len() == region.count;
    let gone = if is_unused { all.remove(&begin) } else { None };
    if is_unused {
        open.remove(&entry);
    }
    drop(regions);
    drop(gone);
}

#[cfg(test)]
mod tests {
    use super::{PAGE, REGIONS, region_of};
    use crate::{ALIGNMENT, AlignedBuf};

    #[test]
    fn little_of_a_region_is_left_over() {
        for (label, size, pages, count) in [
            ("256 rows of 128 f32", 128 << 10, 1, 16),
            ("256 rows of 384 f32", 384 << 10, 3, 16),
            ("256 rows of 100 f32", 256 * 400, 1, 20),
            ("256 rows of 300 f32", 256 * 1200, 3, 20),
            ("256 rows of 768 f32", 768 << 10, 3, 8),
            ("a line", 64, 1, PAGE / 64),
            ("256 rows of 4096 f32", 4 << 20, 2, 1),
            ("256 rows of 5000 f32", 5_120_000, 5, 2),
        ] {
            assert_eq!(region_of(size), Some((pages * PAGE, count)), "{label}");
        }
        assert_eq!(region_of(100 << 20), Some((100 << 20, 1)));
    }

    /// How many regions there are for buffers of a length that no other test has.
    fn regions(len: usize) -> usize {
        let regions = REGIONS.lock().unwrap();
        regions.get(&len.next_multiple_of(ALIGNMENT)).map_or(0, |of| of.all.len())
    }

    #[test]
    fn buffers_are_apart_and_keep_what_is_in_them() {
        const LEN: usize = 130_000;
        let copy = |of: usize| AlignedBuf::pooled(&vec![of as u8; LEN]).unwrap();
        let is =
            |buf: &AlignedBuf, of: usize| buf.len() == LEN && buf.iter().all(|b| *b == of as u8);
        // Sixteen of them are a region, which is gathered then.
        let mut buffers: Vec<AlignedBuf> = (0..40).map(copy).collect();
        assert_eq!(regions(LEN), 3);
        for (of, buf) in buffers.iter_mut().enumerate() {
            assert!(buf.as_ptr().addr().is_multiple_of(ALIGNMENT) && is(buf, of), "{of}");
            buf.fill(of as u8 + 100);
        }
        // Places that are given back are taken before there are more regions.
        let begins: Vec<usize> = buffers.iter().map(|buf| buf.as_ptr().addr()).collect();
        [30, 17, 3].into_iter().for_each(|at| drop(buffers.remove(at)));
        let again: Vec<AlignedBuf> = (0..3).map(copy).collect();
        assert!(
            again.iter().all(|buf| [3, 17, 30].map(|at| begins[at]).contains(&buf.as_ptr().addr()))
        );
        let kept: Vec<usize> = (0..40).filter(|of| ![3, 17, 30].contains(of)).collect();
        assert!(buffers.iter().zip(kept).all(|(buf, of)| is(buf, of + 100)));
        assert!(again.iter().enumerate().all(|(of, buf)| is(buf, of)));
        assert_eq!(regions(LEN), 3);
        drop((buffers, again));
        assert_eq!(regions(LEN), 0);
    }

    #[test]
    fn threads_share_regions() {
        const LEN: usize = 70_000;
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for round in 0..300_usize {
                        let of = thread * 60 + (round % 60) as u8;
                        held.push((AlignedBuf::pooled(&[of; LEN]).unwrap(), of));
                        if round % 3 != 0 {
                            let (buf, of) = held.swap_remove(round * 7 % held.len());
                            assert!(buf.iter().all(|b| *b == of));
                        }
                    }
                    assert!(held.iter().all(|(buf, of)| buf.iter().all(|b| b == of)));
                });
            }
        });
        assert_eq!(regions(LEN), 0);
    }

    #[test]
    fn nothing_is_a_buffer_too() {
        assert!(AlignedBuf::pooled(&[]).unwrap().is_empty());
        assert_eq!(&*AlignedBuf::pooled(&[7]).unwrap(), [7]);
    }
}
