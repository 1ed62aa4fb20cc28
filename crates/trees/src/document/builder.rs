//! Puts items behind each other while a parser meets them.

use super::{Document, Item};
use crate::error::{Place, TreeError};
use crate::limits::Limits;

/// A container that is not closed yet.
struct Open {
    /// Its item.
    at: usize,
    len: u32,
    object: bool,
}

/// The document so far.
pub(super) struct Builder {
    items: Vec<Item>,
    text: String,
    open: Vec<Open>,
    limits: Limits,
}

impl Builder {
    pub(super) fn new(limits: &Limits) -> Builder {
        Builder { items: Vec::new(), text: String::new(), open: Vec::new(), limits: *limits }
    }

    /// Whether the innermost container is an object; none at the outermost value.
    pub(super) fn inside(&self) -> Option<bool> {
        self.open.last().map(|open| open.object)
    }

    /// How many values the innermost container has.
    pub(super) fn len(&self) -> u32 {
        self.open.last().map_or(0, |open| open.len)
    }

    /// Whether the outermost value is complete.
    pub(super) fn complete(&self) -> bool {
        self.open.is_empty() && !self.items.is_empty()
    }

    fn push(&mut self, item: Item) -> Result<(), TreeError> {
        // The ends of containers are u32.
        let limit = self.limits.values.min(u32::MAX as usize);
        if self.items.len() >= limit {
            return Err(TreeError::Limit { place: Place::Model, what: "values", limit });
        }
        self.items.push(item);
        Ok(())
    }

    fn value(&mut self, item: Item) -> Result<(), TreeError> {
        if let Some(open) = self.open.last_mut() {
            open.len += 1;
        }
        self.push(item)
    }

    pub(super) fn null(&mut self) -> Result<(), TreeError> {
        self.value(Item::Null)
    }

    pub(super) fn truth(&mut self, x: bool) -> Result<(), TreeError> {
        self.value(Item::Bool(x))
    }

    pub(super) fn number(&mut self, x: f64) -> Result<(), TreeError> {
        self.value(Item::Number(x))
    }

    pub(super) fn text(&mut self, text: &str) -> Result<(), TreeError> {
        let item = self.keep(text)?;
        self.value(item)
    }

    /// The key of the member whose value follows.
    pub(super) fn key(&mut self, text: &str) -> Result<(), TreeError> {
        let item = self.keep(text)?;
        self.push(item)
    }

    fn keep(&mut self, text: &str) -> Result<Item, TreeError> {
        let limit = u32::MAX as usize;
        let start = self.text.len();
        if start + text.len() > limit {
            return Err(TreeError::Limit { place: Place::Model, what: "bytes of text", limit });
        }
        self.text.push_str(text);
        Ok(Item::Text { start: start as u32, len: text.len() as u32 })
    }

    pub(super) fn open(&mut self, object: bool) -> Result<(), TreeError> {
        if self.open.len() >= self.limits.depth {
            let limit = self.limits.depth;
            return Err(TreeError::Limit { place: Place::Model, what: "nested values", limit });
        }
        // Where it ends is known when it is closed.
        self.value(Item::Null)?;
        self.open.push(Open { at: self.items.len() - 1, len: 0, object });
        Ok(())
    }

    pub(super) fn close(&mut self) {
        if let Some(Open { at, len, object }) = self.open.pop() {
            let end = self.items.len() as u32;
            self.items[at] =
                if object { Item::Object { end, len } } else { Item::Array { end, len } };
        }
    }

    pub(super) fn finish(self) -> Document {
        Document { items: self.items, text: self.text }
    }
}
