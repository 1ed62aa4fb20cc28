//! The writer of documents, and what readers take views from.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use stead_ann::Graph;
use stead_text::FieldIndex;

use super::block::Block;
use super::chunked::Chunked;
use super::directory::Directory;
use super::graphs::Graphs;
use super::group::Group;
use super::locations::Locations;
use super::places::Places;
use super::texts::{self, TextMerge, TextMerged, Texts};
use super::view::{State, View};
use crate::body;
use crate::error::StoreError;
use crate::kind::DocumentType;
use crate::paged::{Pager, Slot};
use crate::value::FieldValue;

/// The most documents: the number behind the last row of the last block is a number too.
const MAX_DOCUMENTS: u32 = u32::MAX - (1 << 12);

/// The documents of a type, for their one writer. What it has written is seen by readers once it is
/// [published](Collection::publish), all of it together.
///
/// Which number a document gets, and in which row it lies, follows from the writes alone: two collections with the same
/// writes are equal.
#[derive(Debug)]
pub struct Collection {
    state: State,
    texts: Texts,
    graphs: Graphs,
    /// Numbers of removed documents. The lowest is taken first, so that what is free tells who is next.
    free: BinaryHeap<Reverse<u32>>,
    published: Arc<ArcSwap<State>>,
}

/// Something of a block that a snapshot has.
#[derive(Debug)]
pub(crate) enum Replaced {
    Bodies {
        /// The number of the block.
        block: usize,
        /// The number of the group in it.
        group: usize,
        old: Arc<Group>,
        new: Arc<Group>,
    },
    Column {
        /// The number of the block.
        block: usize,
        /// The number of the attribute.
        attribute: usize,
        old: Slot,
        new: Slot,
    },
}

/// Takes views of a collection, on any thread. Clones share.
#[derive(Debug, Clone)]
pub struct Reader {
    published: Arc<ArcSwap<State>>,
}

impl Reader {
    /// All documents as they were published last. Never waits.
    #[must_use]
    pub fn view(&self) -> View {
        View { state: self.published.load_full(), joins: None }
    }
}

impl Collection {
    /// No documents of a type.
    #[must_use]
    pub fn new(kind: DocumentType) -> Collection {
        let shift = Block::rows_of(&kind).trailing_zeros();
        let (mut texts, graphs) = (Texts::new(&kind), Graphs::new(&kind));
        let locations = kind.is_streamed().then(Locations::new);
        let state = State {
            kind,
            shift,
            blocks: Chunked::new(),
            spans: Chunked::new(),
            directory: Directory::new(),
            locations,
            len: 0,
            pagers: Arc::default(),
            texts: texts.publish(),
            graphs: Arc::default(),
            places: Places::default(),
        };
        let published = Arc::new(ArcSwap::from_pointee(state.clone()));
        let mut collection =
            Collection { state, texts, graphs, free: BinaryHeap::new(), published };
        collection.publish();
        collection
    }

    /// The same documents, whose columns may lie on disk: those with who reads them there, by the number of the attribute. Without, all
    /// stay in memory.
    pub(crate) fn with_pagers(mut self, pagers: Vec<Option<Arc<Pager>>>) -> Collection {
        self.state.pagers = pagers.into();
        self.publish();
        self
    }

    /// The documents of blocks, each of `1 << shift` rows but the last, which may have fewer. `pairs` has the hash of the id and the number
    /// of each.
    pub(crate) fn from_blocks(
        kind: DocumentType,
        shift: u32,
        list: Vec<Block>,
        pairs: &[(u32, u32)],
    ) -> Collection {
        let mut collection = Collection::new(kind);
        let state = &mut collection.state;
        // Blocks of a file have the rows that they were written with.
        (state.shift, state.len) = (shift, pairs.len());
        state.directory = Directory::of(pairs);
        let mut free = Vec::new();
        for (number, block) in list.into_iter().enumerate() {
            if !block.is_whole() {
                let rows = (0..block.rows()).filter(|row| !block.alive().contains(*row));
                free.extend(rows.map(|row| Reverse(((number << shift) + row) as u32)));
            }
            state.push(block);
        }
        collection.free = free.into();
        if let Some(mut locations) = state.locations.take() {
            let view = View { state: Arc::new(state.clone()), joins: None };
            for lid in view.lids() {
                view.id(lid).into_iter().for_each(|id| locations.insert(id, lid));
            }
            collection.state.locations = Some(locations);
        }
        collection.publish();
        collection
    }

