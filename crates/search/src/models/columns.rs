//! What models take: values of the query and columns of documents.

use stead_app::application::rank::SourceType;
use stead_expr::{Attribute, Numbers, Value};

/// A value of the query.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// A number or tensor.
    Value(&'a Value),
    /// A text.
    Text(&'a str),
}

/// The values of one name for many documents.
#[derive(Clone)]
pub enum Column<'a> {
    /// Numbers or tensors.
    Cells(Attribute<'a>),
    /// A list of numbers for each document.
    Lists {
        /// The number with which each document begins, and behind the last document the number of all.
        offsets: &'a [u32],
        /// All numbers, in the type in which they are stored.
        numbers: Numbers<'a>,
    },
    /// A text, or a list of texts, for each document.
    Texts(&'a dyn Texts),
}

/// Texts of documents.
pub trait Texts: Sync {
    /// How many documents there are.
    fn documents(&self) -> usize;

    /// How many texts the document at a place has: 1, where a field is no list.
    fn count(&self, place: usize) -> usize;

    /// A text of the document at a place.
    fn text(&self, place: usize, at: usize) -> &str;
}

/// Documents for which a model runs.
#[derive(Clone, Copy)]
pub struct Documents<'a> {
    /// How many.
    pub count: usize,
    /// The place of each in the columns; without it they are the first `count`.
    pub index: Option<&'a [u32]>,
    /// The values of each name, in the order of [`ModelFunction::document_names`](super::ModelFunction::document_names).
    pub columns: &'a [Column<'a>],
}

impl Documents<'_> {
    /// The place of a document in the columns.
    pub(super) fn place(&self, row: usize) -> usize {
        match self.index {
            Some(index) => index.get(row).map_or(usize::MAX, |at| *at as usize),
            None => row,
        }
    }
}

impl Column<'_> {
    /// How many documents have a value, for a name of this type.
    pub(super) fn documents(&self, kind: &SourceType) -> usize {
        match self {
            Column::Cells(Attribute::Numbers(numbers)) => numbers.len(),
            Column::Cells(Attribute::Dense { cells, stride }) => {
                let size = match kind {
                    SourceType::Tensor(kind) => kind.block_size(),
                    _ => 1,
                };
                let behind_last = (cells.len() + stride).checked_sub(size.max(1));
                if size > *stride { 0 } else { behind_last.map_or(0, |n| n / (*stride).max(1)) }
            }
            Column::Cells(Attribute::Mixed { offsets, .. }) => offsets.len().saturating_sub(1),
            Column::Lists { offsets, .. } => offsets.len().saturating_sub(1),
            Column::Texts(texts) => texts.documents(),
        }
    }

    /// What the column holds, for messages.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Column::Cells(Attribute::Numbers(_)) => "numbers",
            Column::Cells(_) => "tensors",
            Column::Lists { .. } => "lists of numbers",
            Column::Texts(_) => "texts",
        }
    }
}
