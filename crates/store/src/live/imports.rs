//! Attributes that documents import from their parents.
//!
//! A document names its parent by its id in a field of references. What it imports lies in the parent only, so that an update of a
//! parent is one of all its children. From the rows of a block to the numbers of parents leads a list that is made when it
//! is asked for, and again only when references or the ids of parents have changed.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::view::{AttributeView, Place, View};
use crate::columns::Column;
use crate::error::StoreError;
use crate::kind::{DocumentType, Import};
use crate::paged::{Changed, Paged, Slot};
use crate::value::FieldValue;

/// The number of no parent.
const NONE: u32 = u32::MAX;

/// What a type of documents imports, and what is known of the references of its documents. Clones share.
#[derive(Debug, Clone)]
pub struct Imports {
    references: Arc<Vec<Reference>>,
}

/// A field of references from which something is imported.
#[derive(Debug)]
struct Reference {
    /// Its attribute by its number.
    attribute: usize,
    /// The type of the parents.
    parent: String,
    /// By block.
    known: Mutex<Vec<Option<Known>>>,
}

/// The numbers of the parents of the rows of a block.
#[derive(Debug, Clone)]
struct Known {
    /// The references that they were found for.
    column: Found,
    /// When the parents had these ids.
    ids: u64,
    lids: Arc<[u32]>,
}

/// A column, remembered weakly: its address stays its own.
#[derive(Debug, Clone)]
enum Found {
    Memory(Weak<Column>),
    Disk(Weak<Paged>),
    Changed(Weak<Changed>),
}

impl Found {
    fn of(slot: &Slot) -> Found {
        match slot {
            Slot::Memory(column) => Found::Memory(Arc::downgrade(column)),
            Slot::Disk(paged) => Found::Disk(Arc::downgrade(paged)),
            Slot::Changed(changed) => Found::Changed(Arc::downgrade(changed)),
        }
    }

    fn is(&self, slot: &Slot) -> bool {
        match (self, slot) {
            (Found::Memory(known), Slot::Memory(column)) => {
                known.upgrade().is_some_and(|known| Arc::ptr_eq(&known, column))
            }
            (Found::Disk(known), Slot::Disk(paged)) => known.as_ptr() == Arc::as_ptr(paged),
            // The writer makes another of what is remembered before changing it.
            (Found::Changed(known), Slot::Changed(now)) => known.as_ptr() == Arc::as_ptr(now),
            _ => false,
        }
    }
}

impl Imports {
    /// What documents of a type import.
    #[must_use]
    pub fn new(kind: &DocumentType) -> Imports {
        let mut references: Vec<Reference> = Vec::new();
        for import in kind.attributes().iter().filter_map(|a| a.import.as_ref()) {
            let Some(attribute) = kind.attribute_number(&import.reference) else { continue };
            if !references.iter().any(|r| r.attribute == attribute) {
                let (parent, known) = (import.parent.clone(), Mutex::default());
                references.push(Reference { attribute, parent, known });
            }
        }
        Imports { references: Arc::new(references) }
    }

    /// A view with what its documents import; `parents` gives views of the types of parents.
    #[must_use]
    pub fn join(&self, view: View, parents: impl Fn(&str) -> Option<View>) -> View {
        if self.references.is_empty() {
            return view;
        }
        let references = self.references.iter().enumerate().map(|(at, reference)| {
            let lids = (0..view.block_count()).map(|_| OnceLock::new()).collect();
            (reference.attribute, at, parents(&reference.parent), lids)
        });
        let references: Vec<_> = references.collect();
        let attributes = view.kind().attributes().iter().map(|attribute| {
            let Import { reference, field, .. } = attribute.import.as_ref()?;
            let number = view.kind().attribute_number(reference)?;
            let at = references.iter().position(|(attribute, ..)| *attribute == number)?;
            let mut nothing = Column::new(&attribute.kind)?;
            nothing.set(0, None);
            Some(Imported { reference: at, field: field.clone(), nothing })
        });
        let attributes = attributes.collect();
        let references = references
            .into_iter()
            .map(|(attribute, at, parents, lids)| Joined { attribute, at, parents, lids })
            .collect();
        let joins = Joins { imports: self.clone(), references, attributes };
        View { joins: Some(Arc::new(joins)), ..view }
    }
}

/// What the documents of a view import.
#[derive(Debug)]
pub(super) struct Joins {
    imports: Imports,
    references: Vec<Joined>,
    /// By the number of the attribute.
    attributes: Vec<Option<Imported>>,
}

