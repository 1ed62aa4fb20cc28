//! Documents as they were at a moment.

use std::sync::Arc;

use stead_ann::Graph;
use stead_text::FieldIndex;

use super::block::Block;
use super::chunked::Chunked;
use super::cursor::Cursor;
use super::directory::Directory;
use super::fetched::Fetched;
use super::imports::Joins;
use super::index::{self, Index, Span};
use super::locations::Locations;
use super::places::Places;
use crate::body;
use crate::columns::{Column, Postings};
use crate::error::StoreError;
use crate::kind::{AttributeColumn, DocumentType};
use crate::paged::{Blocks, Columns, Held, Pager, Slot, ask_behind};
use crate::value::FieldValue;

/// All documents of a type as they were at a moment, whatever is written since. Clones share.
#[derive(Debug, Clone)]
pub struct View {
    pub(super) state: Arc<State>,
    /// What its documents import from others.
    pub(super) joins: Option<Arc<Joins>>,
}

/// The documents of a view, or those that the writer is about to publish.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) kind: DocumentType,
    /// A block has `1 << shift` rows.
    pub(super) shift: u32,
    pub(super) blocks: Chunked<Block>,
    /// The indexes of blocks, of so many of them each; none where documents have none.
    pub(super) spans: Chunked<Span>,
    pub(super) directory: Directory,
    /// Who documents belong to, where searches ask for those of one.
    pub(super) locations: Option<Locations>,
    pub(super) len: usize,
    /// Who reads columns that lie on disk, by the number of the attribute; none where all lie in memory.
    pub(super) pagers: Arc<[Option<Arc<Pager>>]>,
    /// The indexes of texts, as they were published last.
    pub(super) texts: Arc<[FieldIndex]>,
    /// The graphs of vectors, as they were published last: by the number of the attribute, empty where no attribute has one.
    pub(super) graphs: Arc<[Option<Arc<Graph>>]>,
    /// Of documents that were published: the writer's own change.
    pub(super) places: Places,
}

impl State {
    pub(super) fn find(&self, hash: u32, id: &str) -> Option<u32> {
        self.directory.find(hash, |lid| self.id(lid) == Some(id))
    }

    fn id(&self, lid: u32) -> Option<&str> {
        let (block, row) = self.split(lid);
        self.blocks.get(block)?.id(row)
    }

    /// Adds a block behind the last.
    pub(super) fn push(&mut self, block: Block) {
        let (number, blocks) = (self.blocks.len(), index::blocks(self.shift));
        self.blocks.push(block);
        if number.is_multiple_of(blocks)
            && let Some(span) = Span::new(&self.kind, number / blocks)
        {
            self.spans.push(span);
        }
    }

    /// Notes that a row of a block has other values of some attributes by their numbers: they are in the columns already.
    pub(super) fn change(
        &mut self,
        (block, row): (usize, usize),
        attributes: impl IntoIterator<Item = usize>,
    ) {
        let blocks = index::blocks(self.shift);
        if let Some(span) = self.spans.get_mut(block / blocks) {
            span.change(((block % blocks) << self.shift) + row, attributes);
        }
    }

    pub(super) fn split(&self, lid: u32) -> (usize, usize) {
        ((lid >> self.shift) as usize, lid as usize & ((1 << self.shift) - 1))
    }
}

impl Blocks for State {
    fn slot(&self, block: usize, attribute: usize) -> Option<&Slot> {
        self.blocks.get(block)?.slot(attribute)
    }
}

impl View {
    /// The type of its documents.
    #[must_use]
    pub fn kind(&self) -> &DocumentType {
        &self.state.kind
    }

    /// How many documents there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of a block: a power of two. The last block may have fewer.
    #[must_use]
    pub fn block_rows(&self) -> usize {
        1 << self.state.shift
    }

    /// How many blocks there are.
    pub(super) fn block_count(&self) -> usize {
        self.state.blocks.len()
    }

