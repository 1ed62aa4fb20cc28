use std::collections::BTreeSet;
use std::sync::Arc;

use crate::index::{FieldIndex, FieldWriter, Near, Occurrence, Pattern, Phrases};

/// An index of texts, whose elements `|` separates, at every second lid.
fn index(texts: &[&str]) -> FieldIndex {
    let mut writer = FieldWriter::default();
    for (lid, text) in texts.iter().enumerate() {
        writer.put(lid as u32 * 2, words(text).into_iter());
    }
    writer.publish()
}

fn words(text: &str) -> Vec<(&str, Occurrence)> {
    let elements = (0..).zip(text.split('|'));
    elements
        .flat_map(|(element, text)| {
            let words = (0..).zip(text.split_whitespace());
            words.map(move |(position, word)| (word, Occurrence { element, position }))
        })
        .collect()
}

/// Phrases that spaces separate, whose words `_` joins, with `/` between those of which any is enough.
fn parts(text: &str) -> Vec<Phrases> {
    let phrase = |text: &str| text.split('_').map(str::to_owned).collect();
    text.split_whitespace()
        .map(|part| Phrases::any(part.split('/').map(phrase).collect()))
        .collect()
}

/// `onear` where the first is true, a distance, parts, `-` and an exclusion distance with what is excluded, `+` and an element gap.
fn near((is_ordered, distance, text): (bool, u32, &str)) -> Near {
    let (text, gap) = text.split_once('+').map_or((text, None), |(t, gap)| (t, gap.parse().ok()));
    let (text, excluded) = text.split_once('-').unwrap_or((text, "0"));
    let (far, excluded) = excluded.split_once(' ').unwrap_or((excluded, ""));
    Near {
        parts: parts(text),
        is_ordered,
        distance,
        excluded: parts(excluded),
        exclusion_distance: far.trim().parse().unwrap(),
        element_gap: gap,
    }
}

#[test]
fn phrases_and_what_is_near_is_found() {
    let texts = ["a b c a b", "b a", "a x b", "a | b", "a x x b c", "c x b x a", "x | a b"];
    let index = index(&texts);
    let lids = |pattern: &Pattern| -> Vec<usize> {
        let found: Vec<usize> = index.matches(pattern).iter().collect();
        let mut counter = index.counter(vec![pattern]);
        for lid in 0..2 * texts.len() {
            counter.go(lid as u32);
            let mut places = Vec::new();
            counter.occurrences(0, &mut places);
            assert!(places.is_sorted());
            assert_eq!(!places.is_empty(), found.contains(&lid), "{pattern:?} {lid}");
            assert_eq!(counter.count(0) > 0, found.contains(&lid), "{pattern:?} {lid}");
        }
        found.iter().map(|lid| lid / 2).collect()
    };
    for (phrases, expected) in [
        ("a_b", &[0, 6][..]),
        ("a_b_c", &[0]),
        ("b_a", &[1]),
        ("a", &[0, 1, 2, 3, 4, 5, 6]),
        ("a_z", &[]),
        ("a_z/b_a/x_x", &[1, 4]),
    ] {
        let phrases = parts(phrases).remove(0);
        assert_eq!(lids(&Pattern::Phrases(phrases.clone())), expected, "{phrases:?}");
    }
    assert_eq!(lids(&Pattern::Phrases(Phrases::one(Vec::new()))), [0_usize; 0]);
    for (of, expected) in [
        ((true, 1, "a b"), &[0, 6][..]),
        ((true, 2, "a b"), &[0, 2, 6]),
        ((true, 4, "a b c"), &[0, 4]),
        ((false, 1, "a b"), &[0, 1, 6]),
        ((false, 2, "a b"), &[0, 1, 2, 5, 6]),
        ((false, 4, "a b c"), &[0, 4, 5]),
        ((false, 4, "a z"), &[]),
        ((false, 0, ""), &[]),
        // Phrases stand where they begin.
        ((true, 3, "a_x b"), &[2, 4]),
        ((false, 2, "b_c a"), &[0]),
        ((false, 1, "a/x b/z"), &[0, 1, 2, 4, 5, 6]),
        ((true, 3, "z/x_x b"), &[4]),
        // What is excluded.
        ((false, 2, "a b-0 x"), &[0, 1, 6]),
        ((false, 2, "a b-1 x"), &[0, 1, 6]),
        ((false, 2, "a b-1 c"), &[1, 2, 5, 6]),
        ((false, 2, "a b-0 c"), &[0, 1, 2, 5, 6]),
        ((true, 1, "a b-1 c"), &[6]),
        ((true, 2, "a b-0 x z"), &[0, 6]),
        ((false, 0, "a-1 b"), &[2, 3, 4, 5]),
        ((true, 0, "c-2 b"), &[]),
        ((true, 0, "c-9 x"), &[0]),
        ((false, 9, "b c-9 z"), &[0, 4, 5]),
        ((true, 3, "a b-3 x_x"), &[0, 2, 6]),
        // Elements.
        ((true, 2, "a b+1"), &[0, 2, 3, 6]),
        ((true, 1, "a b+1"), &[0, 6]),
        ((true, 1, "a b+0"), &[0, 3, 6]),
        ((false, 2, "b x+1"), &[2, 4, 5]),
        ((false, 3, "b x+1"), &[2, 4, 5, 6]),
        ((false, 2, "a b-3 x+1"), &[0, 1, 3]),
    ] {
        let near = Arc::new(near(of));
        assert_eq!(lids(&Pattern::Near(Arc::clone(&near))), expected, "{of:?}");
        for part in 0..near.parts.len() {
            let part = Pattern::NearPart(Arc::clone(&near), part);
            assert_eq!(lids(&part), expected, "{of:?} {part:?}");
        }
    }
}

