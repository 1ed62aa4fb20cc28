//! `blend`: several sources searched at the same time, each for itself, and their hits in one result.

use stead_app::components::Parameters;
use stead_search::query::{SearchCode, SearchError};
use stead_search::rank::descending;
use stead_search::result::{Hit, SearchResult};

use super::Making;
use super::more::wanted;
use crate::components::ComponentError;
use crate::components::native::{Execution, NativeError, Query, Searcher};
use crate::components::searching::of_search;

/// What is added to ranks, so that the first ones do not count for everything (Cormack, Clarke and Buettcher, 2009).
const RANK: f64 = 60.0;

/// The parameters that say what is searched, and how it is ranked.
const RESTRICT: &str = "model.restrict";
const PROFILE: &str = "ranking.profile";

/// Searches sources for themselves.
pub(super) struct Blend {
    sources: Vec<Source>,
    rule: Rule,
}

struct Source {
    name: String,
    weight: f64,
    profile: Option<String>,
}

#[derive(Clone, Copy)]
enum Rule {
    Score,
    Interleave,
    Normalised,
    ReciprocalRank,
}

impl Blend {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Blend, String> {
        let contents = &making.application.services.contents;
        let clusters = contents.iter().map(|content| content.id.as_str());
        let known: Vec<&str> = clusters.chain(making.kinds.iter().map(|k| k.name())).collect();
        let is_known = |name: &str| match known.contains(&name) {
            true => Ok(()),
            false => Err(format!("there is no source {name}; there are {}", known.join(", "))),
        };
        let names = given.list("sources");
        for (name, _) in given.map("weights").iter().chain(given.map("profiles")) {
            if !names.contains(name) {
                return Err(format!("{name} has a weight or profile, and is none of the sources"));
            }
        }
        let mut sources = Vec::with_capacity(names.len());
        for name in names {
            is_known(name)?;
            let of = |map: &'static str| {
                given.map(map).iter().find(|(known, _)| known == name).map(|(_, text)| text)
            };
            let weight = of("weights").map_or(Ok(1.0), |text| {
                let weight = text.trim().parse::<f64>().ok().filter(|weight| weight.is_finite());
                weight.ok_or_else(|| format!("the weight of {name} must be a number, found {text}"))
            })?;
            sources.push(Source { name: name.clone(), weight, profile: of("profiles").cloned() });
        }
        let rule = match given.text("rule") {
            Some("interleave") => Rule::Interleave,
            Some("normalised") => Rule::Normalised,
            Some("reciprocal-rank") => Rule::ReciprocalRank,
            _ => Rule::Score,
        };
        Ok(Blend { sources, rule })
    }
}

impl Rule {
    /// The hits of all sources in one order.
    fn blend(self, lists: Vec<(f64, Vec<Hit>)>) -> Vec<Hit> {
        if let Rule::Interleave = self {
            let longest = lists.iter().map(|(_, hits)| hits.len()).max().unwrap_or(0);
            let mut lists: Vec<_> = lists.into_iter().map(|(_, hits)| hits.into_iter()).collect();
            let turn = |_| lists.iter_mut().filter_map(Iterator::next).collect::<Vec<Hit>>();
            return (0..longest).flat_map(turn).collect();
        }
        let mut all: Vec<Hit> = Vec::new();
        for (weight, hits) in lists {
            let scores = hits.iter().map(|hit| hit.relevance);
            let (worst, best) = scores
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), s| {
                    (low.min(s), high.max(s))
                });
            for (rank, mut hit) in (1_u32..).zip(hits) {
                hit.relevance = match self {
                    Rule::Score | Rule::Interleave => hit.relevance * weight,
                    // All hits alike are all the best.
                    Rule::Normalised if best <= worst => weight,
                    Rule::Normalised => weight * (hit.relevance - worst) / (best - worst),
                    Rule::ReciprocalRank => weight / (RANK + f64::from(rank)),
                };
                let same = all.iter_mut().find(|o| o.id == hit.id && o.source == hit.source);
                match (self, same) {
                    (Rule::ReciprocalRank, Some(other)) => other.relevance += hit.relevance,
                    (_, Some(other)) => other.relevance = other.relevance.max(hit.relevance),
                    (_, None) => all.push(hit),
                }
            }
        }
        all.sort_by(|a, b| descending(a.relevance, b.relevance));
        all
    }
}

impl Searcher for Blend {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let Some((hits, offset, most)) = wanted(&query) else { return execution.search(query) };
        if hits > most {
            return execution.search(query);
        }
        let enough = offset.saturating_add(hits);
        let of = |source: &Source| {
            let mut one = query.clone();
            one.values.set(RESTRICT, source.name.clone());
            one.values.set("offset", "0".to_owned());
            one.values.set("hits", enough.to_string());
            one.values.set("maxHits", enough.max(most).to_string());
            if let Some(profile) = &source.profile {
                one.values.set(PROFILE, profile.clone());
            }
            one
        };
        let queries = self.sources.iter().map(of).collect();
        let (mut blended, mut lists, mut failed) = (SearchResult::default(), Vec::new(), None);
        for (source, found) in self.sources.iter().zip(execution.search_all(queries)) {
            match found {
                Ok(mut found) => {
                    lists.push((source.weight, std::mem::take(&mut found.hits)));
                    add(&mut blended, found);
                }
                // What one source has wrong is told beside the hits of the others.
                Err(error) => {
                    blended.errors.push(told(&source.name, &error));
                    failed = failed.or(Some(error));
                }
            }
        }
        if let Some(error) = failed.filter(|_| lists.is_empty()) {
            return Err(error);
        }
        let mut all = self.rule.blend(lists);
        all.drain(..offset.min(all.len()));
        all.truncate(hits);
        blended.hits = all;
        Ok(blended)
    }
}

/// The error of a source.
fn told(source: &str, error: &NativeError) -> SearchError {
    let code = match error {
        NativeError::Next(error) => {
            let message = format!("source {source}: {}", error.message);
            return of_search(ComponentError { message, ..(**error).clone() });
        }
        NativeError::Invalid(_) => SearchCode::InvalidQueryParameter,
        NativeError::Late => SearchCode::Timeout,
        NativeError::Overloaded(_) => SearchCode::NoBackendsInService,
        NativeError::Failed(_) => SearchCode::ErrorInPlugin,
    };
    SearchError { code, message: format!("source {source}: {error}") }
}

/// Adds what is told of a result without its hits to that of others.
fn add(all: &mut SearchResult, mut one: SearchResult) {
    all.total = all.total.saturating_add(one.total);
    all.errors.append(&mut one.errors);
    all.trace.append(&mut one.trace);
    match (&mut all.coverage, one.coverage) {
        (Some(all), Some(one)) => all.add(one),
        (none @ None, one) => *none = one,
        (Some(_), None) => {}
    }
    match (&mut all.timing, one.timing) {
        (Some(all), Some(one)) => {
            // They were searched at the same time.
            all.query = all.query.max(one.query);
            all.summary_fetch = all.summary_fetch.max(one.summary_fetch);
            all.search = all.search.max(one.search);
        }
        (none @ None, one) => *none = one,
        (Some(_), None) => {}
    }
}
