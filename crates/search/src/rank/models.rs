//! Models as sources of values: what they take, and a column for each of their outputs.

use std::ops::Range;
use std::sync::Arc;

use stead_app::application::rank::SourceType;
use stead_expr::{Numbers, Value};
use stead_store::{Column as Stored, DataType, Elements, NumberList};

use super::error::RankError;
use super::plan::Source;
use super::ranking::{ColumnOf, Frame, Ranking};
use crate::columns::{Computed, Rows};
use crate::models::{
    BoundModel, CellStamps, Column, Documents, Given, ModelError, ModelFunction, Texts,
};

/// A model of a plan.
pub(super) struct ModelPlan {
    pub(super) function: ModelFunction,
    /// What it takes of the query, in the order of its names.
    pub(super) query: Vec<Taken>,
    /// What it takes of documents, in the order of its names.
    pub(super) of_documents: Vec<Taken>,
    /// The values that its outputs are, where expressions name them.
    pub(super) outputs: Vec<Option<usize>>,
}

/// What a model takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Taken {
    /// A value that expressions know too.
    Node(usize),
    /// A field as it is stored: texts, or a list.
    Field(String),
    /// A text of the query.
    Text(String),
}

impl Taken {
    /// What is taken under a name; nothing if it is a value that expressions know too.
    pub(super) fn beside_expressions(name: &str, kind: &SourceType) -> Option<Taken> {
        let inner = || name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        let inner = || inner().unwrap_or(name).to_owned();
        match kind {
            SourceType::Tensor(_) => None,
            SourceType::Field(_) => Some(Taken::Field(inner())),
            SourceType::Text => Some(Taken::Text(inner())),
        }
    }
}

pub(super) fn failed(error: ModelError) -> RankError {
    RankError::Model(error)
}

