//! Columns while somebody reads them.

use std::cell::OnceCell;
use std::ops::{Deref, Range};
use std::sync::{Arc, Weak};

use super::ahead::{Blocks, ask_behind};
use super::changed::Changed;
use super::page::{Page, Paged};
use crate::columns::Column;
use crate::error::StoreError;
use crate::kind::DataType;
use crate::value::FieldValue;

/// Where the column of an attribute of a block is.
#[derive(Debug, Clone)]
pub(crate) enum Slot {
    Memory(Arc<Column>),
    Disk(Arc<Paged>),
    Changed(Arc<Changed>),
}

/// The column of an attribute while somebody reads it: one that lies on disk is in memory as long.
#[derive(Debug, Clone)]
pub struct Held<'b>(Place<'b>);

#[derive(Debug, Clone)]
enum Place<'b> {
    Memory(&'b Column),
    Page(Arc<Page>),
}

impl Slot {
    /// The column.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub(crate) fn hold(&self) -> Result<Held<'_>, StoreError> {
        Ok(Held(match self {
            Slot::Memory(column) => Place::Memory(column),
            Slot::Disk(paged) => Place::Page(paged.page()?),
            Slot::Changed(changed) => Place::Page(changed.page()?),
        }))
    }

    /// A column that has the values of some rows of attributes whose vectors are [read alone](Paged::vector), and the first of them there: as few
    /// others as it takes no longer to read.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub(crate) fn hold_rows(&self, rows: Range<usize>) -> Result<(Held<'_>, usize), StoreError> {
        let paged = match self {
            Slot::Disk(paged) => paged,
            Slot::Changed(changed) if rows.len() == 1 && !changed.is_cached() => {
                match changed.get(rows.start) {
                    Some((column, at)) => return Ok((Held(Place::Memory(column)), at)),
                    None => changed.base(),
                }
            }
            _ => return Ok((self.hold()?, rows.start)),
        };
        if let Some(page) = paged.cached() {
            return Ok((Held(Place::Page(page)), rows.start));
        }
        match paged.rows_alone(rows.clone())? {
            Some(page) => Ok((Held(Place::Page(Arc::new(page))), 0)),
            None => Ok((Held(Place::Page(paged.page()?)), rows.start)),
        }
    }

    /// The column in memory that has the value of a row, and its row there; nothing if it is [on disk](Slot::on_disk).
    pub(crate) fn in_memory(&self, row: usize) -> Option<(&Column, usize)> {
        match self {
            Slot::Memory(column) => Some((column, row)),
            Slot::Disk(_) => None,
            Slot::Changed(changed) => changed.get(row),
        }
    }

    /// Whether the column lies on disk, and was read lately.
    pub(super) fn was_read(&self) -> bool {
        match self {
            Slot::Memory(_) => false,
            Slot::Disk(paged) => paged.is_cached(),
            Slot::Changed(changed) => changed.is_cached(),
        }
    }

    /// The column on disk that is read by whoever [holds](Slot::hold) this.
    fn read_next(&self) -> Option<&Arc<Paged>> {
        let base = match self {
            Slot::Memory(_) => return None,
            Slot::Disk(paged) => paged,
            Slot::Changed(changed) if changed.is_cached() => return None,
            Slot::Changed(changed) => changed.base(),
        };
        (!base.is_cached()).then_some(base)
    }

    /// The bytes of the same.
    pub(super) fn unread(&self) -> Option<usize> {
        self.read_next().map(|paged| paged.blob().place.len as usize)
    }

    /// Tells the disk that the same is read soon.
    pub(super) fn will_read(&self) {
        if let Some(paged) = self.read_next() {
            paged.blob().will_read();
        }
    }

    /// The column on disk that has the value of a row, if it is there.
    pub(crate) fn on_disk(&self, row: usize) -> Option<&Arc<Paged>> {
        match self {
            Slot::Memory(_) => None,
            Slot::Disk(paged) => Some(paged),
            Slot::Changed(changed) => changed.get(row).is_none().then(|| changed.base()),
        }
    }

    /// The value of a row, of a field of this type; `page` reads a column on disk if it has the value.
    ///
    /// # Errors
    /// Those of `page`.
    pub(crate) fn value(
        &self,
        row: usize,
        kind: &DataType,
        page: impl FnOnce(&Arc<Paged>) -> Result<Arc<Page>, StoreError>,
    ) -> Result<Option<FieldValue>, StoreError> {
        if let Some(paged) = self.on_disk(row) {
            return Ok(page(paged)?.column().value(row, kind));
        }
        Ok(self.in_memory(row).and_then(|(column, at)| column.value(at, kind)))
    }

    /// The number of the value of a row, of dense tensors. What lies on disk is not read.
    pub(crate) fn stamp(&self, row: usize) -> Option<u64> {
        match self {
            Slot::Memory(column) => match &**column {
                Column::Tensors(tensors) => tensors.stamp(row),
                _ => None,
            },
            Slot::Disk(paged) => paged.stamp(row),
            Slot::Changed(changed) => changed.stamp(row),
        }
    }

    /// Whether there is room for one more value. A column on disk that might be full is brought to memory, of so many rows.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub(crate) fn has_room(&mut self, value: &FieldValue, rows: usize) -> Result<bool, StoreError> {
        let column = match self {
            Slot::Memory(column) => return Ok(column.has_room(value)),
            Slot::Disk(paged) if Changed::has_room(paged, None) => return Ok(true),
            Slot::Changed(changed) if Changed::has_room(changed.base(), Some(changed)) => {
                return Ok(true);
            }
            Slot::Disk(paged) => paged.copied(rows)?,
            Slot::Changed(changed) => changed.column(rows)?,
        };
        let has_room = column.has_room(value);
        *self = Slot::Memory(Arc::new(column));
        Ok(has_room)
    }

    /// Puts a value in a row, which is at most the one behind the last of a column that is to have so many rows. There is room; the disk is
    /// not read.
    pub(crate) fn set(&mut self, row: usize, value: Option<&FieldValue>, rows: usize) {
        match self {
            Slot::Memory(column) => own(column, rows).set(row, value),
            Slot::Disk(paged) => {
                let mut changed = Changed::of(paged);
                changed.set(row, value);
                *self = Slot::Changed(Arc::new(changed));
            }
            Slot::Changed(changed) => {
                let own = Arc::make_mut(changed);
                own.set(row, value);
                if let Some(column) = own.whole(rows) {
                    *self = Slot::Memory(Arc::new(column));
                }
            }
        }
    }

    /// Gives back memory that nothing lies in, of a column that is to have so many rows.
    pub(crate) fn shrink(&mut self, rows: usize) {
        if let Slot::Memory(column) = self {
            own(column, rows).shrink();
        }
    }

    /// The same behind a snapshot that has what it was before, in a new place; nothing where it has changed too much since.
    pub(crate) fn moved(&self, before: &Slot, new: &Slot) -> Option<Slot> {
        match (self, new) {
            _ if self.is(before) => Some(new.clone()),
            (Slot::Changed(changed), Slot::Disk(new)) => changed.moved(before, new),
            _ => None,
        }
    }

    /// What a column in memory is known by.
    pub(crate) fn weak(&self) -> Option<Weak<Column>> {
        match self {
            Slot::Memory(column) => Some(Arc::downgrade(column)),
            Slot::Disk(_) | Slot::Changed(_) => None,
        }
    }

    /// Whether both are the same values in the same place.
    pub(crate) fn is(&self, other: &Slot) -> bool {
        match (self, other) {
            (Slot::Memory(a), Slot::Memory(b)) => Arc::ptr_eq(a, b),
            (Slot::Disk(a), Slot::Disk(b)) => Arc::ptr_eq(a, b),
            (Slot::Changed(a), Slot::Changed(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The memory that it takes, in bytes: of a column on disk that of what tells where it is.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Slot::Memory(column) => column.memory() + size_of::<Column>(),
            Slot::Disk(paged) => paged.memory(),
            Slot::Changed(changed) => changed.base().memory() + changed.memory(),
        }
    }
}

/// A column to change: a copy with room for all rows if a view has it. Where a snapshot remembers it, which it does weakly, it
/// moves to another allocation, by which the snapshot knows that it has changed.
fn own(column: &mut Arc<Column>, rows: usize) -> &mut Column {
    if Arc::strong_count(column) > 1 {
        *column = Arc::new(column.copied(rows));
    }
    // It is ours alone now, so that no values are copied here.
    Arc::make_mut(column)
}

impl<'b> Held<'b> {
    /// A column that somebody has anyway.
    #[must_use]
    pub fn of(column: &'b Column) -> Held<'b> {
        Held(Place::Memory(column))
    }

    /// The column where the block itself has it: as long as the block.
    #[must_use]
    pub fn in_block(&self) -> Option<&'b Column> {
        match self.0 {
            Place::Memory(column) => Some(column),
            Place::Page(_) => None,
        }
    }
}

impl Deref for Held<'_> {
    type Target = Column;

    fn deref(&self) -> &Column {
        match &self.0 {
            Place::Memory(column) => column,
            Place::Page(page) => page.column(),
        }
    }
}

