//! The segments of a text that match a query best: Vespa's string segment match
//! (documentation, `reference/ranking/string-segment-match.html`).
//!
//! A segment is a stretch of the text that has some terms of the query which follow each other there. From each term at which a segment may begin, the
//! best way to match the terms before is known; segments are tried from the first such term on, the next one at another place each time, until no place or no
//! [patience](Settings::alternatives) is left.

use super::measures::Measures;
use super::settings::Settings;

/// A term of a query that asks the field: of a phrase, each of its words.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) weight: f64,
    pub(super) significance: f64,
    /// How much it has to do with the term before it.
    pub(super) connectedness: f64,
}

/// What is matched with what.
#[derive(Debug)]
pub(super) struct Text<'t> {
    /// The terms of the query that ask the field.
    pub(super) terms: &'t [Asked],
    /// Where the text has each of them, in order.
    pub(super) places: &'t [Vec<u32>],
    /// The words of the text.
    pub(super) length: u32,
    /// The weights of all terms of the query.
    pub(super) weight: f64,
    /// Their significances.
    pub(super) significance: f64,
    pub(super) settings: &'t Settings,
}

/// The terms before one are matched; those from it on are not yet.
#[derive(Debug, Clone)]
struct Start {
    /// How they are matched.
    measures: Measures,
    /// Terms that no text has anywhere need not be tried again.
    skipped: usize,
    /// Where the term before is matched.
    position: u32,
    /// The places that were tried, as how many of them in the order of [`Text::next`].
    explored: u32,
    is_open: bool,
}

impl Text<'_> {
    /// How the text matches the query.
    pub(super) fn measures(&self) -> Measures {
        let mut starts: Vec<Option<Start>> = vec![None; self.terms.len() + 1];
        starts[0] = Some(Start::new(Measures::default(), 0));
        let (mut at, mut tried) = (Some(0), 0);
        while let Some(term) = at {
            if !self.explore(&mut starts, term)
                && let Some(start) = &mut starts[term]
            {
                start.is_open = false;
            }
            at = next_open(&starts, term, &mut tried, self.settings.alternatives);
        }
        let last = starts.into_iter().rev().flatten().next();
        let mut measures = last.map_or_else(Measures::default, |start| start.measures);
        measures.complete();
        measures
    }

    /// Tries a segment that begins with one of the terms from one on, at the next place that was not tried. Whether there was one.
    fn explore(&self, starts: &mut [Option<Start>], from: usize) -> bool {
        let Some(start) = &mut starts[from] else { return false };
        let mut measures = start.measures.clone();
        let (mut explored, mut position) = (start.explored, start.position);
        let (mut is_first, mut in_sequence, mut before) = (true, false, None);
        for term in from + start.skipped..self.terms.len() {
            let found = self.next(term, position, explored);
            if found.is_none() && explored > 0 && is_first {
                return false;
            }
            if in_sequence && found != Some(position + 1) {
                measures.sequence_ends(position, self.length);
                in_sequence = false;
            }
            if is_first {
                match found {
                    Some(place) => {
                        measures.segment_begins(place);
                        start.explored = self.order_of(place, position) + 1;
                        is_first = false;
                    }
                    None => start.skipped += 1,
                }
            } else {
                // A term that is nowhere is as one before the first word.
                let distance = found.map_or(position + 1, |place| place.abs_diff(position));
                if distance >= self.settings.limit {
                    offer(starts, term, position, &measures);
                    return true;
                }
                if let Some(place) = found {
                    measures.pair(place, position, self.terms[term].connectedness, self.settings);
                    match place == position + 1 && before.is_some_and(|b: usize| term == b + 1) {
                        true => measures.sequence_goes_on(),
                        false => measures.gap(place, position),
                    }
                }
            }
            match found {
                Some(place) => {
                    measures.matched(&self.terms[term], self);
                    if !in_sequence {
                        measures.sequence_begins(place);
                        in_sequence = true;
                    }
                    (before, position, explored) = (Some(term), place, 1);
                }
                None => explored = 0,
            }
        }
        if in_sequence {
            measures.sequence_ends(position, self.length);
        }
        if !is_first {
            offer(starts, self.terms.len(), position, &measures);
        }
        !is_first
    }

    /// Where a term is nearest to a position, of the places from a number on in this order: from the position on as far as the limit, before it as
    /// far, and the same two ways to the ends of the text.
    fn next(&self, term: usize, position: u32, from: u32) -> Option<u32> {
        let places = self.places.get(term).filter(|places| !places.is_empty())?;
        let (ahead, behind) = self.near(position);
        let (length, p) = (self.length, position);
        // Numbers, the place of the first of them, and whether places rise.
        let ways = [
            (0, ahead, p, true),
            (ahead, ahead + behind, p.wrapping_sub(1), false),
            (ahead + behind, length - p + behind, p + ahead, true),
            (length - p + behind, length, p.wrapping_sub(behind + 1), false),
        ];
        ways.into_iter().find_map(|(begin, end, first, rises)| {
            let begin_at = begin.max(from);
            if begin_at >= end {
                return None;
            }
            let (skip, count) = (begin_at - begin, end - begin_at);
            match rises {
                true => {
                    let low = first + skip;
                    let next = places.partition_point(|place| *place < low);
                    places.get(next).copied().filter(|place| *place < low + count)
                }
                false => {
                    let high = first - skip;
                    let next = places.partition_point(|place| *place <= high);
                    let place = *places.get(next.checked_sub(1)?)?;
                    (place + count > high).then_some(place)
                }
            }
        })
    }

    /// The number of a place in the order of [`Text::next`].
    fn order_of(&self, place: u32, position: u32) -> u32 {
        let (ahead, behind) = self.near(position);
        match place.checked_sub(position) {
            Some(after) if after < ahead => after,
            Some(after) => after + behind,
            None if position - place <= behind => position - place - 1 + ahead,
            None => position - place - 1 + self.length - position,
        }
    }

    /// How many places there are within the limit from a position on, and before it.
    fn near(&self, position: u32) -> (u32, u32) {
        let limit = self.settings.limit;
        (limit.min(self.length - position), limit.min(position))
    }
}

