//! The fields of documents that `fieldSet` asks for: no others are read.

use super::Call;
use super::answer::Failure;
use std::collections::BTreeSet;
use stead_expr::codec::json::Form;
use stead_search::result::{Item, item_of};
use stead_store::{DocumentType, FieldValue};

/// The fields that are shown of documents of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// The ids alone.
    Nothing,
    All,
    /// By their numbers.
    Some(BTreeSet<usize>),
}

impl Shown {
    /// Whether a field is shown.
    pub(super) fn has(&self, field: usize) -> bool {
        match self {
            Shown::Nothing => false,
            Shown::All => true,
            Shown::Some(numbers) => numbers.contains(&field),
        }
    }

    /// Those of some fields that are shown, if any may be.
    pub(super) fn item(
        &self,
        fields: &[(usize, FieldValue)],
        kind: &DocumentType,
        tensors: Form,
    ) -> Option<Item> {
        let shown = fields.iter().filter_map(|(number, value)| {
            let (name, of) = (kind.field_name(*number)?, kind.field_kind(*number)?);
            let item = if self.has(*number) { item_of(value, of, kind, tensors) } else { None };
            Some((name.to_owned(), item?))
        });
        (*self != Shown::Nothing).then(|| Item::Map(shown.collect()))
    }
}

impl Call {
    /// What `fieldSet` asks for of documents of a type.
    ///
    /// # Errors
    /// When there is no such set or field.
    pub(super) fn shown(&self, kind: &DocumentType) -> Result<Shown, Failure> {
        let inside = || {
            let numbers = kind.fields().enumerate().map(|(at, _)| at);
            Shown::Some(numbers.filter(|at| kind.is_inside(*at)).collect())
        };
        let set = self.parameters.field_set.as_deref().unwrap_or("[document]");
        let list = match set {
            "[all]" => return Ok(Shown::All),
            "[document]" => return Ok(inside()),
            "[id]" | "[none]" => return Ok(Shown::Nothing),
            _ => match set.split_once(':') {
                Some((name, "[document]")) if name == kind.name() => return Ok(inside()),
                Some((name, list)) if name == kind.name() => list,
                // Of another type: its documents have none of these.
                Some(_) => return Ok(Shown::Some(BTreeSet::new())),
                None => return Err(Failure::new(400, format!("there is no field set '{set}'"))),
            },
        };
        let number = |name: &str| match kind.field(name) {
            Some((number, _)) => Ok(number),
            None => {
                let text = format!("No such field '{name}' in document type '{}'", kind.name());
                Err(Failure::new(400, text))
            }
        };
        list.split(',').map(|name| number(name.trim())).collect::<Result<_, _>>().map(Shown::Some)
    }
}
