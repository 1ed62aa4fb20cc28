//! A result as JSON or CBOR
//! (Vespa, `container-search/src/main/java/com/yahoo/search/rendering/JsonRenderer.java`).

use super::item::Item;
use super::partial::Coverage;
use super::{cbor, json};
use crate::query::SearchError;
use crate::request::Format;

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchResult {
    /// How many documents are hits.
    pub total: u64,
    /// How many documents were looked at; nothing if the query never ran.
    pub coverage: Option<Coverage>,
    /// What groupings found, which stands before the hits.
    pub groups: Vec<Item>,
    /// The hits that were asked for.
    pub hits: Vec<Hit>,
    /// What went wrong.
    pub errors: Vec<SearchError>,
    /// How long it took, if that was asked for.
    pub timing: Option<Timing>,
    /// What whoever asks should know: what has no effect, and what was done, if that was asked for.
    pub trace: Vec<Item>,
}

/// A hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The id of the document, or another where the summary has none.
    pub id: String,
    /// Its score.
    pub relevance: f64,
    /// The cluster that has it.
    pub source: String,
    /// Its fields.
    pub fields: Vec<(String, Item)>,
}

/// How long a search took, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Timing {
    /// Matching and ranking.
    pub query: f64,
    /// The summaries of hits.
    pub summary_fetch: f64,
    /// All.
    pub search: f64,
}

impl Hit {
    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Item> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Gives a field a value.
    pub fn set(&mut self, name: &str, value: impl Into<Item>) {
        let value = value.into();
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, field)) => *field = value,
            None => self.fields.push((name.to_owned(), value)),
        }
    }
}

impl SearchResult {
    /// A result with nothing but an error.
    #[must_use]
    pub fn failed(error: SearchError) -> SearchResult {
        SearchResult { errors: vec![error], ..SearchResult::default() }
    }

    /// The status of HTTP: an error has its own where there are no hits.
    #[must_use]
    pub fn status(&self) -> u16 {
        match (self.hits.is_empty() && self.groups.is_empty(), self.errors.first()) {
            (true, Some(error)) => error.code.status(),
            _ => 200,
        }
    }

    fn item(&self) -> Item {
        let mut root = vec![
            ("id".to_owned(), Item::text("toplevel")),
            ("relevance".to_owned(), Item::Number(1.0)),
            ("fields".to_owned(), Item::map([("totalCount", Item::count(self.total as usize))])),
        ];
        if let Some(coverage) = &self.coverage {
            root.push(("coverage".to_owned(), coverage_item(coverage)));
        }
        if !self.errors.is_empty() {
            let errors = self.errors.iter().map(|error| {
                Item::map([
                    ("code", Item::Integer(i64::from(error.code.number()))),
                    ("summary", Item::text(error.code.summary())),
                    ("message", Item::text(&error.message)),
                ])
            });
            root.push(("errors".to_owned(), Item::List(errors.collect())));
        }
        if !self.hits.is_empty() || !self.groups.is_empty() {
            let children = self.groups.iter().cloned().chain(self.hits.iter().map(hit_item));
            root.push(("children".to_owned(), Item::List(children.collect())));
        }
        let mut whole = Vec::new();
        if !self.trace.is_empty() {
            let message = |what: &Item| Item::map([("message", what.clone())]);
            let messages = self.trace.iter().map(message).collect();
            whole.push(("trace".to_owned(), Item::map([("children", Item::List(messages))])));
        }
        if let Some(timing) = &self.timing {
            let timing = Item::map([
                ("querytime", Item::Number(timing.query)),
                ("summaryfetchtime", Item::Number(timing.summary_fetch)),
                ("searchtime", Item::Number(timing.search)),
            ]);
            whole.push(("timing".to_owned(), timing));
        }
        whole.push(("root".to_owned(), Item::Map(root)));
        Item::Map(whole)
    }
}