    /// Makes the indexes of the texts of all documents, which [blocks](Collection::from_blocks) come without. Those that are known already, by
    /// their numbers, are taken as they are.
    ///
    /// # Errors
    /// When a text lies on disk and cannot be read.
    pub(crate) fn index_texts(
        &mut self,
        known: Vec<(usize, FieldIndex)>,
    ) -> Result<(), StoreError> {
        self.texts = Texts::of(&self.now(), known)?;
        self.publish();
        Ok(())
    }

    /// Makes the graphs of the vectors of all documents that were written, published or not. Those that are known already, by the numbers
    /// of their attributes, are taken as they are.
    pub fn link_vectors(&mut self, known: Vec<(usize, Graph)>) {
        self.graphs = Graphs::of(&self.now(), known);
        self.publish();
    }

    /// All documents as they were written, published or not.
    fn now(&self) -> View {
        View { state: Arc::new(self.state.clone()), joins: None }
    }

    /// Segments of indexes of texts that are better joined and are not being joined: by whoever has the time, while documents are written.
    pub fn merges(&mut self) -> Vec<TextMerge> {
        self.texts.merges()
    }

    /// The same with those that are better joined while nothing changes.
    pub fn rests(&mut self) -> Vec<TextMerge> {
        self.texts.rests()
    }

    /// Takes up what was joined. It is seen when it is [published](Collection::publish).
    pub fn install(&mut self, merged: TextMerged) {
        self.texts.install(merged);
    }

    /// Joins all segments of indexes of texts that are better joined, now.
    pub fn settle(&mut self) {
        self.texts.settle();
    }

    /// Puts bodies and columns on disk in the place of the same in memory. What has changed of them since a snapshot was begun stays in
    /// memory.
    pub(crate) fn replace(&mut self, replaced: &[Replaced]) {
        let blocks = &mut self.state.blocks;
        for one in replaced {
            match one {
                Replaced::Bodies { block, group, old, new } => {
                    if let Some(block) = blocks.get_mut(*block) {
                        block.bodies_mut().replace(*group, old, new);
                    }
                }
                Replaced::Column { block, attribute, old, new } => {
                    if let Some(block) = blocks.get_mut(*block) {
                        block.replace_column(*attribute, old, new);
                    }
                }
            }
        }
    }

    /// The type of the documents.
    #[must_use]
    pub fn kind(&self) -> &DocumentType {
        &self.state.kind
    }

