//! `match-phase`: the matches that are ranked, where there are more than are worth it
//! (Vespa, documentation, `reference/schemas/schemas.html#match-phase`).
//!
//! Vespa looks for an attribute's range with about as many matches. Here all matches are found, and the best by the attribute are kept:
//! exactly as many as the limit says.

use stead_expr::Numbers;
use stead_store::{AttributeView, Column, Cursor, View};

use super::diversity::{DiversityPlan, pick};
use super::error::RankError;
use super::plan::RankPlan;
use super::query::RankQuery;
use crate::matching::{Matches, RowSet};

/// What a profile or a query says of the matches that are ranked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatchLimit {
    /// The attribute by which they are chosen.
    pub attribute: String,
    /// The smallest first.
    pub is_ascending: bool,
    /// How many are enough.
    pub max_hits: usize,
    /// The attribute that tells groups apart, how many of these there should be, and whether each keeps to its share.
    pub diversity: Option<(String, usize, bool)>,
}

/// The same in a query, where it says other than the profile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LimitOverride {
    /// `ranking.matchPhase.attribute`
    pub attribute: Option<String>,
    /// `ranking.matchPhase.ascending`
    pub is_ascending: Option<bool>,
    /// `ranking.matchPhase.maxHits` or `totalMaxHits`
    pub max_hits: Option<usize>,
    /// `ranking.matchPhase.diversity.attribute`
    pub diversity: Option<String>,
    /// `ranking.matchPhase.diversity.minGroups`
    pub min_groups: Option<usize>,
}

impl RankPlan {
    /// The limit of the matches that are ranked, if there is one.
    pub(crate) fn match_limit(&self, query: &RankQuery) -> Option<MatchLimit> {
        let (said, own) = (&query.match_limit, self.match_limit.as_ref());
        let attribute = said.attribute.clone().or(own.map(|o| o.attribute.clone()))?;
        let max_hits = said.max_hits.or(own.map(|o| o.max_hits)).filter(|most| *most > 0)?;
        let is_ascending = said.is_ascending.or(own.map(|o| o.is_ascending)).unwrap_or(false);
        let known = own.and_then(|o| o.diversity.clone());
        let (of, groups, is_strict) = known.unwrap_or_default();
        let (of, groups) =
            (said.diversity.clone().unwrap_or(of), said.min_groups.unwrap_or(groups));
        let diversity = (!of.is_empty() && groups > 0).then_some((of, groups, is_strict));
        Some(MatchLimit { attribute, is_ascending, max_hits, diversity })
    }
}

impl MatchLimit {
    /// Keeps the best matches, as many as are enough; tells how many there are then. Those without a value are the last.
    pub(crate) fn choose(&self, view: &View, matches: &mut Matches) -> Result<usize, RankError> {
        let total = matches.count();
        let values = attribute(view, &self.attribute)?;
        if total <= self.max_hits {
            return Ok(total);
        }
        let blocks = matches.segments.iter().enumerate();
        let rows = blocks.flat_map(|(at, rows)| rows.iter().map(move |row| view.lid(at, row)));
        let sign = if self.is_ascending { -1.0 } else { 1.0 };
        let mut values = values.cursor();
        let mut all: Vec<(f64, u32)> = rows
            .map(|lid| Ok((sign * number(&mut values, lid)?.unwrap_or(f64::NAN), lid)))
            .collect::<Result<_, RankError>>()?;
        all.sort_by(|a, b| super::hits::descending(a.0, b.0).then(a.1.cmp(&b.1)));
        if let Some((of, groups, is_strict)) = &self.diversity {
            let of = attribute(view, of)?;
            let mut of = of.cursor_over(all.iter().map(|(_, lid)| *lid));
            let groups_of =
                all.iter().map(|(_, lid)| Ok(number(&mut of, *lid)?.unwrap_or(f64::NAN)));
            let groups_of = groups_of.collect::<Result<Vec<f64>, RankError>>()?;
            let plan = DiversityPlan { expression: 0, groups: *groups, is_strict: *is_strict };
            let places = pick(&groups_of, self.max_hits, &plan).places;
            all = places.into_iter().filter_map(|at| all.get(at).copied()).collect();
        }
        all.truncate(self.max_hits);
        for rows in &mut matches.segments {
            *rows = RowSet::none(rows.rows());
        }
        for (_, lid) in &all {
            let (block, row) = view.split(*lid);
            if let Some(rows) = matches.segments.get_mut(block) {
                rows.insert(row);
            }
        }
        Ok(all.len())
    }
}

fn attribute<'v>(view: &'v View, name: &str) -> Result<AttributeView<'v>, RankError> {
    let found = view.attribute(name);
    found.ok_or_else(|| RankError::Query(format!("match-phase: there is no attribute {name}")))
}

/// The value of a document as a number, of a text its hash.
fn number(values: &mut Cursor<'_>, lid: u32) -> Result<Option<f64>, RankError> {
    Ok(match values.at(lid)? {
        Some((Column::Numbers(numbers), row)) => numbers.get(row),
        Some((Column::Texts(texts), row)) => Numbers::F64(texts.hashes()).get(row),
        _ => None,
    })
}
