//! Parts of a text around the words that a query found, as `summary: dynamic` shows them.
//!
//! The numbers are those of Vespa (`searchsummary/src/vespa/searchsummary/config/juniperrc.def`), and so is what they mean: the
//! closest words of a query that stand in a window are a match, the best matches are shown with what stands around them, and no word is cut.

use std::cmp::Reverse;
use std::ops::Range;

pub use stead_app::services::SnippetSettings;

/// A word of a text that a query asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Where it stands.
    pub bytes: Range<usize>,
    /// What asks for it, by a number.
    pub term: usize,
}

/// A part of what is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A part of the text.
    Text(Range<usize>),
    /// A part of it that the query asks for.
    Mark(Range<usize>),
    /// Something is left out.
    Cut,
}

/// Texts longer than wanted by less than this are shown whole, and gaps that are shorter than a quarter of it are no gaps.
const SLACK: usize = 32;

/// The least that is shown before and behind a word.
const SURROUND_MIN: usize = 10;

/// Words longer than this are cut where they are not the query's.
const LONGEST_WORD: usize = 64;

/// The matches that are looked at.
const MOST_MATCHES: usize = 1000;

/// All of a text, marked. Marks stand in order and may overlap.
#[must_use]
pub fn marked(text: &str, marks: &[Mark]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    part(0..text.len(), marks, &mut pieces);
    pieces
}

/// The best parts of a text, marked; its beginning where nothing is, if that is wanted. Marks stand in order and may overlap.
#[must_use]
pub fn snippet(text: &str, marks: &[Mark], settings: &SnippetSettings) -> Vec<Piece> {
    if marks.is_empty() {
        return match settings.has_beginning {
            true => beginning(text, settings.length),
            false => Vec::new(),
        };
    }
    if text.len() < settings.length + SLACK {
        return marked(text, marks);
    }
    let (words, estimate) = chosen(marks, settings);
    let around = match estimate > settings.length {
        true => fitting(text, &words, settings),
        false => settings.surround_max,
    };
    let spans = spans(text, &words, around);
    let mut pieces = Vec::new();
    for span in &spans {
        if span.start > 0 {
            pieces.push(Piece::Cut);
        }
        part(span.clone(), marks, &mut pieces);
    }
    if spans.last().is_some_and(|span| span.end < text.len()) {
        pieces.push(Piece::Cut);
    }
    pieces
}

/// The words at the beginning that fit.
fn beginning(text: &str, length: usize) -> Vec<Piece> {
    if text.len() <= length {
        return marked(text, &[]);
    }
    let most = text.floor_char_boundary(length);
    let is_between = text[most..].starts_with(|c: char| !c.is_alphanumeric());
    let words = if is_between { &text[..most] } else { without_last_word(&text[..most]) };
    let end = match words.trim_end_matches(|c: char| !c.is_alphanumeric()).len() {
        0 => most,
        end => end,
    };
    let begin = (end > 0).then_some(Piece::Text(0..end));
    begin.into_iter().chain([Piece::Cut]).collect()
}

fn without_last_word(text: &str) -> &str {
    text.trim_end_matches(char::is_alphanumeric)
}

/// Words that stand together.
struct Match {
    /// The numbers of its marks.
    marks: Vec<usize>,
    bytes: Range<usize>,
}