impl Start {
    fn new(measures: Measures, position: u32) -> Start {
        Start { measures, skipped: 0, position, explored: 0, is_open: true }
    }
}

/// A way to match the terms before one, which is kept if it is the first or better than the one that is known.
fn offer(starts: &mut [Option<Start>], term: usize, position: u32, measures: &Measures) {
    match &mut starts[term] {
        // What was tried from it stays tried: to begin again would find a little more, for much.
        Some(start) if measures.rank() > start.measures.rank() => {
            start.measures.clone_from(measures);
            start.position = position;
        }
        Some(_) => {}
        none => *none = Some(Start::new(measures.clone(), position)),
    }
}

/// The first term from one on where a segment may still begin. Each but the first segment of a term counts as tried.
fn next_open(
    starts: &[Option<Start>],
    from: usize,
    tried: &mut u32,
    alternatives: u32,
) -> Option<usize> {
    for (term, start) in starts.iter().enumerate().skip(from) {
        let Some(start) = start.as_ref().filter(|start| start.is_open) else { continue };
        if start.explored == 0 {
            return Some(term);
        }
        if *tried < alternatives {
            *tried += 1;
            return Some(term);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Asked, Text};
    use crate::features::field_match::settings::Settings;

    /// All places, one by one in the order that is meant.
    #[test]
    fn the_next_place_is_the_nearest_that_was_not_tried() {
        let term = Asked { weight: 1.0, significance: 1.0, connectedness: 0.1 };
        for (limit, length) in [(1, 1), (2, 9), (3, 4), (10, 7), (1, 6), (4, 30)] {
            let settings = Settings { limit, ..Settings::default() };
            for position in 0..length {
                let ahead = (position..length).take(limit as usize);
                let behind = (0..position).rev().take(limit as usize);
                let rest =
                    (position + limit..length).chain((0..position.saturating_sub(limit)).rev());
                let order: Vec<u32> = ahead.chain(behind).chain(rest).collect();
                assert_eq!(order.len(), length as usize);
                for (number, place) in (0..).zip(&order) {
                    let all: Vec<u32> = (0..length)
                        .filter(|at| order.iter().position(|o| o == at) >= Some(number))
                        .collect();
                    for (places, from) in
                        [(vec![*place], 0), (vec![*place], number as u32), (all, 0)]
                    {
                        let places = [places];
                        let text = Text {
                            terms: std::slice::from_ref(&term),
                            places: &places,
                            length,
                            weight: 1.0,
                            significance: 1.0,
                            settings: &settings,
                        };
                        let label = format!(
                            "limit {limit}, length {length}, position {position}, place {place}"
                        );
                        assert_eq!(text.next(0, position, from), Some(*place), "{label}");
                        assert_eq!(text.order_of(*place, position), number as u32, "{label}");
                        if places[0].len() == 1 {
                            assert_eq!(text.next(0, position, number as u32 + 1), None, "{label}");
                        }
                    }
                }
            }
        }
    }
}
