//! `diversity`: which hits the second phase takes where they should not all be alike, and which matches `match-phase` keeps
//! (Vespa, `searchlib/src/vespa/searchlib/attribute/diversity.cpp`,
//! `searchcore/src/vespa/searchcore/proton/matching/match_tools.cpp`, `match_phase_limiter.cpp`).

use std::collections::HashMap;

use stead_expr::Numbers;
use stead_store::{AttributeView, Column, Cursor, View};

use super::error::RankError;
use super::plan::RankPlan;
use super::query::RankQuery;

/// What a profile or a query says of diversity.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diversity {
    /// The attribute that tells groups apart.
    pub attribute: String,
    /// How many groups there should be.
    pub min_groups: usize,
    /// How many times as many groups `match-phase` looks at before it takes what comes.
    pub cutoff_factor: f64,
    /// Whether known groups keep their share when there are enough of them.
    pub is_strict: bool,
}

/// The same in a query, where it says other than the profile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiversityOverride {
    /// `ranking.matchPhase.diversity.attribute`
    pub attribute: Option<String>,
    /// `ranking.matchPhase.diversity.minGroups`
    pub min_groups: Option<usize>,
    /// `ranking.matchPhase.diversity.cutoffFactor`
    pub cutoff_factor: Option<f64>,
    /// `ranking.matchPhase.diversity.cutoffStrategy`
    pub is_strict: Option<bool>,
}

/// The groups that `match-phase` looks at where nothing is said, as a factor.
pub(super) const CUTOFF_FACTOR: f64 = 10.0;

impl RankPlan {
    /// What holds for a query, if it or the profile wants groups: the same for `match-phase` and the second phase.
    pub(super) fn diversity(&self, query: &RankQuery) -> Option<Diversity> {
        let (said, own) = (&query.match_limit.diversity, self.diversity.clone());
        let own = own.unwrap_or(Diversity { cutoff_factor: CUTOFF_FACTOR, ..Diversity::default() });
        let diversity = Diversity {
            attribute: said.attribute.clone().unwrap_or(own.attribute),
            min_groups: said.min_groups.unwrap_or(own.min_groups),
            cutoff_factor: said.cutoff_factor.unwrap_or(own.cutoff_factor),
            is_strict: said.is_strict.unwrap_or(own.is_strict),
        };
        (!diversity.attribute.is_empty() && diversity.min_groups > 0).then_some(diversity)
    }
}

/// How many hits a group may have, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    /// The most hits of a group.
    most: usize,
    /// The groups that are enough.
    groups: usize,
    /// Whether known groups keep their share when there are enough of them.
    is_strict: bool,
}

impl Diversity {
    /// The shares of groups among so many hits of the second phase.
    pub(super) fn of_hits(&self, count: usize) -> Shares {
        let most = (count / self.min_groups.max(1)).max(1);
        Shares { most, groups: self.min_groups, is_strict: self.is_strict }
    }

    /// The shares of groups among so many matches, unless one group may have all of them.
    pub(super) fn of_matches(&self, count: usize) -> Option<Shares> {
        let most = (count / self.min_groups.max(1)).max(1);
        let groups = (self.cutoff_factor * count as f64) as usize / most;
        (most < count).then_some(Shares { most, groups, is_strict: self.is_strict })
    }

    /// The groups of documents, of texts their hashes.
    pub(super) fn groups(&self, view: &View, lids: &[u32]) -> Result<Vec<f64>, RankError> {
        let values = attribute(view, "diversity", &self.attribute)?;
        let mut values = values.cursor_over(lids.iter().copied());
        let groups = lids.iter().map(|lid| Ok(number(&mut values, *lid)?.unwrap_or(f64::NAN)));
        groups.collect()
    }
}

/// An attribute that a part of a profile or of a query names.
pub(super) fn attribute<'v>(
    view: &'v View,
    part: &str,
    name: &str,
) -> Result<AttributeView<'v>, RankError> {
    let found = view.attribute(name);
    found.ok_or_else(|| RankError::Query(format!("{part}: there is no attribute {name}")))
}