/// The columns of a block while somebody works on it: one that lies on disk is read when it is asked for first, and held.
#[derive(Debug)]
pub struct Columns<'b> {
    slots: &'b [Option<Slot>],
    /// By attribute; none where nothing lies on disk.
    pages: Vec<OnceCell<Arc<Page>>>,
    /// All blocks and the number of this one, for somebody who may come to those behind it.
    among: Option<(&'b dyn Blocks, usize)>,
}

impl<'b> Columns<'b> {
    pub(crate) fn new(slots: &'b [Option<Slot>]) -> Columns<'b> {
        let is_paged = slots.iter().flatten().any(|slot| !matches!(slot, Slot::Memory(_)));
        let pages = if is_paged { slots.len() } else { 0 };
        Columns { slots, pages: (0..pages).map(|_| OnceCell::new()).collect(), among: None }
    }

    /// The same, of a block among others.
    pub(crate) fn among(self, blocks: &'b dyn Blocks, number: usize) -> Columns<'b> {
        Columns { among: Some((blocks, number)), ..self }
    }

    /// The column of an attribute by its number; nothing if it has none.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn get(&self, attribute: usize) -> Result<Option<&Column>, StoreError> {
        let Some(Some(slot)) = self.slots.get(attribute) else { return Ok(None) };
        if let Slot::Memory(column) = slot {
            return Ok(Some(column));
        }
        let Some(cell) = self.pages.get(attribute) else { return Ok(None) };
        if let Some(page) = cell.get() {
            return Ok(Some(page.column()));
        }
        if let Some((blocks, number)) = self.among {
            ask_behind(blocks, number, attribute);
        }
        let Held(Place::Page(page)) = slot.hold()? else { return Ok(None) };
        Ok(Some(cell.get_or_init(|| page).column()))
    }

    /// Whether an attribute by its number has a column, which is not read.
    #[must_use]
    pub fn has(&self, attribute: usize) -> bool {
        self.slots.get(attribute).is_some_and(Option::is_some)
    }
}
