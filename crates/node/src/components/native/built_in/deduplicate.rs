//! `deduplicate`: of hits that are the same in some fields the best stays.

use std::collections::HashSet;

use stead_app::components::Parameters;
use stead_search::result::{Hit, SearchResult};

use super::more::search_more;
use crate::components::native::{Execution, NativeError, Query, Searcher};

/// Leaves out hits that are like one before them.
pub(super) struct Deduplicate {
    fields: Vec<String>,
    more: usize,
}

impl Deduplicate {
    pub(super) fn new(given: &Parameters) -> Result<Deduplicate, String> {
        Ok(Deduplicate { fields: given.list("fields").to_vec(), more: given.count("more") })
    }

    fn keep(&self, hits: Vec<Hit>) -> Vec<Hit> {
        let mut seen: HashSet<Vec<Vec<u8>>> = HashSet::new();
        let is_new = |hit: &Hit| {
            let values = self.fields.iter().map(|name| hit.get(name).map(|item| item.json()));
            values.collect::<Option<Vec<_>>>().is_none_or(|key| seen.insert(key))
        };
        let mut kept = hits;
        kept.retain(is_new);
        kept
    }
}

impl Searcher for Deduplicate {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let next = |query: Query| execution.search(query);
        search_more(query, self.more, &|hits| self.keep(hits), &next)
    }
}
