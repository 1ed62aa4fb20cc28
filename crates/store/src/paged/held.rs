//! Columns while somebody reads them.

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use super::page::{Page, Paged};
use crate::columns::Column;
use crate::error::StoreError;

/// Where the column of an attribute of a block is.
#[derive(Debug, Clone)]
pub(crate) enum Slot {
    Memory(Arc<Column>),
    Disk(Arc<Paged>),
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
        }))
    }

    /// What a column in memory is known by.
    pub(crate) fn weak(&self) -> Option<Weak<Column>> {
        match self {
            Slot::Memory(column) => Some(Arc::downgrade(column)),
            Slot::Disk(_) => None,
        }
    }

    /// Whether both are the same values in the same place.
    pub(crate) fn is(&self, other: &Slot) -> bool {
        match (self, other) {
            (Slot::Memory(a), Slot::Memory(b)) => Arc::ptr_eq(a, b),
            (Slot::Disk(a), Slot::Disk(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The memory that it takes, in bytes: of a column on disk that of what tells where it is.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Slot::Memory(column) => column.memory() + size_of::<Column>(),
            Slot::Disk(_) => Paged::memory(),
        }
    }
}

impl<'b> Held<'b> {
    /// A column that somebody has anyway.
    #[must_use]
    pub fn of(column: &'b Column) -> Held<'b> {
        Held(Place::Memory(column))
    }

    pub(crate) fn of_page(page: Arc<Page>) -> Held<'b> {
        Held(Place::Page(page))
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
}

impl<'b> Columns<'b> {
    pub(crate) fn new(slots: &'b [Option<Slot>]) -> Columns<'b> {
        let is_paged = slots.iter().flatten().any(|slot| matches!(slot, Slot::Disk(_)));
        let pages = if is_paged { slots.len() } else { 0 };
        Columns { slots, pages: (0..pages).map(|_| OnceCell::new()).collect() }
    }

    /// The column of an attribute by its number; nothing if it has none.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn get(&self, attribute: usize) -> Result<Option<&Column>, StoreError> {
        let paged = match self.slots.get(attribute) {
            Some(Some(Slot::Memory(column))) => return Ok(Some(column)),
            Some(Some(Slot::Disk(paged))) => paged,
            _ => return Ok(None),
        };
        let Some(cell) = self.pages.get(attribute) else { return Ok(None) };
        if let Some(page) = cell.get() {
            return Ok(Some(page.column()));
        }
        let page = paged.page()?;
        Ok(Some(cell.get_or_init(|| page).column()))
    }

    /// Whether an attribute by its number has a column, which is not read.
    #[must_use]
    pub fn has(&self, attribute: usize) -> bool {
        self.slots.get(attribute).is_some_and(Option::is_some)
    }
}