impl Ranking<'_> {
    /// A model with the values of the query.
    fn bound_model(&self, number: usize) -> Result<&BoundModel, RankError> {
        let (model, cell) = (&self.plan.models[number], &self.bound_models[number]);
        if let Some(bound) = cell.get() {
            return Ok(bound);
        }
        let owned = |taken: &Taken| match taken {
            Taken::Node(node) => self.value(*node).map(OwnedGiven::Value),
            Taken::Text(name) => Ok(OwnedGiven::Text(self.query.text(name).unwrap_or_default())),
            Taken::Field(_) => Ok(OwnedGiven::Text(String::new())),
        };
        let owned: Vec<OwnedGiven<'_>> = model.query.iter().map(owned).collect::<Result<_, _>>()?;
        let given: Vec<Given<'_>> = owned
            .iter()
            .map(|given| match given {
                OwnedGiven::Value(value) => Given::Value(value),
                OwnedGiven::Text(text) => Given::Text(text),
            })
            .collect();
        let bound = model.function.for_query_on(&given, self.cores).map_err(failed)?;
        Ok(cell.get_or_init(|| Arc::new(bound)))
    }

    /// The value of an output that does not depend on documents; the others that expressions name are known then.
    pub(super) fn model_value(&self, number: usize, output: usize) -> Result<Value, RankError> {
        let model = &self.plan.models[number];
        let bound = self.bound_model(number)?;
        let values =
            bound.once(self.cores, &mut self.model_scratch.borrow_mut()).map_err(failed)?;
        let mut found = None;
        for (at, (node, value)) in model.outputs.iter().zip(values).enumerate() {
            match node {
                _ if at == output => found = Some(value),
                // One that is known already has the same value.
                Some(node) => drop(self.values[*node].set(value)),
                None => {}
            }
        }
        found.ok_or_else(|| RankError::Feature {
            name: model.function.name().to_owned(),
            text: "it has too few outputs".to_owned(),
        })
    }

    /// Runs a model for documents: a column for each output.
    pub(super) fn run_model(
        &self,
        number: usize,
        frame: &Frame<'_>,
    ) -> Result<Vec<Arc<Computed>>, RankError> {
        let model = &self.plan.models[number];
        let bound = self.bound_model(number)?;
        let stamps = self.stamps(model, frame)?;
        let known = stamps.and_then(|stamps| model.function.known(&stamps));
        let missing = known.as_ref().map(|known| {
            let (asked, found) = (known.documents(), known.documents() - known.missing.len());
            let mut all = self.known.borrow_mut();
            let sums = all.entry(number).or_default();
            *sums = (sums.0 + found, sums.1 + asked);
            let lids: Vec<u32> = frame.rows.iter().collect();
            let lid = |row: &u32| lids.get(*row as usize).copied();
            known.missing.iter().filter_map(lid).collect::<Vec<u32>>()
        });
        // Where all are missing they may be read where they lie.
        let missing = missing.filter(|missing| missing.len() < frame.rows.len());
        let missing = missing.as_ref().map(|missing| Frame::new(Rows::List(missing)));
        let source = |(at, taken): (usize, &Taken)| match taken {
            Taken::Node(node) => {
                let is_only = model.function.kept_names().iter().any(|k| k.name == at && k.is_only);
                let frame = missing.as_ref().filter(|_| is_only).unwrap_or(frame);
                self.column(*node, frame).map(ModelSource::Column)
            }
            Taken::Field(name) | Taken::Text(name) => self.field(name, &frame.rows),
        };
        let sources: Vec<ModelSource<'_>> =
            model.of_documents.iter().enumerate().map(source).collect::<Result<_, _>>()?;
        let columns: Vec<Column<'_>> = sources.iter().map(ModelSource::column).collect();
        let documents = Documents { count: frame.rows.len(), index: None, columns: &columns };
        let mut scratch = self.model_scratch.borrow_mut();
        let outputs =
            bound.run_known(&documents, known, self.cores, &mut scratch).map_err(failed)?;
        Ok(outputs.into_iter().map(|o| Arc::new(Computed::Tensors(o))).collect())
    }

    /// The stamps of the cells that tell what a model keeps of documents; nothing if it keeps nothing, or takes something
    /// else than columns under their names.
    fn stamps(
        &self,
        model: &ModelPlan,
        frame: &Frame<'_>,
    ) -> Result<Option<Vec<CellStamps>>, RankError> {
        let names = model.function.kept_names();
        if names.is_empty() {
            return Ok(None);
        }
        let mut stamps = vec![CellStamps::default(); frame.rows.len()];
        for (column, kept) in names.iter().enumerate() {
            let Some(Taken::Node(node)) = model.of_documents.get(kept.name) else {
                return Ok(None);
            };
            let source = self.plan.nodes.get(*node).map(|node| &node.source);
            let Some(Source::Attribute(name)) = source else { return Ok(None) };
            let Some(attribute) = self.view.attribute(name) else { return Ok(None) };
            for (stamps, document) in stamps.iter_mut().zip(frame.rows.iter()) {
                let known = attribute.stamp(document)?;
                let Some((place, stamp)) = stamps.get_mut(column).zip(known) else {
                    return Ok(None);
                };
                *place = stamp;
            }
        }
        Ok(Some(stamps))
    }

    /// A field as it is stored, for some documents.
    fn field(&self, name: &str, rows: &Rows<'_>) -> Result<ModelSource<'_>, RankError> {
        let fail = |text: &str| RankError::Feature {
            name: format!("attribute({name})"),
            text: text.to_owned(),
        };
        let attribute = self.view.attribute(name).ok_or_else(|| fail("has no column"))?;
        let missing = || fail("has too few values");
        let nothing = || fail("is nothing that a model takes");
        let mut values = attribute.cursor_over(rows.iter());
        match &attribute.about().kind {
            DataType::Text => {
                let mut texts = TextLists::default();
                for document in rows.iter() {
                    let (Stored::Texts(of), row) = values.at(document)?.ok_or_else(missing)? else {
                        return Err(nothing());
                    };
                    texts.add(std::iter::once(of.get(row).unwrap_or_default()));
                }
                Ok(ModelSource::Texts(texts))
            }
            DataType::Array(of) | DataType::WeightedSet(of) if **of == DataType::Text => {
                let mut texts = TextLists::default();
                for document in rows.iter() {
                    let (Stored::Many(many), row) = values.at(document)?.ok_or_else(missing)?
                    else {
                        return Err(nothing());
                    };
                    let Elements::Texts(of) = many.elements() else { return Err(nothing()) };
                    texts.add(many.places(row).map(|at| of.get(at).unwrap_or_default()));
                }
                Ok(ModelSource::Texts(texts))
            }
            DataType::Array(of) | DataType::WeightedSet(of) => {
                let mut all = NumberList::new(of).ok_or_else(nothing)?;
                let mut offsets = vec![0_u32];
                for document in rows.iter() {
                    let (Stored::Many(many), row) = values.at(document)?.ok_or_else(missing)?
                    else {
                        return Err(nothing());
                    };
                    if let Elements::Numbers(list) = many.elements() {
                        all.append(list, many.places(row));
                    }
                    offsets.push(all.len() as u32);
                }
                Ok(ModelSource::Numbers(Some(offsets), all))
            }
            single => {
                let mut all = NumberList::new(single).ok_or_else(nothing)?;
                for document in rows.iter() {
                    let place = values.at(document)?.ok_or_else(missing)?;
                    let (Stored::Numbers(numbers), row) = place else { return Err(nothing()) };
                    all.append(numbers.list(), row..row + 1);
                }
                Ok(ModelSource::Numbers(None, all))
            }
        }
    }
}

