//! Documents of a type as it was, for the type as it is: columns that are still the same are taken as they are.

use std::sync::Arc;

use stead_tensor::Bits;

use super::layout::Layout;
use super::{Spot, WrittenBlock};
use crate::body;
use crate::columns::{Column, Pieces};
use crate::error::StoreError;
use crate::kind::DocumentType;
use crate::live::{Block, Bodies, GROUP, Group};
use crate::packs::Blob;
use crate::paged::{Columns, Pager, Slot};
use crate::value::FieldValue;

/// A block as it was written.
pub(super) struct OldBlock {
    pub(super) rows: usize,
    pub(super) alive: Bits,
    pub(super) ids: Pieces,
    pub(super) ids_spot: Spot,
    /// With where they lie as they are.
    pub(super) columns: Vec<Option<(Slot, Option<Spot>)>>,
    pub(super) bodies: Bodies,
}

impl OldBlock {
    /// The block of a type whose layout is that of the block.
    pub(super) fn block(self) -> (Block, WrittenBlock) {
        let weak = |column: &Option<(Slot, Option<Spot>)>| {
            column.as_ref().and_then(|(slot, spot)| Some((slot.weak()?, (*spot)?)))
        };
        let columns: Vec<_> = self.columns.iter().map(weak).collect();
        let list = self.columns.into_iter().map(|column| column.map(|(slot, _)| slot));
        let block = Block::from_parts(list.collect(), self.ids, self.bodies, self.alive);
        let rows = Some((Arc::downgrade(block.ids()), self.ids_spot));
        (block, WrittenBlock { rows, columns })
    }

    fn slots(&self) -> Vec<Option<Slot>> {
        self.columns.iter().map(|column| column.as_ref().map(|(slot, _)| slot.clone())).collect()
    }
}

/// A column of the new type.
enum New {
    /// As it was, and where it lies so.
    Taken(Slot, Option<Spot>),
    /// Filled from the documents.
    Built(Column),
}

/// How documents of a type as it was become those of the type as it is.
pub(super) struct Conversion<'l> {
    from: &'l Layout,
    /// By the old number of the field: the new one.
    fields: Vec<Option<usize>>,
    /// By the new number of the column: the old one.
    columns: Vec<Option<usize>>,
    /// Whether bodies say the same for both.
    keeps_bodies: bool,
}

