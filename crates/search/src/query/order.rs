//! What hits are ordered by.

use stead_store::DataType;

use super::error::SearchError;
use super::fields::Searches;
use super::sort_spec::{self, Said, SaidMissing};
use crate::collation::Collation;
use crate::result::SortValue;
use crate::yql::{Expr, Order};

/// The most fields that hits are ordered by.
const MAX_FIELDS: usize = 32;

/// Annotations behind `order by`.
const ANNOTATIONS: [&str; 3] = ["function", "locale", "strength"];

/// One of several things that hits are ordered by.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderBy {
    /// What it is.
    pub key: OrderKey,
    /// The greatest first.
    pub descending: bool,
    /// How texts are compared.
    pub function: SortFunction,
    /// Where documents without a value stand.
    pub missing: Missing,
}

/// What hits are ordered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderKey {
    /// The value of an attribute: of several values the least, or the greatest where that is first.
    Attribute(String),
    /// The score.
    Score,
    /// The number of the document, which is the order in which documents were fed, mostly.
    Document,
    /// The name of the cluster that has it.
    Source,
}

/// How texts are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortFunction {
    /// By their bytes.
    Raw,
    /// By the bytes of their small letters.
    Lowercase,
    /// As a language orders them.
    Uca(Collation),
}

/// Where documents without a value stand.
#[derive(Debug, Clone, PartialEq)]
pub enum Missing {
    /// Before all others where the least value of one is first, else behind them.
    Usual,
    /// Before all others.
    First,
    /// Behind all others.
    Last,
    /// Where those with this value stand.
    As(SortValue),
}

impl OrderBy {
    /// What stands for a document without a value, in an attribute of several values or of one.
    #[must_use]
    pub fn missing(&self, is_many: bool) -> SortValue {
        let is_first = match &self.missing {
            Missing::As(value) => return value.clone(),
            Missing::Usual => !is_many && !self.descending,
            Missing::First => true,
            Missing::Last => false,
        };
        match is_first == self.descending {
            true => SortValue::Greatest,
            false => SortValue::Missing,
        }
    }
}

impl SortFunction {
    /// A text in the form in which it is compared.
    #[must_use]
    pub fn value(&self, text: &str) -> SortValue {
        match self {
            SortFunction::Raw => SortValue::Text(text.to_owned()),
            SortFunction::Lowercase => SortValue::Text(stead_text::fold(text)),
            SortFunction::Uca(collation) => SortValue::Key(collation.key(text)),
        }
    }
}

/// What hits are ordered by: `order by` of a text in YQL, or else `ranking.sorting`; `locale` is that of the request.
///
/// # Errors
/// When an attribute is none, or cannot be ordered by.
pub fn sort_order(
    order: &[Order],
    sorting: Option<&str>,
    locale: Option<&str>,
    searches: Searches<'_>,
) -> Result<Vec<OrderBy>, SearchError> {
    let mut said = order.iter().map(behind_order_by).collect::<Result<Vec<_>, _>>()?;
    if said.is_empty() {
        said = sort_spec::read(sorting.unwrap_or_default()).map_err(SearchError::parameter)?;
    }
    if said.len() > MAX_FIELDS {
        let text = format!("order by {} fields; {MAX_FIELDS} is the most", said.len());
        return Err(SearchError::parameter(text));
    }
    said.into_iter().map(|said| one(said, locale, searches)).collect()
}

/// What stands behind `order by`.
fn behind_order_by(order: &Order) -> Result<Said, SearchError> {
    let (Expr::Field(name) | Expr::Text(name)) = &order.by.expr else {
        return Err(SearchError::yql("expected the name of an attribute behind order by"));
    };
    // Without a word it is ascending, whatever the schema says.
    let descending = Some(order.descending);
    let mut said = Said { name: name.clone(), descending, ..Said::default() };
    for (key, value) in &order.by.annotations {
        let Expr::Text(value) = &value.expr else {
            return Err(SearchError::yql(format_args!("order by {name}: {key:.40} is a text")));
        };
        let place = match key.as_str() {
            "function" => &mut said.function,
            "locale" => &mut said.locale,
            "strength" => &mut said.strength,
            _ => {
                return Err(SearchError::yql(format_args!(
                    "order by {name} has no annotation {key:.40} but {}",
                    ANNOTATIONS.join(", ")
                )));
            }
        };
        *place = Some(value.clone());
    }
    Ok(said)
}

