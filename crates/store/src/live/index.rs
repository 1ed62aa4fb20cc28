//! What `fast-search`, and the type predicate, add to the columns of blocks that follow each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use stead_tensor::Bits;

use crate::columns::Postings;
use crate::error::StoreError;
use crate::kind::{DocumentType, Indexed};

/// The rows of a span: so many that a search that finds little looks at few spans, so few that who makes their postings is done in some
/// milliseconds. [Postings] tell no more than four times as many apart.
const SPAN: usize = 1 << 14;

/// The least and the greatest part of their rows, as its inverse, that must have changed before postings are made again. Spans
/// differ, lest the same search makes those of all of them.
const CHANGED: (usize, usize) = (16, 8);

/// How many blocks of `1 << shift` rows are a span.
pub(super) fn blocks(shift: u32) -> usize {
    (SPAN >> shift).max(1)
}

/// The indexes of the blocks of a span, by the number of the attribute; nothing for those without `fast-search`.
#[derive(Debug, Clone)]
pub(super) struct Span {
    indexes: Vec<Option<SpanIndex>>,
}

/// [Postings] of the columns of a span, and the rows that have changed since they were begun.
///
/// They are made when a reader asks for them, of the columns that its view has. From when one has asked, the writer notes which rows it
/// changes, and what it had noted before the postings were made is remembered with them: so they are those of all views from when the
/// writer began, though it goes on while they are made. When these rows become many the writer begins anew, and the next reader makes
/// others. A write costs a bit, and making postings costs each write the same on average, however many readers there are. They are
/// in memory wherever the columns lie.
#[derive(Debug, Clone)]
struct SpanIndex {
    by: Indexed,
    shared: Arc<Shared>,
    /// The rows that have changed since the postings were begun; nothing where the writer notes none, so that they are those of one
    /// view alone.
    changed: Option<Bits>,
    /// The number of the span, and how often its postings were begun anew.
    place: (usize, usize),
}

/// What the views of a span have in common since its postings were begun.
#[derive(Debug, Default)]
struct Shared {
    is_wanted: AtomicBool,
    made: OnceLock<Arc<Made>>,
}

#[derive(Debug)]
struct Made {
    postings: Postings,
    /// The rows that had changed in the view that they were made of, and that an older one may have otherwise.
    unknown: Bits,
}

/// The postings of a span where they are right, and where they are not.
#[derive(Debug, Clone)]
pub struct Index {
    made: Arc<Made>,
    changed: Bits,
    by: Indexed,
}

impl Index {
    /// Rows by their values.
    #[must_use]
    pub fn postings(&self) -> &Postings {
        &self.made.postings
    }

    /// The rows of which postings tell nothing, whatever they say of them.
    #[must_use]
    pub fn changed(&self) -> &Bits {
        &self.changed
    }

    /// What rows are found by.
    #[must_use]
    pub fn by(&self) -> Indexed {
        self.by
    }
}

impl Span {
    /// The span of a number of documents of a type; nothing if they have no indexes.
    pub(super) fn new(kind: &DocumentType, number: usize) -> Option<Span> {
        let index = |a: &crate::AttributeColumn| Some(SpanIndex::new(a.index?, number));
        let indexes: Vec<Option<SpanIndex>> = kind.attributes().iter().map(index).collect();
        indexes.iter().any(Option::is_some).then_some(Span { indexes })
    }

    /// Notes that a row has other values of some attributes by their numbers: they are in the columns already.
    pub(super) fn change(&mut self, row: usize, attributes: impl IntoIterator<Item = usize>) {
        for attribute in attributes {
            if let Some(Some(index)) = self.indexes.get_mut(attribute) {
                index.change(row);
            }
        }
    }

    /// The index of an attribute by its number, whose postings `make` makes where there are none; nothing if there is no such index, or there
    /// are none of such values.
    pub(super) fn index(
        &self,
        attribute: usize,
        make: impl FnOnce(Indexed) -> Result<Option<Postings>, StoreError>,
    ) -> Result<Option<Index>, StoreError> {
        match self.indexes.get(attribute) {
            Some(Some(index)) => index.get(make),
            _ => Ok(None),
        }
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.indexes.iter().flatten().map(SpanIndex::memory).sum()
    }
}

impl SpanIndex {
    fn new(by: Indexed, number: usize) -> SpanIndex {
        SpanIndex { by, shared: Arc::default(), changed: None, place: (number, 0) }
    }

    fn change(&mut self, row: usize) {
        let most = self.most();
        match &mut self.changed {
            Some(changed) => {
                changed.insert(row);
                if changed.count() > most {
                    self.shared = Arc::default();
                    self.changed = Some(only(row));
                    self.place.1 += 1;
                }
            }
            None => {
                // Whether nobody else has it, and whether somebody has asked.
                let (is_alone, is_wanted) = match Arc::get_mut(&mut self.shared) {
                    Some(shared) => (true, *shared.is_wanted.get_mut()),
                    // Relaxed: who asks just now has it alone.
                    None => (false, self.shared.is_wanted.load(Ordering::Relaxed)),
                };
                match (is_wanted, is_alone) {
                    // Nothing had changed since the views were published that have it too.
                    (true, _) => self.changed = Some(only(row)),
                    // What these may ask for is right for them alone.
                    (false, false) => self.shared = Arc::default(),
                    (false, true) => {}
                }
            }
        }
    }

    /// How many rows may have changed.
    fn most(&self) -> usize {
        let (least, more) = (SPAN / CHANGED.0, SPAN / CHANGED.1 - SPAN / CHANGED.0);
        // Fractions of multiples of the golden ratio are as far from each other as can be.
        let (number, times) = self.place;
        let part = (number * 31 + times) as f64 * 0.618_033_988_749_894_9;
        least + (part.fract() * more as f64) as usize
    }

    fn get(
        &self,
        make: impl FnOnce(Indexed) -> Result<Option<Postings>, StoreError>,
    ) -> Result<Option<Index>, StoreError> {
        let Shared { is_wanted, made } = &*self.shared;
        if made.get().is_none() {
            is_wanted.store(true, Ordering::Relaxed);
            let Some(postings) = make(self.by)? else { return Ok(None) };
            let unknown = self.changed.clone().unwrap_or_default();
            // Who comes meanwhile makes its own instead of waiting.
            let _ = made.set(Arc::new(Made { postings, unknown }));
        }
        let index = |made: &Arc<Made>| {
            let (made, mut changed) = (Arc::clone(made), self.changed.clone().unwrap_or_default());
            changed.or(&made.unknown);
            Index { made, changed, by: self.by }
        };
        Ok(made.get().map(index))
    }

    fn memory(&self) -> usize {
        let bits = |bits: &Bits| size_of_val(bits.words());
        let made = self
            .shared
            .made
            .get()
            .map_or(0, |made| made.postings.memory() + bits(&made.unknown) + size_of::<Made>());
        made + self.changed.as_ref().map_or(0, bits) + size_of::<SpanIndex>()
    }
}

fn only(row: usize) -> Bits {
    let mut bits = Bits::default();
    bits.insert(row);
    bits
}
