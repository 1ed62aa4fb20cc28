//! Runs of a network over documents.

use std::ops::Range;
use std::sync::Arc;

use stead_engine::{Outputs, RunContext, RunError, Session};
use stead_expr::{Attribute, Stored};
use stead_tensor::{AlignedBuf, Shape, Tensor, TensorView};

use super::halves::{self, Halves, Known};
use super::lengths::in_place;
use super::output::{Collected, Misfit};
use super::rows::Rows;
use super::stack::{Feed, Stacking};
use super::{BoundNetwork, Network, Same};
use crate::models::columns::Documents;
use crate::models::error::ModelError;
use crate::models::inputs::Values;
use crate::models::kept::{Piece, Place, Places};

/// Memory that runs use again.
#[derive(Debug, Default)]
pub(in crate::models) struct Scratch {
    /// The elements of stacked documents, by input.
    stacked: Vec<AlignedBuf>,
    /// What was kept of the documents of a run, by value.
    gathered: Vec<AlignedBuf>,
}

/// What an input of a session takes in a run.
enum Taken<'t> {
    Nothing,
    /// A value for each document.
    Rows(&'t Rows<'t>),
    /// The same for all of them.
    Same(&'t Same),
    /// A value for each document of this run, as it is.
    View(TensorView<'t>),
}

impl Network {
    /// The outputs for documents, a column for each. `known` tells what is known of them, if that was asked.
    pub(in crate::models) fn run(
        &self,
        bound: &BoundNetwork,
        values: &[Values<'_>],
        documents: &Documents<'_>,
        known: Option<Known>,
        scratch: &mut Scratch,
    ) -> Result<Vec<Stored>, ModelError> {
        let computed: Vec<Option<Attribute<'_>>> = values
            .iter()
            .map(|values| match values {
                Values::Computed(stored) => Some(stored.attribute()),
                _ => None,
            })
            .collect();
        let mut places = Places::default();
        if let Some(halves) = &self.halves {
            let known = known.unwrap_or_else(|| Known::nothing(documents.count));
            places = self.halves(halves, (values, &computed), documents, known, scratch)?;
        }
        let mut rows = Vec::with_capacity(self.feeds.len());
        for feed in &self.feeds {
            rows.push(match feed {
                Feed::Documents(at) => Some(self.rows(*at, values, &computed, documents)?),
                _ => None,
            });
        }
        let mut columns: Vec<Collected> =
            self.outputs.iter().map(|(_, kind)| Collected::new(kind)).collect();
        let most = match self.stacking {
            Stacking::Documents(count) => count,
            Stacking::One(_) => 1,
        };
        if let Some(lengths) = self.lengths {
            let (order, groups) = lengths.groups(&rows, documents.count, most);
            for group in groups {
                let documents = order.get(group.places).unwrap_or_default();
                self.cut(&rows, documents, group.length, &mut columns, scratch)?;
            }
            let whole = |column: Collected| {
                let column = in_place(column, &order);
                column.ok_or_else(|| self.failed("an output is not what the package says"))
            };
            return columns.into_iter().map(whole).collect();
        }
        let mut gathered = std::mem::take(&mut scratch.gathered);
        let mut begin = 0;
        while begin < documents.count {
            let range = begin..documents.count.min(begin + most);
            begin = range.end;
            let kept = self.kept(&places, &range, &mut gathered)?;
            let mut taken = Vec::with_capacity(self.feeds.len());
            for ((feed, rows), same) in self.feeds.iter().zip(&rows).zip(&bound.same) {
                taken.push(match (feed, rows, same) {
                    (Feed::Kept(at), ..) => {
                        kept.get(*at).map_or(Taken::Nothing, |view| Taken::View(*view))
                    }
                    (_, Some(rows), _) => Taken::Rows(rows),
                    (_, None, Some(same)) => Taken::Same(same),
                    (_, None, None) => Taken::Nothing,
                });
            }
            let count = range.len();
            let collect = |outputs: Outputs<'_>| self.collect(&outputs, count, &mut columns);
            self.together(&self.session, &taken, range, scratch, collect)?;
        }
        scratch.gathered = gathered;
        let whole = |column: Collected| {
            column.finish().ok_or_else(|| self.failed("an output is not what the package says"))
        };
        columns.into_iter().map(whole).collect()
    }

    /// Computes what the network takes of documents alone, of those of which it is not known, and keeps it.
    fn halves(
        &self,
        halves: &Halves,
        (values, computed): (&[Values<'_>], &[Option<Attribute<'_>>]),
        documents: &Documents<'_>,
        known: Known,
        scratch: &mut Scratch,
    ) -> Result<Places, ModelError> {
        let (count, columns, is_asked) =
            (known.missing.len(), documents.columns, !known.keys.is_empty());
        let partial: Vec<bool> = halves.ports().map(|port| known.is_partial(port)).collect();
        let Known { keys, mut places, missing, .. } = known;
        let mut rows = Vec::with_capacity(partial.len());
        for (port, is_partial) in halves.ports().zip(partial) {
            let index = match is_asked {
                true if is_partial => None,
                true => Some(&missing[..]),
                false => documents.index,
            };
            rows.push(self.rows(port, values, computed, &Documents { count, index, columns })?);
        }
        let taken: Vec<Taken<'_>> = rows.iter().map(Taken::Rows).collect();
        let mut begin = 0;
        while begin < count {
            let range = begin..count.min(begin + halves.most);
            begin = range.end;
            let copy = |outputs: Outputs<'_>| -> Result<Vec<Tensor>, ModelError> {
                let copied = (0..outputs.len()).map(|at| Ok(outputs.get(at)?.to_tensor()?));
                copied.collect::<Result<_, RunError>>().map_err(|e| self.failed(&e.to_string()))
            };
            let values = self.together(&halves.session, &taken, range.clone(), scratch, copy)?;
            let missing = missing.get(range).unwrap_or_default();
            let keys = missing.iter().filter_map(|row| keys.get(*row as usize).copied());
            let (piece, number) =
                (Arc::new(Piece::new(keys.collect(), values)), places.pieces.len());
            if is_asked {
                halves.kept.keep(&piece);
            }
            places.pieces.push(piece);
            for (at, row) in missing.iter().enumerate() {
                if let Some(place) = places.rows.get_mut(*row as usize) {
                    *place = Some(Place { piece: number as u32, row: at as u32 });
                }
            }
        }
        Ok(places)
    }

    /// What is kept of the documents of a run, a view for each value.
    fn kept<'k>(
        &self,
        places: &'k Places,
        range: &Range<usize>,
        gathered: &'k mut Vec<AlignedBuf>,
    ) -> Result<Vec<TensorView<'k>>, ModelError> {
        let Some(halves) = &self.halves else { return Ok(Vec::new()) };
        let (begin, count) = (range.start, range.len());
        self.rooms(gathered, halves.values.len())?;
        let mut views = Vec::with_capacity(halves.values.len());
        for (at, ((dtype, shape), buf)) in halves.values.iter().zip(gathered).enumerate() {
            let size = halves::row_bytes(*dtype, shape);
            let bytes = match places.borrowed(at, begin, count, size) {
                Some(bytes) => bytes,
                None => {
                    if buf.len() < count * size {
                        *buf = AlignedBuf::zeroed(count * size)
                            .map_err(|e| self.failed(&e.to_string()))?;
                    }
                    let room = buf.get_mut(..count * size).unwrap_or_default();
                    let found = places.gather(at, begin, size, room);
                    found.ok_or_else(|| self.failed("a value of a document is missing"))?;
                    room
                }
            };
            let view = self.view(*dtype, &halves::rows(shape, count), bytes)?;
            views.push(view);
        }
        Ok(views)
    }

    fn rooms(&self, list: &mut Vec<AlignedBuf>, count: usize) -> Result<(), ModelError> {
        while list.len() < count {
            list.push(AlignedBuf::zeroed(0).map_err(|e| self.failed(&e.to_string()))?);
        }
        Ok(())
    }

    fn rows<'v>(
        &'v self,
        at: usize,
        values: &'v [Values<'v>],
        computed: &'v [Option<Attribute<'v>>],
        documents: &Documents<'v>,
    ) -> Result<Rows<'v>, ModelError> {
        let rows = match (self.ports.get(at), values.get(at), computed.get(at)) {
            (Some(port), _, Some(Some(column))) => Rows::computed(port, column),
            (Some(port), Some(values), _) => Rows::new(port, values, documents),
            _ => None,
        };
        rows.ok_or_else(|| self.failed("an input has values of another form"))
    }

    /// Runs for documents at once, and shows the outputs.
    fn together<R>(
        &self,
        session: &Session,
        taken: &[Taken<'_>],
        range: Range<usize>,
        scratch: &mut Scratch,
        show: impl FnOnce(Outputs<'_>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
        match range.len() {
            1 => self.one(session, taken, range.start, show),
            _ => self.several(session, taken, range, scratch, show),
        }
    }

    /// Runs for one document.
    fn one<R>(
        &self,
        session: &Session,
        taken: &[Taken<'_>],
        row: usize,
        show: impl FnOnce(Outputs<'_>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
        let mut own = Vec::with_capacity(taken.len());
        for taken in taken {
            own.push(match taken {
                Taken::Rows(rows) => Some(
                    rows.tensor(row, self.is_rounded)
                        .map_err(|unfit| self.inexact(rows.port(), &unfit.number))?,
                ),
                _ => None,
            });
        }
        let mut inputs = Vec::with_capacity(taken.len());
        for (own, taken) in own.iter().zip(taken) {
            inputs.push(match (own, taken) {
                (Some(tensor), _) => Some(tensor.view()),
                (None, Taken::Same(same)) => Some(self.same_view(same, 1)?),
                (None, Taken::View(view)) => Some(*view),
                (None, _) => None,
            });
        }
        self.show(session, &inputs, show)
    }

    /// Runs for several documents at once.
    fn several<R>(
        &self,
        session: &Session,
        taken: &[Taken<'_>],
        range: Range<usize>,
        scratch: &mut Scratch,
        show: impl FnOnce(Outputs<'_>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
        let (begin, count) = (range.start, range.len());
        self.rooms(&mut scratch.stacked, taken.len())?;
        let mut lengths = Vec::with_capacity(taken.len());
        for (taken, buf) in taken.iter().zip(&mut scratch.stacked) {
            lengths.push(match taken {
                Taken::Rows(rows) if rows.borrowed(begin, count).is_none() => {
                    let stacked = rows.stacked(begin, count, self.is_rounded, buf);
                    stacked.map_err(|unfit| self.inexact(rows.port(), &unfit.number))?
                }
                _ => 0,
            });
        }
        let mut inputs = Vec::with_capacity(taken.len());
        for (at, taken) in taken.iter().enumerate() {
            inputs.push(match taken {
                Taken::Rows(rows) => {
                    let port = rows.port();
                    let shape = halves::rows(&port.shape().unwrap_or_default(), count);
                    let own = scratch.stacked.get(at).and_then(|buf| buf.get(..lengths[at]));
                    let bytes = rows.borrowed(begin, count).or(own).unwrap_or_default();
                    Some(self.view(port.dtype, &shape, bytes)?)
                }
                Taken::Same(same) => Some(self.same_view(same, count)?),
                Taken::View(view) => Some(*view),
                Taken::Nothing => None,
            });
        }
        self.show(session, &inputs, show)
    }

    /// Runs for documents of about the same length, on that length.
    fn cut(
        &self,
        rows: &[Option<Rows<'_>>],
        documents: &[usize],
        length: usize,
        columns: &mut [Collected],
        scratch: &mut Scratch,
    ) -> Result<(), ModelError> {
        self.rooms(&mut scratch.stacked, rows.len())?;
        let mut inputs = Vec::with_capacity(rows.len());
        for (rows, buf) in rows.iter().zip(&mut scratch.stacked) {
            let Some(rows) = rows else {
                inputs.push(None);
                continue;
            };
            let cut = rows.cut(documents, length, self.is_rounded, buf);
            let bytes = cut.map_err(|unfit| self.inexact(rows.port(), &unfit.number))?;
            let bytes = buf.get(..bytes).unwrap_or_default();
            inputs.push(Some(self.view(rows.port().dtype, &[documents.len(), length], bytes)?));
        }
        let collect = |outputs: Outputs<'_>| self.collect(&outputs, documents.len(), columns);
        self.show(&self.session, &inputs, collect)
    }

    fn same_view<'v>(&self, same: &'v Same, count: usize) -> Result<TensorView<'v>, ModelError> {
        same.for_documents(count).map_err(|e| self.failed(&e.to_string()))
    }

    fn view<'v>(
        &self,
        dtype: stead_tensor::DType,
        shape: &[usize],
        bytes: &'v [u8],
    ) -> Result<TensorView<'v>, ModelError> {
        Shape::new(shape)
            .and_then(|shape| TensorView::from_bytes(dtype, shape, bytes))
            .map_err(|e| self.failed(&e.to_string()))
    }

    /// Runs, and shows the outputs where they lie.
    fn show<R>(
        &self,
        session: &Session,
        inputs: &[Option<TensorView<'_>>],
        show: impl FnOnce(Outputs<'_>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
        let failed = |text: &dyn std::fmt::Display| self.failed(&text.to_string());
        // A borrowed column may begin where no kernel reads from.
        let copies: Vec<Option<Tensor>> = inputs
            .iter()
            .map(|view| {
                let view = view.as_ref().filter(|view| !view.is_aligned());
                view.map(TensorView::to_tensor).transpose()
            })
            .collect::<Result<_, _>>()
            .map_err(|e| failed(&e))?;
        let copies = copies.iter().map(|copy| copy.as_ref().map(Tensor::view));
        let inputs: Vec<_> = copies.zip(inputs).map(|(copy, view)| copy.or(*view)).collect();
        session.run_with(&inputs, &RunContext::default(), show).map_err(|e| failed(&e))?
    }

    /// Takes the outputs of a run for documents.
    fn collect(
        &self,
        outputs: &Outputs<'_>,
        rows: usize,
        columns: &mut [Collected],
    ) -> Result<(), ModelError> {
        for ((at, kind), column) in self.outputs.iter().zip(columns) {
            let view = outputs.get(*at).map_err(|e| self.failed(&e.to_string()))?;
            column.add(&view, rows, self.is_rounded).map_err(|misfit| {
                let spec = self.session.model().outputs().get(*at);
                let name = spec.map_or("", |spec| spec.name.as_str());
                match misfit {
                    Misfit::Number(number) => ModelError::Inexact {
                        model: self.name.clone(),
                        what: format!("output {name}"),
                        number,
                        dtype: kind.cell().name(),
                    },
                    Misfit::Shape => self.failed(&format!(
                        "output {name} should be a {kind} for each document, and {rows} gave {}",
                        view.shape()
                    )),
                }
            })?;
        }
        Ok(())
    }
}
