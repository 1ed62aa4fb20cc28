//! The components that are built in. Their parameters are rows of the tables of `stead_app`, which have their defaults by then.

mod answer;
mod blend;
mod boost;
pub(crate) mod collapse;
mod constant;
mod cross;
mod deduplicate;
mod embed;
mod fields;
mod generate;
mod model;
mod model_query;
mod more;
mod pairs;
mod rewrite;
mod terms;
mod tokenise;

use std::sync::Arc;

use stead_app::application::Application;
use stead_app::components::Parameters;
use stead_app::package::PackageFiles;
use stead_store::{DataType, DocumentType};

use super::{DocumentProcessor, Models, Searcher, document};
use crate::embedders::Embedders;

/// What they are made of.
pub(super) struct Making<'m> {
    pub(super) application: &'m Application,
    pub(super) files: &'m PackageFiles,
    /// The types of documents that are stored.
    pub(super) kinds: &'m [DocumentType],
    pub(super) models: &'m Models,
    pub(super) embedders: &'m Arc<Embedders>,
}

/// Makes the searcher of a name.
///
/// # Errors
/// What is wrong with its parameters.
pub(super) fn searcher(
    name: &str,
    given: &Parameters,
    making: &Making<'_>,
) -> Result<Box<dyn Searcher>, String> {
    Ok(match name {
        "rewrite" => Box::new(rewrite::Rewrite::new(given)?),
        "deduplicate" => Box::new(deduplicate::Deduplicate::new(given)?),
        "collapse" => Box::new(collapse::Collapse::new(given)?),
        "boost" => Box::new(boost::Boost::new(given)?),
        "blend" => Box::new(blend::Blend::new(given, making)?),
        "tokenise" => Box::new(model_query::Tokenise::new(given, making)?),
        "model" => Box::new(model_query::Model::new(given, making)?),
        "cross-encoder" => Box::new(cross::CrossEncoder::new(given, making)?),
        "pairwise-rank" => Box::new(pairs::PairwiseRank::new(given, making)?),
        "answer-span" => Box::new(answer::AnswerSpan::new(given, making)?),
        "detokenise" => Box::new(answer::Detokenise::new(given, making)?),
        "generate" => Box::new(generate::Generate::new(given, making)?),
        other => return Err(format!("there is no searcher of the type {other}")),
    })
}

/// Makes the document processor of a name.
///
/// # Errors
/// What is wrong with its parameters.
pub(super) fn processor(
    name: &str,
    given: &Parameters,
    making: &Making<'_>,
) -> Result<Box<dyn DocumentProcessor>, String> {
    Ok(match name {
        "copy" => Box::new(fields::Move::new(given, making, true)?),
        "rename" => Box::new(fields::Move::new(given, making, false)?),
        "constant" => Box::new(constant::Constant::new(given, making)?),
        "tokenise" => Box::new(tokenise::Tokenise::new(given, making)?),
        "embed" => Box::new(embed::Embed::new(given, making)?),
        "model" => Box::new(model::Model::new(given, making)?),
        other => return Err(format!("there is no documentprocessor of the type {other}")),
    })
}

/// The types of documents that a processor is for, by their names: those that it names, or all that have its fields.
///
/// # Errors
/// Names of types that are not stored, types that it names without these fields, and fields that no type has.
fn concerned<'m>(
    given: &Parameters,
    fields: &[&str],
    making: &Making<'m>,
) -> Result<Vec<&'m DocumentType>, String> {
    let named = given.list("documents");
    if named.is_empty() {
        let has = |kind: &&DocumentType| fields.iter().all(|name| kind.field(name).is_some());
        let found: Vec<&DocumentType> = making.kinds.iter().filter(has).collect();
        return match found.is_empty() {
            true => Err(format!("no type of documents has the fields {}", fields.join(", "))),
            false => Ok(found),
        };
    }
    let of = |name: &String| {
        let kind = making.kinds.iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| {
            let known: Vec<&str> = making.kinds.iter().map(DocumentType::name).collect();
            format!("documents of type {name} are not stored here; there are {}", known.join(", "))
        })?;
        for name in fields {
            document::field(kind, name)?;
        }
        Ok(kind)
    };
    named.iter().map(of).collect()
}

/// The type of a field that all these types have alike.
///
/// # Errors
/// That it has other types in some.
fn field_type<'m>(kinds: &[&'m DocumentType], name: &str) -> Result<&'m DataType, String> {
    let mut found: Option<(&DocumentType, &DataType)> = None;
    for kind in kinds {
        let (_, of) = document::field(kind, name)?;
        match found {
            None => found = Some((kind, of)),
            Some((first, other)) if other != of => {
                return Err(format!(
                    "field {name} is of the type {other} in {} and {of} in {}; name the type in documents",
                    first.name(),
                    kind.name()
                ));
            }
            Some(_) => {}
        }
    }
    found.map(|(_, of)| of).ok_or_else(|| format!("there is no field {name}"))
}

#[cfg(test)]
mod tests;
