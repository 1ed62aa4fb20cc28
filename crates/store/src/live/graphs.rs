//! Graphs of the vectors of documents, as their writer has them.

use std::sync::Arc;

use half::bf16;
use stead_ann::{Graph, Hit, Outcome, Query, Request, Scratch, Writer};
use stead_expr::CellType;

use super::block::Block;
use super::vectors::AttributeVectors;
use super::view::{State, View};
use crate::columns::{Column, VectorCell};
use crate::kind::{AttributeColumn, DataType, DocumentType};
use crate::paged::Slot;
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
}

impl Graphs {
    /// Those of no documents.
    pub(super) fn new(kind: &DocumentType) -> Graphs {
        let of = |(attribute, about): (usize, &AttributeColumn)| {
            let writer = Writer::new(about.graph?);
            Some(GraphWriter { attribute, writer, waiting: Vec::new() })
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
        let has = |(block, row): (&Block, usize)| match block.slot(attribute) {
            Some(Slot::Memory(column)) => match (&**column, value) {
                (Column::Tensors(tensors), None) => tensors.absent().contains(row),
                (Column::Tensors(tensors), Some(FieldValue::Tensor(value))) => {
                    !tensors.absent().contains(row) && tensors.value(row).as_ref() == Some(value)
                }
                _ => false,
            },
            _ => false,
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
            let size = kind.block_size();
            match kind.cell() {
                CellType::Double => of.take_up::<f64>(state, size),
                CellType::Float => of.take_up::<f32>(state, size),
                CellType::BFloat16 => of.take_up::<bf16>(state, size),
                CellType::Int8 => of.take_up::<i8>(state, size),
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
        *place = Some(Arc::new(of.writer.publish()));
    }
}

impl GraphWriter {
    /// Puts the vectors that wait in the place of those that the graph has of their documents.
    fn take_up<T: VectorCell>(&mut self, state: &State, size: usize) {
        let vectors = AttributeVectors::<T>::new(state, self.attribute, size);
        // There are fewer documents than numbers for vectors; of a document with so many of them that there are none left, what has none is not
        // found by the graph.
        let _ = self.writer.put_all(&vectors, &self.waiting, &lent);
    }

    /// Sketches the vectors of a graph that was read, for cells of which there are sketches.
    fn sketch(&mut self, state: &State) {
        let Some(about) = state.kind.attributes().get(self.attribute) else { return };
        let DataType::Tensor(kind) = &about.kind else { return };
        let (attribute, size) = (self.attribute, kind.block_size());
        match kind.cell() {
            CellType::Double => {
                self.writer.sketch(&AttributeVectors::<f64>::new(state, attribute, size), &lent);
            }
            CellType::Float => {
                self.writer.sketch(&AttributeVectors::<f32>::new(state, attribute, size), &lent);
            }
            _ => {}
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
    pub fn nearest(
        &self,
        attribute: usize,
        vector: &[f64],
        request: &Request<'_>,
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) -> Option<Outcome> {
        let graph = self.graph(attribute)?;
        let DataType::Tensor(kind) = &self.kind().attributes().get(attribute)?.kind else {
            return None;
        };
        if kind.block_size() != vector.len() {
            return None;
        }
        let run = Run { state: &self.state, graph, attribute, vector, request };
        Some(match kind.cell() {
            CellType::Double => run.search::<f64>(scratch, hits),
            CellType::Float => run.search::<f32>(scratch, hits),
            CellType::BFloat16 => run.search::<bf16>(scratch, hits),
            CellType::Int8 => run.search::<i8>(scratch, hits),
            _ => return None,
        })
    }
}

/// A search of a graph.
struct Run<'r> {
    state: &'r State,
    graph: &'r Graph,
    attribute: usize,
    vector: &'r [f64],
    request: &'r Request<'r>,
}

impl Run<'_> {
    fn search<T: VectorCell>(&self, scratch: &mut Scratch, hits: &mut Vec<Hit>) -> Outcome {
        let (state, attribute, size) = (self.state, self.attribute, self.vector.len());
        let vectors = match state.places.of(state, attribute, T::CELL) {
            Some(places) => AttributeVectors::<T>::placed(state, attribute, size, places),
            None => AttributeVectors::<T>::new(state, attribute, size),
        };
        let query = Query::<T>::new(self.graph.options().metric, self.vector);
        self.graph.search(&vectors, &query, self.request, scratch, hits)
    }
}
