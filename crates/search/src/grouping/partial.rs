//! Groups that a node found, and those that several found together.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::code::{Code, Typed};
use super::function::apply;
use super::plan::{GroupingPlan, ListPlan, NodePlan};
use super::state::State;
use super::value::Value;

/// A group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialGroup {
    /// What its documents have in common.
    pub id: Value,
    /// The best score of its documents.
    pub rank: f64,
    /// What it is ordered by.
    pub(super) order: Vec<State>,
    /// What is told of it.
    pub(super) outputs: Vec<State>,
    /// Its best hits, for each list of hits.
    pub(super) hits: Vec<Vec<GroupHit>>,
    /// The groups in it, for each list of groups.
    pub(super) lists: Vec<Vec<PartialGroup>>,
}

/// A hit of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GroupHit {
    /// Its number on the node that has it.
    pub lid: u32,
    /// The node that has it.
    pub node: u32,
    /// Its type, by the place among those of all.
    pub kind: u32,
    /// Its score.
    pub relevance: f64,
}

impl PartialGroup {
    /// Gives the types of hits other numbers.
    pub(crate) fn renumber(&mut self, kind: &dyn Fn(u32) -> u32) {
        for hit in self.hits.iter_mut().flatten() {
            hit.kind = kind(hit.kind);
        }
        // Groups nest as deep as a grouping that was read.
        self.lists.iter_mut().flatten().for_each(|group| group.renumber(kind));
    }

    fn merge(&mut self, plan: &NodePlan, other: PartialGroup) {
        self.rank = self.rank.max(other.rank);
        let outputs = self.outputs.iter_mut().zip(other.outputs).zip(&plan.outputs);
        outputs.for_each(|((own, other), of)| own.merge(&of.aggregate.what, other));
        for (own, mut other) in self.hits.iter_mut().zip(other.hits) {
            own.append(&mut other);
        }
        for ((own, other), of) in self.lists.iter_mut().zip(other.lists).zip(&plan.lists) {
            own.extend(other);
            join(own, of);
        }
    }

    /// The best of each list, as many as somebody may see or must know of.
    fn finish(&mut self, plan: &NodePlan, offset: &dyn Fn(u32) -> u32) {
        for (hits, of) in self.hits.iter_mut().zip(&plan.hits) {
            hits.sort_by(|a, b| crate::rank::descending(a.relevance, b.relevance));
            if let Some(max) = of.max {
                hits.truncate(looked_at(max, offset(of.tag)));
            }
        }
        for (groups, of) in self.lists.iter_mut().zip(&plan.lists) {
            sort(groups, of);
            if let Some(max) = of.max {
                groups.truncate(looked_at(max, offset(of.node.tag)));
            }
            groups.iter_mut().for_each(|group| group.finish(&of.node, offset));
        }
    }
}

/// As many as a page has behind those before it, and one more, which tells whether there is another page.
pub(super) fn looked_at(max: u32, offset: u32) -> usize {
    (max as usize).saturating_add(offset as usize).saturating_add(1)
}

/// What several nodes found for a grouping together.
pub(super) fn finish(plan: &GroupingPlan, parts: Vec<PartialGroup>) -> Option<PartialGroup> {
    let mut parts = parts.into_iter();
    let mut root = parts.next()?;
    parts.for_each(|part| root.merge(&plan.root, part));
    root.finish(&plan.root, &|tag| plan.offsets.of_tag(tag));
    Some(root)
}

/// Makes one group of those that have the same id.
fn join(groups: &mut Vec<PartialGroup>, plan: &ListPlan) {
    let mut places: HashMap<Value, usize> = HashMap::new();
    let mut joined: Vec<PartialGroup> = Vec::new();
    for group in std::mem::take(groups) {
        match places.get(&group.id).and_then(|at| joined.get_mut(*at)) {
            None => {
                places.insert(group.id.clone(), joined.len());
                joined.push(group);
            }
            Some(known) => {
                let mut group = group;
                let order = std::mem::take(&mut group.order);
                let states = known.order.iter_mut().zip(order).zip(&plan.ordered);
                states.for_each(|((own, other), of)| own.merge(&of.what, other));
                known.merge(&plan.node, group);
            }
        }
    }
    *groups = joined;
}

/// Sorts the groups of a list: by what they are ordered by, by their scores, by their ids.
pub(super) fn sort(groups: &mut Vec<PartialGroup>, plan: &ListPlan) {
    let key = |group: &PartialGroup| -> Vec<Value> {
        plan.order.iter().map(|(typed, _)| ordered_by(typed, &group.order)).collect()
    };
    let mut keyed: Vec<(Vec<Value>, PartialGroup)> =
        std::mem::take(groups).into_iter().map(|group| (key(&group), group)).collect();
    keyed.sort_by(|(a, one), (b, other)| {
        let orders = a.iter().zip(b).zip(&plan.order);
        let orders =
            orders.map(|((a, b), (_, ascends))| if *ascends { a.cmp(b) } else { b.cmp(a) });
        let order = orders.fold(Ordering::Equal, Ordering::then);
        let rank = crate::rank::descending(one.rank, other.rank);
        order.then(rank).then_with(|| one.id.cmp(&other.id))
    });
    groups.extend(keyed.into_iter().map(|(_, group)| group));
}

/// The value of an expression of what is known of a group.
fn ordered_by(typed: &Typed, states: &[State]) -> Value {
    match &typed.code {
        Code::Constant(value) => value.clone(),
        Code::Aggregate(at) => states.get(*at).map_or(Value::Null, State::value),
        Code::Call(function, arguments) => {
            let values = arguments.iter().map(|argument| ordered_by(argument, states)).collect();
            apply(*function, typed, arguments, values)
        }
        _ => Value::Null,
    }
}
