//! The sizes of dimensions that a type leaves open, as a literal has them.

use super::read::Part;
use crate::codec::json::JsonError;
use crate::types::{Dimension, Extent, TensorType};

/// The sizes as they are found.
pub(super) struct Sizes<'k> {
    kind: &'k TensorType,
    /// Of the indexed dimensions in order; 0 for one of which nothing is known.
    sizes: Vec<usize>,
}

impl<'k> Sizes<'k> {
    pub(super) fn new(kind: &'k TensorType) -> Sizes<'k> {
        let rank = kind.dimensions().iter().filter(|d| !d.is_mapped()).count();
        Sizes { kind, sizes: vec![0; rank] }
    }

    /// Learns of a part: one more than its indices, or the sizes of its brackets. What disagrees is found when the cells are read.
    pub(super) fn part(&mut self, part: Part<'_>) -> Result<(), JsonError> {
        match part {
            Part::Cell(address, _) => {
                let places = self.kind.dimensions().iter().zip(address);
                let indexed = places.filter(|(dimension, _)| !dimension.is_mapped());
                for (size, (_, place)) in self.sizes.iter_mut().zip(indexed) {
                    let end = place.parse::<usize>().ok().and_then(|index| index.checked_add(1));
                    *size = (*size).max(end.unwrap_or(0));
                }
            }
            Part::Block(_, cells, sizes) => self.block(cells.len(), &sizes),
            Part::Digits(_, digits) => {
                self.block(digits.len() / (2 * self.kind.cell().size()), &[]);
            }
        }
        Ok(())
    }

    fn block(&mut self, count: usize, sizes: &[usize]) {
        let is_nested = sizes.len() == self.sizes.len();
        let open = self.kind.dimensions().iter().filter(|d| d.extent == Extent::Unbound).count();
        let indexed = self.kind.dimensions().iter().filter(|d| !d.is_mapped());
        for (at, (size, dimension)) in self.sizes.iter_mut().zip(indexed).enumerate() {
            let found = match sizes.get(at).filter(|_| is_nested) {
                Some(size) => *size,
                // Of one dimension the size follows from those of the others, which are not 0.
                None if open == 1 => dimension.size().unwrap_or(count / self.kind.block_size()),
                None => 0,
            };
            *size = (*size).max(found);
        }
    }

    /// The type with all sizes.
    pub(super) fn finish(self) -> Result<TensorType, JsonError> {
        let mut sizes = self.sizes.into_iter();
        let dimension = |d: &Dimension| match d.extent {
            Extent::Mapped => Ok(d.clone()),
            Extent::Indexed(_) => {
                sizes.next();
                Ok(d.clone())
            }
            Extent::Unbound => match sizes.next() {
                Some(size) if size > 0 => Ok(Dimension::indexed(&d.name, size)),
                _ => {
                    let (of, dimension) = (self.kind.clone(), d.name.to_string());
                    Err(JsonError::Size { of, dimension })
                }
            },
        };
        let dimensions = self.kind.dimensions().iter().map(dimension).collect::<Result<_, _>>()?;
        Ok(TensorType::new(self.kind.cell(), dimensions)?)
    }
}
