//! Columns on disk that are asked for before they are read.
//!
//! Who goes through documents reads a column of each block that they lie in, one after the other, and would wait for the disk at each. Told
//! before, the disk fetches the next ones while the values of one are worked on. What it fetches lies in the memory of the system until it is
//! read; nothing of it is checked or kept before.

use std::collections::VecDeque;

use stead_tensor::Bits;

use super::held::Slot;

/// Bytes that are asked for ahead of what is read: what a quick disk gives in a millisecond, some times as long as it takes to answer.
const WINDOW: usize = 2 << 20;

/// Blocks that lie behind each other, each with a place for the columns of its attributes.
pub(crate) trait Blocks: std::fmt::Debug {
    /// The place of an attribute of a block.
    fn slot(&self, block: usize, attribute: usize) -> Option<&Slot>;
}

/// Asks for the columns of an attribute behind one that is about to be read, where blocks are gone through in their order: that of the block
/// before was read. As long as these go on, each asks for one more.
pub(crate) fn ask_behind(blocks: &dyn Blocks, block: usize, attribute: usize) {
    let Some(bytes) = blocks.slot(block, attribute).and_then(Slot::unread) else { return };
    let was_read = |back: usize| {
        let before = block.checked_sub(back).and_then(|block| blocks.slot(block, attribute));
        before.is_some_and(Slot::was_read)
    };
    if !was_read(1) {
        return;
    }
    let last = block + (WINDOW / bytes.max(1)).max(1);
    let first = if was_read(2) { last } else { block + 1 };
    for slot in (first..=last).filter_map(|block| blocks.slot(block, attribute)) {
        slot.will_read();
    }
}

/// Columns that are read one after the other, each once: those of the blocks of some documents.
#[derive(Debug)]
pub(crate) struct Ahead<'v> {
    /// The number of the block of each.
    columns: Vec<(usize, &'v Slot)>,
    /// How many are read or being read, and how many were asked for.
    read: usize,
    asked: usize,
    /// The bytes of those that were asked for, and are not read yet.
    waiting: VecDeque<usize>,
    bytes: usize,
}

impl<'v> Ahead<'v> {
    /// Of blocks in the order in which they are come to; nothing where no more than one column is to be read.
    pub(crate) fn new(
        blocks: &'v dyn Blocks,
        numbers: impl Iterator<Item = usize>,
        attribute: usize,
    ) -> Option<Ahead<'v>> {
        let (mut known, mut columns) = (Bits::default(), Vec::new());
        for block in numbers {
            if !known.insert(block) {
                continue;
            }
            let slot = blocks.slot(block, attribute);
            columns.extend(slot.filter(|slot| slot.unread().is_some()).map(|slot| (block, slot)));
        }
        let (read, asked, waiting, bytes) = (0, 0, VecDeque::new(), 0);
        (columns.len() > 1).then_some(Ahead { columns, read, asked, waiting, bytes })
    }

    /// The column of a block is about to be read: asks for those behind it.
    pub(crate) fn reach(&mut self, block: usize) {
        if self.columns.get(self.read).is_some_and(|(next, _)| *next == block) {
            self.read += 1;
            self.bytes -= self.waiting.pop_front().unwrap_or(0);
            self.asked = self.asked.max(self.read);
        }
        while self.bytes < WINDOW
            && let Some((_, slot)) = self.columns.get(self.asked)
        {
            let bytes = slot.unread().unwrap_or(0);
            slot.will_read();
            self.asked += 1;
            self.bytes += bytes;
            self.waiting.push_back(bytes);
        }
    }
}
