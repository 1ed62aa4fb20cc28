//! What matching and ranking leave of a query.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::grouping::PartialGroup;
use crate::query::SearchError;

/// What one node found for a query, or several together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    /// How many documents are hits.
    pub total: u64,
    /// How many documents were looked at.
    pub coverage: Coverage,
    /// The types of the documents of hits.
    pub kinds: Vec<HitKind>,
    /// For each thing that hits are ordered by, whether the greatest is first; none for the score.
    pub descending: Vec<bool>,
    /// The best hits.
    pub hits: Vec<PartialHit>,
    /// For each grouping what each node and type found.
    pub groups: Vec<Vec<PartialGroup>>,
    /// What went wrong.
    pub errors: Vec<SearchError>,
}

/// A type of documents among hits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HitKind {
    /// Its name.
    pub name: String,
    /// The names of the features that come with each hit of it.
    pub features: Vec<String>,
}

/// A hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialHit {
    /// Its number on the node that has it.
    pub lid: u32,
    /// The node that has it.
    pub node: u32,
    /// Its type, by the place among [those of all](Partial::kinds).
    pub kind: u32,
    /// Its score.
    pub relevance: f64,
    /// What it is ordered by.
    pub sort: Vec<SortValue>,
    /// The values of the features.
    pub features: Vec<FeatureValue>,
}

/// The value of a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FeatureValue {
    /// A number.
    Number(f64),
    /// A tensor in Vespa's binary format.
    Tensor(Vec<u8>),
}

/// Something that hits are ordered by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SortValue {
    /// Nothing, which is less than all else.
    Missing,
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text in the form in which it is compared.
    Text(String),
    /// Bytes that stand for a text in the order of a language.
    Key(Vec<u8>),
    /// Nothing, which is greater than all else.
    Greatest,
}

/// How many documents were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Those that were.
    pub covered: u64,
    /// Those that there are.
    pub documents: u64,
    /// The nodes that answered.
    pub nodes: u32,
    /// The types of documents that were searched.
    pub results: u32,
    /// Why it is not all of them.
    pub degraded: Degraded,
}

/// Why not all documents were looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // The names are those of results.
pub struct Degraded {
    pub match_phase: bool,
    pub timeout: bool,
    pub adaptive_timeout: bool,
    pub ann_timeout: bool,
    pub non_ideal_state: bool,
}

impl Default for Coverage {
    fn default() -> Coverage {
        let degraded = Degraded::default();
        Coverage { covered: 0, documents: 0, nodes: 1, results: 1, degraded }
    }
}

impl Coverage {
    /// Whether all documents were looked at.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.covered == self.documents && !self.degraded.is_any()
    }

    /// Adds other types of documents, searched by the same nodes.
    pub fn add(&mut self, other: Coverage) {
        self.covered += other.covered;
        self.documents += other.documents;
        self.nodes = self.nodes.max(other.nodes);
        self.results += other.results;
        self.degraded = self.degraded.or(other.degraded);
    }

    /// The part that was looked at, in whole percent.
    #[must_use]
    pub fn percent(&self) -> u64 {
        match self.documents {
            0 => 100,
            documents => (u128::from(self.covered) * 100 / u128::from(documents)) as u64,
        }
    }
}

impl Degraded {
    /// Whether there is a reason.
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self != Degraded::default()
    }

    fn or(self, other: Degraded) -> Degraded {
        Degraded {
            match_phase: self.match_phase || other.match_phase,
            timeout: self.timeout || other.timeout,
            adaptive_timeout: self.adaptive_timeout || other.adaptive_timeout,
            ann_timeout: self.ann_timeout || other.ann_timeout,
            non_ideal_state: self.non_ideal_state || other.non_ideal_state,
        }
    }
}

