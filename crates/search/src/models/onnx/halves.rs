//! The part of a network that depends on documents alone: what it gives is kept as long as the documents stay what they are.

use std::sync::Arc;

use stead_app::application::rank::{FeatureName, ModelInput, Source as InputSource};
use stead_engine::{Model, RunContext, Runnable, Session};
use stead_expr::Rate;
use stead_tensor::{DType, Precision, Shape, TensorView};

use super::port::Port;
use super::session;
use super::stack::{self, Feed};
use crate::models::kept::{CellStamps, KeptValues, Key, MAX_COLUMNS, Place, Places};

/// An element that is kept stands for at least so many multiply-adds: to read it must be less work than to compute it.
const WORTH: usize = 16;

/// The most bytes that are kept of a document.
const MAX_ROW: usize = 64 << 10;

/// The part of a network that runs once for a document.
pub(super) struct Halves {
    pub(super) session: Runnable,
    /// What each of its inputs takes.
    pub(super) feeds: Vec<Feed>,
    /// How many documents share a run.
    pub(super) most: usize,
    /// Of each value, its type and the shape that it has for one document.
    pub(super) values: Vec<(DType, Vec<usize>)>,
    pub(super) kept: Arc<KeptValues>,
    /// The number of the network among those that keep.
    model: u32,
}

/// What is known of documents before the network runs for them.
pub struct Known {
    pub(super) keys: Vec<Key>,
    pub(super) places: Places,
    /// The documents whose values are to be computed, in ascending order.
    pub missing: Vec<u32>,
    /// By input, whether its column has the missing documents only.
    pub(super) is_partial: Vec<bool>,
}

/// The inputs that are attributes as they are stored, by name: what depends on them only can be kept.
pub(super) fn stored(inputs: &[ModelInput]) -> Vec<String> {
    let is_stored = |input: &&ModelInput| {
        let InputSource::Expression(compiled) = &input.source else { return false };
        let name = compiled.as_name().and_then(FeatureName::parse);
        let is_attribute = name.is_some_and(|n| n.name == "attribute" && n.arguments.len() == 1);
        let kind = compiled.kind();
        is_attribute && input.rate() == Rate::Document && kind.is_dense() && !kind.is_double()
    };
    inputs.iter().filter(is_stored).map(|input| input.name.clone()).collect()
}

impl Halves {
    /// The part, if documents can share its runs and keeping what it gives is worth the memory.
    pub(super) fn new(
        model: Model,
        precision: Precision,
        ports: &[Port],
        rates: &[Rate],
        kept: &Arc<KeptValues>,
    ) -> Result<Option<Halves>, String> {
        let parameters = model.info().parameters;
        let mut session = session(model, precision)?;
        let feeds = stack::feeds(session.model().inputs(), ports, rates, (0, 0))?;
        let shape = |feed: &Feed| match feed {
            Feed::Documents(port) => ports.get(*port)?.shape(),
            _ => None,
        };
        // Nothing here has a default.
        let Some(shapes) = feeds.iter().map(shape).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let is_row = |shape: &Vec<usize>| shape.first() == Some(&1);
        if feeds.len() > MAX_COLUMNS || !shapes.iter().all(is_row) {
            return Ok(None);
        }
        let Some(values) = outputs(&session, &shapes) else { return Ok(None) };
        let two: Vec<Vec<usize>> = shapes.iter().map(|shape| rows(shape, 2)).collect();
        let are_rows = outputs(&session, &two).is_some_and(|found| {
            found.iter().zip(&values).all(|(two, one)| is_row(&one.1) && two.1 == rows(&one.1, 2))
        });
        let elements: usize = values.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        let bytes: usize = values.iter().map(|(dtype, shape)| row_bytes(*dtype, shape)).sum();
        let has_texts = values.iter().any(|(dtype, _)| *dtype == DType::String);
        if !are_rows
            || has_texts
            || parameters < WORTH * elements
            || !(1..=MAX_ROW).contains(&bytes)
        {
            return Ok(None);
        }
        let axes: Vec<(usize, usize)> = (0..feeds.len()).map(|at| (at, 0)).collect();
        if session.free_batch_of(&axes, &shapes).is_err() {
            return Ok(None);
        }
        let most = stack::count(&session, &shapes);
        Ok(Some(Halves {
            session: session.into(),
            feeds,
            most,
            values,
            kept: Arc::clone(kept),
            model: kept.model(),
        }))
    }

