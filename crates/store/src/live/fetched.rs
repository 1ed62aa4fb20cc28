//! What of documents lies on disk, read ahead of whoever must not wait for it, or once for documents that lie together.

use std::borrow::Cow;
use std::sync::Arc;

use super::group::{GROUP, Group};
use super::view::View;
use crate::body;
use crate::columns::Pieces;
use crate::error::StoreError;
use crate::packs::Blob;
use crate::paged::{Page, Paged};
use crate::value::FieldValue;

/// What was read of the bodies that lie with that of a document, and of the columns that have its fields.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    /// Where the bodies lie, held so that others cannot come to lie there, and the bodies.
    bodies: Option<(Blob, Pieces)>,
    columns: Vec<(Arc<Paged>, Arc<Page>)>,
}

/// The fields of a document: their numbers in ascending order and their values.
type Fields = Vec<(usize, FieldValue)>;

impl Fetched {
    /// A column, if it was read.
    pub(super) fn page(&self, paged: &Arc<Paged>) -> Option<Arc<Page>> {
        let found = self.columns.iter().find(|(of, _)| Arc::ptr_eq(of, paged));
        found.map(|(_, page)| Arc::clone(page))
    }

    fn bodies(&self, blob: &Blob) -> Option<&Pieces> {
        self.bodies.as_ref().filter(|(of, _)| of.is(blob)).map(|(_, bodies)| bodies)
    }
}

impl View {
    fn group(&self, lid: u32) -> Option<&Arc<Group>> {
        let (block, row) = self.split(lid);
        self.block(block)?.bodies().groups().get(row / GROUP)
    }

    /// The body of a document, if it is in memory or was fetched.
    fn body_at_hand<'f>(&'f self, lid: u32, fetched: Option<&'f Fetched>) -> Option<Cow<'f, [u8]>> {
        let Some(group) = self.group(lid) else { return Some(Cow::default()) };
        let (_, row) = self.split(lid);
        group.at_hand(row % GROUP, |blob| fetched?.bodies(blob))
    }

    /// The columns on disk that have fields of a document among those that are wanted.
    fn paged(
        &self,
        lid: u32,
        body: &[u8],
        is_wanted: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = &Arc<Paged>> {
        let (block, row) = self.split(lid);
        let block = self.block(block).filter(|_| self.kind().has_paged());
        let paged = |field| block?.slot(self.kind().column_of(field)?)?.on_disk(row);
        let fields = block.and_then(|_| body::fields(body).ok()).unwrap_or_default();
        let lies_in_column =
            |(field, bytes): &(usize, &[u8])| bytes.is_empty() && is_wanted(*field);
        let fields = fields.into_iter().filter(lies_in_column);
        let found: Vec<_> = fields.filter_map(|(field, _)| paged(field)).collect();
        found.into_iter()
    }

    /// Whether [`View::read_fetched`] reads the same fields of a document without the disk.
    pub(crate) fn is_at_hand(
        &self,
        lid: u32,
        fetched: Option<&Fetched>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> bool {
        let Some(body) = self.body_at_hand(lid, fetched) else { return false };
        let is_fetched = |paged| fetched.is_some_and(|of| of.page(paged).is_some());
        self.paged(lid, &body, is_wanted).all(is_fetched)
    }

    /// Reads the bodies that lie with that of a document, and the columns that have the fields of it that are wanted; nothing of what is
    /// in memory or was fetched before.
    ///
    /// # Errors
    /// As [`View::read`].
    pub(crate) fn fetch(
        &self,
        lid: u32,
        before: Option<Fetched>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Fetched, StoreError> {
        let before = before.unwrap_or_default();
        let mut fetched = Fetched::default();
        if let Some(blob) = self.group(lid).and_then(|group| group.blob())
            && self.body_at_hand(lid, None).is_none()
        {
            fetched.bodies = Some(match before.bodies {
                Some((of, bodies)) if of.is(blob) => (of, bodies),
                _ => (blob.clone(), Group::unpack(blob)?),
            });
        }
        let mut columns = Vec::new();
        if let Some(body) = self.body_at_hand(lid, Some(&fetched)) {
            for paged in self.paged(lid, &body, is_wanted) {
                let known = before.columns.iter().find(|(of, _)| Arc::ptr_eq(of, paged));
                let page = known.map_or_else(|| paged.page(), |(_, page)| Ok(Arc::clone(page)))?;
                columns.push((Arc::clone(paged), page));
            }
        }
        Ok(Fetched { columns, ..fetched })
    }

    /// [`View::read`] with the help of what was fetched from this or an earlier view.
    ///
    /// # Errors
    /// As [`View::read`].
    pub(crate) fn read_fetched(
        &self,
        lid: u32,
        fetched: Option<&Fetched>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Option<Fields>, StoreError> {
        let (block, row) = self.split(lid);
        let Some(block) = self.block(block) else { return Ok(None) };
        if let Some(body) = self.body_at_hand(lid, fetched).filter(|body| !body.is_empty()) {
            return self.fields_of(lid, &body, fetched, is_wanted);
        }
        match block.body(row)? {
            Some(body) => self.fields_of(lid, &body, fetched, is_wanted),
            None => Ok(None),
        }
    }

    /// Reads documents one after the other.
    #[must_use]
    pub fn fields_reader(&self) -> FieldReader<'_> {
        FieldReader { view: self, fetched: None }
    }
}

/// Reads documents one after the other: of those that stand together, what lies together on disk is read once.
#[derive(Debug)]
pub struct FieldReader<'v> {
    view: &'v View,
    fetched: Option<Fetched>,
}

impl FieldReader<'_> {
    /// The fields of a document among those that are wanted; nothing if there is no document of this number.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn read(
        &mut self,
        lid: u32,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Option<Fields>, StoreError> {
        if !self.view.is_at_hand(lid, self.fetched.as_ref(), &is_wanted) {
            self.fetched = Some(self.view.fetch(lid, self.fetched.take(), &is_wanted)?);
        }
        self.view.read_fetched(lid, self.fetched.as_ref(), &is_wanted)
    }
}