impl<'l> Conversion<'l> {
    /// Nothing if both are the same.
    pub(super) fn new(from: &'l Layout, kind: &DocumentType) -> Option<Conversion<'l>> {
        let to = Layout::of(kind);
        if *from == to {
            return None;
        }
        let field = |(name, _, _): &(String, _, _)| kind.field(name).map(|(number, _)| number);
        let fields = from.fields.iter().map(field).collect();
        let column = |new| from.attributes.iter().position(|old| old == new);
        let columns = to.attributes.iter().map(column).collect();
        let is_kept = |(old, new): (&(String, _, Option<usize>), &(String, _, Option<usize>))| {
            (&old.0, &old.1, old.2.is_some()) == (&new.0, &new.1, new.2.is_some())
        };
        let keeps_bodies = from.structs == to.structs
            && from.fields.len() <= to.fields.len()
            && from.fields.iter().zip(&to.fields).all(is_kept);
        Some(Conversion { from, fields, columns, keeps_bodies })
    }

    /// Who reads the columns as they were, by their old numbers; `new` has the same by the new ones.
    pub(super) fn old_pagers(&self, new: &[Option<Arc<Pager>>]) -> Vec<Option<Arc<Pager>>> {
        let mut old = vec![None; self.from.attributes.len()];
        for (from, pager) in self.columns.iter().zip(new) {
            if let Some(place) = from.and_then(|from| old.get_mut(from)) {
                place.clone_from(pager);
            }
        }
        old
    }

    /// The fields of a document that the new type has, by their new numbers.
    pub(super) fn fields(
        &self,
        block: &OldBlock,
        row: usize,
        kind: &DocumentType,
    ) -> Result<Vec<(usize, FieldValue)>, StoreError> {
        let Some(group) = block.bodies.groups().get(row / GROUP) else { return Ok(Vec::new()) };
        let Some(blob) = group.blob() else { return Ok(Vec::new()) };
        let (bodies, slots) = (group.bodies()?, block.slots());
        self.values((blob, &bodies), &Columns::new(&slots), row, kind)
    }

    fn values(
        &self,
        (blob, bodies): (&Blob, &Pieces),
        columns: &Columns<'_>,
        row: usize,
        kind: &DocumentType,
    ) -> Result<Vec<(usize, FieldValue)>, StoreError> {
        let body = bodies.get(row % GROUP).unwrap_or_default();
        if body.is_empty() {
            return Ok(Vec::new());
        }
        let damaged = |error: body::BodyError| blob.damage(error.to_string());
        let mut values = Vec::new();
        for (old, bytes) in body::fields(body).map_err(damaged)? {
            let Some(new) = self.fields.get(old).copied().flatten() else { continue };
            let Some((_, of, column)) = self.from.fields.get(old) else { continue };
            let value = match (bytes.is_empty(), column) {
                (false, _) => Some(body::value(bytes).map_err(damaged)?),
                (true, Some(column)) => columns.get(*column)?.and_then(|c| c.value(row, of)),
                (true, None) => None,
            };
            let is_of =
                |value: &FieldValue| kind.field_kind(new).is_some_and(|of| of.holds(kind, value));
            // A value of another type is none that the field could have, as where the log is read.
            values.extend(value.filter(is_of).map(|value| (new, value)));
        }
        Ok(values)
    }

    /// The block of the new type.
    pub(super) fn block(
        &self,
        old: OldBlock,
        kind: &DocumentType,
    ) -> Result<(Block, WrittenBlock), StoreError> {
        let taken = |(number, from): (usize, &Option<usize>)| {
            let known = from.and_then(|from| old.columns.get(from)?.clone());
            let new = || kind.new_column(&kind.attributes()[number]).map(New::Built);
            known.map_or_else(new, |(slot, spot)| Some(New::Taken(slot, spot)))
        };
        let mut columns: Vec<Option<New>> = self.columns.iter().enumerate().map(taken).collect();
        let is_new = |column: &Option<New>| matches!(column, Some(New::Built(_)));
        let (mut groups, slots) = (Vec::new(), old.slots());
        let held = Columns::new(&slots);
        if !self.keeps_bodies || columns.iter().any(is_new) {
            for (number, group) in old.bodies.groups().iter().enumerate() {
                let Some(blob) = group.blob() else { continue };
                let (bodies, mut now) = (group.bodies()?, Pieces::default());
                if bodies.len() != GROUP.min(old.rows - number * GROUP) {
                    return Err(blob.damage("it has another number of bodies"));
                }
                for at in 0..bodies.len() {
                    let row = number * GROUP + at;
                    let values = self.values((blob, &bodies), &held, row, kind)?;
                    for (attribute, column) in kind.attributes().iter().zip(&mut columns) {
                        let Some(New::Built(column)) = column else { continue };
                        let value = values.iter().find(|(field, _)| *field == attribute.field);
                        let value = value.map(|(_, value)| attribute.of(value));
                        column.set(row, value.as_deref());
                    }
                    match old.alive.contains(row) {
                        true => now.push(&body::encode(&values, |f| kind.column_of(f).is_some())),
                        false => now.push(&[]),
                    }
                }
                groups.push(Arc::new(Group::Memory(now)));
            }
        }
        let bodies = if self.keeps_bodies { old.bodies } else { Bodies::new(groups) };
        let weak = |column: &Option<New>| match column {
            Some(New::Taken(slot, spot)) => Some((slot.weak()?, (*spot)?)),
            _ => None,
        };
        let written = columns.iter().map(weak).collect();
        let list = columns.into_iter().map(|column| {
            column.map(|column| match column {
                New::Taken(slot, _) => slot,
                New::Built(column) => Slot::Memory(Arc::new(column)),
            })
        });
        let list = list.collect();
        let block = Block::from_parts(list, old.ids, bodies, old.alive);
        let rows = Some((Arc::downgrade(block.ids()), old.ids_spot));
        Ok((block, WrittenBlock { rows, columns: written }))
    }
}
