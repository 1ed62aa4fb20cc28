//! Graphs of the vectors of documents, as their writer has them.

use std::sync::Arc;

use half::bf16;
use stead_ann::{Graph, Hit, Outcome, Query, Request, Scratch, Writer};
use stead_expr::CellType;

use super::block::Block;
use super::far::FarVectors;
use super::vectors::AttributeVectors;
use super::view::{State, View};
use crate::columns::{Column, VectorCell};
use crate::error::StoreError;
use crate::kind::{AttributeColumn, DataType, DocumentType};
use crate::parallel::in_parallel;
use crate::value::FieldValue;

/// As many documents are worth other threads than the writer's: to have them costs as much as one.
const WORTH_THREADS: usize = 8;

/// Changes the graphs of a type of documents.
#[derive(Debug)]
pub(super) struct Graphs {
    /// By attribute, of those that have one.
    writers: Vec<GraphWriter>,
    published: Arc<[Option<Arc<Graph>>]>,
}

#[derive(Debug)]
struct GraphWriter {
    /// The number of the attribute.
    attribute: usize,
    writer: Writer,
    /// The documents whose vectors have changed, in any order, some of them several times.
    waiting: Vec<u32>,
    /// Whether vectors that it should have lie on disk and could not be read: then there is no graph, so that searches look at all vectors, and
    /// tell what is wrong rather than find what is left.
    is_lost: bool,
}

impl Graphs {
    /// Those of no documents.
    pub(super) fn new(kind: &DocumentType) -> Graphs {
        let of = |(attribute, about): (usize, &AttributeColumn)| {
            let writer = Writer::new(about.graph?);
            Some(GraphWriter { attribute, writer, waiting: Vec::new(), is_lost: false })
        };
        let writers: Vec<GraphWriter> =
            kind.attributes().iter().enumerate().filter_map(of).collect();
        let mut published =
            vec![None; if writers.is_empty() { 0 } else { kind.attributes().len() }];
        for of in &writers {
            published[of.attribute] = Some(Arc::new(of.writer.publish()));
        }
        Graphs { writers, published: published.into() }
    }

    /// Those of all documents of a view. `known` has the graphs of some attributes by their numbers, which the others are built beside.
    pub(super) fn of(view: &View, mut known: Vec<(usize, Graph)>) -> Graphs {
        let mut graphs = Graphs::new(view.kind());
        for of in &mut graphs.writers {
            match known.iter().position(|(attribute, _)| *attribute == of.attribute) {
                Some(at) => {
                    of.writer = Writer::of(known.swap_remove(at).1);
                    of.sketch(&view.state);
                    set(&mut graphs.published, of);
                }
                None => of.waiting = view.lids().collect(),
            }
        }
        graphs
    }

    /// Notes that a document is gone.
    pub(super) fn removed(&mut self, lid: u32) {
        self.writers.iter_mut().for_each(|of| of.waiting.push(lid));
    }

    /// Notes that a document, which lies in a row of a block, is about to have this value of an attribute. The vectors that it has already are
    /// linked: who puts the same again does not wait for that.
    pub(super) fn put(
        &mut self,
        lid: u32,
        attribute: usize,
        value: Option<&FieldValue>,
        before: Option<(&Block, usize)>,
    ) {
        let Some(of) = self.writers.iter_mut().find(|of| of.attribute == attribute) else { return };
        // What lies on disk is not read for it.
        let has = |(block, row): (&Block, usize)| {
            let known = block.slot(attribute).and_then(|slot| slot.in_memory(row));
            match (known, value) {
                (Some((Column::Tensors(tensors), row)), None) => tensors.absent().contains(row),
                (Some((Column::Tensors(tensors), row)), Some(FieldValue::Tensor(value))) => {
                    !tensors.absent().contains(row) && tensors.value(row).as_ref() == Some(value)
                }
                _ => false,
            }
        };
        if !before.is_some_and(has) {
            of.waiting.push(lid);
        }
    }

    /// The graphs with all changes, of documents as they are now.
    pub(super) fn publish(&mut self, state: &State) -> Arc<[Option<Arc<Graph>>]> {
        for of in self.writers.iter_mut().filter(|of| !of.waiting.is_empty()) {
            of.waiting.sort_unstable();
            of.waiting.dedup();
            let Some(about) = state.kind.attributes().get(of.attribute) else { continue };
            let DataType::Tensor(kind) = &about.kind else { continue };
            let (size, is_far) = (kind.block_size(), about.is_paged);
            match kind.cell() {
                CellType::Double => of.take_up::<f64>(state, size, is_far),
                CellType::Float => of.take_up::<f32>(state, size, is_far),
                CellType::BFloat16 => of.take_up::<bf16>(state, size, is_far),
                CellType::Int8 => of.take_up::<i8>(state, size, is_far),
                // There are no graphs of others.
                _ => {}
            }
            of.waiting = Vec::new();
            set(&mut self.published, of);
        }
        Arc::clone(&self.published)
    }
}

/// Makes the graph of a writer the one that others see next.
fn set(published: &mut Arc<[Option<Arc<Graph>>]>, of: &GraphWriter) {
    if let Some(place) = Arc::make_mut(published).get_mut(of.attribute) {
        *place = (!of.is_lost).then(|| Arc::new(of.writer.publish()));
    }
}

