//! `embed`: tensors of texts. Those of all operations that wait together go through the embedder at once.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use stead_app::application::{embed_misfit, embed_of_element};
use stead_app::components::Parameters;
use stead_expr::{TensorType, Value};
use stead_store::{Action, DataType, FieldValue, stacked};

use super::{Making, concerned, field_type};
use crate::components::native::{Call, DocumentOperation, DocumentProcessor, NativeError};
use crate::embedders::{Ask, Embedders, Role};
use crate::{Code, Error};

/// Fills a field with the tensors of texts.
pub(super) struct Embed {
    kinds: Vec<String>,
    embedders: Arc<Embedders>,
    /// The id of the embedder.
    id: String,
    /// The fields whose texts are one, with this between them.
    from: Vec<String>,
    separator: String,
    to: String,
    target: Target,
}

/// The tensor of a field.
struct Target {
    whole: TensorType,
    /// What one text of an array becomes in it; nothing where the field has one text.
    of_element: Option<TensorType>,
    /// The dimension whose labels are the numbers of the texts of an array.
    outer: Option<String>,
}

/// What an operation wants of the embedder.
enum Wanted {
    /// It stays as it is.
    Nothing,
    /// There is no text any more, and no tensor of it.
    Empty,
    /// The tensor of a text.
    One(String),
    /// Those of the texts of an array, with their numbers.
    Each(Vec<(usize, String)>),
}

impl Embed {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Embed, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let (from, to) = (given.list("from").to_vec(), text("to"));
        let names: Vec<&str> = from.iter().map(String::as_str).chain([to.as_str()]).collect();
        let kinds = concerned(given, &names, making)?;
        let mut is_array = false;
        for name in &from {
            is_array = match field_type(&kinds, name)? {
                DataType::Text => false,
                DataType::Array(of) if **of == DataType::Text && from.len() == 1 => true,
                other => {
                    let expected = match from.len() {
                        1 => "a string or array<string>",
                        _ => "a string, as for all fields that are joined",
                    };
                    return Err(format!(
                        "field {name} is of the type {other}; expected {expected}"
                    ));
                }
            };
        }
        let DataType::Tensor(whole) = field_type(&kinds, &to)? else {
            let of = field_type(&kinds, &to)?;
            return Err(format!("field {to} is of the type {of}; expected a tensor"));
        };
        let wrong = |text: String| format!("field {to}: {text}");
        let outer = given.text("dimension").map(str::to_owned);
        if let Some(name) = &outer {
            let is_there = whole.dimension(name).is_some_and(|d| d.is_mapped());
            match (is_array, is_there) {
                (false, _) => return Err("dimension is for a field array<string>".to_owned()),
                (true, false) => {
                    return Err(wrong(format!("{whole} has no mapped dimension {name}")));
                }
                (true, true) => {}
            }
        }
        if let Some(text) = embed_misfit(Some(is_array), whole, outer.as_deref()) {
            return Err(wrong(text));
        }
        let of_element = match is_array {
            true => embed_of_element(whole, outer.as_deref()).map(Some),
            false => Some(None),
        };
        let of_element = of_element.ok_or_else(|| wrong(format!("texts become no {whole}")))?;
        let id = known(making.embedders, given.text("embedder").unwrap_or_default())?;
        let kind = of_element.as_ref().unwrap_or(whole);
        let fits = making.embedders.check(&id, kind, Role::Document);
        fits.map_err(|error| wrong(format!("embedder {id}: {error}")))?;
        let kinds = kinds.iter().map(|kind| kind.name().to_owned()).collect();
        let embedders = Arc::clone(making.embedders);
        let target = Target { whole: whole.clone(), of_element, outer };
        Ok(Embed { kinds, embedders, id, from, separator: text("separator"), to, target })
    }

    /// Of an update all fields must be assigned: what the others hold is not known here.
    fn wanted(&self, operation: &DocumentOperation) -> Wanted {
        if !self.kinds.iter().any(|name| name == operation.kind().name()) {
            return Wanted::Nothing;
        }
        let values: Vec<&FieldValue> =
            self.from.iter().filter_map(|name| operation.get(name)).collect();
        let is_update = matches!(operation.action(), Action::Update { .. });
        if values.is_empty() || (is_update && values.len() < self.from.len()) {
            return Wanted::Nothing;
        }
        if let [FieldValue::Array(list)] = values.as_slice() {
            let text = |(number, element): (usize, &FieldValue)| match element {
                FieldValue::Text(text) if !is_blank(text) => Some((number, text.clone())),
                _ => None,
            };
            return Wanted::Each(list.iter().enumerate().filter_map(text).collect());
        }
        let text = |value: &&FieldValue| match value {
            FieldValue::Text(text) if !is_blank(text) => Some(text.clone()),
            _ => None,
        };
        let texts: Vec<String> = values.iter().filter_map(text).collect();
        match texts.is_empty() {
            true => Wanted::Empty,
            false => Wanted::One(texts.join(&self.separator)),
        }
    }

    /// The tensors of texts, in their order.
    fn tensors(&self, texts: Vec<String>, call: &Call) -> Vec<Result<Value, NativeError>> {
        let count = texts.len();
        if count == 0 {
            return Vec::new();
        }
        let kind = self.target.of_element.as_ref().unwrap_or(&self.target.whole);
        let ask = |text| Ask { id: self.id.clone(), text, kind: kind.clone(), language: None };
        let left = call.deadline.left();
        let until = left.and_then(|left| Instant::now().checked_add(left));
        let (sender, receiver) = sync_channel(1);
        let asked = texts.into_iter().map(ask).collect();
        self.embedders.tensors(asked, Role::Document, until, move |found| {
            // Whoever asked may have given up.
            let _ = sender.send(found);
        });
        match receiver.recv_timeout(left.unwrap_or(Duration::MAX)) {
            Ok(found) => {
                found.into_iter().map(|one| one.map_err(|error| self.failed(error))).collect()
            }
            Err(RecvTimeoutError::Timeout) => vec![Err(NativeError::Late); count],
            Err(RecvTimeoutError::Disconnected) => {
                let text = format!("embedder {} ended in an internal error", self.id);
                vec![Err(self.failed(Error::new(Code::Internal, text))); count]
            }
        }
    }

    /// An error that names the field.
    fn failed(&self, error: Error) -> NativeError {
        let of_field = |text: String| format!("field {}: {text}", self.to);
        match NativeError::from(error) {
            NativeError::Invalid(text) => NativeError::Invalid(of_field(text)),
            NativeError::Overloaded(text) => NativeError::Overloaded(of_field(text)),
            NativeError::Failed(text) => NativeError::Failed(of_field(text)),
            other => other,
        }
    }

    /// The tensor of an array.
    fn stacked(
        &self,
        numbers: &[usize],
        found: Vec<Result<Value, NativeError>>,
    ) -> Result<Value, NativeError> {
        let values: Vec<Value> = found.into_iter().collect::<Result<_, _>>()?;
        let values: Vec<(usize, Value)> = numbers.iter().copied().zip(values).collect();
        let Target { whole, outer, .. } = &self.target;
        stacked(&values, whole, outer.as_deref()).ok_or_else(|| {
            let text = format!("field {}: the tensors of the texts are no {whole}", self.to);
            NativeError::Failed(text)
        })
    }
}

