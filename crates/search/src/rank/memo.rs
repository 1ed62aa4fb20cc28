//! Values that were computed for documents, kept for the phases that come: the second phase and the match features want those of
//! documents that the first phase has seen.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use stead_expr::TensorType;

use crate::columns::{Computed, Rows, gather};

/// The most documents whose numbers are kept: a few megabytes for each name.
const MAX_NUMBERS: usize = 1 << 19;

/// The most documents whose tensors are kept. Phases behind the first take some hundreds or thousands; what a first phase
/// computes for millions would only be in the way.
const MAX_TENSORS: usize = 1 << 14;

/// Values of one name.
#[derive(Debug, Default)]
pub(super) struct Memo {
    pieces: Vec<Arc<Computed>>,
    /// The pieces that hold documents which stand one behind the other, in the order of these.
    ranges: Vec<(Range<u32>, usize)>,
    /// Where the value of any other document is: the piece, and the row in it.
    places: HashMap<u32, (usize, usize)>,
    documents: usize,
}

impl Memo {
    /// Keeps the values of documents, if there is room.
    pub(super) fn keep(&mut self, rows: &Rows<'_>, computed: &Arc<Computed>) {
        let most = match **computed {
            Computed::Numbers(_) => MAX_NUMBERS,
            Computed::Tensors(_) => MAX_TENSORS,
        };
        if self.documents + rows.len() > most {
            return;
        }
        let piece = self.pieces.len();
        match rows {
            // A first phase keeps what it computes at no cost for each document.
            Rows::Range(range)
                if self.ranges.last().is_none_or(|(last, _)| last.end <= range.start) =>
            {
                self.ranges.push((range.clone(), piece));
            }
            _ => {
                let at = rows.iter().enumerate().map(|(at, document)| (document, (piece, at)));
                self.places.extend(at);
            }
        }
        self.documents += rows.len();
        self.pieces.push(computed.clone());
    }

    /// Takes over what another has, of documents behind its own, if there is room for all of it.
    pub(super) fn absorb(&mut self, other: Memo) {
        let is_number = |piece: &Arc<Computed>| matches!(**piece, Computed::Numbers(_));
        let most = if other.pieces.iter().all(is_number) { MAX_NUMBERS } else { MAX_TENSORS };
        if self.documents + other.documents > most {
            return;
        }
        let behind = self.pieces.len();
        self.pieces.extend(other.pieces);
        self.documents += other.documents;
        self.ranges.extend(other.ranges.into_iter().map(|(range, piece)| (range, piece + behind)));
        let moved = |(document, (piece, row))| (document, (piece + behind, row));
        self.places.extend(other.places.into_iter().map(moved));
    }

    fn place(&self, document: u32) -> Option<(usize, usize)> {
        if let Some(place) = self.places.get(&document) {
            return Some(*place);
        }
        let at = self.ranges.partition_point(|(range, _)| range.end <= document);
        let (range, piece) = self.ranges.get(at)?;
        range.contains(&document).then(|| (*piece, (document - range.start) as usize))
    }

    /// The values of documents, if all of them are here.
    pub(super) fn get(&self, rows: &Rows<'_>, kind: &TensorType) -> Option<Computed> {
        let place = |document: u32| {
            let (piece, row) = self.place(document)?;
            Some((self.pieces.get(piece)?.attribute(), row))
        };
        gather(kind, rows.iter().map(place))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stead_expr::TensorType;

    use super::Memo;
    use crate::columns::{Computed, Rows};

    #[test]
    fn values_are_found_whatever_they_were_computed_with() {
        let mut memo = Memo::default();
        memo.keep(&Rows::Range(0..2), &Arc::new(Computed::Numbers(vec![0.5, 1.5])));
        memo.keep(&Rows::Range(10..12), &Arc::new(Computed::Numbers(vec![10.5, 11.5])));
        memo.keep(&Rows::List(&[7, 3]), &Arc::new(Computed::Numbers(vec![7.5, 3.5])));
        for (rows, expected) in [
            (&[1, 0][..], Some(vec![1.5, 0.5])),
            (&[3, 1][..], Some(vec![3.5, 1.5])),
            (&[11, 3, 0][..], Some(vec![11.5, 3.5, 0.5])),
            (&[3, 4][..], None),
            (&[12][..], None),
            (&[][..], Some(vec![])),
        ] {
            let found = memo.get(&Rows::List(rows), &TensorType::double());
            let found = found.map(|computed| match computed {
                Computed::Numbers(numbers) => numbers,
                Computed::Tensors(_) => panic!(),
            });
            assert_eq!(found, expected, "{rows:?}");
        }
    }
}