    /// How many documents there are, those that are not yet published included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that its documents take, published or not, without their indexes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.state.blocks.iter().map(|block| block.memory()).sum()
    }

    /// What readers take views from.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader { published: self.published.clone() }
    }

    /// The number of a document, published or not.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<u32> {
        self.state.find(Directory::hash(id), id)
    }

    /// Puts a document in the place of the one with this id, or as a new one, and returns its number. `fields` has the numbers of
    /// the fields that have a value, with values of their types.
    ///
    /// # Errors
    /// [`StoreError::Full`] where there is no room for it. Where that cannot be told without a column on disk of a gigabyte or more, what
    /// reading it leads to. Nothing is changed then.
    pub fn put(&mut self, id: &str, fields: &[(usize, FieldValue)]) -> Result<u32, StoreError> {
        let (hash, rows) = (Directory::hash(id), 1 << self.state.shift);
        let known = self.state.find(hash, id);
        let full = |what: &str| StoreError::Full { document: id.to_owned(), what: what.to_owned() };
        let free = self.free.peek().map(|Reverse(lid)| *lid);
        let lid = match known.or(free) {
            Some(lid) => lid,
            // All numbers below are those of documents.
            None => match u32::try_from(self.state.len) {
                Ok(lid) if lid < MAX_DOCUMENTS => lid,
                _ => return Err(full("documents")),
            },
        };
        let kind = &self.state.kind;
        let values = values(kind, fields);
        let (number, row) = self.state.split(lid);
        if let Some(block) = self.state.blocks.get_mut(number) {
            let list = values.iter().enumerate().map(|(at, value)| (at, value.as_deref()));
            if let Some(attribute) = block.full(list, rows)? {
                return Err(full(&kind.attributes()[attribute].name));
            }
        } else {
            self.state.push(Block::new(&self.state.kind));
        }
        let before = self.state.blocks.get(number).filter(|_| known.is_some());
        for (attribute, value) in values.iter().enumerate() {
            let before = before.map(|block| (&**block, row));
            self.graphs.put(lid, attribute, value.as_deref(), before);
        }
        let kind = &self.state.kind;
        let body = body::encode(fields, |field| kind.column_of(field).is_some());
        if let Some(block) = self.state.blocks.get_mut(number) {
            block.put(row, id, &values, &body, rows);
        }
        self.state.change((number, row), 0..values.len());
        self.texts.put(&self.state.kind, lid, fields);
        if known.is_none() {
            self.state.directory.insert(hash, lid);
            if let Some(locations) = &mut self.state.locations {
                locations.insert(id, lid);
            }
            self.state.len += 1;
            if self.free.peek() == Some(&Reverse(lid)) {
                self.free.pop();
            }
        }
        Ok(lid)
    }

    /// Changes fields of a document: these have these values from now on, or none; the others stay. Whether it was there.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn update(
        &mut self,
        id: &str,
        changes: &[(usize, Option<FieldValue>)],
    ) -> Result<bool, StoreError> {
        let rows = 1 << self.state.shift;
        let Some(lid) = self.find(id) else { return Ok(false) };
        let (number, row) = self.state.split(lid);
        let kind = self.state.kind.clone();
        let mut values = Vec::new();
        for (at, attribute) in kind.attributes().iter().enumerate() {
            if let Some((_, value)) = changes.iter().find(|(field, _)| *field == attribute.field) {
                values.push((at, value.as_ref().map(|value| attribute.of(value))));
            }
        }
        let Some(block) = self.state.blocks.get_mut(number) else { return Ok(false) };
        let list = values.iter().map(|(at, value)| (*at, value.as_deref()));
        if let Some(attribute) = block.full(list, rows)? {
            let what = kind.attributes()[attribute].name.clone();
            return Err(StoreError::Full { document: id.to_owned(), what });
        }
        let state = &self.state;
        self.texts.update(&kind, lid, changes, || {
            texts::stored(&View { state: Arc::new(state.clone()), joins: None }, lid)
        })?;
        let before = self.state.blocks.get(number);
        for (attribute, value) in &values {
            let before = before.map(|block| (&**block, row));
            self.graphs.put(lid, *attribute, value.as_deref(), before);
        }
        let Some(block) = self.state.blocks.get_mut(number) else { return Ok(false) };
        let change = body::change(changes, |field| kind.column_of(field).is_some());
        // A store has no bodies but those that it has written.
        let is_changed = block.update(row, &values, &change, rows).is_ok();
        self.state.change((number, row), values.iter().map(|(attribute, _)| *attribute));
        Ok(is_changed)
    }

    /// Takes a document away; whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let (hash, rows) = (Directory::hash(id), 1 << self.state.shift);
        let Some(lid) = self.state.find(hash, id) else { return false };
        let (number, row) = self.state.split(lid);
        if let Some(block) = self.state.blocks.get_mut(number) {
            block.remove(row, rows);
        }
        self.state.change((number, row), 0..self.state.kind.attributes().len());
        self.texts.remove(lid);
        self.graphs.removed(lid);
        self.state.directory.remove(hash, lid);
        if let Some(locations) = &mut self.state.locations {
            locations.remove(id, lid);
        }
        self.state.len -= 1;
        self.free.push(Reverse(lid));
        true
    }

    /// Makes everything that was written what readers see from now on.
    pub fn publish(&mut self) {
        self.state.texts = self.texts.publish();
        self.state.graphs = self.graphs.publish(&self.state);
        self.published.store(Arc::new(self.state.clone()));
    }

    /// All documents as they were published last.
    #[must_use]
    pub fn view(&self) -> View {
        self.reader().view()
    }
}

/// The values of the attributes of a document.
fn values<'f>(
    kind: &DocumentType,
    fields: &'f [(usize, FieldValue)],
) -> Vec<Option<Cow<'f, FieldValue>>> {
    let value = |attribute: &crate::AttributeColumn| {
        let (_, value) = fields.iter().find(|(field, _)| *field == attribute.field)?;
        Some(attribute.of(value))
    };
    kind.attributes().iter().map(value).collect()
}
