//! What is measured of the segments that match a query, by Vespa's definitions
//! (documentation, `reference/ranking/rank-features.html`).

use super::segments::{Asked, Text};
use super::settings::Settings;

/// What is measured while segments are matched.
#[derive(Debug, Clone, Default)]
pub(super) struct Measures {
    pub(super) matches: u32,
    pub(super) segments: u32,
    pub(super) gaps: u32,
    pub(super) gap_length: u32,
    pub(super) out_of_order: u32,
    pub(super) segment_distance: u32,
    /// The words of the longest sequence of several, and of the current one.
    longest: u32,
    sequence: u32,
    /// The words before the first and behind the last that match.
    head: Option<u32>,
    tail: Option<u32>,
    /// How many terms stand behind another in a segment, and how near they do, with and without what they have to do with each other.
    pairs: u32,
    proximity: f64,
    unweighted: f64,
    /// The parts of the query's.
    pub(super) weight: f64,
    pub(super) significance: f64,
    /// Where segments begin.
    begins: Vec<u32>,
}

/// How often terms occur.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Occurrences {
    pub(super) relative: f64,
    pub(super) absolute: f64,
    pub(super) weighted: f64,
    pub(super) weighted_absolute: f64,
    pub(super) significant: f64,
}

/// The least that two terms have to do with each other.
const CONNECTEDNESS: f64 = 0.1;

/// Shorter texts are as early as those of so many words.
const SHORTEST: u32 = 6;

impl Measures {
    pub(super) fn matched(&mut self, term: &Asked, text: &Text<'_>) {
        // A query may have a word more often than a text.
        if self.matches < text.length {
            self.matches += 1;
            self.weight += part(term.weight, text.weight);
            self.significance += part(term.significance, text.significance);
        }
    }

    pub(super) fn segment_begins(&mut self, place: u32) {
        self.segments += 1;
        self.begins.push(place);
    }

    pub(super) fn sequence_begins(&mut self, place: u32) {
        self.head = Some(self.head.map_or(place, |head| head.min(place)));
        self.sequence = 1;
    }

    pub(super) fn sequence_goes_on(&mut self) {
        self.sequence += 1;
    }

    pub(super) fn sequence_ends(&mut self, place: u32, length: u32) {
        let tail = length - place - 1;
        self.tail = Some(self.tail.map_or(tail, |least| least.min(tail)));
        self.longest = self.longest.max(self.sequence);
        self.sequence = 0;
    }

    /// Two terms of a segment, the second at a place and the first at the one before.
    pub(super) fn pair(&mut self, place: u32, before: u32, connected: f64, settings: &Settings) {
        // In their order how many words lie between them, else how far the second lies before the first.
        let between = match place > before {
            true => i64::from(place - before) - 1,
            false => i64::from(place) - i64::from(before),
        };
        let Ok(at) = usize::try_from(between + i64::from(settings.limit)) else { return };
        let Some(nearness) = settings.table.get(at) else { return };
        self.unweighted += nearness;
        self.proximity += nearness.powf(connected / CONNECTEDNESS) * connected.max(CONNECTEDNESS);
        self.pairs += 1;
    }

    pub(super) fn gap(&mut self, place: u32, before: u32) {
        self.gaps += 1;
        match place > before {
            true => self.gap_length += place - before - 1,
            false => {
                self.out_of_order += 1;
                self.gap_length += before - place;
            }
        }
    }

    /// How good a segmentation is.
    pub(super) fn rank(&self) -> f64 {
        match self.segments {
            0 => 0.0,
            count => self.absolute_proximity() / f64::from(count).powi(2),
        }
    }

    /// The segments are those of the whole query.
    pub(super) fn complete(&mut self) {
        self.begins.sort_unstable();
        let apart = |(begin, next): (&u32, &u32)| next - begin + 1;
        let following = self.begins.iter().skip(1);
        self.segment_distance = self.begins.iter().zip(following).map(apart).sum();
    }

    pub(super) fn head(&self) -> u32 {
        self.head.unwrap_or(0)
    }

    pub(super) fn tail(&self) -> u32 {
        self.tail.unwrap_or(0)
    }

    pub(super) fn longest_sequence(&self) -> u32 {
        self.longest.max(1)
    }

    pub(super) fn longest_sequence_ratio(&self) -> f64 {
        part(self.longest_sequence().into(), self.matches.into())
    }

