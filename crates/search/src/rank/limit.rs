//! `match-phase`: the matches that are ranked, where there are more than are worth it
//! (Vespa, documentation, `reference/schemas/schemas.html#match-phase`).
//!
//! Vespa looks for an attribute's range with about as many matches. Here all matches are found, and the best by the attribute are kept:
//! exactly as many as the limit says. When that is worth it is Vespa's rule (`match_phase_limiter.cpp`), but for what is about speed
//! alone: it takes at least 128 documents, and lets searches be that less than 0.2 % of the documents match.

use stead_store::View;

use super::diversity::{Diversity, DiversityOverride, attribute, number, pick};
use super::error::RankError;
use super::plan::RankPlan;
use super::query::RankQuery;
use crate::matching::{Matches, RowSet};

/// The part of the matches that is kept at most where nothing is said.
pub(super) const MAX_FILTER_COVERAGE: f64 = 0.2;

/// What a profile or a query says of the matches that are ranked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatchLimit {
    /// The attribute by which they are chosen.
    pub attribute: String,
    /// The smallest first.
    pub is_ascending: bool,
    /// How many are enough.
    pub max_hits: usize,
    /// All are ranked unless those that are enough are less than this part of them.
    pub max_filter_coverage: f64,
    /// Which of them are not too much alike.
    pub diversity: Option<Diversity>,
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
    /// `ranking.matchPhase.maxFilterCoverage`
    pub max_filter_coverage: Option<f64>,
    /// `ranking.matchPhase.diversity`
    pub diversity: DiversityOverride,
}

impl RankPlan {
    /// The limit of the matches that are ranked, if there is one.
    pub(crate) fn match_limit(&self, query: &RankQuery) -> Option<MatchLimit> {
        let (said, own) = (&query.match_limit, self.match_limit.as_ref());
        let attribute = said.attribute.clone().or(own.map(|o| o.attribute.clone()))?;
        let max_hits = said.max_hits.or(own.map(|o| o.max_hits)).filter(|most| *most > 0)?;
        let is_ascending = said.is_ascending.or(own.map(|o| o.is_ascending)).unwrap_or(false);
        let part = said.max_filter_coverage.or(own.map(|o| o.max_filter_coverage));
        Some(MatchLimit {
            attribute,
            is_ascending,
            max_hits,
            max_filter_coverage: part.unwrap_or(MAX_FILTER_COVERAGE),
            diversity: self.diversity(query),
        })
    }
}

impl MatchLimit {
    /// Whether so many matches are too many.
    fn is_exceeded(&self, total: usize) -> bool {
        self.max_hits < total.min((total as f64 * self.max_filter_coverage) as usize)
    }

    /// Keeps the best matches, as many as are enough; tells how many there are then. Those without a value are the last.
    pub(crate) fn choose(&self, view: &View, matches: &mut Matches) -> Result<usize, RankError> {
        let total = matches.count();
        let values = attribute(view, "match-phase", &self.attribute)?;
        if !self.is_exceeded(total) {
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
        let mut all: Vec<u32> = all.into_iter().map(|(_, lid)| lid).collect();
        let shares = self.diversity.as_ref().and_then(|d| Some((d, d.of_matches(self.max_hits)?)));
        if let Some((diversity, shares)) = shares {
            let picked = pick(&diversity.groups(view, &all)?, self.max_hits, shares);
            all = picked.places.into_iter().filter_map(|at| all.get(at).copied()).collect();
        }
        all.truncate(self.max_hits);
        for rows in &mut matches.segments {
            *rows = RowSet::none(rows.rows());
        }
        for lid in &all {
            let (block, row) = view.split(*lid);
            if let Some(rows) = matches.segments.get_mut(block) {
                rows.insert(row);
            }
        }
        Ok(all.len())
    }
}

#[cfg(test)]
mod tests {
    use super::MatchLimit;

    #[test]
    fn all_are_ranked_unless_the_limit_leaves_a_small_part() {
        for (label, max_hits, max_filter_coverage, total, expected) in [
            ("a fifth of them", 20, 0.2, 100, false),
            ("less than a fifth", 19, 0.2, 100, true),
            ("all but one", 99, 1.0, 100, true),
            ("all", 100, 1.0, 100, false),
            ("a part above 1", 100, 2.0, 100, false),
            ("never", 1, 0.0, 1_000_000, false),
            ("below 0", 1, -1.0, 1_000_000, false),
        ] {
            let limit = MatchLimit { max_hits, max_filter_coverage, ..MatchLimit::default() };
            assert_eq!(limit.is_exceeded(total), expected, "{label}");
        }
    }
}