/// The value of a document as a number, of a text its hash.
pub(super) fn number(values: &mut Cursor<'_>, lid: u32) -> Result<Option<f64>, RankError> {
    Ok(match values.at(lid)? {
        Some((Column::Numbers(numbers), row)) => numbers.get(row),
        Some((Column::Texts(texts), row)) => Numbers::F64(texts.hashes()).get(row),
        _ => None,
    })
}

/// The places of the hits that are taken, and that of the first that was passed over before the last of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picked {
    pub(super) places: Vec<usize>,
    pub(super) first_dropped: Option<usize>,
}

/// Takes `count` hits in the order of `of_hits`, the groups to which they belong: of each group at most its share; when
/// enough groups have been seen, all that follow are taken, or all of other groups if it is strict. Groups are compared by their
/// bits.
pub(super) fn pick(of_hits: &[f64], count: usize, shares: Shares) -> Picked {
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let places = Vec::with_capacity(count.min(of_hits.len()));
    let mut picked = Picked { places, first_dropped: None };
    for (place, group) in of_hits.iter().enumerate() {
        if picked.places.len() == count {
            break;
        }
        let mut is_below = |known: &mut usize| {
            let is_below = *known < shares.most;
            *known += usize::from(is_below);
            is_below
        };
        let is_taken = match seen.len() < shares.groups {
            true => is_below(seen.entry(group.to_bits()).or_insert(0)),
            false if shares.is_strict => seen.get_mut(&group.to_bits()).is_none_or(&mut is_below),
            false => true,
        };
        match is_taken {
            true => picked.places.push(place),
            false => picked.first_dropped = picked.first_dropped.or(Some(place)),
        }
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::{Diversity, Picked, Shares, pick};

    fn of(min_groups: usize, cutoff_factor: f64, is_strict: bool) -> Diversity {
        Diversity { attribute: "g".into(), min_groups, cutoff_factor, is_strict }
    }

    #[test]
    fn groups_have_a_share_until_there_are_enough() {
        let shares = |groups, count, is_strict| of(groups, 10.0, is_strict).of_hits(count);
        for (label, of_hits, count, groups, places, first_dropped) in [
            ("one group", &[1.0, 1.0, 1.0][..], 2, 2, &[0][..], Some(1)),
            ("two of three", &[1.0, 1.0, 2.0, 1.0], 2, 2, &[0, 2], Some(1)),
            ("enough groups", &[1.0, 2.0, 2.0, 2.0], 3, 2, &[0, 1, 2], None),
            ("a share of two", &[1.0, 1.0, 1.0, 2.0, 3.0], 4, 2, &[0, 1, 3, 4], Some(2)),
            ("more groups than hits", &[1.0, 2.0, 3.0], 2, 5, &[0, 1], None),
            ("without a value", &[f64::NAN, f64::NAN, 0.0], 2, 2, &[0, 2], Some(1)),
        ] {
            let expected = Picked { places: places.to_vec(), first_dropped };
            assert_eq!(pick(of_hits, count, shares(groups, count, false)), expected, "{label}");
        }
        let found = pick(&[1.0, 2.0, 2.0, 3.0, 3.0], 4, shares(2, 4, true));
        assert_eq!(found, Picked { places: vec![0, 1, 2, 3], first_dropped: None });
        let found = pick(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0], 5, shares(2, 5, true));
        assert_eq!(found, Picked { places: vec![0, 1, 3, 4, 6], first_dropped: Some(2) });
    }

    #[test]
    fn a_factor_says_how_many_groups_of_matches_are_enough() {
        for (label, groups, factor, count, expected) in [
            ("ten times as many", 5, 10.0, 100, Some((20, 50))),
            ("as many", 5, 1.0, 100, Some((20, 5))),
            ("part of a hit", 3, 1.5, 7, Some((2, 5))),
            ("more groups than matches", 50, 2.0, 7, Some((1, 14))),
            ("one group", 1, 10.0, 100, None),
            ("one match", 5, 10.0, 1, None),
        ] {
            let expected = expected.map(|(most, groups)| Shares { most, groups, is_strict: true });
            assert_eq!(of(groups, factor, true).of_matches(count), expected, "{label}");
        }
    }
}
