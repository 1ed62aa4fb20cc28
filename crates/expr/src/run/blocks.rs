//! Which blocks of two tensors belong together, and blocks in the order of their labels.

use super::Column;
use super::size::{TooLarge, check};
use crate::types::TensorType;
use crate::value::Label;

/// The blocks of a result: for each row where they begin, their labels, and the blocks of the operands from
/// which each is made.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) offsets: Vec<u32>,
    pub(crate) labels: Vec<Label>,
    pub(crate) pairs: Vec<(u32, u32)>,
}

/// Where a label of the result comes from.
#[derive(Debug, Clone, Copy)]
enum From {
    Left(usize),
    Right(usize),
}

/// All pairs of a block of each with equal labels along the mapped dimensions that both have.
pub(crate) fn pair(
    out: &TensorType,
    (left_kind, left): (&TensorType, &Column<'_>),
    (right_kind, right): (&TensorType, &Column<'_>),
    rows: usize,
) -> Result<Pairs, TooLarge> {
    let place = |kind: &TensorType, name: &str| kind.mapped().position(|d| &*d.name == name);
    let from: Vec<From> = out
        .mapped()
        .filter_map(|d| match place(left_kind, &d.name) {
            Some(at) => Some(From::Left(at)),
            None => place(right_kind, &d.name).map(From::Right),
        })
        .collect();
    let common: Vec<(usize, usize)> = left_kind
        .mapped()
        .enumerate()
        .filter_map(|(at, d)| place(right_kind, &d.name).map(|other| (at, other)))
        .collect();
    let (lefts, rights) = (left_kind.mapped_count(), right_kind.mapped_count());
    let label = |list: &[Label], width: usize, block: usize, at: usize| list[block * width + at];

    let mut result = Pairs { offsets: vec![0], ..Pairs::default() };
    let mut index = Index::default();
    let mut sorter = Sorter::new(out.mapped_count());
    for row in 0..rows {
        let begin = result.pairs.len();
        if common.is_empty() {
            // Every block meets every other: too many of them show before the first is made.
            let pairs = left.blocks(row).len().saturating_mul(right.blocks(row).len());
            check(pairs.saturating_add(begin), out.block_size())?;
        }
        // The index over the right side is kept while that side stays the same.
        if row == 0 || right.rows != 1 {
            index.fill(right.blocks(row), |block, key| {
                key.extend(common.iter().map(|(_, at)| label(&right.labels, rights, block, *at)));
            });
        }
        let mut key = Vec::with_capacity(common.len());
        for a in left.blocks(row) {
            key.clear();
            key.extend(common.iter().map(|(at, _)| label(&left.labels, lefts, a, *at)));
            let matches = index.matches(&key);
            check(result.pairs.len() + matches.len(), out.block_size())?;
            for b in matches {
                result.pairs.push((a as u32, *b));
                result.labels.extend(from.iter().map(|f| match f {
                    From::Left(at) => label(&left.labels, lefts, a, *at),
                    From::Right(at) => label(&right.labels, rights, *b as usize, *at),
                }));
            }
        }
        sorter.sort(&mut result.labels, &mut result.pairs, begin);
        result.offsets.push(result.pairs.len() as u32);
    }
    Ok(result)
}

/// Blocks by some of their labels.
#[derive(Debug, Default)]
struct Index {
    width: usize,
    keys: Vec<Label>,
    blocks: Vec<u32>,
}

impl Index {
    fn fill(&mut self, blocks: std::ops::Range<usize>, key: impl Fn(usize, &mut Vec<Label>)) {
        self.keys.clear();
        self.blocks.clear();
        for block in blocks {
            key(block, &mut self.keys);
            self.blocks.push(block as u32);
        }
        self.width = self.keys.len().checked_div(self.blocks.len()).unwrap_or(0);
        let mut sorter = Sorter::new(self.width);
        sorter.sort(&mut self.keys, &mut self.blocks, 0);
    }

    /// The blocks with this key.
    fn matches(&self, key: &[Label]) -> &[u32] {
        if self.width == 0 {
            return &self.blocks;
        }
        let at = |i: usize| &self.keys[i * self.width..][..self.width];
        let count = self.blocks.len();
        let first = partition(count, |i| at(i) < key);
        let after = first + (first..count).take_while(|i| at(*i) == key).count();
        &self.blocks[first..after]
    }
}

/// The first place below `count` for which a test that holds up to there fails.
fn partition(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Puts lists into the order of labels.
#[derive(Debug)]
pub(crate) struct Sorter {
    width: usize,
    order: Vec<usize>,
}

impl Sorter {
    /// For this many labels an entry.
    pub(crate) fn new(width: usize) -> Sorter {
        Sorter { width, order: Vec::new() }
    }

    /// Sorts the entries from `begin` on by their labels, with what belongs to them. Equal ones keep their order.
    pub(crate) fn sort<T: Copy>(&mut self, labels: &mut [Label], entries: &mut [T], begin: usize) {
        let width = self.width;
        if width == 0 {
            return;
        }
        let (labels, entries) = (&mut labels[begin * width..], &mut entries[begin..]);
        if labels.chunks_exact(width).is_sorted() {
            return;
        }
        self.order.clear();
        self.order.extend(0..entries.len());
        let old = labels.to_vec();
        self.order.sort_by_key(|at| &old[at * width..][..width]);
        let before = entries.to_vec();
        for (to, from) in self.order.iter().enumerate() {
            entries[to] = before[*from];
            labels[to * width..][..width].copy_from_slice(&old[from * width..][..width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sorter;
    use crate::value::Label;

    #[test]
    fn entries_follow_their_labels() {
        let label = |n| Label::number(n).unwrap();
        let mut labels = [9, 9, 2, 1, 1, 7, 1, 3].map(label);
        let mut entries = ["kept", "c", "b", "a"];
        Sorter::new(2).sort(&mut labels, &mut entries, 1);
        assert_eq!(entries, ["kept", "a", "b", "c"]);
        assert_eq!(labels, [9, 9, 1, 3, 1, 7, 2, 1].map(label));
    }
}
