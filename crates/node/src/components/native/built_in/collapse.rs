//! `collapse`: some hits for each value of a field (Vespa, `FieldCollapsingSearcher`). Queries that say `collapsefield` have it without a
//! searcher too.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use stead_app::components::Parameters;
use stead_search::query::SearchError;
use stead_search::result::{Hit, Item, SearchResult};
use stead_search::run::hidden_id;

use super::more::search_more;
use crate::components::native::{Execution, NativeError, Query, Searcher};

/// The parameters of queries. What begins with [`SIZE_OF`] ends with the name of a field.
const FIELD: &str = "collapsefield";
const SIZE: &str = "collapsesize";
const SIZE_OF: &str = "collapsesize.";
const SUMMARY: &str = "collapse.summary";

/// The summary of hits, which [`SUMMARY`] stands before where values of fields are looked at, and the fields of it that are shown.
const SHOWN: &str = "presentation.summary";
const SHOWN_FIELDS: &str = "presentation.summaryFields";

/// How many times the hits are asked for where nothing is said (Vespa: `collapse.extraFactor`).
const MORE: usize = 2;

/// Keeps the best hits for each value of a field.
pub(super) struct Collapse {
    field: String,
    size: usize,
    more: usize,
}

impl Collapse {
    pub(super) fn new(given: &Parameters) -> Result<Collapse, String> {
        let field = given.text("field").unwrap_or_default().to_owned();
        match given.count("size") {
            0 => Err("size is 0: no hit would stay".to_owned()),
            size => Ok(Collapse { field, size, more: given.count("more") }),
        }
    }
}

impl Searcher for Collapse {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let default = (self.field.as_str(), self.size);
        collapsed(query, Some(default), self.more, &|query| execution.search(query))
    }
}

/// Searches, and collapses what was found if the query says so.
///
/// # Errors
/// Those of the search.
pub(crate) fn collapsed_if_asked(
    query: Query,
    search: &dyn Fn(Query) -> Result<SearchResult, NativeError>,
) -> Result<SearchResult, NativeError> {
    match query.values.get(FIELD) {
        Some(field) if !field.trim().is_empty() => collapsed(query, None, MORE, search),
        _ => search(query),
    }
}

fn collapsed(
    mut query: Query,
    default: Option<(&str, usize)>,
    more: usize,
    search: &dyn Fn(Query) -> Result<SearchResult, NativeError>,
) -> Result<SearchResult, NativeError> {
    let fields = match Fields::of(&query, default) {
        Ok(fields) => fields,
        Err(error) => return Ok(SearchResult::failed(error)),
    };
    let summary = query.values.get(SUMMARY).map(str::to_owned);
    let summary = summary.filter(|name| query.values.get(SHOWN) != Some(name.as_str()));
    // It is done here, and not once more behind.
    let of_sizes = query.values.iter().filter(|(name, _)| name.starts_with(SIZE_OF));
    let of_sizes: Vec<String> = of_sizes.map(|(name, _)| name.to_owned()).collect();
    for name in [FIELD, SIZE, SUMMARY].into_iter().chain(of_sizes.iter().map(String::as_str)) {
        query.values.remove(name);
    }
    // What hits have in the other summary, by their sources and documents.
    let looked: RefCell<HashMap<(String, String), Hit>> = RefCell::default();
    let (seen, left) = (Cell::new(0), Cell::new(0));
    let keep = |hits: Vec<Hit>| {
        seen.set(hits.len());
        let looked = looked.borrow();
        let kept = fields.keep(hits, &|hit: &Hit, field: &str| match &summary {
            None => hit.get(field).map(Item::json),
            Some(_) => {
                let other = looked.get(&document(hit))?;
                other.get(field).map(Item::json)
            }
        });
        left.set(kept.len());
        kept
    };
    let search = |query: Query| {
        if let Some(summary) = &summary {
            let mut other = query.clone();
            other.values.set(SHOWN, summary.clone());
            other.values.remove(SHOWN_FIELDS);
            let found = search(other)?;
            if !found.errors.is_empty() {
                return Ok(found);
            }
            let by_document = |hit: Hit| (document(&hit), hit);
            looked.replace(found.hits.into_iter().map(by_document).collect());
        }
        search(query)
    };
    let mut result = search_more(query, more.max(1), &keep, &search)?;
    // As in Vespa: what is left of all that match is known then.
    if seen.get() > 0 && result.total <= seen.get() as u64 {
        result.total = left.get() as u64;
    }
    Ok(result)
}

/// The source of a hit and its document, whether its summary has the id of that or not.
fn document(hit: &Hit) -> (String, String) {
    let id = match hit.id.starts_with("id:") {
        // All documents are on one node.
        true => hidden_id(&hit.source, 0, &hit.id),
        false => hit.id.clone(),
    };
    (hit.source.clone(), id)
}

/// The fields that hits are collapsed by, one after the other, with the hits that stay for each value.
struct Fields(Vec<(String, usize)>);

impl Fields {
    fn of(query: &Query, default: Option<(&str, usize)>) -> Result<Fields, SearchError> {
        let size = |name: &str| match query.values.get(name).map(|text| (text, text.trim().parse()))
        {
            None => Ok(None),
            Some((_, Ok(size))) if size > 0 => Ok(Some(size)),
            Some((text, _)) => {
                let text = format!("{name} must be a whole number from 1, found {text:.40}");
                Err(SearchError::parameter(text))
            }
        };
        let all = size(SIZE)?.or(default.map(|(_, size)| size)).unwrap_or(1);
        let names = query.values.get(FIELD).or(default.map(|(field, _)| field)).unwrap_or_default();
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let of =
            |name: &str| Ok((name.to_owned(), size(&format!("{SIZE_OF}{name}"))?.unwrap_or(all)));
        names.map(of).collect::<Result<_, _>>().map(Fields)
    }

    /// The hits that stay. `value` is that of a field of a hit; hits without it stay.
    fn keep(&self, hits: Vec<Hit>, value: &dyn Fn(&Hit, &str) -> Option<Vec<u8>>) -> Vec<Hit> {
        self.0.iter().fold(hits, |mut hits, (field, size)| {
            let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
            hits.retain(|hit| {
                let Some(value) = value(hit, field) else { return true };
                let count = counts.entry(value).or_default();
                *count += 1;
                *count <= *size
            });
            hits
        })
    }
}