    pub(super) fn absolute_proximity(&self) -> f64 {
        match self.pairs {
            0 => CONNECTEDNESS,
            pairs => self.proximity / f64::from(pairs),
        }
    }

    pub(super) fn unweighted_proximity(&self) -> f64 {
        match self.pairs {
            0 => 1.0,
            pairs => self.unweighted / f64::from(pairs),
        }
    }

    pub(super) fn proximity(&self, text: &Text<'_>) -> f64 {
        let behind = text.terms.get(1..).unwrap_or_default();
        let sum: f64 = behind.iter().map(|term| term.connectedness.max(CONNECTEDNESS)).sum();
        let average = if behind.is_empty() { CONNECTEDNESS } else { sum / behind.len() as f64 };
        self.absolute_proximity() / average
    }

    pub(super) fn query_completeness(&self, text: &Text<'_>) -> f64 {
        part(self.matches.into(), text.terms.len() as f64)
    }

    pub(super) fn field_completeness(&self, text: &Text<'_>) -> f64 {
        part(self.matches.into(), text.length.into())
    }

    pub(super) fn completeness(&self, text: &Text<'_>) -> f64 {
        let of_field = text.settings.field_completeness;
        self.query_completeness(text) * (1.0 - of_field) + of_field * self.field_completeness(text)
    }

    pub(super) fn orderness(&self) -> f64 {
        1.0 - part(self.out_of_order.into(), self.pairs.into())
    }

    pub(super) fn relatedness(&self) -> f64 {
        match self.matches {
            0 => 0.0,
            1 => 1.0,
            many => 1.0 - f64::from(self.segments.saturating_sub(1)) / f64::from(many - 1),
        }
    }

    pub(super) fn segment_proximity(&self, text: &Text<'_>) -> f64 {
        match self.matches {
            0 => 0.0,
            _ => 1.0 - part(self.segment_distance.into(), text.length.into()),
        }
    }

    pub(super) fn earliness(&self, text: &Text<'_>) -> f64 {
        match (self.matches, text.length) {
            (0, _) => 0.0,
            (_, 1) => 1.0,
            (_, length) => 1.0 - f64::from(self.head()) / f64::from(length.max(SHORTEST) - 1),
        }
    }

    pub(super) fn importance(&self) -> f64 {
        f64::midpoint(self.significance, self.weight)
    }

    /// The score.
    pub(super) fn score(&self, text: &Text<'_>) -> f64 {
        let s = text.settings;
        let related = 1.0 - s.relatedness + s.relatedness * self.relatedness();
        let near = related * self.proximity(text) * self.completeness(text).powi(2);
        let occurrence = Occurrences::of(text).relative;
        let sum = s.proximity_completeness * near
            + s.earliness * self.earliness(text)
            + s.segment_proximity * self.segment_proximity(text)
            + s.occurrence * occurrence;
        sum / (s.proximity_completeness + s.earliness + s.segment_proximity + s.occurrence)
    }
}

impl Occurrences {
    /// Those of the terms of a text. Terms of which the first stands at the same place are one.
    pub(super) fn of(text: &Text<'_>) -> Occurrences {
        let mut firsts: Vec<u32> = Vec::new();
        let mut unique: Vec<(&Asked, f64)> = Vec::new();
        let most = text.settings.occurrences;
        for (term, places) in text.terms.iter().zip(text.places) {
            let Some(first) = places.first().filter(|first| !firsts.contains(first)) else {
                continue;
            };
            firsts.push(*first);
            unique.push((term, places.len().min(most as usize) as f64));
        }
        let (length, count) = (f64::from(text.length), unique.len() as f64);
        let all = f64::from(most) * count;
        let sum = |of: &dyn Fn(&Asked) -> f64| -> (f64, f64) {
            let occurring = unique.iter().map(|(term, times)| times * of(term)).sum();
            (occurring, unique.iter().map(|(term, _)| of(term)).sum())
        };
        let (times, _) = sum(&|_| 1.0);
        let (weighted, weight) = sum(&|term| term.weight);
        let (significant, significance) = sum(&|term| term.significance);
        let greatest = length.min(most.into());
        Occurrences {
            relative: part(times, length.min(all)),
            absolute: part(times, all),
            weighted: part(weighted, greatest * weight),
            weighted_absolute: part(weighted, f64::from(most) * weight),
            significant: part(significant, greatest * significance),
        }
    }
}

/// A part of a whole, 0 of nothing.
fn part(number: f64, of: f64) -> f64 {
    if of > 0.0 { number / of } else { 0.0 }
}
