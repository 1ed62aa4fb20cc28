//! Strings that a run makes. They are no bytes of the arena: each value has a slot beside it, which the step that makes
//! the strings fills.

use super::facts::BufferRef;
use std::sync::OnceLock;

/// Where the strings of a value lie: the segment whose step makes them, and the number of the value's buffer there, which
/// is empty and only says who comes after whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextRef {
    segment: usize,
    index: usize,
}

impl TextRef {
    /// The slot of a buffer.
    pub fn of(buffer: &BufferRef) -> TextRef {
        TextRef { segment: buffer.segment, index: buffer.index }
    }
}

type Slots = Box<[OnceLock<Vec<Vec<u8>>>]>;

/// The slots of one run. A step fills each once, and those that read it come after, in whichever thread.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    segments: Vec<Slots>,
}

impl Texts {
    /// `slots` slots for a segment, the next one of a run; the first one drops what the run before has left. A segment
    /// that makes no strings has none, and allocates nothing.
    pub fn enter(&mut self, segment: usize, slots: usize) {
        self.segments.truncate(segment);
        self.segments.push((0..slots).map(|_| OnceLock::new()).collect());
    }

    /// Drops all strings.
    pub fn clear(&mut self) {
        self.segments.clear();
    }

    fn slot(&self, at: TextRef) -> Option<&OnceLock<Vec<Vec<u8>>>> {
        self.segments.get(at.segment)?.get(at.index)
    }

    /// The strings in a slot, once they are made.
    pub fn get(&self, at: TextRef) -> Option<&[Vec<u8>]> {
        self.slot(at)?.get().map(Vec::as_slice)
    }

    /// Fills a slot. `None` when there is none, or it was filled before.
    pub fn fill(&self, at: TextRef, strings: Vec<Vec<u8>>) -> Option<()> {
        self.slot(at)?.set(strings).ok()
    }
}
