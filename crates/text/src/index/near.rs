//! Words that stand near each other (Vespa, `searchlib/src/vespa/searchlib/queryeval/nearsearch.cpp`).
//!
//! A *window* begins at a place of one part and ends at the last of the nearest places of the others. Ranking sees what stands in *spans*: a
//! window, and what else of the other parts is as near to its begin.

use std::ops::ControlFlow;

use super::elements::Element;
use super::phrases::{PhraseLists, Phrases, meet};
use super::view::Part;
use super::write::Occurrence;

/// Words and phrases that stand near each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// What stands near each other.
    pub parts: Vec<Phrases>,
    /// Whether they stand in their order.
    pub is_ordered: bool,
    /// The last begins at most so many words behind the first.
    pub distance: u32,
    /// What must not stand with them.
    pub excluded: Vec<Phrases>,
    /// None of what is excluded stands so many words before the first of the others, behind the last, or less.
    pub exclusion_distance: u32,
    /// How many words lie between the end of an element and the begin of the next; they are not near where nothing is said.
    pub element_gap: Option<u32>,
}

/// What a document has of what stands near each other.
#[derive(Debug)]
pub(super) struct NearLists<'s> {
    parts: Vec<PhraseLists<'s>>,
    excluded: Vec<PhraseLists<'s>>,
    places: Places,
}

/// Where a document has what stands near each other.
#[derive(Debug, Default)]
pub(super) struct Places {
    parts: Vec<Vec<Occurrence>>,
    excluded: Vec<Vec<Occurrence>>,
    /// The elements with words, where these may be near each other.
    elements: Vec<Element>,
}

impl<'s> NearLists<'s> {
    /// Nothing where the segment has not all parts.
    pub(super) fn find(near: &Near, part: &'s Part) -> Option<NearLists<'s>> {
        let of = |phrases| PhraseLists::find(phrases, part);
        let parts = near.parts.iter().map(of).collect::<Option<Vec<_>>>()?;
        let excluded: Vec<_> = near.excluded.iter().filter_map(of).collect();
        let places = Places {
            parts: vec![Vec::new(); parts.len()],
            excluded: vec![Vec::new(); excluded.len()],
            elements: Vec::new(),
        };
        Some(NearLists { parts, excluded, places })
    }

    /// The first document from one on that may have all parts.
    pub(super) fn seek(&mut self, doc: u32) -> u32 {
        meet(&mut self.parts, PhraseLists::seek, doc)
    }

    /// Where a document of the segment, not before one that was read, has the parts.
    pub(super) fn read(&mut self, near: &Near, part: &Part, doc: u32) -> &Places {
        let places = &mut self.places;
        for (lists, places) in self.parts.iter_mut().zip(&mut places.parts) {
            places.clear();
            lists.read(doc, places);
        }
        for (lists, places) in self.excluded.iter_mut().zip(&mut places.excluded) {
            places.clear();
            lists.read(doc, places);
        }
        places.elements.clear();
        if near.element_gap.is_some() {
            let of = &part.segment;
            places.elements.extend(of.elements.of(doc, of.length(doc)));
        }
        places
    }
}

impl Near {
    /// Whether there is a window.
    pub(super) fn is_in(&self, places: &Places) -> bool {
        self.windows(places, |_| ControlFlow::Break(())).is_break()
    }

    /// Where windows begin, in order, behind what is in a list.
    pub(super) fn begins(&self, places: &Places, into: &mut Vec<Occurrence>) {
        let end = self.windows(places, |window| {
            into.push(window.first);
            ControlFlow::Continue(())
        });
        debug_assert!(end.is_continue());
    }

    /// The places of a part by its number that are in spans, in their order, behind what is in a list.
    pub(super) fn places_of(&self, part: usize, places: &Places, into: &mut Vec<Occurrence>) {
        let all = places.parts.get(part).map_or(&[][..], Vec::as_slice);
        let mut next = 0;
        let end = self.windows(places, |window| {
            let last = self.end_of_span(places, window);
            // Windows begin in order, and so do their ends.
            next += all.get(next..).unwrap_or_default().partition_point(|at| *at < window.first);
            let inside = all.get(next..).unwrap_or_default();
            let inside = &inside[..inside.partition_point(|at| *at <= last)];
            into.extend_from_slice(inside);
            next += inside.len();
            ControlFlow::Continue(())
        });
        debug_assert!(end.is_continue());
    }

