//! The vectors of documents, as graphs of them ask, where columns lie on disk.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use stead_ann::{Row, Vectors};

use super::view::State;
use crate::columns::{Column, ColumnVectors, VectorCell};
use crate::error::StoreError;
use crate::paged::{Page, Paged, Slot};

/// The vectors of an attribute of all documents, of which those on disk are read one by one.
#[derive(Debug)]
pub(super) struct FarVectors<'v, T> {
    state: &'v State,
    /// The number of the attribute.
    attribute: usize,
    /// The numbers of a vector.
    size: usize,
    /// Why a vector was not read, of the first that was not.
    error: OnceLock<StoreError>,
    cell: PhantomData<T>,
}

/// A vector while somebody looks at it.
#[derive(Debug)]
pub(super) enum FarRow<'v, T> {
    /// In memory anyway
    Here(&'v [T]),
    /// Of a column that is in memory for now: its number there, and how many numbers it has
    Page(Arc<Page>, usize, usize),
    /// Read alone
    Alone(Box<[T]>),
}

impl<T> Default for FarRow<'_, T> {
    fn default() -> Self {
        FarRow::Here(&[])
    }
}

impl<T: VectorCell> Deref for FarRow<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            FarRow::Here(vector) => vector,
            FarRow::Page(page, number, size) => {
                vectors(page.column()).get(*number, *size).unwrap_or_default()
            }
            FarRow::Alone(vector) => vector,
        }
    }
}

impl<T: VectorCell> Row<T> for FarRow<'_, T> {}

/// Those of a column.
fn vectors<T: VectorCell>(column: &Column) -> ColumnVectors<'_, T> {
    match column {
        Column::Tensors(tensors) => tensors.vectors().unwrap_or(ColumnVectors::NONE),
        _ => ColumnVectors::NONE,
    }
}

/// What is found of a document.
type Found<R> = Result<R, StoreError>;

impl<'v, T: VectorCell> FarVectors<'v, T> {
    /// Those of an attribute by its number; of columns with other cells, none.
    pub(super) fn new(state: &'v State, attribute: usize, size: usize) -> FarVectors<'v, T> {
        FarVectors { state, attribute, size, error: OnceLock::new(), cell: PhantomData }
    }

    /// Why a vector that was wanted was not read, if one was not.
    pub(super) fn error(self) -> Option<StoreError> {
        self.error.into_inner()
    }

    /// Whether there may be vectors of a document that are not read.
    pub(super) fn are_lost(&self, document: u32) -> bool {
        match self.numbers(document) {
            Ok(numbers) => numbers.enumerate().any(|(at, _)| self.read(document, at).is_err()),
            Err(_) => true,
        }
    }

    fn slot(&self, document: u32) -> Option<(&'v Slot, usize)> {
        let (block, row) = self.state.split(document);
        Some((self.state.blocks.get(block)?.slot(self.attribute)?, row))
    }

    /// The vectors of a document by their numbers in the column that has them.
    fn numbers(&self, document: u32) -> Found<Range<usize>> {
        let Some((slot, row)) = self.slot(document) else { return Ok(0..0) };
        if let Some((column, at)) = slot.in_memory(row) {
            let vectors = vectors::<T>(column);
            let numbers = vectors.of(at);
            // What lies behind the last vector of a block is none.
            let is_there = numbers.clone().all(|number| vectors.get(number, self.size).is_some());
            return Ok(if is_there { numbers } else { 0..0 });
        }
        let Some(paged) = slot.on_disk(row) else { return Ok(0..0) };
        if paged.sums().is_none() {
            // Who reads it as a whole takes them down.
            paged.page()?;
        }
        Ok(paged.sums().map_or(0..0, |sums| sums.of(row)))
    }

    fn read(&self, document: u32, at: usize) -> Found<Option<FarRow<'v, T>>> {
        let Some((slot, row)) = self.slot(document) else { return Ok(None) };
        if let Some((column, place)) = slot.in_memory(row) {
            let vectors = vectors(column);
            let number = vectors.of(place).nth(at);
            let vector = number.and_then(|number| vectors.get(number, self.size));
            return Ok(vector.map(FarRow::Here));
        }
        slot.on_disk(row).map_or(Ok(None), |paged| self.on_disk(paged, row, at))
    }

    fn on_disk(&self, paged: &Paged, row: usize, at: usize) -> Found<Option<FarRow<'v, T>>> {
        let page = match (paged.cached(), paged.sums()) {
            (Some(page), _) => page,
            (None, Some(sums)) => {
                let Some(number) = sums.of(row).nth(at) else { return Ok(None) };
                return Ok(paged.vector(number, self.size)?.map(FarRow::Alone));
            }
            (None, None) => paged.page()?,
        };
        let of_column = vectors::<T>(page.column());
        let number = of_column.of(row).nth(at);
        let number = number.filter(|number| of_column.get(*number, self.size).is_some());
        Ok(number.map(|number| FarRow::Page(page, number, self.size)))
    }

    /// What was found, or nothing where it was not read.
    fn or_note<R>(&self, found: Found<Option<R>>) -> Option<R> {
        found.unwrap_or_else(|error| {
            // The first tells enough.
            let _ = self.error.set(error);
            None
        })
    }
}

impl<T: VectorCell> Vectors for FarVectors<'_, T> {
    type Cell = T;
    type Row<'r>
        = FarRow<'r, T>
    where
        Self: 'r;

    const IS_FAR: bool = true;

    fn count(&self, document: u32) -> u32 {
        self.or_note(self.numbers(document).map(Some)).map_or(0, |numbers| numbers.len() as u32)
    }

    fn vector(&self, document: u32, at: u32) -> Option<FarRow<'_, T>> {
        self.or_note(self.read(document, at as usize))
    }

    fn will_read(&self, vectors: impl Iterator<Item = (u32, u32)>) {
        // The first is waited for anyway.
        for (document, at) in vectors.skip(1) {
            let Some((slot, row)) = self.slot(document) else { continue };
            if let Some(paged) = slot.on_disk(row) {
                paged.will_read_vector(row, at as usize);
            }
        }
    }
}