fn one(said: Said, locale: Option<&str>, searches: Searches<'_>) -> Result<OrderBy, SearchError> {
    let name = said.name.as_str();
    let fail = |text: String| Err(SearchError::parameter(text));
    let plain = |key, is_down| OrderBy {
        key,
        descending: said.descending.unwrap_or(is_down),
        function: SortFunction::Raw,
        missing: Missing::Usual,
    };
    match name {
        // The best first, unless something else is said.
        "[rank]" | "[relevance]" | "[relevancy]" => return Ok(plain(OrderKey::Score, true)),
        "[docid]" => return Ok(plain(OrderKey::Document, false)),
        "[source]" => return Ok(plain(OrderKey::Source, false)),
        _ if name.starts_with('[') => {
            return fail(format!(
                "order by {name} is not supported; write [relevance], [docid], [source] or an attribute"
            ));
        }
        _ => {}
    }
    let settings = searches.sorting(name);
    let descending = said.descending.unwrap_or(settings.is_some_and(|s| s.descending));
    let attribute = searches.documents.attributes().iter().find(|a| a.name == name);
    let kind = match attribute.map(|a| &a.kind) {
        Some(DataType::Array(of) | DataType::WeightedSet(of)) => Some(&**of),
        kind => kind,
    };
    match kind {
        // Documents of a type without it have nothing to be ordered by.
        None if searches.is_elsewhere(name) => {}
        None => return fail(format!("order by {name}: there is no such attribute")),
        Some(
            DataType::Tensor(_)
            | DataType::Raw
            | DataType::Array(_)
            | DataType::WeightedSet(_)
            | DataType::Map(..)
            | DataType::Struct(_)
            | DataType::Predicate
            | DataType::Position,
        ) => {
            let of = attribute.map_or_else(String::new, |a| a.kind.to_string());
            return fail(format!("order by {name}: a {of} has no order"));
        }
        Some(_) => {}
    }
    let function = said.function.as_deref().or(settings.and_then(|s| s.function.as_deref()));
    let own = said.locale.as_deref().or(settings.and_then(|s| s.locale.as_deref()));
    let strength = said.strength.as_deref().or(settings.and_then(|s| s.strength.as_deref()));
    let strength = strength.unwrap_or("primary");
    let function = match function.map(str::to_ascii_lowercase).as_deref() {
        Some("raw") => SortFunction::Raw,
        Some("lowercase") => SortFunction::Lowercase,
        None | Some("uca") => match (own, locale) {
            (Some(locale), _) => match Collation::new(locale, strength) {
                Ok(collation) => SortFunction::Uca(collation),
                Err(why) => return fail(format!("order by {name}: {why}")),
            },
            // What is said of the language of words may be none of those that texts are ordered by.
            (None, Some(locale)) => {
                Collation::new(locale, strength).map_or(SortFunction::Lowercase, SortFunction::Uca)
            }
            (None, None) => SortFunction::Lowercase,
        },
        Some(other) => {
            return fail(format!("Unknown sort function '{other:.40}'"));
        }
    };
    let missing = match &said.missing {
        None => Missing::Usual,
        Some(SaidMissing::First) => Missing::First,
        Some(SaidMissing::Last) => Missing::Last,
        Some(SaidMissing::As(text)) => match as_value(text, kind, &function) {
            Some(value) => Missing::As(value),
            None => return fail(format!("order by {name}: '{text:.40}' is none of its values")),
        },
    };
    Ok(OrderBy { key: OrderKey::Attribute(name.to_owned()), descending, function, missing })
}

/// A value that is written as a text, in the form in which values of a type are compared.
fn as_value(text: &str, kind: Option<&DataType>, function: &SortFunction) -> Option<SortValue> {
    Some(match kind {
        Some(DataType::Bool) => SortValue::Integer(i64::from(text.parse::<bool>().ok()?)),
        Some(DataType::Byte | DataType::Int | DataType::Long) => {
            SortValue::Integer(text.parse().ok()?)
        }
        Some(DataType::Float16 | DataType::Float | DataType::Double) => {
            SortValue::Number(text.parse::<f64>().ok().filter(|number| !number.is_nan())?)
        }
        _ => function.value(text),
    })
}
