//! Runs of a network over documents.

use stead_engine::{Outputs, RunContext, RunError};
use stead_expr::{Attribute, Stored};
use stead_tensor::{AlignedBuf, Shape, Tensor, TensorView};

use super::lengths::in_place;
use super::output::{Collected, Misfit};
use super::rows::Rows;
use super::stack::{Feed, Stacking};
use super::{BoundNetwork, Network, Same};
use crate::models::columns::Documents;
use crate::models::error::ModelError;
use crate::models::inputs::Values;

/// Memory that runs use again.
#[derive(Debug, Default)]
pub(in crate::models) struct Scratch {
    /// The elements of stacked documents, by input.
    stacked: Vec<AlignedBuf>,
}

impl Network {
    /// The outputs for documents, a column for each.
    pub(in crate::models) fn run(
        &self,
        bound: &BoundNetwork,
        values: &[Values<'_>],
        documents: &Documents<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<Stored>, ModelError> {
        let computed: Vec<Option<Attribute<'_>>> = values
            .iter()
            .map(|values| match values {
                Values::Computed(stored) => Some(stored.attribute()),
                _ => None,
            })
            .collect();
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
        let mut begin = 0;
        while begin < documents.count {
            let count = most.min(documents.count - begin);
            if count == 1 {
                self.one(bound, &rows, begin, &mut columns)?;
            } else {
                self.several(bound, &rows, begin..begin + count, &mut columns, scratch)?;
            }
            begin += count;
        }
        let whole = |column: Collected| {
            column.finish().ok_or_else(|| self.failed("an output is not what the package says"))
        };
        columns.into_iter().map(whole).collect()
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

    /// Runs for one document.
    fn one(
        &self,
        bound: &BoundNetwork,
        rows: &[Option<Rows<'_>>],
        row: usize,
        columns: &mut [Collected],
    ) -> Result<(), ModelError> {
        let mut own = Vec::with_capacity(rows.len());
        for rows in rows {
            own.push(match rows {
                Some(rows) => Some(
                    rows.tensor(row, self.is_rounded)
                        .map_err(|unfit| self.inexact(rows.port(), &unfit.number))?,
                ),
                None => None,
            });
        }
        let mut inputs = Vec::with_capacity(rows.len());
        for (own, same) in own.iter().zip(&bound.same) {
            inputs.push(match (own, same) {
                (Some(tensor), _) => Some(tensor.view()),
                (None, Some(same)) => Some(self.same_view(same, 1)?),
                (None, None) => None,
            });
        }
        self.collect(&inputs, 1, columns)
    }

    /// Runs for several documents at once.
    fn several(
        &self,
        bound: &BoundNetwork,
        rows: &[Option<Rows<'_>>],
        range: std::ops::Range<usize>,
        columns: &mut [Collected],
        scratch: &mut Scratch,
    ) -> Result<(), ModelError> {
        let (begin, count) = (range.start, range.len());
        while scratch.stacked.len() < rows.len() {
            scratch.stacked.push(AlignedBuf::zeroed(0).map_err(|e| self.failed(&e.to_string()))?);
        }
        let mut lengths = Vec::with_capacity(rows.len());
        for (rows, buf) in rows.iter().zip(&mut scratch.stacked) {
            lengths.push(match rows {
                Some(rows) if rows.borrowed(begin, count).is_none() => {
                    let stacked = rows.stacked(begin, count, self.is_rounded, buf);
                    stacked.map_err(|unfit| self.inexact(rows.port(), &unfit.number))?
                }
                _ => 0,
            });
        }
        let mut inputs = Vec::with_capacity(rows.len());
        for (at, rows) in rows.iter().enumerate() {
            inputs.push(match (rows, bound.same.get(at)) {
                (Some(rows), _) => {
                    let port = rows.port();
                    let mut shape = port.shape().unwrap_or_default();
                    if let Some(first) = shape.first_mut() {
                        *first = count;
                    }
                    let own = scratch.stacked.get(at).and_then(|buf| buf.get(..lengths[at]));
                    let bytes = rows.borrowed(begin, count).or(own).unwrap_or_default();
                    Some(self.view(port.dtype, &shape, bytes)?)
                }
                (None, Some(Some(same))) => Some(self.same_view(same, count)?),
                (None, _) => None,
            });
        }
        // A borrowed column may begin where no kernel reads from.
        let copies: Vec<Option<Tensor>> = inputs
            .iter()
            .map(|view: &Option<TensorView<'_>>| {
                let view = view.as_ref().filter(|view| !view.is_aligned());
                view.map(TensorView::to_tensor).transpose()
            })
            .collect::<Result<_, _>>()
            .map_err(|e| self.failed(&e.to_string()))?;
        for (view, copy) in inputs.iter_mut().zip(&copies) {
            if let Some(copy) = copy {
                *view = Some(copy.view());
            }
        }
        self.collect(&inputs, count, columns)
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
        while scratch.stacked.len() < rows.len() {
            scratch.stacked.push(AlignedBuf::zeroed(0).map_err(|e| self.failed(&e.to_string()))?);
        }
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
        self.collect(&inputs, documents.len(), columns)
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

    /// Runs and takes the outputs.
    fn collect(
        &self,
        inputs: &[Option<TensorView<'_>>],
        rows: usize,
        columns: &mut [Collected],
    ) -> Result<(), ModelError> {
        let take = |outputs: Outputs<'_>| -> Result<(), ModelError> {
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
        };
        let ran = self.session.run_with(inputs, &RunContext::default(), take);
        ran.map_err(|e: RunError| self.failed(&e.to_string()))?
    }
}