#[test]
fn ranking_sees_what_is_in_spans() {
    for (text, of, expected) in [
        // A span goes on to what else is as near to its begin.
        ("a b b x b", (true, 2, "a b"), ["0:0", "0:1 0:2"]),
        ("a x a b a", (false, 1, "a b"), ["0:2 0:4", "0:3"]),
        ("a x a b a", (true, 3, "a b"), ["0:0 0:2", "0:3"]),
        ("b a b x x a", (true, 2, "a b"), ["0:1", "0:2"]),
        ("a b | a | b", (false, 1, "a b"), ["0:0", "0:1"]),
        ("a b | a | b", (false, 1, "a b+0"), ["0:0 1:0", "0:1 2:0"]),
        // Not as far as where something excluded is near.
        ("a b b z", (true, 3, "a b-1 z"), ["0:0", "0:1"]),
        ("a b x b z", (false, 3, "a b-0 z"), ["0:0", "0:1 0:3"]),
        ("a_ x", (false, 3, "a b"), ["", ""]),
    ] {
        let index = index(&[text]);
        let near = Arc::new(near(of));
        let patterns: Vec<_> =
            (0..2).map(|part| Pattern::NearPart(Arc::clone(&near), part)).collect();
        let mut counter = index.counter(patterns.iter().collect());
        counter.go(0);
        let found = [0, 1].map(|part| {
            let mut places = Vec::new();
            counter.occurrences(part, &mut places);
            assert_eq!(counter.count(part) as usize, places.len());
            let shown = places.iter().map(|at| format!("{}:{}", at.element, at.position));
            shown.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(found, expected, "{text} {of:?}");
    }
}

/// How far one place is behind another, if it is near at all: over the end of one element.
fn behind(lengths: &[u32], gap: Option<u32>, from: Occurrence, to: Occurrence) -> Option<u32> {
    match (to.element.checked_sub(from.element)?, gap) {
        (0, _) => to.position.checked_sub(from.position),
        (1, Some(gap)) => Some(lengths[from.element as usize] + gap + to.position - from.position),
        _ => None,
    }
}

/// By the definition: all ways to choose a place of each part.
fn expected(near: &Near, text: &str) -> bool {
    let all = words(text);
    let lengths: Vec<u32> =
        text.split('|').map(|element| element.split_whitespace().count() as u32).collect();
    let places = |phrases: &Phrases| -> Vec<Occurrence> {
        let is_here = |at: &Occurrence, words: &[String]| {
            (0..).zip(words).all(|(behind, word)| {
                let at = Occurrence { position: at.position + behind, ..*at };
                all.contains(&(word.as_str(), at))
            })
        };
        let found = all.iter().map(|(_, at)| *at);
        found.filter(|at| phrases.phrases().iter().any(|words| is_here(at, words))).collect()
    };
    let excluded: Vec<Occurrence> = near.excluded.iter().flat_map(places).collect();
    let mut ways: Vec<Vec<Occurrence>> = vec![Vec::new()];
    for part in &near.parts {
        let found = places(part);
        let longer = ways
            .iter()
            .flat_map(|way| found.iter().map(move |at| way.iter().copied().chain([*at]).collect()));
        ways = longer.collect();
    }
    let is_within = |from: Occurrence, to: Occurrence, distance: u32| {
        from <= to
            && behind(&lengths, near.element_gap, from, to).is_some_and(|far| far <= distance)
    };
    ways.iter().any(|way| {
        let (Some(first), Some(last)) = (way.iter().min(), way.iter().max()) else { return false };
        let is_in_order = way.windows(2).all(|pair| pair[0] < pair[1]);
        let far = near.exclusion_distance;
        let is_broken = excluded.iter().any(|at| {
            (first <= at && at <= last) || is_within(*at, *first, far) || is_within(*last, *at, far)
        });
        (is_in_order || !near.is_ordered) && is_within(*first, *last, near.distance) && !is_broken
    })
}

#[test]
fn windows_are_those_of_all_ways_to_choose_places() {
    let mut state = 0x5eed_u64;
    let mut next = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut found = 0;
    for round in 0..4000 {
        let word = |next: &mut dyn FnMut(u64) -> u64| ["a", "b", "c", "x"][next(4) as usize];
        let mut text = String::new();
        for _ in 0..2 + next(10) {
            text.push_str(if next(4) == 0 { " | " } else { " " });
            text.push_str(word(&mut next));
        }
        let list = |most: u64, next: &mut dyn FnMut(u64) -> u64| {
            let parts = (0..next(most + 1)).map(|_| match next(5) {
                0 => format!("{}_{}", word(next), word(next)),
                1 => format!("{}/{}_{}", word(next), word(next), word(next)),
                _ => word(next).to_owned(),
            });
            parts.collect::<Vec<_>>().join(" ")
        };
        let mut asked = format!("{} {}", ["a", "b", "a_b"][next(3) as usize], list(2, &mut next));
        if next(2) == 0 {
            asked += &format!("-{} {}", next(3), list(2, &mut next));
        }
        if next(2) == 0 {
            asked += &format!("+{}", next(3));
        }
        let of = (next(2) == 0, next(5) as u32, asked.as_str());
        let near = near(of);
        let expected = expected(&near, &text);
        let index = index(&[&text]);
        let has = index.matches(&Pattern::Near(Arc::new(near))).contains(0);
        assert_eq!(has, expected, "round {round}: {of:?} in {text:?}");
        found += usize::from(has);
    }
    assert!((1000..3000).contains(&found), "{found}");
}

#[test]
fn parts_are_counted_once() {
    let index = index(&["a b a", "c"]);
    let pattern = Pattern::Phrases(parts("a/a_b/a").remove(0));
    let mut counter = index.counter(vec![&pattern]);
    counter.go(0);
    assert_eq!(counter.count(0), 2);
    counter.go(2);
    assert_eq!(counter.count(0), 0);
    let places: BTreeSet<usize> = index.matches(&pattern).iter().collect();
    assert_eq!(places, BTreeSet::from([0]));
}