#[derive(Debug)]
struct Joined {
    attribute: usize,
    /// The number of the reference.
    at: usize,
    parents: Option<View>,
    /// By block.
    lids: Vec<OnceLock<Arc<[u32]>>>,
}

#[derive(Debug)]
struct Imported {
    reference: usize,
    /// The field of the parents.
    field: String,
    /// A row without a value.
    nothing: Column,
}

impl Joins {
    /// Where the value of an imported attribute lies; nothing if it is not imported.
    ///
    /// # Errors
    /// [`StoreError::Column`], of references that lie on disk.
    pub(super) fn place<'j>(
        &'j self,
        view: &'j View,
        attribute: usize,
        lid: u32,
    ) -> Result<Option<Place<'j>>, StoreError> {
        let Some(Some(imported)) = self.attributes.get(attribute) else { return Ok(None) };
        let nothing = || Some(Place::Nothing(&imported.nothing));
        let Some((parents, parent)) = self.parent(view, imported, lid)? else {
            return Ok(nothing());
        };
        let found = parents.attribute(&imported.field);
        let place = found.map_or(Ok(None), |found| found.place(parent))?;
        Ok(place.or_else(nothing))
    }

    /// The value of an imported field as the parent has it.
    pub(super) fn value(
        &self,
        view: &View,
        attribute: usize,
        lid: u32,
    ) -> Result<Option<FieldValue>, StoreError> {
        let Some(Some(imported)) = self.attributes.get(attribute) else { return Ok(None) };
        let Some((parents, parent)) = self.parent(view, imported, lid)? else { return Ok(None) };
        parents.attribute(&imported.field).map_or(Ok(None), |values| values.value(parent))
    }

    /// The parents, and the number of that of a document.
    fn parent<'j>(
        &'j self,
        view: &'j View,
        imported: &Imported,
        lid: u32,
    ) -> Result<Option<(&'j View, u32)>, StoreError> {
        let Some(joined) = self.references.get(imported.reference) else { return Ok(None) };
        let Some(parents) = joined.parents.as_ref() else { return Ok(None) };
        let (block, row) = view.split(lid);
        let Some(cell) = joined.lids.get(block) else { return Ok(None) };
        let lids = match cell.get() {
            Some(lids) => lids,
            None => {
                let lids = self.lids(view, joined, parents, block)?;
                cell.get_or_init(|| lids)
            }
        };
        Ok(lids.get(row).filter(|parent| **parent != NONE).map(|parent| (parents, *parent)))
    }

    /// The numbers of the parents of the documents of a block.
    fn lids(
        &self,
        view: &View,
        joined: &Joined,
        parents: &View,
        block: usize,
    ) -> Result<Arc<[u32]>, StoreError> {
        let Some(slot) = view.block(block).and_then(|b| b.slot(joined.attribute)) else {
            return Ok(Arc::default());
        };
        let ids = parents.ids_version();
        let Some(reference) = self.imports.references.get(joined.at) else {
            return Ok(Arc::default());
        };
        // What is known is whole whenever the lock is free.
        let lock = || reference.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Some(known)) = lock().get(block)
            && known.ids == ids
            && known.column.is(slot)
        {
            return Ok(Arc::clone(&known.lids));
        }
        let column = slot.hold()?;
        let Column::Texts(texts) = &*column else { return Ok(Arc::default()) };
        let find = |id: &str| if id.is_empty() { None } else { parents.find(id) };
        let lid = |row| texts.get(row).and_then(find).unwrap_or(NONE);
        let lids: Arc<[u32]> = (0..texts.len()).map(lid).collect();
        let known = Known { column: Found::of(slot), ids, lids: Arc::clone(&lids) };
        let mut all = lock();
        let len = all.len().max(block + 1);
        all.resize(len, None);
        all[block] = Some(known);
        Ok(lids)
    }
}

impl<'v> AttributeView<'v> {
    /// Whether the values are those of parents.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.about().import.is_some() && self.view().joins.is_some()
    }

    /// The value that was put, of an attribute that is a field.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn value(&self, lid: u32) -> Result<Option<FieldValue>, StoreError> {
        let (view, about) = (self.view(), self.about());
        match &view.joins {
            Some(joins) if about.import.is_some() => joins.value(view, self.number(), lid),
            _ => {
                let fields = view.read(lid, |field| field == about.field)?;
                Ok(fields.into_iter().flatten().next().map(|(_, value)| value))
            }
        }
    }
}
