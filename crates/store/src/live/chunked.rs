//! A list that is cheap to copy and to change in a few places.

use std::sync::Arc;

/// Elements of a chunk: a copy of the list counts up one reference for each chunk, a change of an element one for each
/// element of its chunk.
const CHUNK: usize = 64;

/// A list whose copies share what none of them has changed.
#[derive(Debug)]
pub(crate) struct Chunked<T> {
    chunks: Vec<Arc<Vec<Arc<T>>>>,
    len: usize,
}

impl<T> Chunked<T> {
    pub(crate) fn new() -> Chunked<T> {
        Chunked { chunks: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Arc<T>> {
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Arc::default());
        }
        if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).push(Arc::new(value));
            self.len += 1;
        }
    }
}

impl<T: Clone> Chunked<T> {
    /// An element to change, copied if another list has it.
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        let chunk = Arc::make_mut(self.chunks.get_mut(at / CHUNK)?);
        chunk.get_mut(at % CHUNK).map(Arc::make_mut)
    }
}

// Not derived, since elements need not be cloned.
impl<T> Clone for Chunked<T> {
    fn clone(&self) -> Chunked<T> {
        Chunked { chunks: self.chunks.clone(), len: self.len }
    }
}

#[cfg(test)]
mod tests {
    use super::Chunked;

    #[test]
    fn copies_do_not_see_what_changes_later() {
        let mut list = Chunked::new();
        (0..200).for_each(|n| list.push(n));
        let copy = list.clone();
        *list.get_mut(130).unwrap() = 7;
        list.push(200);
        assert_eq!((copy.len(), list.len()), (200, 201));
        assert_eq!((copy.get(130).map(|n| **n), list.get(130).map(|n| **n)), (Some(130), Some(7)));
        assert!(copy.iter().map(|n| **n).eq(0..200));
        assert_eq!(copy.get(200), None);
    }
}
