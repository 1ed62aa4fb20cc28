//! Values that were computed for documents, kept for the phases that come: the second phase and the match features want those of
//! documents that the first phase has seen.

use std::collections::HashMap;
use std::rc::Rc;

use stead_expr::TensorType;

use crate::columns::{Computed, Rows, gather, value};

/// The most documents whose values are kept. Phases behind the first take some hundreds or thousands; what a first phase
/// computes for millions would only be in the way.
const MAX_DOCUMENTS: usize = 16_384;

/// Values of one name.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// Where the value of a document is: the piece, and the row in it.
    places: HashMap<u32, (usize, usize)>,
    pieces: Vec<Rc<Computed>>,
}

impl Memo {
    /// Keeps the values of documents, if there is room.
    pub(super) fn keep(&mut self, rows: &Rows<'_>, computed: &Rc<Computed>) {
        if self.places.len() + rows.len() > MAX_DOCUMENTS {
            return;
        }
        let piece = self.pieces.len();
        self.pieces.push(computed.clone());
        for (at, row) in rows.iter().enumerate() {
            self.places.insert(row as u32, (piece, at));
        }
    }

    /// The values of documents, if all of them are here.
    pub(super) fn get(&self, rows: &Rows<'_>, kind: &TensorType) -> Option<Computed> {
        let places: Option<Vec<(usize, usize)>> =
            rows.iter().map(|row| self.places.get(&(row as u32)).copied()).collect();
        let places = places?;
        if let Some((first, _)) = places.first()
            && places.iter().all(|(piece, _)| piece == first)
        {
            let rows = places.iter().map(|(_, row)| *row);
            return gather(&self.pieces.get(*first)?.attribute(), kind, rows);
        }
        let mut computed = Computed::new(kind);
        for (piece, row) in places {
            let found = value(&self.pieces.get(piece)?.attribute(), kind, row)?;
            if !computed.push(&found) {
                return None;
            }
        }
        Some(computed)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use stead_expr::TensorType;

    use super::Memo;
    use crate::columns::{Computed, Rows};

    #[test]
    fn values_are_found_whatever_they_were_computed_with() {
        let mut memo = Memo::default();
        memo.keep(&Rows::Range(0..2), &Rc::new(Computed::Numbers(vec![0.5, 1.5])));
        memo.keep(&Rows::List(&[7, 3]), &Rc::new(Computed::Numbers(vec![7.5, 3.5])));
        for (rows, expected) in [
            (&[1, 0][..], Some(vec![1.5, 0.5])),
            (&[3, 1][..], Some(vec![3.5, 1.5])),
            (&[3, 4][..], None),
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