impl SortValue {
    /// The order of two values; a whole number is less than any other number.
    #[must_use]
    pub fn compare(&self, other: &SortValue) -> Ordering {
        match (self, other) {
            (SortValue::Integer(a), SortValue::Integer(b)) => a.cmp(b),
            (SortValue::Number(a), SortValue::Number(b)) => a.total_cmp(b),
            (SortValue::Text(a), SortValue::Text(b)) => a.cmp(b),
            (SortValue::Key(a), SortValue::Key(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            SortValue::Missing => 0,
            SortValue::Integer(_) => 1,
            SortValue::Number(_) => 2,
            SortValue::Text(_) => 3,
            SortValue::Key(_) => 4,
            SortValue::Greatest => 5,
        }
    }
}

/// The order of two hits by what they are ordered by, with the direction of each; by their scores if that is nothing.
#[must_use]
pub fn compare(a: (&[SortValue], f64), b: (&[SortValue], f64), descending: &[bool]) -> Ordering {
    if descending.is_empty() {
        return crate::rank::descending(a.1, b.1);
    }
    let values = a.0.iter().zip(b.0).zip(descending);
    let orders = values.map(|((a, b), down)| if *down { b.compare(a) } else { a.compare(b) });
    orders.fold(Ordering::Equal, Ordering::then)
}

/// What several nodes found together, or one of several types: the best `count` hits. Hits that are as good stay in the order of the
/// parts.
#[must_use]
pub fn merge(partials: Vec<Partial>, count: usize) -> Partial {
    let mut merged =
        Partial { coverage: Coverage { nodes: 0, ..Coverage::default() }, ..Partial::default() };
    for mut partial in partials {
        merged.total += partial.total;
        let (all, one) = (&mut merged.coverage, partial.coverage);
        all.covered += one.covered;
        all.documents += one.documents;
        all.nodes += one.nodes;
        all.results = all.results.max(one.results);
        all.degraded = all.degraded.or(one.degraded);
        for hit in &mut partial.hits {
            let kind = partial.kinds.get(hit.kind as usize);
            let known = merged.kinds.iter().position(|known| Some(known) == kind);
            hit.kind = known.unwrap_or(merged.kinds.len()) as u32;
            merged.kinds.extend(kind.filter(|_| known.is_none()).cloned());
        }
        if !partial.groups.is_empty() {
            let number = |kind: &HitKind| {
                let known = merged.kinds.iter().position(|known| known == kind);
                if known.is_none() {
                    merged.kinds.push(kind.clone());
                }
                known.unwrap_or(merged.kinds.len() - 1) as u32
            };
            let numbers: Vec<u32> = partial.kinds.iter().map(number).collect();
            let renumbered = |kind: u32| numbers.get(kind as usize).copied().unwrap_or(u32::MAX);
            merged.groups.resize(merged.groups.len().max(partial.groups.len()), Vec::new());
            for (all, mut found) in merged.groups.iter_mut().zip(partial.groups) {
                found.iter_mut().for_each(|group| group.renumber(&renumbered));
                all.append(&mut found);
            }
        }
        // The directions are those of the query.
        merged.descending = partial.descending;
        merged.hits.append(&mut partial.hits);
        merged.errors.append(&mut partial.errors);
    }
    let descending = &merged.descending;
    merged.hits.sort_by(|a, b| compare((&a.sort, a.relevance), (&b.sort, b.relevance), descending));
    merged.hits.truncate(count);
    merged
}

#[cfg(test)]
mod tests {
    use super::{Coverage, Degraded, HitKind, Partial, PartialHit, SortValue, merge};

    fn hit(node: u32, lid: u32, relevance: f64, sort: Vec<SortValue>) -> PartialHit {
        PartialHit { lid, node, kind: 0, relevance, sort, features: Vec::new() }
    }

    fn partial(descending: &[bool], hits: Vec<PartialHit>) -> Partial {
        let coverage = Coverage { covered: 9, documents: 10, ..Coverage::default() };
        Partial { total: 5, coverage, descending: descending.to_vec(), hits, ..Partial::default() }
    }

    fn places(partial: &Partial) -> Vec<(u32, u32)> {
        partial.hits.iter().map(|h| (h.node, h.lid)).collect()
    }

    #[test]
    fn the_best_of_all_nodes_are_first() {
        let one = partial(&[], vec![hit(0, 1, 3.0, vec![]), hit(0, 2, 1.0, vec![])]);
        let mut two = partial(&[], vec![hit(1, 1, 3.0, vec![]), hit(1, 7, 2.0, vec![])]);
        two.coverage.degraded = Degraded { timeout: true, ..Degraded::default() };
        let merged = merge(vec![one, two], 3);
        assert_eq!(places(&merged), [(0, 1), (1, 1), (1, 7)]);
        let coverage = merged.coverage;
        assert_eq!(
            (merged.total, coverage.covered, coverage.documents, coverage.nodes),
            (10, 18, 20, 2)
        );
        assert!(coverage.degraded.timeout && !coverage.is_full() && coverage.percent() == 90);
    }

    #[test]
    fn types_are_numbered_anew() {
        let of = |names: &[&str], hits: &[(u32, f64)]| Partial {
            kinds: names
                .iter()
                .map(|name| HitKind { name: (*name).to_owned(), features: vec![] })
                .collect(),
            hits: hits
                .iter()
                .map(|(kind, x)| PartialHit { kind: *kind, ..hit(0, 1, *x, vec![]) })
                .collect(),
            ..Partial::default()
        };
        let parts = vec![
            of(&["a", "b"], &[(1, 5.0), (0, 1.0)]),
            of(&["c"], &[(0, 4.0)]),
            of(&["a"], &[(0, 3.0)]),
        ];
        let merged = merge(parts, 9);
        let name = |hit: &PartialHit| merged.kinds[hit.kind as usize].name.as_str();
        assert_eq!(merged.hits.iter().map(name).collect::<String>(), "bcaa");
    }

    #[test]
    fn hits_are_ordered_by_their_values() {
        let text = |t: &str| SortValue::Text(t.to_owned());
        let one = vec![
            hit(0, 1, 0.0, vec![SortValue::Integer(7), text("b")]),
            hit(0, 2, 0.0, vec![SortValue::Integer(2), text("a")]),
        ];
        let two = vec![
            hit(1, 1, 0.0, vec![SortValue::Integer(7), text("a")]),
            hit(1, 2, 0.0, vec![SortValue::Missing, text("a")]),
        ];
        let merged = merge(vec![partial(&[true, false], one), partial(&[true, false], two)], 9);
        assert_eq!(places(&merged), [(1, 1), (0, 1), (0, 2), (1, 2)]);
        let sent = serde_json::to_string(&merged).unwrap();
        assert_eq!(serde_json::from_str::<Partial>(&sent).unwrap(), merged);
    }
}