fn coverage_item(coverage: &Coverage) -> Item {
    let (nodes, results) = (i64::from(coverage.nodes), i64::from(coverage.results));
    let mut members = vec![
        ("coverage".to_owned(), Item::count(coverage.percent() as usize)),
        ("documents".to_owned(), Item::count(coverage.covered as usize)),
    ];
    let why = coverage.degraded;
    if why.is_any() {
        let degraded = Item::map([
            ("match-phase", Item::Bool(why.match_phase)),
            ("timeout", Item::Bool(why.timeout)),
            ("adaptive-timeout", Item::Bool(why.adaptive_timeout)),
            ("anntimeout", Item::Bool(why.ann_timeout)),
            ("non-ideal-state", Item::Bool(why.non_ideal_state)),
        ]);
        members.push(("degraded".to_owned(), degraded));
    }
    members.extend([
        ("full".to_owned(), Item::Bool(coverage.is_full())),
        ("nodes".to_owned(), Item::Integer(nodes)),
        // One for each type of documents, whichever nodes take part.
        ("results".to_owned(), Item::Integer(results)),
        ("resultsFull".to_owned(), Item::Integer(if coverage.is_full() { results } else { 0 })),
    ]);
    Item::Map(members)
}

pub(crate) fn hit_item(hit: &Hit) -> Item {
    let mut members = vec![
        ("id".to_owned(), Item::text(&hit.id)),
        ("relevance".to_owned(), Item::Number(hit.relevance)),
        ("source".to_owned(), Item::text(&hit.source)),
    ];
    if !hit.fields.is_empty() {
        members.push(("fields".to_owned(), Item::Map(hit.fields.clone())));
    }
    Item::Map(members)
}

/// Writes a result.
#[must_use]
pub fn render(result: &SearchResult, format: Format) -> Vec<u8> {
    let (item, mut out) = (result.item(), Vec::new());
    match format {
        Format::Json => json::write(&item, &mut out),
        Format::Cbor => cbor::write(&item, &mut out),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Hit, Item, SearchResult, Timing, render};
    use crate::query::SearchError;
    use crate::request::Format;
    use crate::result::{Coverage, Degraded};

    #[test]
    fn results_are_written_as_clients_expect() {
        let hit = Hit {
            id: "id:d:d::1".to_owned(),
            relevance: f64::NEG_INFINITY,
            source: "content".to_owned(),
            fields: vec![("n".to_owned(), Item::Integer(7))],
        };
        let full = Coverage { covered: 3, documents: 3, ..Coverage::default() };
        let degraded = Degraded { timeout: true, ..Degraded::default() };
        let half = Coverage { covered: 1, documents: 2, degraded, ..Coverage::default() };
        for (result, status, expected) in [
            (
                SearchResult {
                    total: 1,
                    coverage: Some(full),
                    hits: vec![hit.clone()],
                    ..SearchResult::default()
                },
                200,
                r#"{"root":{"id":"toplevel","relevance":1.0,"fields":{"totalCount":1},"coverage":{"coverage":100,"documents":3,"full":true,"nodes":1,"results":1,"resultsFull":1},"children":[{"id":"id:d:d::1","relevance":"-Infinity","source":"content","fields":{"n":7}}]}}"#,
            ),
            (
                SearchResult::failed(SearchError::parameter("no")),
                400,
                r#"{"root":{"id":"toplevel","relevance":1.0,"fields":{"totalCount":0},"errors":[{"code":4,"summary":"Invalid query parameter","message":"no"}]}}"#,
            ),
            (
                SearchResult {
                    coverage: Some(half),
                    timing: Some(Timing { query: 0.5, summary_fetch: 0.0, search: 0.5 }),
                    ..SearchResult::default()
                },
                200,
                r#"{"timing":{"querytime":0.5,"summaryfetchtime":0.0,"searchtime":0.5},"root":{"id":"toplevel","relevance":1.0,"fields":{"totalCount":0},"coverage":{"coverage":50,"documents":1,"degraded":{"match-phase":false,"timeout":true,"adaptive-timeout":false,"anntimeout":false,"non-ideal-state":false},"full":false,"nodes":1,"results":1,"resultsFull":0}}}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(render(&result, Format::Json)).unwrap(), expected);
            assert_eq!(result.status(), status);
            assert!(render(&result, Format::Cbor).len() < expected.len());
        }
    }
}