    /// The inputs that it takes, by number.
    pub(super) fn ports(&self) -> impl Iterator<Item = usize> {
        self.feeds.iter().filter_map(|feed| match feed {
            Feed::Documents(port) => Some(*port),
            _ => None,
        })
    }

    /// The shapes of the values of a document.
    pub(super) fn shapes(&self) -> Vec<Vec<usize>> {
        self.values.iter().map(|(_, shape)| shape.clone()).collect()
    }

    /// The bytes that are kept of a document.
    pub(super) fn row_bytes(&self) -> usize {
        self.values.iter().map(|(dtype, shape)| row_bytes(*dtype, shape)).sum()
    }

    /// What is known of documents by the stamps of the cells that the inputs are.
    pub(super) fn known(&self, stamps: &[CellStamps], is_partial: Vec<bool>) -> Known {
        let key = |stamps: &CellStamps| Key { model: self.model, stamps: *stamps };
        let keys: Vec<Key> = stamps.iter().map(key).collect();
        let places = self.kept.find(&keys);
        let missing = places.rows.iter().enumerate().filter(|(_, place)| place.is_none());
        let missing = missing.map(|(row, _)| row as u32).collect();
        Known { keys, places, missing, is_partial }
    }
}

impl Known {
    /// How many documents it was asked for.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.places.rows.len()
    }

    /// Nothing of so many documents; they are not kept either.
    pub(super) fn nothing(count: usize) -> Known {
        let places = Places { pieces: Vec::new(), rows: vec![None; count] };
        let missing = (0..count as u32).collect();
        Known { keys: Vec::new(), places, missing, is_partial: Vec::new() }
    }

    /// Whether the column of an input has the missing documents only.
    pub(in crate::models) fn is_partial(&self, port: usize) -> bool {
        self.is_partial.get(port).copied().unwrap_or(false)
    }
}

impl Places {
    /// A value of documents from `begin` on where it lies, if these lie behind each other.
    pub(super) fn borrowed(
        &self,
        value: usize,
        begin: usize,
        count: usize,
        size: usize,
    ) -> Option<&[u8]> {
        let rows = self.rows.get(begin..begin + count)?;
        let first = (*rows.first()?)?;
        let follows = |(at, place): (u32, &Option<Place>)| {
            place.is_some_and(|p| p.piece == first.piece && p.row == first.row + at)
        };
        if !(0..).zip(rows).all(follows) {
            return None;
        }
        let tensor = self.pieces.get(first.piece as usize)?.values.get(value)?;
        let from = first.row as usize * size;
        tensor.bytes().get(from..from + count * size)
    }

    /// Copies a value of documents from `begin` on; nothing if one of them is not there.
    pub(super) fn gather(
        &self,
        value: usize,
        begin: usize,
        size: usize,
        out: &mut [u8],
    ) -> Option<()> {
        let rows = self.rows.get(begin..)?.iter();
        let mut last: Option<(u32, &[u8])> = None;
        for (place, room) in rows.zip(out.chunks_exact_mut(size.max(1))) {
            let place = (*place)?;
            let bytes = match last {
                Some((piece, bytes)) if piece == place.piece => bytes,
                _ => self.pieces.get(place.piece as usize)?.values.get(value)?.bytes(),
            };
            last = Some((place.piece, bytes));
            let from = place.row as usize * size;
            room.copy_from_slice(bytes.get(from..from + size)?);
        }
        Some(())
    }
}

/// The bytes of a value of one document.
pub(super) fn row_bytes(dtype: DType, shape: &[usize]) -> usize {
    shape.iter().product::<usize>() * dtype.bits() / 8
}

/// A shape of one document as that of several.
pub(super) fn rows(shape: &[usize], count: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if let Some(first) = shape.first_mut() {
        *first = count;
    }
    shape
}

/// The types and shapes of what a session gives for zeros.
fn outputs(session: &Session, shapes: &[Vec<usize>]) -> Option<Vec<(DType, Vec<usize>)>> {
    let tensors = stack::zeros(session, shapes);
    let views: Vec<_> =
        tensors.iter().map(|t| t.as_ref().map(stead_tensor::Tensor::view)).collect();
    let outputs = session.run_with(&views, &RunContext::default(), |outputs| {
        let of = |view: TensorView<'_>| (view.dtype(), Shape::dims(&view.shape()).to_vec());
        (0..outputs.len()).map(|at| outputs.get(at).map(of)).collect::<Result<Vec<_>, _>>()
    });
    outputs.and_then(|outputs| outputs).ok()
}
