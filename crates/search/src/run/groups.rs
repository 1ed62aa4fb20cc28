//! Groupings of a search.

use std::time::Instant;

use stead_store::View;

use super::fill::fill_with;
use super::{Part, Prepared, Searcher, timed_out};
use crate::grouping::{
    Asked, Documents, GroupHit, Grouped, GroupingError, GroupingPlan, PartialGroup, collect,
    finish, plan, render,
};
use crate::query::{SearchError, Searches};
use crate::rank::RankOptions;
use crate::request::SearchRequest;
use crate::result::{HitKind, Item, Partial, PartialHit, hit_item};
use crate::summary::Summary;

/// The groupings that a request asks for, of documents of one type.
pub struct Groupings {
    /// Nothing for one that names attributes which only other types have.
    plans: Vec<Option<GroupingPlan>>,
    /// The summaries of hits in groups, by their names.
    summaries: Vec<(String, Summary)>,
}

impl Groupings {
    pub(super) fn new(
        searcher: Searcher<'_>,
        request: &SearchRequest,
        asked: &[Asked],
        (searches, now): (Searches<'_>, f64),
    ) -> Result<Groupings, SearchError> {
        let documents =
            Documents { view: searcher.view, cluster: searcher.cluster, now: now as i64 };
        let (mut plans, mut summaries) = (Vec::new(), Vec::new());
        for (number, asked) in (0..).zip(asked) {
            match plan(asked, documents, &request.grouping, number) {
                Ok(found) => {
                    for name in found.summaries() {
                        let summary = Summary::new(searcher.schema, Some(name))?;
                        summaries.push((name.to_owned(), summary));
                    }
                    plans.push(Some(found));
                }
                Err(GroupingError::NoAttribute { name, .. }) if searches.is_elsewhere(&name) => {
                    plans.push(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Groupings { plans, summaries })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// The attributes that they read.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &str> {
        self.plans.iter().flatten().flat_map(GroupingPlan::attributes)
    }

    /// The groups of matches with their scores, of each grouping; whether some matches were left out because it was late.
    pub(super) fn collect(
        &self,
        view: &View,
        matches: &[(u32, f64)],
        (prepared, begin): (&Prepared, Instant),
    ) -> Result<(Vec<Vec<PartialGroup>>, bool), SearchError> {
        let end = begin + prepared.timeout;
        let grouped = Grouped { matches, is_late: &|| Instant::now() >= end };
        let (mut found, mut is_cut) = (Vec::with_capacity(self.plans.len()), false);
        for plan in &self.plans {
            let Some(plan) = plan else {
                found.push(Vec::new());
                continue;
            };
            let (group, cut) = collect(plan, view, &grouped)?;
            is_cut |= cut;
            found.push(vec![group]);
        }
        match is_cut && prepared.soft.is_none() {
            true => Err(timed_out(prepared.timeout)),
            false => Ok((found, is_cut)),
        }
    }
}

/// The groupings of a result, of what all types found; what cannot be read of hits is told.
pub(super) fn rendered(
    parts: &[Part<'_>],
    partial: &mut Partial,
    options: RankOptions,
    errors: &mut Vec<SearchError>,
) -> Vec<Item> {
    let groups = std::mem::take(&mut partial.groups);
    let mut items = Vec::with_capacity(groups.len());
    for (number, found) in groups.into_iter().enumerate() {
        let plans = parts.iter().map(|part| part.prepared.groupings.plans.get(number));
        let mut plans = plans.flatten().flatten().filter(|plan| !plan.is_empty());
        let Some(plan) = plans.next() else { continue };
        let root = finish(plan, found);
        let mut hit = |summary: Option<&str>, hit: &GroupHit| {
            written(parts, &partial.kinds, (summary, hit), options, errors)
        };
        items.push(render(plan, root.as_ref(), &mut hit));
    }
    items
}

/// A hit of a group.
fn written(
    parts: &[Part<'_>],
    kinds: &[HitKind],
    (summary, hit): (Option<&str>, &GroupHit),
    options: RankOptions,
    errors: &mut Vec<SearchError>,
) -> Item {
    let of = kinds.get(hit.kind as usize);
    let part =
        parts.iter().find(|part| of.is_some_and(|k| part.searcher.view.kind().name() == k.name));
    let Some(part) = part else { return Item::Null };
    let Prepared { groupings, summary: own, .. } = part.prepared;
    let known = groupings.summaries.iter().find(|(name, _)| Some(name.as_str()) == summary);
    let summary = known.map_or(own, |(_, summary)| summary);
    let (sort, features) = (Vec::new(), Vec::new());
    let GroupHit { lid, node, kind, relevance } = *hit;
    let hit = PartialHit { lid, node, kind, relevance, sort, features };
    match fill_with(part.searcher, (part.prepared, summary), &part.matcher, &[&hit], options) {
        Ok((hits, unread)) => {
            errors.extend(unread);
            hits.first().map_or(Item::Null, hit_item)
        }
        Err(error) => {
            errors.push(error);
            Item::Null
        }
    }
}