impl GraphWriter {
    /// Puts the vectors that wait in the place of those that the graph has of their documents.
    fn take_up<T: VectorCell>(&mut self, state: &State, size: usize, is_far: bool) {
        if self.is_lost {
            return;
        }
        // There are fewer documents than numbers for vectors; of a document with so many of them that there are none left, what has none is not
        // found by the graph.
        if !is_far {
            let vectors = AttributeVectors::<T>::new(state, self.attribute, size);
            let _ = self.writer.put_all(&vectors, &self.waiting, &lent);
            return;
        }
        let vectors = FarVectors::<T>::new(state, self.attribute, size);
        let _ = self.writer.put_all(&vectors, &self.waiting, &lent);
        // What others are compared with may be missing: then they have other links.
        let are_lost = |lid: &u32| FarVectors::<T>::new(state, self.attribute, size).are_lost(*lid);
        if vectors.error().is_some() && self.waiting.iter().any(are_lost) {
            self.is_lost = true;
            self.writer = Writer::new(*self.writer.options());
        }
    }

    /// Sketches the vectors of a graph that was read, for cells of which there are sketches.
    fn sketch(&mut self, state: &State) {
        let Some(about) = state.kind.attributes().get(self.attribute) else { return };
        let DataType::Tensor(kind) = &about.kind else { return };
        match kind.cell() {
            CellType::Double => self.sketch_of::<f64>(state, kind.block_size(), about.is_paged),
            CellType::Float => self.sketch_of::<f32>(state, kind.block_size(), about.is_paged),
            _ => {}
        }
    }

    fn sketch_of<T: VectorCell>(&mut self, state: &State, size: usize, is_far: bool) {
        match is_far {
            // What is not read has no sketch, so that a search that comes to it reads it.
            true => self.writer.sketch(&FarVectors::<T>::new(state, self.attribute, size), &lent),
            false => {
                let vectors = AttributeVectors::<T>::new(state, self.attribute, size);
                self.writer.sketch(&vectors, &lent);
            }
        }
    }
}

/// All cores, where there is enough to do.
fn lent(rounds: usize, body: &(dyn Fn(usize) + Sync)) {
    if rounds < WORTH_THREADS {
        return stead_ann::alone(rounds, body);
    }
    let rounds: Vec<usize> = (0..rounds).collect();
    // Nothing fails.
    let _ = in_parallel(&rounds, |round| {
        body(*round);
        Ok(())
    });
}

impl View {
    /// The graph of an attribute by its number, if it has one.
    #[must_use]
    pub fn graph(&self, attribute: usize) -> Option<&Arc<Graph>> {
        self.state.graphs.get(attribute)?.as_ref()
    }

    /// The documents whose vectors are nearest to one, of an attribute by its number: the nearest first, in `hits`, whose content goes. Nothing
    /// if the attribute has no [graph](View::graph), or its vectors another length.
    ///
    /// # Errors
    /// [`StoreError::Column`] where a vector that it comes to lies on disk and cannot be read.
    pub fn nearest(
        &self,
        attribute: usize,
        vector: &[f64],
        request: &Request<'_>,
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) -> Result<Option<Outcome>, StoreError> {
        let Some(run) = self.run(attribute, vector, request) else { return Ok(None) };
        let outcome = match run.cell {
            CellType::Double => run.search::<f64>(scratch, hits),
            CellType::Float => run.search::<f32>(scratch, hits),
            CellType::BFloat16 => run.search::<bf16>(scratch, hits),
            CellType::Int8 => run.search::<i8>(scratch, hits),
            _ => return Ok(None),
        };
        outcome.map(Some)
    }

    /// A search of the graph of an attribute, if there can be one.
    fn run<'r>(
        &'r self,
        attribute: usize,
        vector: &'r [f64],
        request: &'r Request<'r>,
    ) -> Option<Run<'r>> {
        let graph = self.graph(attribute)?;
        let about = self.kind().attributes().get(attribute)?;
        let DataType::Tensor(kind) = &about.kind else { return None };
        let (state, cell, is_far) = (&*self.state, kind.cell(), about.is_paged);
        let is_it = kind.block_size() == vector.len();
        is_it.then_some(Run { state, graph, attribute, cell, is_far, vector, request })
    }
}

/// A search of a graph.
struct Run<'r> {
    state: &'r State,
    graph: &'r Graph,
    attribute: usize,
    /// Of the vectors
    cell: CellType,
    /// Whether columns may lie on disk
    is_far: bool,
    vector: &'r [f64],
    request: &'r Request<'r>,
}

impl Run<'_> {
    fn search<T: VectorCell>(
        &self,
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) -> Result<Outcome, StoreError> {
        let (state, attribute, size) = (self.state, self.attribute, self.vector.len());
        let query = Query::<T>::new(self.graph.options().metric, self.vector);
        if self.is_far {
            let vectors = FarVectors::<T>::new(state, attribute, size);
            let outcome = self.graph.search(&vectors, &query, self.request, scratch, hits);
            return vectors.error().map_or(Ok(outcome), Err);
        }
        let vectors = match state.places.of(state, attribute, T::CELL) {
            Some(places) => AttributeVectors::<T>::placed(state, attribute, size, places),
            None => AttributeVectors::<T>::new(state, attribute, size),
        };
        Ok(self.graph.search(&vectors, &query, self.request, scratch, hits))
    }
}