enum OwnedGiven<'g> {
    Value(&'g Value),
    Text(String),
}

/// What a model takes of documents, while it runs.
enum ModelSource<'s> {
    Column(ColumnOf<'s>),
    /// Texts, one or several for each document.
    Texts(TextLists),
    /// Numbers, one for each document or with the beginnings of lists.
    Numbers(Option<Vec<u32>>, NumberList),
}

impl ModelSource<'_> {
    fn column(&self) -> Column<'_> {
        match self {
            ModelSource::Column(column) => Column::Cells(column.attribute()),
            ModelSource::Texts(texts) => Column::Texts(texts),
            ModelSource::Numbers(None, list) => {
                Column::Cells(stead_expr::Attribute::Numbers(list.numbers()))
            }
            ModelSource::Numbers(Some(offsets), list) => {
                let numbers: Numbers<'_> = list.numbers();
                Column::Lists { offsets, numbers }
            }
        }
    }
}

/// Texts of some documents, copied from columns that need not stay in memory.
struct TextLists {
    texts: String,
    /// Where each text ends.
    ends: Vec<usize>,
    /// The text with which each document begins, and the number of all.
    starts: Vec<usize>,
}

impl Default for TextLists {
    fn default() -> TextLists {
        TextLists { texts: String::new(), ends: Vec::new(), starts: vec![0] }
    }
}

impl TextLists {
    /// Adds the texts of a document.
    fn add<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        for text in texts {
            self.texts.push_str(text);
            self.ends.push(self.texts.len());
        }
        self.starts.push(self.ends.len());
    }

    fn of(&self, place: usize) -> Range<usize> {
        match self.starts.get(place..place + 2) {
            Some([begin, end]) => *begin..*end,
            _ => 0..0,
        }
    }
}

impl Texts for TextLists {
    fn documents(&self) -> usize {
        self.starts.len() - 1
    }

    fn count(&self, place: usize) -> usize {
        self.of(place).len()
    }

    fn text(&self, place: usize, at: usize) -> &str {
        let at = self.of(place).start + at;
        let begin = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        let range = begin.zip(self.ends.get(at)).map(|(begin, end)| *begin..*end);
        range.and_then(|range| self.texts.get(range)).unwrap_or_default()
    }
}
