//! One run of a network for documents: what its inputs take, stacked or as it lies.

use std::ops::Range;

use stead_engine::{Outputs, RunContext, Runnable};
use stead_kernels::Parallel;
use stead_tensor::{AlignedBuf, Shape, Tensor, TensorView};

use super::halves;
use super::rows::Rows;
use super::{Network, Same};
use crate::models::error::ModelError;

/// Memory that runs use again.
#[derive(Debug, Default)]
pub(in crate::models) struct Scratch {
    /// The elements of stacked documents, by input.
    stacked: Vec<AlignedBuf>,
    /// What was kept of the documents of a run, by value.
    pub(super) gathered: Vec<AlignedBuf>,
}

/// What an input of a session takes in a run.
pub(super) enum Taken<'t> {
    Nothing,
    /// A value for each document.
    Rows(&'t Rows<'t>),
    /// The same for all of them.
    Same(&'t Same),
    /// A value for each document of this run, as it is.
    View(TensorView<'t>),
}

/// A session, and the cores that its runs may take.
#[derive(Clone, Copy)]
pub(super) struct On<'o> {
    pub(super) session: &'o Runnable,
    pub(super) cores: &'o dyn Parallel,
}

impl Network {
    /// Runs for documents at once, and shows the outputs.
    pub(super) fn together<R>(
        &self,
        on: On<'_>,
        taken: &[Taken<'_>],
        range: Range<usize>,
        scratch: &mut Scratch,
        show: impl FnOnce(Outputs<'_>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
        match range.len() {
            1 => self.one(on, taken, range.start, show),
            _ => self.several(on, taken, range, scratch, show),
        }
    }

    /// Runs for one document.
    fn one<R>(
        &self,
        on: On<'_>,
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
        self.show(on, &inputs, show)
    }

    /// Runs for several documents at once.
    fn several<R>(
        &self,
        on: On<'_>,
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
        self.show(on, &inputs, show)
    }

    /// Runs for documents of about the same length, on that length.
    pub(super) fn cut<R>(
        &self,
        on: On<'_>,
        rows: &[Option<Rows<'_>>],
        documents: &[usize],
        length: usize,
        scratch: &mut Scratch,
        show: impl FnOnce(Outputs<'_>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
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
        self.show(on, &inputs, show)
    }

    fn same_view<'v>(&self, same: &'v Same, count: usize) -> Result<TensorView<'v>, ModelError> {
        same.for_documents(count).map_err(|e| self.failed(&e.to_string()))
    }

    pub(super) fn view<'v>(
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
        on: On<'_>,
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
        let cores = self.of_a_run(on.cores);
        let cx = RunContext { parallel: &cores, ..RunContext::default() };
        on.session.run_with(&inputs, &cx, show).map_err(|e| failed(&e))?
    }

    pub(super) fn rooms(&self, list: &mut Vec<AlignedBuf>, count: usize) -> Result<(), ModelError> {
        while list.len() < count {
            list.push(AlignedBuf::zeroed(0).map_err(|e| self.failed(&e.to_string()))?);
        }
        Ok(())
    }
}