/// The id of the embedder that one means.
fn known(embedders: &Embedders, id: &str) -> Result<String, String> {
    embedders.find(id).map(str::to_owned).ok_or_else(|| {
        let ids = embedders.ids().join(", ");
        match (ids.is_empty(), id) {
            (true, _) => "services.xml has no embedder".to_owned(),
            (false, "") => format!("name the embedder; there are {ids}"),
            (false, _) => format!("there is no embedder {id}; there are {ids}"),
        }
    })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

impl DocumentProcessor for Embed {
    fn process(
        &self,
        operation: DocumentOperation,
        call: &Call,
    ) -> Result<Vec<DocumentOperation>, NativeError> {
        let lost = || Err(self.failed(Error::new(Code::Internal, "nothing was embedded")));
        self.process_all(vec![operation], call).pop().unwrap_or_else(lost)
    }

    fn process_all(
        &self,
        operations: Vec<DocumentOperation>,
        call: &Call,
    ) -> Vec<Result<Vec<DocumentOperation>, NativeError>> {
        let mut texts: Vec<String> = Vec::new();
        let mut wanted = Vec::with_capacity(operations.len());
        for operation in &operations {
            // Which texts of all are its own, and what is made of them.
            let begin = texts.len();
            let numbers = match self.wanted(operation) {
                Wanted::Nothing => None,
                Wanted::Empty => Some(Vec::new()),
                Wanted::One(text) => {
                    texts.push(text);
                    Some(Vec::new())
                }
                Wanted::Each(own) => {
                    let (numbers, own): (Vec<usize>, Vec<String>) = own.into_iter().unzip();
                    texts.extend(own);
                    Some(numbers)
                }
            };
            wanted.push((numbers, texts.len() - begin));
        }
        let mut found = self.tensors(texts, call).into_iter();
        let fill = |(mut operation, (numbers, count)): (
            DocumentOperation,
            (Option<Vec<usize>>, usize),
        )| {
            let mut own: Vec<Result<Value, NativeError>> = found.by_ref().take(count).collect();
            let Some(numbers) = numbers else { return Ok(vec![operation]) };
            let value = match self.target.of_element {
                Some(_) => Some(self.stacked(&numbers, own)?),
                None => own.pop().transpose()?,
            };
            operation.set(&self.to, value.map(FieldValue::Tensor))?;
            Ok(vec![operation])
        };
        operations.into_iter().zip(wanted).map(fill).collect()
    }
}