    /// Visits the windows of all parts that what is excluded leaves, by their begins.
    fn windows(
        &self,
        places: &Places,
        visit: impl FnMut(Window) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.is_ordered {
            true => self.windows_in_order(places, visit),
            false => self.windows_around(places, visit),
        }
    }

    fn windows_in_order(
        &self,
        places: &Places,
        mut visit: impl FnMut(Window) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some((first, rest)) = places.parts.split_first() else {
            return ControlFlow::Continue(());
        };
        for begin in first {
            // The nearest of each behind the one before is the best.
            let last = rest.iter().try_fold(*begin, |before, of| {
                of.get(of.partition_point(|at| *at <= before)).copied()
            });
            let Some(last) = last else { break };
            if last <= self.reach(places, *begin, self.distance)
                && self.is_free(places, *begin, last)
            {
                visit(Window { part: 0, first: *begin, last })?;
            }
        }
        ControlFlow::Continue(())
    }

    fn windows_around(
        &self,
        places: &Places,
        mut visit: impl FnMut(Window) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut at = vec![0; places.parts.len()];
        loop {
            let mut least: Option<(usize, Occurrence)> = None;
            let mut last: Option<Occurrence> = None;
            for (part, of) in places.parts.iter().enumerate() {
                let Some(place) = of.get(at[part]) else { return ControlFlow::Continue(()) };
                if least.is_none_or(|(_, least)| *place < least) {
                    least = Some((part, *place));
                }
                last = last.max(Some(*place));
            }
            let Some(((part, first), last)) = least.zip(last) else {
                return ControlFlow::Continue(());
            };
            if last <= self.reach(places, first, self.distance) && self.is_free(places, first, last)
            {
                visit(Window { part, first, last })?;
            }
            at[part] += 1;
        }
    }

    /// The last place that is near to what begins at a place: so many words behind it, in the next element where the element ends before.
    fn reach(&self, places: &Places, from: Occurrence, distance: u32) -> Occurrence {
        let end = from.position.saturating_add(distance);
        let next = self.element_gap.and_then(|gap| {
            let at = places.elements.binary_search_by_key(&from.element, |e| e.number).ok()?;
            end.checked_sub(places.elements.get(at)?.words.checked_add(gap)?)
        });
        match next {
            Some(position) => Occurrence { element: from.element.saturating_add(1), position },
            None => Occurrence { position: end, ..from },
        }
    }

    /// Whether nothing that is excluded stands in a window or near to it.
    fn is_free(&self, places: &Places, first: Occurrence, last: Occurrence) -> bool {
        let mut near = places.excluded.iter().map(|of| self.next_excluded(places, first, of));
        let reach = self.reach(places, last, self.exclusion_distance);
        near.all(|at| at.is_none_or(|at| reach < at))
    }

    /// The first of what is excluded that does not stand far enough before a window.
    fn next_excluded(
        &self,
        places: &Places,
        first: Occurrence,
        of: &[Occurrence],
    ) -> Option<Occurrence> {
        let is_before = |at: &Occurrence| self.reach(places, *at, self.exclusion_distance) < first;
        of.get(of.partition_point(is_before)).copied()
    }

    /// The last place of the span of a window: of parts other than that which it begins with, in order of the last part.
    fn end_of_span(&self, places: &Places, window: Window) -> Occurrence {
        let reach = self.reach(places, window.first, self.distance);
        let excluded = places.excluded.iter();
        let excluded = excluded.filter_map(|of| self.next_excluded(places, window.first, of)).min();
        let is_inside = |at: &Occurrence| {
            let far = self.reach(places, *at, self.exclusion_distance);
            *at <= reach && excluded.is_none_or(|excluded| far < excluded)
        };
        let last_part = places.parts.len().saturating_sub(1);
        let parts = places.parts.iter().enumerate().filter(|(part, _)| match self.is_ordered {
            true => *part == last_part && last_part > 0,
            false => *part != window.part,
        });
        let last =
            |of: &Vec<Occurrence>| of.get(of.partition_point(is_inside).checked_sub(1)?).copied();
        parts.filter_map(|(_, of)| last(of)).fold(window.last, Occurrence::max)
    }
}

/// Places of all parts that are near each other.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// The part that it begins with.
    part: usize,
    first: Occurrence,
    /// The last of the places.
    last: Occurrence,
}

#[cfg(test)]
mod tests;