/// The words of the best matches in their order, and how long what is shown of them would be.
fn chosen(marks: &[Mark], settings: &SnippetSettings) -> (Vec<Range<usize>>, usize) {
    let mut found = matches(marks, settings.window);
    // The most terms, then the closest, then the first.
    found.sort_by_key(|one| (Reverse(one.marks.len()), one.bytes.len(), one.bytes.start));
    let (mut taken, mut estimate, mut saved): (Vec<&Match>, usize, usize) = (Vec::new(), 0, 0);
    let mut length = 0;
    for one in &found {
        let overlaps =
            |other: &&Match| one.bytes.start < other.bytes.end && other.bytes.start < one.bytes.end;
        if taken.iter().any(overlaps) {
            continue;
        }
        taken.push(one);
        length += one.bytes.len();
        // Nothing stands before the beginning.
        saved += settings.surround_max.saturating_sub(one.bytes.start);
        let around = (2 * settings.surround_max + SLACK / 4) * taken.len();
        estimate = (length + around).saturating_sub(saved);
        if estimate >= settings.min_length && taken.len() >= settings.max_matches {
            break;
        }
    }
    let mut numbers: Vec<usize> = taken.iter().flat_map(|one| one.marks.iter().copied()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    (numbers.into_iter().map(|number| marks[number].bytes.clone()).collect(), estimate)
}

/// For each mark the first of each term from there on, as far as a window goes.
fn matches(marks: &[Mark], window: usize) -> Vec<Match> {
    let mut found = Vec::new();
    for (first, begin) in marks.iter().enumerate().take(MOST_MATCHES) {
        let mut numbers = vec![first];
        let mut end = begin.bytes.end;
        let behind = marks.iter().enumerate().skip(first + 1);
        for (number, mark) in
            behind.take_while(|(_, mark)| mark.bytes.end <= begin.bytes.start + window)
        {
            if !numbers.iter().any(|known| marks[*known].term == mark.term) {
                numbers.push(number);
                end = end.max(mark.bytes.end);
            }
        }
        found.push(Match { marks: numbers, bytes: begin.bytes.start..end });
    }
    found
}

/// How much may stand before and behind each word.
fn fitting(text: &str, words: &[Range<usize>], settings: &SnippetSettings) -> usize {
    let total = |around: usize| -> usize {
        around_words(text, words, around).iter().map(|span| span.end - span.start).sum()
    };
    let (mut low, mut high) = (SURROUND_MIN, settings.surround_max.max(SURROUND_MIN));
    while low < high {
        let middle = (low + high).div_ceil(2);
        match total(middle) <= settings.length {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

/// What stands around words, joined where little lies between.
fn around_words(text: &str, words: &[Range<usize>], around: usize) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for word in words {
        let start = text.floor_char_boundary(word.start.saturating_sub(around));
        let end = text.ceil_char_boundary((word.end + around).min(text.len()));
        match spans.last_mut() {
            Some(last) if start < last.end + SLACK / 4 => last.end = last.end.max(end),
            _ => spans.push(start..end),
        }
    }
    spans
}

/// The same without parts of words at their ends.
fn spans(text: &str, words: &[Range<usize>], around: usize) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for span in around_words(text, words, around) {
        let first = words.iter().find(|word| word.start >= span.start).map(|word| word.start);
        let last = words.iter().rev().find(|word| word.end <= span.end).map(|word| word.end);
        let start = start_of_word(text, span.start).min(first.unwrap_or(span.start));
        let end = end_of_word(text, span.end).max(last.unwrap_or(span.end));
        match spans.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => spans.push(start..end),
        }
    }
    spans
}

/// The beginning of the word at a place, or of the next where it stands between two.
fn start_of_word(text: &str, at: usize) -> usize {
    let (before, behind) = text.split_at(at);
    if at == 0 {
        return 0;
    }
    if behind.starts_with(char::is_alphanumeric) {
        let start = without_last_word(before).len();
        return if at - start > LONGEST_WORD { at } else { start };
    }
    text.len() - behind.trim_start_matches(|c: char| !c.is_alphanumeric()).len()
}

/// The end of the word at a place, or of the one before.
fn end_of_word(text: &str, at: usize) -> usize {
    let (before, behind) = text.split_at(at);
    if behind.is_empty() {
        return at;
    }
    if before.ends_with(char::is_alphanumeric) {
        let end = text.len() - behind.trim_start_matches(char::is_alphanumeric).len();
        return if end - at > LONGEST_WORD { at } else { end };
    }
    before.trim_end_matches(|c: char| !c.is_alphanumeric()).len()
}

/// A part of a text with the marks that lie in it; those that touch are one.
fn part(span: Range<usize>, marks: &[Mark], into: &mut Vec<Piece>) {
    let mut at = span.start;
    let is_inside = |mark: &&Mark| span.start <= mark.bytes.start && mark.bytes.end <= span.end;
    for mark in marks.iter().filter(is_inside) {
        if mark.bytes.start > at {
            into.push(Piece::Text(at..mark.bytes.start));
        } else if let Some(Piece::Mark(last)) = into.last_mut()
            && mark.bytes.start <= last.end
            && last.end == at
        {
            last.end = last.end.max(mark.bytes.end);
            at = last.end;
            continue;
        }
        into.push(Piece::Mark(mark.bytes.clone()));
        at = mark.bytes.end;
    }
    if at < span.end {
        into.push(Piece::Text(at..span.end));
    }
}

#[cfg(test)]
mod tests;
