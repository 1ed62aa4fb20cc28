//! What hits are ordered by.

use stead_store::DataType;

use super::error::SearchError;
use super::fields::Searches;
use crate::yql::{Expr, Node, Order};

/// The most fields that hits are ordered by.
const MAX_FIELDS: usize = 32;

/// One of several things that hits are ordered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderBy {
    /// The attribute; nothing for the score.
    pub attribute: Option<String>,
    /// The greatest first.
    pub descending: bool,
    /// How texts are compared.
    pub function: SortFunction,
}

/// How texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortFunction {
    /// By their bytes.
    Raw,
    /// By the bytes of their small letters.
    Lowercase,
}

/// What hits are ordered by: `order by` of a text in YQL, or else `ranking.sorting`.
///
/// # Errors
/// When an attribute is none, or cannot be ordered by.
pub fn sort_order(
    order: &[Order],
    sorting: Option<&str>,
    searches: Searches<'_>,
) -> Result<Vec<OrderBy>, SearchError> {
    let mut found = Vec::new();
    for order in order {
        let (Expr::Field(name) | Expr::Text(name)) = &order.by.expr else {
            return Err(SearchError::yql("expected the name of an attribute behind order by"));
        };
        let annotation = |key: &str| match order.by.annotation(key).map(|node: &Node| &node.expr) {
            Some(Expr::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        found.push(one(name, order.descending, annotation("function"), searches)?);
    }
    if found.is_empty() {
        for part in sorting.unwrap_or_default().split_ascii_whitespace() {
            let (descending, rest) = match part.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, part.strip_prefix('+').unwrap_or(part)),
            };
            let (function, name) = match rest.split_once('(') {
                Some((function, inner)) => {
                    let inner = inner.strip_suffix(')').unwrap_or(inner);
                    (Some(function), inner.split(',').next().unwrap_or_default())
                }
                None => (None, rest),
            };
            found.push(one(name, descending, function, searches)?);
        }
    }
    match found.len() > MAX_FIELDS {
        true => Err(SearchError::parameter(format!(
            "order by {} fields; {MAX_FIELDS} is the most",
            found.len()
        ))),
        false => Ok(found),
    }
}

fn one(
    name: &str,
    descending: bool,
    function: Option<&str>,
    searches: Searches<'_>,
) -> Result<OrderBy, SearchError> {
    let fail = |text: String| Err(SearchError::parameter(text));
    let function = match function {
        None | Some("lowercase") => SortFunction::Lowercase,
        Some("raw") => SortFunction::Raw,
        Some("uca") => {
            return fail(format!(
                "order by {name}: function uca is not supported; write lowercase or raw"
            ));
        }
        Some(other) => return fail(format!("Expected lowercase, raw or uca, got {other:.40}.")),
    };
    match name {
        "[rank]" | "[relevance]" | "[relevancy]" => {
            return Ok(OrderBy { attribute: None, descending, function });
        }
        _ if name.starts_with('[') => {
            return fail(format!("order by {name} is not supported; write [rank] or an attribute"));
        }
        _ => {}
    }
    let Some(attribute) = searches.documents.attributes().iter().find(|a| a.name == name) else {
        // Documents of a type without it have nothing to be ordered by.
        return match searches.is_elsewhere(name) {
            true => Ok(OrderBy { attribute: Some(name.to_owned()), descending, function }),
            false => fail(format!("order by {name}: there is no such attribute")),
        };
    };
    match &attribute.kind {
        DataType::Tensor(_)
        | DataType::Raw
        | DataType::Array(_)
        | DataType::WeightedSet(_)
        | DataType::Map(..)
        | DataType::Struct(_)
        | DataType::Position => fail(format!("order by {name}: a {} has no order", attribute.kind)),
        _ => Ok(OrderBy { attribute: Some(name.to_owned()), descending, function }),
    }
}
