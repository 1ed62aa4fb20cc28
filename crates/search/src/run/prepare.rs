//! From a request to what is asked.

use std::sync::Arc;
use std::time::Duration;

use stead_expr::codec::json::Form;
use stead_store::View;

use super::Searcher;
use super::groups::Groupings;
use super::stored::resolve;
use crate::matching::GraphTime;
use crate::query::{OrderBy, QueryTree, SearchCode, SearchError, Searches, build, sort_order};
use crate::rank::{RankError, RankPlan, RankQuery};
use crate::request::SearchRequest;
use crate::summary::Summary;
use crate::yql::{Amount, Statement};

/// What a request asks.
pub struct Prepared {
    /// What documents must be.
    pub tree: QueryTree,
    /// What they are ordered by; their scores if that is nothing.
    pub order: Vec<OrderBy>,
    /// How they are ranked.
    pub plan: Arc<RankPlan>,
    /// The values that ranking takes.
    pub rank: RankQuery,
    /// The hits that are wanted.
    pub hits: usize,
    /// The hits that are left out at the beginning.
    pub offset: usize,
    /// How long it may take.
    pub timeout: Duration,
    /// The part of it that matching may take before it goes on with what it has; nothing if there must be all or an error.
    pub soft: Option<f64>,
    /// What of that searches of graphs may take.
    pub graph_time: GraphTime,
    /// The fields of hits.
    pub summary: Summary,
    /// Whether words that were found are marked in them.
    pub has_marks: bool,
    /// The form of tensors in them.
    pub tensors: Form,
    /// How matches are grouped.
    pub groupings: Groupings,
    /// Whether the result tells what was computed.
    pub explains: bool,
    /// Where those that are searched are without fields which only hits show, all documents as they are stored.
    pub whole: Option<View>,
}

impl Prepared {
    /// Leaves out the words that too many of some documents have; of no documents nothing is left out.
    pub(super) fn leave_out_stop_words(&mut self, documents: &View) {
        let stop_words = self.rank.stop_words.or(self.plan.stop_words);
        stop_words.drop_from(&mut self.tree, documents.len(), |index, word| {
            documents.text(index).map_or(0, |of| of.frequency(word))
        });
    }
}

/// What a request asks of some documents; `statement` is its query, `others` what else it searches, and `now` seconds since 1970.
///
/// # Errors
/// When it cannot be answered.
pub fn prepare(
    searcher: Searcher<'_>,
    request: &SearchRequest,
    statement: &Statement,
    others: &[Searches<'_>],
    now: f64,
) -> Result<Prepared, SearchError> {
    let searches = Searches { others, ..Searches::new(searcher.schema, searcher.view.kind()) };
    let parameters = |name: &str| request.values.get(name).map(str::to_owned);
    let mut tree = build(statement, searches, &parameters)?;
    let mut rank = RankQuery { neighbors: statement.neighbors(), ..request.rank.clone() };
    resolve(&mut rank, searcher.stored)?;
    for neighbor in &mut tree.neighbors {
        let name = &neighbor.input;
        let vector = rank.input(name, &neighbor.kind).ok_or_else(|| {
            SearchError::parameter(format!(
                "nearestNeighbor({},{name}) takes query({name}), which the query does not give",
                neighbor.attribute
            ))
        })?;
        neighbor.vector = Some(vector.map_err(ranking_error)?);
    }
    let locale = parameters("model.locale").or_else(|| parameters("model.language"));
    let sorting = request.sorting.as_deref();
    let order = sort_order(&statement.order, sorting, locale.as_deref(), searches)?;
    let profile = request.rank.profile.as_deref().unwrap_or("default");
    let plan = (searcher.plans)(&searcher.schema.name.value, profile).map_err(ranking_error)?;
    for neighbor in &mut tree.neighbors {
        neighbor.tuning = neighbor.tuning.or(request.rank.tuning).or(plan.tuning);
    }
    if request.rank.uses_significance.unwrap_or(plan.uses_significance) {
        let language = parameters("model.language").or_else(|| parameters("model.locale"));
        plan.significance.tell(&mut tree, language.as_deref())?;
    }
    rank.element_gaps.tell(&mut tree, &plan.element_gaps);
    let (hits, offset) = amounts(request, statement)?;
    let mut summary = Summary::new(searcher.schema, request.summary.as_deref())?;
    let mut fields = statement.fields.clone();
    fields.extend(request.summary_fields.iter().cloned());
    summary.keep(&fields);
    let timeout = match amount(request, statement.timeout.as_ref())? {
        Some(milliseconds) => Duration::from_millis(milliseconds as u64),
        None => request.timeout,
    };
    let asked = request.grouping.asked(statement, &request.values)?;
    let groupings = Groupings::new(searcher, request, &asked, (searches, now))?;
    let (tensors, soft) = (request.tensors, request.soft_timeout);
    let mut prepared = Prepared {
        tree,
        order,
        plan,
        rank,
        hits,
        offset,
        timeout,
        soft,
        graph_time: request.graph_time,
        summary,
        tensors,
        has_marks: request.has_marks,
        groupings,
        explains: request.explains,
        whole: None,
    };
    prepared.leave_out_stop_words(searcher.view);
    Ok(prepared)
}

/// An error of ranking as one of the search.
pub(super) fn ranking_error(error: RankError) -> SearchError {
    match error {
        RankError::Plan { .. } => {
            SearchError { code: SearchCode::ServerIsMisconfigured, message: error.to_string() }
        }
        RankError::Input { .. } | RankError::Profile { .. } | RankError::Query(_) => {
            SearchError::parameter(error.to_string())
        }
        _ => SearchError { code: SearchCode::BackendCommunication, message: error.to_string() },
    }
}

/// The hits and the offset: `limit` counts the hits before the first too, as in Vespa.
fn amounts(request: &SearchRequest, statement: &Statement) -> Result<(usize, usize), SearchError> {
    let limit = amount(request, statement.limit.as_ref())?;
    let offset = amount(request, statement.offset.as_ref())?;
    let (hits, offset) = match (limit, offset) {
        (None, None) => (request.hits, request.offset),
        (None, Some(offset)) => (10, offset),
        (Some(limit), offset) => {
            let offset = offset.unwrap_or(0);
            let hits = limit.checked_sub(offset).ok_or_else(|| {
                SearchError::yql(format_args!("limit {limit} is less than offset {offset}"))
            })?;
            (hits, offset)
        }
    };
    request.check_hits(hits, offset)?;
    Ok((hits, offset))
}

fn amount(request: &SearchRequest, amount: Option<&Amount>) -> Result<Option<usize>, SearchError> {
    let found = match amount {
        None => return Ok(None),
        Some(Amount::Fixed(number)) => usize::try_from(*number).ok(),
        Some(Amount::Parameter(name)) => {
            request.values.get(name).and_then(|text| text.trim().parse().ok())
        }
    };
    found.map(Some).ok_or_else(|| {
        SearchError::yql("expected a whole number from 0 behind limit, offset and timeout")
    })
}