    /// Who reads the column of an attribute where it lies on disk; nothing if it stays in memory.
    pub(crate) fn pager(&self, attribute: usize) -> Option<&Arc<Pager>> {
        self.state.pagers.get(attribute)?.as_ref()
    }

    /// Where this is the same number, another view of the same documents has the same ids and numbers.
    pub(super) fn ids_version(&self) -> u64 {
        self.state.directory.version()
    }

    /// The blocks in the order of their numbers.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.state.blocks.iter().map(Arc::as_ref)
    }

    /// A block by its number.
    #[must_use]
    pub fn block(&self, number: usize) -> Option<&Block> {
        self.state.blocks.get(number).map(Arc::as_ref)
    }

    /// The columns of a block by its number, for somebody who works on it and may come to those behind it.
    #[must_use]
    pub fn hold(&self, number: usize) -> Option<Columns<'_>> {
        Some(Columns::new(self.block(number)?.columns()).among(self.block_list(), number))
    }

    /// The blocks and what lies on disk of them.
    pub(super) fn block_list(&self) -> &dyn Blocks {
        &*self.state
    }

    /// How many blocks have an [index](View::index) in common.
    #[must_use]
    pub fn span_blocks(&self) -> usize {
        index::blocks(self.state.shift)
    }

    /// Where the values of an attribute with `fast-search` or of predicates, by its number, lie in blocks that follow each other: from block
    /// `span * span_blocks` on; rows count from the first of that one. Nothing if there is no such index. It is made by who asks for it
    /// first: nobody waits for another who makes it too.
    ///
    /// # Errors
    /// [`StoreError::Column`] where a column lies on disk and cannot be read.
    pub fn index(&self, attribute: usize, span: usize) -> Result<Option<Index>, StoreError> {
        let Some(of) = self.state.spans.get(span) else { return Ok(None) };
        of.index(attribute, |by| {
            let blocks = self.span_blocks();
            let blocks = (span * blocks..(span + 1) * blocks).map_while(|at| self.block(at));
            let columns = blocks.map(|block| block.column(attribute));
            let columns: Option<Vec<Held<'_>>> = columns.collect::<Result<_, _>>()?;
            let columns = columns.unwrap_or_default();
            let columns: Vec<&Column> = columns.iter().map(|column| &**column).collect();
            Ok(Postings::of(&columns, self.block_rows(), by))
        })
    }

    /// The index of texts of a number among [those of the type](DocumentType::texts).
    #[must_use]
    pub fn text(&self, number: usize) -> Option<&FieldIndex> {
        self.state.texts.get(number)
    }

    /// The indexes of texts, in the order of [those of the type](DocumentType::texts).
    pub fn texts(&self) -> impl Iterator<Item = &FieldIndex> {
        self.state.texts.iter()
    }

    /// The number of the block of a document, and its row in it.
    #[must_use]
    pub fn split(&self, lid: u32) -> (usize, usize) {
        self.state.split(lid)
    }

    /// The number of the document that has a row of a block.
    #[must_use]
    pub fn lid(&self, block: usize, row: usize) -> u32 {
        // There are no blocks behind the last of these numbers.
        ((block << self.state.shift) + row) as u32
    }

    /// The numbers of all documents in ascending order.
    pub fn lids(&self) -> impl Iterator<Item = u32> {
        let blocks = self.blocks().enumerate();
        blocks.flat_map(move |(at, block)| block.alive().iter().map(move |row| self.lid(at, row)))
    }

    /// The numbers of all documents from one on, in ascending order.
    pub(crate) fn lids_from(&self, from: u32) -> impl Iterator<Item = u32> {
        let (first, row) = self.split(from);
        let blocks = self.blocks().enumerate().skip(first);
        blocks.flat_map(move |(at, block)| {
            let rows = if at == first { row } else { 0 };
            block.alive().iter().skip_while(move |at| *at < rows).map(move |row| self.lid(at, row))
        })
    }

    /// The number of a document.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<u32> {
        self.state.find(Directory::hash(id), id)
    }

    /// The id of a document; nothing if there is none of this number.
    #[must_use]
    pub fn id(&self, lid: u32) -> Option<&str> {
        self.state.id(lid)
    }

    /// The fields of a document, as they were put: their numbers in ascending order and their values. Nothing also where
    /// [reading](View::read) them fails.
    #[must_use]
    pub fn fields(&self, lid: u32) -> Option<Vec<(usize, FieldValue)>> {
        self.read(lid, |_| true).ok().flatten()
    }

    /// The fields of a document among those that are wanted; nothing if there is no document of this number.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or [`StoreError::Column`] when what is on disk of it is not what was written, and what the disk
    /// answers.
    pub fn read(
        &self,
        lid: u32,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Option<Vec<(usize, FieldValue)>>, StoreError> {
        let (block, row) = self.split(lid);
        let Some(block) = self.block(block) else { return Ok(None) };
        let Some(body) = block.body(row)? else { return Ok(None) };
        self.fields_of(lid, &body, None, is_wanted)
    }

    /// The fields of a document whose body is known, among those that are wanted.
    pub(super) fn fields_of(
        &self,
        lid: u32,
        body: &[u8],
        fetched: Option<&Fetched>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Option<Vec<(usize, FieldValue)>>, StoreError> {
        let (block, row) = self.split(lid);
        let Some(block) = self.block(block) else { return Ok(None) };
        // A store has no bodies but those that it has written.
        let Ok(fields) = body::fields(body) else { return Ok(None) };
        let mut values = Vec::new();
        for (field, bytes) in fields.into_iter().filter(|(field, _)| is_wanted(*field)) {
            let value = match bytes.is_empty() {
                false => body::value(bytes).ok(),
                true => {
                    let slot = self.kind().column_of(field).and_then(|at| block.slot(at));
                    let Some((slot, kind)) = slot.zip(self.kind().field_kind(field)) else {
                        return Ok(None);
                    };
                    slot.value(row, kind, |paged| {
                        let page = fetched.and_then(|fetched| fetched.page(paged));
                        page.map_or_else(|| paged.page(), Ok)
                    })?
                }
            };
            let Some(value) = value else { return Ok(None) };
            values.push((field, value));
        }
        Ok(Some(values))
    }

    /// The values of an attribute; nothing if the type has no such attribute, or its values have no column.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<AttributeView<'_>> {
        let number = self.kind().attribute_number(name)?;
        let about = &self.kind().attributes()[number];
        let is_imported = about.import.is_some() && self.joins.is_some();
        let has_column = is_imported || self.kind().new_column(about).is_some();
        has_column.then_some(AttributeView { view: self, number })
    }

    /// The memory that its documents take, in bytes; what other views have too included, columns that lie on disk not.
    #[must_use]
    pub fn memory(&self) -> usize {
        let blocks = self.blocks().map(Block::memory).sum::<usize>();
        let indexes = self.state.spans.iter().map(|span| span.memory()).sum::<usize>();
        let texts = self.state.texts.iter().map(FieldIndex::memory).sum::<usize>();
        let locations = self.state.locations.as_ref().map_or(0, Locations::memory);
        let graphs = self.state.graphs.iter().flatten().map(|g| g.memory()).sum::<usize>();
        blocks + indexes + texts + graphs + locations + self.state.directory.memory()
    }
}

