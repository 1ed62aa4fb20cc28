//! Groups as results have them
//! (Vespa, `container-search/src/main/java/com/yahoo/search/grouping/vespa/ResultBuilder.java` and
//! `container-search/src/main/java/com/yahoo/search/rendering/JsonRenderer.java`).

use super::continuation::{Page, Place};
use super::partial::{GroupHit, PartialGroup};
use super::plan::{GroupingPlan, NodePlan};
use crate::result::Item;

/// Writes a hit with the summary of a name.
pub(super) type WriteHit<'h> = dyn FnMut(Option<&str>, &GroupHit) -> Item + 'h;

struct Renderer<'r> {
    plan: &'r GroupingPlan,
    /// The pages that are seen, of all lists that do not begin at their beginning.
    seen: String,
    hit: &'r mut WriteHit<'r>,
}

/// Which entries of a list are seen.
struct Seen {
    first: usize,
    behind: usize,
    prev: Option<String>,
    next: Option<String>,
}

/// The groups of a grouping.
pub(super) fn render<'r>(
    plan: &'r GroupingPlan,
    root: Option<&PartialGroup>,
    hit: &'r mut WriteHit<'r>,
) -> Item {
    let mut renderer = Renderer { plan, seen: String::new(), hit };
    let place = vec![plan.number, 0];
    let inside = root.map(|root| renderer.inside(&plan.root, root, (place, true)));
    let this = Item::map([("this", Item::text(renderer.seen))]);
    let mut members = vec![
        ("id".to_owned(), Item::text(format!("group:root:{}", plan.number))),
        ("relevance".to_owned(), Item::Number(1.0)),
        ("continuation".to_owned(), this),
    ];
    members.extend(inside.into_iter().flatten());
    Item::Map(members)
}

impl Renderer<'_> {
    /// The fields and lists of a group.
    fn inside(
        &mut self,
        plan: &NodePlan,
        group: &PartialGroup,
        (place, is_stable): (Place, bool),
    ) -> Vec<(String, Item)> {
        let mut members = Vec::new();
        let outputs = plan.outputs.iter().zip(&group.outputs);
        let fields: Vec<(String, Item)> =
            outputs.map(|(of, state)| (of.label.clone(), state.item(&of.aggregate.what))).collect();
        if !fields.is_empty() {
            members.push(("fields".to_owned(), Item::Map(fields)));
        }
        let inner = |number: usize| {
            let mut inner = place.clone();
            inner.push(number as u32);
            inner
        };
        let mut lists = Vec::new();
        for (of, hits) in plan.hits.iter().zip(&group.hits) {
            let at = inner(lists.len());
            let seen = self.seen(&at, (of.tag, of.max), is_stable, hits.len());
            let shown = hits.get(seen.first..seen.behind).unwrap_or_default();
            let items = shown.iter().map(|hit| (self.hit)(of.summary.as_deref(), hit)).collect();
            self.turn(&at, of.tag, &seen);
            lists.push(list("hitlist", &of.label, seen, items));
        }
        let mut number = 0;
        for (of, groups) in plan.lists.iter().zip(&group.lists) {
            if groups.is_empty() {
                continue;
            }
            let at = inner(number);
            number += 1;
            let seen = self.seen(&at, (of.node.tag, of.max), is_stable, groups.len());
            let is_inner_stable = is_stable && self.plan.offsets.is_stable(&at);
            let shown = groups.iter().enumerate().take(seen.behind).skip(seen.first);
            let mut items = Vec::with_capacity(seen.behind - seen.first);
            for (entry, group) in shown {
                let relevance = match of.order.is_empty() {
                    true => group.rank,
                    false => (seen.behind - entry) as f64 / (seen.behind - seen.first) as f64,
                };
                let mut members = vec![
                    ("id".to_owned(), Item::text(group.id.id())),
                    ("relevance".to_owned(), Item::Number(relevance)),
                ];
                members.extend(value(group));
                let mut at = at.clone();
                at.push(entry as u32);
                members.extend(self.inside(&of.node, group, (at, is_inner_stable)));
                items.push(Item::Map(members));
            }
            self.turn(&at, of.node.tag, &seen);
            lists.push(list("grouplist", &of.label, seen, items));
        }
        if !lists.is_empty() {
            members.push(("children".to_owned(), Item::List(lists)));
        }
        members
    }

    /// The page of a list that is seen.
    fn seen(
        &self,
        place: &[u32],
        (tag, max): (u32, Option<u32>),
        is_stable: bool,
        entries: usize,
    ) -> Seen {
        let Some(max) = max.filter(|max| *max > 0) else {
            return Seen { first: 0, behind: entries, prev: None, next: None };
        };
        let max = max as usize;
        let first = if is_stable { self.plan.offsets.of_place(place) as usize } else { 0 };
        let behind = entries.min(first.saturating_add(max));
        let page =
            |offset: usize| Page { place, tag, offset: offset as u32, is_other: true }.text();
        let prev = (first > 0).then(|| page(first.min(behind).saturating_sub(max)));
        let next = (behind < entries).then(|| page(behind));
        Seen { first: first.min(behind), behind, prev, next }
    }

    /// Notes the page of a list that does not begin at its beginning.
    fn turn(&mut self, place: &[u32], tag: u32, seen: &Seen) {
        if seen.prev.is_some() {
            let offset = self.plan.offsets.of_place(place);
            self.seen.push_str(&Page { place, tag, offset, is_other: false }.text());
        }
    }
}

fn list(kind: &str, label: &str, seen: Seen, items: Vec<Item>) -> Item {
    let mut members = vec![
        ("id".to_owned(), Item::text(format!("{kind}:{label}"))),
        ("relevance".to_owned(), Item::Number(1.0)),
        ("label".to_owned(), Item::text(label)),
    ];
    let pages = [("prev", seen.prev), ("next", seen.next)].into_iter();
    let pages: Vec<(String, Item)> =
        pages.filter_map(|(name, page)| Some((name.to_owned(), Item::Text(page?)))).collect();
    if !pages.is_empty() {
        members.push(("continuation".to_owned(), Item::Map(pages)));
    }
    if !items.is_empty() {
        members.push(("children".to_owned(), Item::List(items)));
    }
    Item::Map(members)
}

/// The value of a group, or the ends of its bucket.
fn value(group: &PartialGroup) -> Option<(String, Item)> {
    if let Some((from, to)) = group.id.ends() {
        let ends = Item::map([("from", Item::Text(from)), ("to", Item::Text(to))]);
        return Some(("limits".to_owned(), ends));
    }
    match group.id {
        super::value::Value::Null => None,
        _ => Some(("value".to_owned(), Item::Text(group.id.image_text()))),
    }
}
