//! The bytes of a model file in memory: one main buffer, and a buffer for each large weight.
//!
//! A weight that the engine packs into another form can then be freed by itself, while one buffer for the
//! whole file would stay as long as any weight is used as it is.

use prost::bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use stead_tensor::AlignedBuf;

/// The parts of a file.
pub(crate) struct Buffers {
    /// Everything but the large weights, without gaps.
    main: Arc<AlignedBuf>,
    /// The large weights, each with its place: the number of bytes of `main` before it.
    weights: Vec<(usize, Arc<AlignedBuf>)>,
    /// The indices of `weights` by address.
    by_address: Vec<usize>,
}

/// Lets `Bytes` keep a buffer alive.
struct Owner(Arc<AlignedBuf>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Buffers {
    /// A file in one buffer.
    pub(super) fn whole(main: AlignedBuf) -> Buffers {
        Buffers::new(main, Vec::new())
    }

    /// A file whose `weights`, none of them empty, were taken out at these places of `main`, in file order.
    pub(super) fn new(main: AlignedBuf, weights: Vec<(usize, AlignedBuf)>) -> Buffers {
        let weights: Vec<_> = weights.into_iter().map(|(at, buf)| (at, Arc::new(buf))).collect();
        let mut by_address: Vec<usize> = (0..weights.len()).collect();
        by_address.sort_unstable_by_key(|&i| weights[i].1.as_ptr() as usize);
        Buffers { main: Arc::new(main), weights, by_address }
    }

    /// The length of the file.
    pub(super) fn len(&self) -> u64 {
        self.weights.iter().fold(self.main.len() as u64, |sum, (_, w)| sum + w.len() as u64)
    }

    /// The main buffer for fields to borrow from.
    pub(super) fn main_bytes(&self) -> Bytes {
        Bytes::from_owner(Owner(self.main.clone()))
    }

    /// The file in its order, for the decoder, whose fields then borrow from the buffers.
    pub(super) fn rope(&self) -> Rope {
        let main = self.main_bytes();
        let mut parts = VecDeque::with_capacity(2 * self.weights.len() + 1);
        let mut done = 0;
        for (at, weight) in &self.weights {
            parts.push_back(main.slice(done..*at));
            parts.push_back(Bytes::from_owner(Owner(weight.clone())));
            done = *at;
        }
        parts.push_back(main.slice(done..));
        parts.retain(|part| !part.is_empty());
        Rope { remaining: parts.iter().map(Bytes::len).sum(), parts }
    }

    /// The range of the main buffer that `bytes` is; an empty one may be of any buffer.
    pub(super) fn main_place_of(&self, bytes: &Bytes) -> Option<Range<usize>> {
        if bytes.is_empty() { Some(0..0) } else { place_in(&self.main, bytes) }
    }

    /// The buffer and the range of it that `bytes` is.
    pub(super) fn place_of(&self, bytes: &Bytes) -> Option<(&Arc<AlignedBuf>, Range<usize>)> {
        if let Some(range) = place_in(&self.main, bytes) {
            return Some((&self.main, range));
        }
        let address = bytes.as_ptr() as usize;
        let starts_before = |&i: &usize| self.weights[i].1.as_ptr() as usize <= address;
        let after = self.by_address.partition_point(starts_before);
        let (_, weight) = self.weights.get(*self.by_address.get(after.checked_sub(1)?)?)?;
        Some((weight, place_in(weight, bytes)?))
    }

    /// Changes the main buffer, unless something borrows from it.
    pub(super) fn change_main(&mut self, change: impl FnOnce(&mut AlignedBuf)) {
        if let Some(main) = Arc::get_mut(&mut self.main) {
            change(main);
        }
    }
}

/// The range of `buffer` at whose address `bytes` lies.
fn place_in(buffer: &AlignedBuf, bytes: &Bytes) -> Option<Range<usize>> {
    let start = (bytes.as_ptr() as usize).checked_sub(buffer.as_ptr() as usize)?;
    let end = start.checked_add(bytes.len()).filter(|&end| end <= buffer.len())?;
    Some(start..end)
}

/// Several buffers as one, out of which whole ranges are taken without a copy.
pub(super) struct Rope {
    /// What is left, none of it empty.
    parts: VecDeque<Bytes>,
    remaining: usize,
}

impl Buf for Rope {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.parts.front().map_or(&[], |part| part)
    }

    fn advance(&mut self, mut count: usize) {
        self.remaining = self.remaining.saturating_sub(count);
        while let Some(part) = self.parts.front_mut() {
            if count < part.len() {
                part.advance(count);
                return;
            }
            count -= part.len();
            self.parts.pop_front();
        }
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        let whole = match self.parts.front() {
            Some(part) if len <= part.len() => part.slice(..len),
            // A field across two parts: weights are parts of their own, so this is text.
            _ => self.parts.iter().flat_map(|part| part.iter().copied()).take(len).collect(),
        };
        self.advance(len);
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers() -> Buffers {
        let weights = [(2, [10u8, 11].as_slice()), (2, &[20]), (5, &[30, 31, 32])];
        let weights = weights.map(|(at, bytes)| (at, AlignedBuf::copy_of(bytes).unwrap()));
        Buffers::new(AlignedBuf::copy_of(&[0, 1, 2, 3, 4]).unwrap(), weights.into())
    }

    #[test]
    fn a_rope_has_the_bytes_of_the_file_in_order() {
        let whole = [0, 1, 10, 11, 20, 2, 3, 4, 30, 31, 32];
        assert_eq!(buffers().len(), whole.len() as u64);
        for step in 1..=whole.len() {
            let mut rope = buffers().rope();
            let mut read = Vec::new();
            while rope.has_remaining() {
                let step = step.min(rope.remaining());
                read.extend(rope.copy_to_bytes(step));
            }
            assert_eq!(read, whole, "in steps of {step}");
        }
    }

    #[test]
    fn ranges_are_found_again() {
        let buffers = buffers();
        let mut rope = buffers.rope();
        rope.advance(1);
        assert_eq!(buffers.main_place_of(&rope.copy_to_bytes(1)), Some(1..2));
        let weight = rope.copy_to_bytes(2);
        assert_eq!(buffers.main_place_of(&weight), None);
        let (buffer, range) = buffers.place_of(&weight).unwrap();
        assert_eq!((&buffer[..], range), (&[10u8, 11][..], 0..2));
        assert!(buffers.place_of(&Bytes::from_static(&[1, 2])).is_none());
    }
}
