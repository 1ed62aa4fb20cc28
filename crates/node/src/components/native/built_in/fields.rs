//! `copy` and `rename`: values of fields in others.

use stead_app::components::Parameters;

use super::{Making, concerned, field_type};
use crate::components::native::{Call, DocumentOperation, DocumentProcessor, NativeError};

/// Writes fields to others, and takes them away where they are moved.
pub(super) struct Move {
    /// By the types of documents, pairs of fields.
    kinds: Vec<String>,
    pairs: Vec<(String, String)>,
    keeps: bool,
}

impl Move {
    pub(super) fn new(
        given: &Parameters,
        making: &Making<'_>,
        keeps: bool,
    ) -> Result<Move, String> {
        let pairs = given.map("fields").to_vec();
        let names: Vec<&str> =
            pairs.iter().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
        let kinds = concerned(given, &names, making)?;
        for (from, to) in &pairs {
            let (of_from, of_to) = (field_type(&kinds, from)?, field_type(&kinds, to)?);
            if of_from != of_to {
                return Err(format!(
                    "field {from} is of the type {of_from}, and {to} of the type {of_to}; they must be the same"
                ));
            }
            if from == to {
                return Err(format!("field {from} is written to itself"));
            }
        }
        let kinds = kinds.iter().map(|kind| kind.name().to_owned()).collect();
        Ok(Move { kinds, pairs, keeps })
    }
}

impl DocumentProcessor for Move {
    fn process(
        &self,
        mut operation: DocumentOperation,
        _: &Call,
    ) -> Result<Vec<DocumentOperation>, NativeError> {
        if self.kinds.iter().any(|name| name == operation.kind().name()) {
            for (from, to) in &self.pairs {
                let Some(value) = operation.get(from).cloned() else { continue };
                operation.set(to, Some(value))?;
                if !self.keeps {
                    operation.forget(from)?;
                }
            }
        }
        Ok(vec![operation])
    }
}
