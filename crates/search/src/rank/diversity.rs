//! `diversity`: which hits the second phase takes where they should not all be alike
//! (Vespa, `searchlib/src/vespa/searchlib/attribute/diversity.cpp`,
//! `searchcore/src/vespa/searchcore/proton/matching/match_tools.cpp`).

use std::collections::HashMap;

/// The places of the hits that are taken, and that of the first that was passed over before the last of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picked {
    pub(super) places: Vec<usize>,
    pub(super) first_dropped: Option<usize>,
}

/// What a profile says of diversity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiversityPlan {
    /// The expression of the attribute.
    pub(super) expression: usize,
    /// How many groups there should be.
    pub(super) groups: usize,
    /// Whether known groups keep their share when there are enough of them.
    pub(super) is_strict: bool,
}

/// Takes `count` hits in the order of `of_hits`, the groups to which they belong: of each group at most a share of `count`; when
/// enough groups have been seen, all that follow are taken, or all of other groups if it is strict. Groups are compared by their
/// bits.
pub(super) fn pick(of_hits: &[f64], count: usize, plan: &DiversityPlan) -> Picked {
    let groups = plan.groups;
    let most = (count / groups.max(1)).max(1);
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let places = Vec::with_capacity(count.min(of_hits.len()));
    let mut picked = Picked { places, first_dropped: None };
    for (place, group) in of_hits.iter().enumerate() {
        if picked.places.len() == count {
            break;
        }
        let mut is_below = |known: &mut usize| {
            let is_below = *known < most;
            *known += usize::from(is_below);
            is_below
        };
        let is_taken = match seen.len() < groups {
            true => is_below(seen.entry(group.to_bits()).or_insert(0)),
            false if plan.is_strict => seen.get_mut(&group.to_bits()).is_none_or(&mut is_below),
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
    use super::{DiversityPlan, Picked, pick};

    #[test]
    fn groups_have_a_share_until_there_are_enough() {
        let plan = |groups, is_strict| DiversityPlan { expression: 0, groups, is_strict };
        for (label, of_hits, count, groups, places, first_dropped) in [
            ("one group", &[1.0, 1.0, 1.0][..], 2, 2, &[0][..], Some(1)),
            ("two of three", &[1.0, 1.0, 2.0, 1.0], 2, 2, &[0, 2], Some(1)),
            ("enough groups", &[1.0, 2.0, 2.0, 2.0], 3, 2, &[0, 1, 2], None),
            ("a share of two", &[1.0, 1.0, 1.0, 2.0, 3.0], 4, 2, &[0, 1, 3, 4], Some(2)),
            ("more groups than hits", &[1.0, 2.0, 3.0], 2, 5, &[0, 1], None),
            ("without a value", &[f64::NAN, f64::NAN, 0.0], 2, 2, &[0, 2], Some(1)),
        ] {
            let expected = Picked { places: places.to_vec(), first_dropped };
            assert_eq!(pick(of_hits, count, &plan(groups, false)), expected, "{label}");
        }
        let found = pick(&[1.0, 2.0, 2.0, 3.0, 3.0], 4, &plan(2, true));
        assert_eq!(found, Picked { places: vec![0, 1, 2, 3], first_dropped: None });
        let found = pick(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0], 5, &plan(2, true));
        assert_eq!(found, Picked { places: vec![0, 1, 3, 4, 6], first_dropped: Some(2) });
    }
}
