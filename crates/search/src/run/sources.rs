//! The types of documents that a search is about.

use super::Searcher;
use crate::query::SearchError;
use crate::request::SearchRequest;
use crate::yql::Statement;

/// Those that a query asks for, by the names of clusters and types; all if it names none.
///
/// # Errors
/// A name that means nothing, and names that mean nothing together.
pub(super) fn chosen<'s, 'd>(
    searchers: &'s [Searcher<'d>],
    request: &SearchRequest,
    statement: &Statement,
) -> Result<Vec<&'s Searcher<'d>>, SearchError> {
    let sources = if statement.sources.is_empty() { &request.sources } else { &statement.sources };
    for name in sources.iter().chain(&request.restrict) {
        if name != "*" && !searchers.iter().any(|searcher| is_of(searcher, name)) {
            return Err(SearchError::parameter(format!(
                "Could not resolve source ref '{name:.60}'. Valid source refs are {}.",
                known(searchers)
            )));
        }
    }
    let has = |names: &[String], searcher: &Searcher<'_>| {
        names.is_empty() || names.iter().any(|name| name == "*" || is_of(searcher, name))
    };
    let is_chosen = |s: &&Searcher<'_>| has(sources, s) && has(&request.restrict, s);
    let chosen: Vec<&Searcher<'_>> = searchers.iter().filter(is_chosen).collect();
    match chosen.is_empty() {
        true => Err(SearchError::parameter(format!(
            "The sources of the query and restrict have nothing in common. Valid source refs are {}.",
            known(searchers)
        ))),
        false => Ok(chosen),
    }
}

fn is_of(searcher: &Searcher<'_>, name: &str) -> bool {
    [searcher.cluster, &searcher.schema.name.value, searcher.view.kind().name()].contains(&name)
}

fn known(searchers: &[Searcher<'_>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for searcher in searchers {
        for name in [searcher.cluster, &searcher.schema.name.value] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.join(", ")
}
