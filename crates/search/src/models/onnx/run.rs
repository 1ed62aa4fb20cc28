//! Runs of a network over documents.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use stead_engine::{Outputs, RunError};
use stead_expr::{Attribute, Stored};
use stead_kernels::Parallel;
use stead_tensor::{AlignedBuf, Tensor, TensorView};

use super::batch::{On, Scratch, Taken};
use super::halves::{self, Halves, Known};
use super::lengths::{Group, in_place};
use super::output::{Collected, Misfit};
use super::rows::Rows;
use super::stack::{Feed, Stacking};
use super::threads::AtMost;
use super::{BoundNetwork, Network};
use crate::models::columns::Documents;
use crate::models::error::ModelError;
use crate::models::inputs::Values;
use crate::models::kept::{Piece, Place, Places};

/// Documents of one run.
enum Part {
    /// Those that stand here in the order of lengths, on as many tokens as they have.
    Cut(Group),
    /// These rows.
    Whole(Range<usize>),
}

/// What all runs for some documents have in common.
struct Job<'j> {
    bound: &'j BoundNetwork,
    /// The values of each input of the session, if they are those of documents.
    rows: &'j [Option<Rows<'j>>],
    /// What is known of the documents, or was computed of them alone.
    places: &'j Places,
    /// The documents in the order of their lengths, if they are run so.
    order: &'j [usize],
    cores: &'j dyn Parallel,
}

impl Network {
    /// The outputs for documents, a column for each. `known` tells what is known of them, if that was asked.
    pub(in crate::models) fn run(
        &self,
        bound: &BoundNetwork,
        values: &[Values<'_>],
        documents: &Documents<'_>,
        known: Option<Known>,
        cores: &dyn Parallel,
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
            places = self.halves(halves, (values, &computed), documents, known, cores, scratch)?;
        }
        let mut rows = Vec::with_capacity(self.feeds.len());
        for feed in &self.feeds {
            rows.push(match feed {
                Feed::Documents(at) => Some(self.rows(*at, values, &computed, documents)?),
                _ => None,
            });
        }
        let most = match self.stacking {
            Stacking::Documents(count) => self.threads.documents(count),
            Stacking::One(_) => 1,
        };
        let (order, parts) = match self.lengths {
            Some(lengths) => {
                let (order, groups) = lengths.groups(&rows, documents.count, most);
                (Some(order), groups.into_iter().map(Part::Cut).collect())
            }
            None => {
                let whole = ranges(documents.count, most).into_iter().map(Part::Whole);
                (None, whole.collect::<Vec<_>>())
            }
        };
        let places = &places;
        let order_of = order.as_deref().unwrap_or_default();
        let job = Job { bound, rows: &rows, places, order: order_of, cores };
        let columns = self.all(&job, &parts, scratch)?;
        let whole = |column: Collected| {
            let column = match &order {
                Some(order) => in_place(column, order),
                None => column.finish(),
            };
            column.ok_or_else(|| self.failed("an output is not what the package says"))
        };
        columns.into_iter().map(whole).collect()
    }

    /// How many runs there may be at a time.
    fn runs<'p>(&self, cores: &'p dyn Parallel) -> AtMost<'p> {
        AtMost { threads: self.threads.runs, of: cores }
    }

    fn columns(&self) -> Vec<Collected> {
        self.outputs.iter().map(|(_, kind)| Collected::new(kind)).collect()
    }

    /// The outputs of all runs, which are the same however many there are at a time.
    fn all(
        &self,
        job: &Job<'_>,
        parts: &[Part],
        scratch: &mut Scratch,
    ) -> Result<Vec<Collected>, ModelError> {
        let mut columns = self.columns();
        if self.runs(job.cores).threads() <= 1 {
            for part in parts {
                self.part(job, part, &mut columns, scratch)?;
            }
            return Ok(columns);
        }
        let done = self.each(parts, job.cores, scratch, |part, scratch| {
            let mut own = self.columns();
            self.part(job, part, &mut own, scratch).map(|()| own)
        })?;
        for own in done {
            for (column, own) in columns.iter_mut().zip(own) {
                if !column.append(own) {
                    return Err(self.failed("an output is not what the package says"));
                }
            }
        }
        Ok(columns)
    }

    /// What runs give, in their order. Several may be at work at a time, and then each has its own memory.
    fn each<P: Sync, R: Send + Sync>(
        &self,
        parts: &[P],
        cores: &dyn Parallel,
        scratch: &mut Scratch,
        run: impl Fn(&P, &mut Scratch) -> Result<R, ModelError> + Sync,
    ) -> Result<Vec<R>, ModelError> {
        let runs = self.runs(cores);
        if runs.threads() <= 1 || parts.len() <= 1 {
            return parts.iter().map(|part| run(part, scratch)).collect();
        }
        let done: Vec<OnceLock<Result<R, ModelError>>> =
            parts.iter().map(|_| OnceLock::new()).collect();
        runs.for_each(parts.len(), &|at| {
            let (Some(part), Some(place)) = (parts.get(at), done.get(at)) else { return };
            let _ = place.set(run(part, &mut Scratch::default()));
        });
        let failed = || Err(self.failed("a run was left out"));
        done.into_iter().map(|place| place.into_inner().unwrap_or_else(failed)).collect()
    }

    /// One run.
    fn part(
        &self,
        job: &Job<'_>,
        part: &Part,
        columns: &mut [Collected],
        scratch: &mut Scratch,
    ) -> Result<(), ModelError> {
        let on = On { session: &self.session, cores: job.cores };
        match part {
            Part::Cut(Group { places, length }) => {
                let documents = job.order.get(places.clone()).unwrap_or_default();
                let collect =
                    |outputs: Outputs<'_>| self.collect(&outputs, documents.len(), columns);
                self.cut(on, job.rows, documents, *length, scratch, collect)
            }
            Part::Whole(range) => {
                let mut gathered = std::mem::take(&mut scratch.gathered);
                let kept = self.kept(job.places, range, &mut gathered)?;
                let mut taken = Vec::with_capacity(self.feeds.len());
                for ((feed, rows), same) in self.feeds.iter().zip(job.rows).zip(&job.bound.same) {
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
                let collect = |outputs: Outputs<'_>| self.collect(&outputs, count, columns);
                self.together(on, &taken, range.clone(), scratch, collect)?;
                scratch.gathered = gathered;
                Ok(())
            }
        }
    }

    /// Computes what the network takes of documents alone, of those of which it is not known, and keeps it.
    fn halves(
        &self,
        halves: &Halves,
        (values, computed): (&[Values<'_>], &[Option<Attribute<'_>>]),
        documents: &Documents<'_>,
        known: Known,
        cores: &dyn Parallel,
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
        let on = On { session: &halves.session, cores };
        let copy = |outputs: Outputs<'_>| -> Result<Vec<Tensor>, ModelError> {
            let copied = (0..outputs.len()).map(|at| Ok(outputs.get(at)?.to_tensor()?));
            copied.collect::<Result<_, RunError>>().map_err(|e| self.failed(&e.to_string()))
        };
        let parts = ranges(count, self.threads.documents(halves.most));
        let computed = self.each(&parts, cores, scratch, |range, scratch| {
            self.together(on, &taken, range.clone(), scratch, copy)
        })?;
        for (range, values) in parts.into_iter().zip(computed) {
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
                let spec = self.session.outputs().get(*at);
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

/// Rows in ranges of at most `most`.
fn ranges(count: usize, most: usize) -> Vec<Range<usize>> {
    let most = most.max(1);
    (0..count).step_by(most).map(|begin| begin..count.min(begin + most)).collect()
}