/// The values of an attribute for the documents of a view.
#[derive(Debug, Clone, Copy)]
pub struct AttributeView<'v> {
    view: &'v View,
    number: usize,
}

/// Where the value of a document lies.
pub(super) enum Place<'v> {
    /// In a column that the view has itself: there is no parent.
    Nothing(&'v Column),
    /// In a block of the view, or of that of parents.
    Block {
        slot: &'v Slot,
        /// The number of the block.
        block: usize,
        row: usize,
    },
}

impl<'v> AttributeView<'v> {
    /// Its number among the attributes of the type.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// What it is.
    #[must_use]
    pub fn about(&self) -> &'v AttributeColumn {
        &self.view.kind().attributes()[self.number]
    }

    /// The view.
    #[must_use]
    pub fn view(&self) -> &'v View {
        self.view
    }

    /// The column of a block; nothing if the values are imported.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn column(&self, block: usize) -> Result<Option<Held<'v>>, StoreError> {
        self.ask_behind(block);
        self.view.block(block).map_or(Ok(None), |block| block.column(self.number))
    }

    /// The column that has the value of a document, and its row there.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn at(&self, lid: u32) -> Result<Option<(Held<'v>, usize)>, StoreError> {
        Ok(match self.place(lid)? {
            Some(Place::Block { slot, block, row }) => {
                if !self.is_imported() {
                    self.ask_behind(block);
                }
                Some((slot.hold()?, row))
            }
            Some(Place::Nothing(column)) => Some((Held::of(column), 0)),
            None => None,
        })
    }

    /// A column that has the value of a document, and its row there: a vector that has a [graph](View::graph) and lies on disk is read alone, if
    /// that is quicker.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn alone(&self, lid: u32) -> Result<Option<(Held<'v>, usize)>, StoreError> {
        Ok(match self.place(lid)? {
            Some(Place::Block { slot, row, .. }) => Some(slot.hold_rows(row..row + 1)?),
            Some(Place::Nothing(column)) => Some((Held::of(column), 0)),
            None => None,
        })
    }

    /// Tells the disk that the vectors of some documents are read soon, which are the view's own.
    pub(super) fn will_read(&self, documents: &[u32]) {
        for lid in documents {
            let (block, row) = self.view.split(*lid);
            let slot = self.view.block(block).and_then(|block| block.slot(self.number));
            if let Some(paged) = slot.and_then(|slot| slot.on_disk(row)) {
                paged.will_read_vector(row, 0);
            }
        }
    }

    /// A column of the view's own is about to be read.
    fn ask_behind(&self, block: usize) {
        if self.view.pager(self.number).is_some() {
            ask_behind(self.view.block_list(), block, self.number);
        }
    }

    /// The same for many documents, one after the other.
    #[must_use]
    pub fn cursor(self) -> Cursor<'v> {
        Cursor::new(self)
    }

    /// The same for documents that are known, in the order in which they are come to: their columns that lie on disk are asked for before they
    /// are read.
    #[must_use]
    pub fn cursor_over(self, documents: impl Iterator<Item = u32>) -> Cursor<'v> {
        Cursor::over(self, documents)
    }

    /// A number that the tensor of a document has of all tensors, as [`stamp`](crate::TensorColumn::stamp); a column that lies on disk is
    /// not read.
    ///
    /// # Errors
    /// [`StoreError::Column`], of references.
    pub fn stamp(&self, lid: u32) -> Result<Option<u64>, StoreError> {
        Ok(match self.place(lid)? {
            Some(Place::Block { slot, row, .. }) => slot.stamp(row),
            Some(Place::Nothing(Column::Tensors(tensors))) => tensors.stamp(0),
            Some(Place::Nothing(_)) | None => None,
        })
    }

    /// Where the value of a document lies.
    pub(super) fn place(&self, lid: u32) -> Result<Option<Place<'v>>, StoreError> {
        if let Some(joins) = &self.view.joins
            && let Some(place) = joins.place(self.view, self.number, lid)?
        {
            return Ok(Some(place));
        }
        let (block, row) = self.view.split(lid);
        let slot = self.view.block(block).and_then(|block| block.slot(self.number));
        Ok(slot.map(|slot| Place::Block { slot, block, row }))
    }
}
