//! Documents of a type as it was, for the type as it is: columns that are still the same are taken as they are.

use std::sync::Arc;

use super::layout::Layout;
use super::{Spot, WrittenBlock};
use crate::body;
use crate::columns::{Column, Pieces};
use crate::error::StoreError;
use crate::kind::DocumentType;
use crate::live::{Bits, Block, Bodies, GROUP, Group};
use crate::value::FieldValue;

/// A block as it was written.
pub(super) struct OldBlock {
    pub(super) rows: usize,
    pub(super) alive: Bits,
    pub(super) ids: Pieces,
    pub(super) ids_spot: Spot,
    pub(super) columns: Vec<Option<(Arc<Column>, Spot)>>,
    pub(super) bodies: Bodies,
}

impl OldBlock {
    /// The block of a type whose layout is that of the block.
    pub(super) fn block(self, kind: &DocumentType) -> (Block, WrittenBlock) {
        let weak = |column: &Option<(Arc<Column>, Spot)>| {
            column.as_ref().map(|(column, spot)| (Arc::downgrade(column), *spot))
        };
        let columns: Vec<_> = self.columns.iter().map(weak).collect();
        let list = self.columns.into_iter().map(|column| column.map(|(column, _)| column));
        let block = Block::from_parts(kind, list.collect(), self.ids, self.bodies, self.alive);
        let rows = Some((Arc::downgrade(block.ids()), self.ids_spot));
        (block, WrittenBlock { rows, columns })
    }
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

    /// The fields of a document that the new type has, by their new numbers.
    pub(super) fn fields(
        &self,
        block: &OldBlock,
        row: usize,
        kind: &DocumentType,
    ) -> Result<Vec<(usize, FieldValue)>, StoreError> {
        let group = block.bodies.groups().get(row / GROUP);
        let Some(Group::Disk(blob)) = group.map(|group| &**group) else { return Ok(Vec::new()) };
        self.values(&Group::unpack(blob)?, block, row, kind)
            .map_err(|error| blob.damage(error.to_string()))
    }

    fn values(
        &self,
        bodies: &Pieces,
        block: &OldBlock,
        row: usize,
        kind: &DocumentType,
    ) -> Result<Vec<(usize, FieldValue)>, body::BodyError> {
        let body = bodies.get(row % GROUP).unwrap_or_default();
        if body.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Vec::new();
        for (old, bytes) in body::fields(body)? {
            let Some(new) = self.fields.get(old).copied().flatten() else { continue };
            let Some((_, of, column)) = self.from.fields.get(old) else { continue };
            let column = column.and_then(|column| block.columns.get(column)?.as_ref());
            let value = match (bytes.is_empty(), column) {
                (false, _) => Some(body::value(bytes)?),
                (true, Some((column, _))) => column.value(row, of),
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
            known.map_or_else(
                || kind.new_column(&kind.attributes()[number]).map(|c| (Arc::new(c), None)),
                |(column, spot)| Some((column, Some(spot))),
            )
        };
        let mut columns: Vec<Option<(Arc<Column>, Option<Spot>)>> =
            self.columns.iter().enumerate().map(taken).collect();
        let is_new = |column: &Option<(Arc<Column>, Option<Spot>)>| {
            column.as_ref().is_some_and(|(_, spot)| spot.is_none())
        };
        let mut groups = Vec::new();
        if !self.keeps_bodies || columns.iter().any(is_new) {
            for (number, group) in old.bodies.groups().iter().enumerate() {
                let Group::Disk(blob) = &**group else { continue };
                let (bodies, mut now) = (Group::unpack(blob)?, Pieces::default());
                if bodies.len() != GROUP.min(old.rows - number * GROUP) {
                    return Err(blob.damage("it has another number of bodies"));
                }
                for at in 0..bodies.len() {
                    let row = number * GROUP + at;
                    let values = self
                        .values(&bodies, &old, row, kind)
                        .map_err(|error| blob.damage(error.to_string()))?;
                    for (attribute, column) in kind.attributes().iter().zip(&mut columns) {
                        let Some((column, None)) = column else { continue };
                        let value = values.iter().find(|(field, _)| *field == attribute.field);
                        let value = value.map(|(_, value)| attribute.of(value));
                        // It is ours alone.
                        Arc::make_mut(column).set(row, value.as_deref());
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
        let weak = |column: &Option<(Arc<Column>, Option<Spot>)>| {
            column.as_ref().and_then(|(column, spot)| Some((Arc::downgrade(column), (*spot)?)))
        };
        let written = columns.iter().map(weak).collect();
        let list = columns.into_iter().map(|column| column.map(|(column, _)| column)).collect();
        let block = Block::from_parts(kind, list, old.ids, bodies, old.alive);
        let rows = Some((Arc::downgrade(block.ids()), old.ids_spot));
        Ok((block, WrittenBlock { rows, columns: written }))
    }
}
