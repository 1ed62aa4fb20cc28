//! The cells of a column of tensors, where they lie.

use std::ops::Range;
use std::sync::Arc;

use stead_expr::{CellType, Cells, each_cell};
use stead_tensor::AlignedBuf;

/// The fewest bytes that are worth a place among others: those of a page.
const FEW: usize = 4 << 10;

/// The cells of a column.
#[derive(Debug, Clone)]
pub(super) enum Placed {
    /// Of which there may be more later
    Growing(Cells<'static>),
    /// Of a block to which no rows are added, beside those of other such blocks, which lie on huge pages: whoever goes through a graph reads
    /// here and there in all of them
    Whole(CellType, Arc<AlignedBuf>),
}

impl Placed {
    /// The cells.
    pub(super) fn cells(&self) -> Cells<'_> {
        match self {
            Placed::Growing(cells) => cells.borrowed(),
            Placed::Whole(cell, bytes) => of_bytes(*cell, bytes),
        }
    }

    /// The place, if it is one of its own with cells of this type.
    pub(super) fn whole(&self, cell: CellType) -> Option<&Arc<AlignedBuf>> {
        match self {
            Placed::Whole(of, bytes) if *of == cell => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Placed::Growing(cells) => cells.len(),
            Placed::Whole(cell, bytes) => bytes.len() / cell.size(),
        }
    }

    /// Puts cells of the same type in the place of others, or behind the last.
    pub(super) fn splice(&mut self, at: Range<usize>, by: &Cells<'_>) -> bool {
        if let Placed::Whole(cell, bytes) = self {
            let of_cells = at.start * cell.size()..at.end * cell.size();
            if by.cell_type() == *cell && at.len() == by.len() && of_cells.end <= bytes.len() {
                let by: &[u8] = each_cell!(by, cells => bytemuck::cast_slice(cells));
                if let Some(bytes) = own(bytes) {
                    bytes[of_cells].copy_from_slice(by);
                    return true;
                }
            }
            *self = Placed::Growing(self.cells().into_owned());
        }
        match self {
            Placed::Growing(cells) => cells.splice(at, by),
            Placed::Whole(..) => false,
        }
    }

    /// The same cells, with room for at least so many.
    pub(super) fn copied(&self, room: usize) -> Placed {
        match self {
            Placed::Whole(cell, bytes) if room <= self.len() => match AlignedBuf::pooled(bytes) {
                Ok(bytes) => Placed::Whole(*cell, Arc::new(bytes)),
                Err(_) => Placed::Growing(self.cells().into_owned()),
            },
            _ => Placed::Growing(self.cells().copied(room)),
        }
    }

    /// The same cells, which there will be no more of.
    pub(super) fn settle(&mut self) {
        let Placed::Growing(cells) = self else { return };
        let bytes: &[u8] = each_cell!(&*cells, cells => bytemuck::cast_slice(cells));
        let whole = (bytes.len() >= FEW).then(|| AlignedBuf::pooled(bytes).ok()).flatten();
        match whole {
            Some(whole) => *self = Placed::Whole(cells.cell_type(), Arc::new(whole)),
            None => cells.shrink(),
        }
    }

    /// Gives back memory that no cells lie in.
    pub(super) fn shrink(&mut self) {
        if let Placed::Growing(cells) = self {
            cells.shrink();
        }
    }
}

/// The bytes to change: a copy where somebody else has them.
fn own(bytes: &mut Arc<AlignedBuf>) -> Option<&mut AlignedBuf> {
    if Arc::get_mut(bytes).is_none() {
        *bytes = Arc::new(AlignedBuf::pooled(bytes).ok()?);
    }
    Arc::get_mut(bytes)
}

/// The cells of a type that bytes are.
fn of_bytes(cell: CellType, bytes: &[u8]) -> Cells<'_> {
    match cell {
        CellType::Double => Cells::Double(bytemuck::cast_slice(bytes).into()),
        CellType::Float => Cells::Float(bytemuck::cast_slice(bytes).into()),
        CellType::BFloat16 => Cells::BFloat16(bytemuck::cast_slice(bytes).into()),
        CellType::Int8 => Cells::Int8(bytemuck::cast_slice(bytes).into()),
        CellType::Float16 => Cells::Float16(bytemuck::cast_slice(bytes).into()),
        CellType::Int16 => Cells::Int16(bytemuck::cast_slice(bytes).into()),
        CellType::Int32 => Cells::Int32(bytemuck::cast_slice(bytes).into()),
        CellType::Int64 => Cells::Int64(bytemuck::cast_slice(bytes).into()),
        CellType::UInt8 => Cells::UInt8(bytes.into()),
        CellType::Bool => Cells::Bool(bytes.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use stead_expr::{CELL_TYPES, CellType, Cells};

    use super::Placed;

    const CELLS: usize = 5000;

    fn address(placed: &Placed) -> *const u8 {
        match placed {
            Placed::Whole(_, bytes) => bytes.as_ptr(),
            Placed::Growing(_) => ptr::null(),
        }
    }

    #[test]
    fn cells_are_the_same_wherever_they_lie() {
        for (cell, _) in CELL_TYPES {
            let numbers: Vec<f64> = (0..CELLS).map(|n| (n % 2) as f64).collect();
            let cells = Cells::from_numbers(cell, &numbers);
            let mut growing = Placed::Growing(cells.clone());
            let mut whole = growing.clone();
            whole.settle();
            assert_eq!(address(&whole).is_null(), CELLS * cell.size() < super::FEW, "{cell:?}");
            let copy = whole.copied(CELLS);
            for placed in [&mut growing, &mut whole] {
                let by = Cells::from_numbers(cell, &[1.0, 1.0, 1.0]);
                assert_eq!((placed.len(), placed.cells()), (CELLS, cells.clone()), "{cell:?}");
                assert!(placed.splice(7..10, &by) && placed.splice(CELLS..CELLS, &by), "{cell:?}");
            }
            assert_eq!(growing.cells(), whole.cells(), "{cell:?}");
            assert_eq!(whole.len(), CELLS + 3, "{cell:?}");
            assert_eq!(copy.cells(), cells, "{cell:?}");
        }
    }

    #[test]
    fn what_others_have_is_copied_before_it_changes() {
        let cells = Cells::from_numbers(CellType::Float, &[3.0; CELLS]);
        let by = Cells::from_numbers(CellType::Float, &[4.0]);
        let mut placed = Placed::Growing(cells.clone());
        placed.settle();
        let before = address(&placed);
        assert!(placed.splice(9..10, &by));
        assert_eq!(address(&placed), before, "nobody else has it");
        let shared = placed.clone();
        assert!(placed.splice(8..9, &by));
        assert_eq!((address(&shared), address(&placed) == before), (before, false));
        let cell = |placed: &Placed, at: usize| {
            placed.cells().part(at..at + 1).unwrap().doubles().into_owned()
        };
        assert_eq!([cell(&shared, 8), cell(&placed, 8), cell(&placed, 9)], [[3.0], [4.0], [4.0]]);
        // Room for more is for cells that are to come.
        assert!(address(&placed.copied(CELLS + 1)).is_null());
        assert!(!address(&placed.copied(0)).is_null());
    }
}
