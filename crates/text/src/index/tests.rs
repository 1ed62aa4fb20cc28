//! An index beside a map that says the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use stead_tensor::Bits;

use super::{
    Affix, Element, FieldIndex, FieldWriter, Merge, Near, Occurrence, Pattern, Phrases, Scored,
    Segment, Top,
};
use crate::bm25::Bm25;

/// What documents have, and everything that an index is asked, by a look at all of them.
#[derive(Default, Clone)]
struct Model(BTreeMap<u32, Vec<(String, Occurrence)>>);

impl Model {
    fn places(&self, term: &str, lid: u32) -> Vec<Occurrence> {
        let of = self.0.get(&lid).into_iter().flatten().filter(|(text, _)| text == term);
        of.map(|(_, place)| *place).collect()
    }

    fn having(&self, is_it: impl Fn(&str) -> bool) -> BTreeSet<u32> {
        let has = |terms: &Vec<(String, Occurrence)>| terms.iter().any(|(text, _)| is_it(text));
        self.0.iter().filter(|(_, terms)| has(terms)).map(|(lid, _)| *lid).collect()
    }

    fn top(&self, top: &Top<'_>, is_wanted: impl Fn(u32) -> bool) -> Vec<Scored> {
        let score = |lid: u32, terms: &Vec<(String, Occurrence)>| {
            let part = |(text, weight): &(&str, f64)| {
                let count = self.places(text, lid).len() as u32;
                (count > 0).then(|| top.bm25.score(*weight, count, terms.len() as u32))
            };
            let parts: Vec<f64> = top.terms.iter().filter_map(part).collect();
            (!parts.is_empty()).then(|| Scored { lid, score: parts.iter().sum() })
        };
        let wanted = self.0.iter().filter(|(lid, _)| is_wanted(**lid));
        let mut all: Vec<Scored> = wanted.filter_map(|(lid, terms)| score(*lid, terms)).collect();
        all.sort_by(|a, b| b.cmp(a));
        all.truncate(top.count);
        all
    }
}

fn check(index: &FieldIndex, model: &Model, vocabulary: &[String], range: std::ops::Range<u32>) {
    assert_eq!(index.documents(), model.0.len());
    assert_eq!(index.words(), model.0.values().map(|terms| terms.len() as u64).sum::<u64>());
    let behind = |set: BTreeSet<u32>| -> Vec<usize> {
        set.range(range.clone()).map(|lid| (lid - range.start) as usize).collect()
    };
    let elements: BTreeSet<(u32, u32)> = model
        .0
        .iter()
        .flat_map(|(lid, terms)| terms.iter().map(|(_, place)| (*lid, place.element)))
        .collect();
    let average = index.words() as f64 / elements.len().max(1) as f64;
    assert_eq!(index.average_element_length(), average);
    for term in vocabulary {
        let having = model.having(|text| text == term);
        assert_eq!(index.frequency(term), having.len(), "{term}");
        let mut rows = Bits::default();
        index.rows(term, range.clone(), &mut rows);
        assert!(rows.iter().eq(behind(having)), "{term}");
    }
    for prefix in ["", "a", "b", "ab", "x"] {
        let mut rows = Bits::default();
        index.rows_with((Affix::Prefix, prefix), range.clone(), &mut rows);
        assert!(rows.iter().eq(behind(model.having(|text| text.starts_with(prefix)))), "{prefix}");
    }
    let average = index.average_length();
    let bm25 = Bm25::new(average);
    let weighed = |term: &String| bm25.weight(Bm25::idf(model.0.len(), index.frequency(term)));
    let terms: Vec<(&str, f64)> = vocabulary.iter().map(|term| (&**term, weighed(term))).collect();
    for (terms, count) in [(&terms[..1], 3), (&terms[1..3], 1), (&terms[..], 5), (&terms[..], 0)] {
        let top = Top { count, terms, bm25 };
        assert_eq!(index.top(&top, |_| true), model.top(&top, |_| true));
        assert_eq!(index.top(&top, |lid| lid % 3 == 1), model.top(&top, |lid| lid % 3 == 1));
        let all = Top { count: usize::MAX, ..top };
        let expected = model.top(&all, |lid| lid % 2 == 0);
        for at in [0, 1, expected.len() / 2, expected.len()] {
            let score = expected.get(at).map_or(0.0, |scored| scored.score);
            let count = expected.partition_point(|scored| scored.score >= score);
            let found = index.reaching(&all, score, |lid| lid % 2 == 0);
            assert_eq!(found, expected[..count], "{score}");
        }
    }
}

fn check_documents(index: &FieldIndex, model: &Model, vocabulary: &[String], lids: u32) {
    for lid in 0..lids {
        let length = model.0.get(&lid).map(|terms| terms.len() as u32);
        assert_eq!(index.length(lid), length, "{lid}");
        let mut counter = index.counter(Vec::new());
        counter.go(lid);
        let places = model.0.get(&lid).into_iter().flatten();
        let numbers: Vec<u32> = places.map(|(_, place)| place.element).collect();
        let elements = numbers.chunk_by(|a, b| a == b).map(|words| Element {
            number: words[0],
            words: words.len() as u32,
            weight: weight(lid, words[0]),
        });
        assert_eq!(counter.elements().collect::<Vec<_>>(), elements.collect::<Vec<_>>(), "{lid}");
        for term in vocabulary {
            let mut places = Vec::new();
            let count = index.occurrences(term, lid, &mut places);
            assert_eq!((count, &places), (places.len(), &model.places(term, lid)), "{term} {lid}");
        }
    }
}

/// How often a document has a pattern, by a look at all places of its terms.
fn count(model: &Model, pattern: &Pattern, lid: u32) -> usize {
    let near = match pattern {
        Pattern::Term(term) => return model.places(term, lid).len(),
        Pattern::Part(affix, text) => {
            let has = |term: &str| match affix {
                Affix::Prefix => term.starts_with(text),
                Affix::Infix => term.contains(text),
                Affix::Suffix => term.ends_with(text),
            };
            let terms = model.0.get(&lid).into_iter().flatten();
            return terms.filter(|(term, _)| has(term)).count();
        }
        Pattern::Phrases(phrases) => {
            let [words] = phrases.phrases() else { panic!("one phrase is asked for") };
            let ways = ways(model, words, lid);
            let is_next = |pair: &[Occurrence]| {
                let position = pair[0].position + 1;
                pair[1] == Occurrence { position, ..pair[0] }
            };
            return ways.iter().filter(|way| way.windows(2).all(is_next)).count();
        }
        Pattern::Near(near) | Pattern::NearPart(near, _) => near,
    };
    let word = |phrases: &Phrases| phrases.phrases()[0][0].clone();
    let terms: Vec<String> = near.parts.iter().map(word).collect();
    let ends = |way: &[Occurrence]| (*way.iter().min().unwrap(), *way.iter().max().unwrap());
    let is_it = |way: &&Vec<Occurrence>| {
        let (least, greatest) = ends(way);
        let is_close = greatest.position.abs_diff(least.position) <= near.distance;
        let is_in_order = !near.is_ordered || way.is_sorted_by(|a, b| a < b);
        least.element == greatest.element && is_close && is_in_order
    };
    let excluded = near.excluded.iter().flat_map(|of| model.places(&word(of), lid));
    let excluded: Vec<Occurrence> = excluded.collect();
    let is_free = |way: &&Vec<Occurrence>| {
        let (least, greatest) = ends(way);
        let is_far = |at: &Occurrence| {
            at.element != least.element
                || at.position + near.exclusion_distance < least.position
                || greatest.position + near.exclusion_distance < at.position
        };
        excluded.iter().all(is_far)
    };
    usize::from(ways(model, &terms, lid).iter().filter(is_it).any(|way| is_free(&way)))
}

/// All ways to choose a place of each of some terms.
fn ways(model: &Model, terms: &[String], lid: u32) -> Vec<Vec<Occurrence>> {
    let mut ways: Vec<Vec<Occurrence>> = vec![Vec::new()];
    for term in terms {
        let places = model.places(term, lid);
        let longer = |way: &Vec<Occurrence>| {
            let way = way.clone();
            places.iter().map(move |place| [way.clone(), vec![*place]].concat()).collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(longer).collect();
    }
    ways
}

fn check_patterns(index: &FieldIndex, model: &Model, lids: u32) {
    let words = |terms: &[&str]| -> Vec<String> { terms.iter().map(|t| (*t).to_owned()).collect() };
    let phrase = |terms: &[&str]| Pattern::Phrases(Phrases::one(words(terms)));
    let near = |terms: &[&str], is_ordered, distance, excluded: &[&str], exclusion_distance| {
        let parts = |terms: &[&str]| words(terms).into_iter().map(Phrases::word).collect();
        let (parts, excluded) = (parts(terms), parts(excluded));
        Pattern::Near(Arc::new(Near {
            parts,
            is_ordered,
            distance,
            excluded,
            exclusion_distance,
            element_gap: None,
        }))
    };
    let patterns = [
        Pattern::Term("b".to_owned()),
        Pattern::Part(Affix::Prefix, "a".to_owned()),
        Pattern::Part(Affix::Infix, "b".to_owned()),
        Pattern::Part(Affix::Suffix, "a".to_owned()),
        phrase(&["a", "b"]),
        phrase(&["b", "a", "a"]),
        near(&["a", "b"], true, 3, &[], 0),
        near(&["b", "ab", "a"], true, 250, &[], 0),
        near(&["a", "b"], false, 1, &[], 0),
        near(&["ab", "b", "a"], false, 203, &[], 0),
        near(&["a", "x"], false, 203, &[], 0),
        near(&["a", "b"], false, 5, &["ab"], 1),
        near(&["a", "b"], true, 9, &["ab", "x", "a"], 0),
        near(&["a"], false, 0, &["b"], 3),
    ];
    let mut counter = index.counter(patterns.iter().collect());
    // Backwards too.
    for lid in (0..lids).chain((0..lids).rev().step_by(7)) {
        assert_eq!(counter.go(lid), model.0.contains_key(&lid), "{lid}");
        assert_eq!(counter.length(), model.0.get(&lid).map_or(0, Vec::len) as u32);
        for (number, pattern) in patterns.iter().enumerate() {
            let expected = count(model, pattern, lid);
            assert_eq!(counter.count(number) as usize, expected, "{pattern:?} {lid}");
            let mut places = Vec::new();
            counter.occurrences(number, &mut places);
            assert!(places.is_sorted() && places.is_empty() == (expected == 0), "{pattern:?}");
            match pattern {
                Pattern::Term(term) => assert_eq!(places, model.places(term, lid)),
                Pattern::Near(_) => {}
                _ => assert_eq!(places.len(), expected),
            }
        }
    }
    for pattern in &patterns {
        let expected = (0..lids).filter(|lid| count(model, pattern, *lid) > 0);
        assert!(index.matches(pattern).iter().eq(expected.map(|lid| lid as usize)), "{pattern:?}");
    }
}

/// An index as it is read where it was written.
fn stored(index: &FieldIndex) -> FieldIndex {
    let part = |(segment, gone): (&Arc<Segment>, &Arc<Bits>)| {
        let (mut bytes, mut again) = (b"before".to_vec(), Vec::new());
        segment.write(&mut bytes);
        assert!(bytes.len() <= segment.memory() + 64);
        let read = Segment::read(&bytes[6..]).unwrap();
        read.write(&mut again);
        assert!(again == bytes[6..]);
        (Arc::new(read), Arc::clone(gone))
    };
    let mut documents = Bits::default();
    let lids = index.parts().flat_map(|(segment, _)| &segment.lids);
    for lid in lids {
        documents.insert(*lid as usize);
    }
    FieldIndex::of(index.parts().map(part), &documents).unwrap()
}

/// What happens to an index.
#[derive(Debug, Clone)]
enum Step {
    Put(u32, Vec<u8>),
    Remove(u32),
    Publish,
    BeginMerge,
    EndMerge,
    Store,
}

const LIDS: u32 = 40;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..LIDS, vec(any::<u8>(), 0..12)).prop_map(|(lid, words)| Step::Put(lid, words)),
        2 => (0..LIDS).prop_map(Step::Remove),
        1 => proptest::prelude::Just(Step::Store),
        3 => proptest::prelude::Just(Step::Publish),
        1 => proptest::prelude::Just(Step::BeginMerge),
        1 => proptest::prelude::Just(Step::EndMerge),
    ];
    vec(step, 0..200)
}

/// Words by numbers: small ones are frequent. Each stands behind the one before, at times in the next element.
fn document(words: &[u8], vocabulary: &[String]) -> Vec<(String, Occurrence)> {
    let mut place = Occurrence { element: 0, position: 0 };
    let mut document = Vec::new();
    for word in words {
        if word % 5 == 0 {
            place = Occurrence { element: place.element + 1 + u32::from(word % 3), position: 0 };
        }
        let number = usize::from(word.leading_zeros() as u8).min(vocabulary.len() - 1);
        document.push((vocabulary[number].clone(), place));
        place.position += 1 + u32::from(word % 2) * 200;
    }
    document
}

fn vocabulary() -> Vec<String> {
    ["a", "b", "ab", "abc", "\u{e9}", "ba"].map(str::to_owned).to_vec()
}

/// What an element of a document weighs.
fn weight(lid: u32, number: u32) -> i32 {
    if lid.is_multiple_of(2) || number > 1 { 1 } else { lid as i32 - 9 * number as i32 }
}

fn put(writer: &mut FieldWriter, model: &mut Model, lid: u32, document: Vec<(String, Occurrence)>) {
    // Those of half of the documents are no weighted sets.
    let weights =
        if lid.is_multiple_of(2) { Vec::new() } else { vec![weight(lid, 0), weight(lid, 1)] };
    writer.put_weighted(lid, document.iter().map(|(text, place)| (&**text, *place)), &weights);
    match document.is_empty() {
        true => model.0.remove(&lid),
        false => model.0.insert(lid, document),
    };
}

proptest! {
    #[test]
    fn an_index_says_what_its_documents_say(steps in steps(), begin in 0..LIDS, end in 0..LIDS) {
        let vocabulary = vocabulary();
        let (mut writer, mut model) = (FieldWriter::default(), Model::default());
        let mut merge: Option<Merge> = None;
        let mut before = (writer.publish(), model.clone());
        for step in steps {
            match step {
                Step::Put(lid, words) => put(&mut writer, &mut model, lid, document(&words, &vocabulary)),
                Step::Remove(lid) => {
                    writer.remove(lid);
                    model.0.remove(&lid);
                }
                Step::Publish => {
                    // What a reader has does not change.
                    check(&before.0, &before.1, &vocabulary, begin.min(end)..end);
                    before = (writer.publish(), model.clone());
                    check(&before.0, &before.1, &vocabulary, begin.min(end)..end);
                }
                Step::BeginMerge => merge = merge.or_else(|| writer.merge()),
                Step::Store => {
                    merge = None;
                    writer = FieldWriter::of(stored(&writer.publish()));
                }
                Step::EndMerge => {
                    if let Some(merge) = merge.take() {
                        writer.install(merge.run());
                    }
                }
            }
        }
        let index = writer.publish();
        check(&index, &model, &vocabulary, begin.min(end)..end);
        check_documents(&index, &model, &vocabulary, LIDS);
        check_patterns(&index, &model, LIDS);
        assert!(index.segments() <= 3 * 8, "{} segments", index.segments());
    }
}

/// A number that follows from a seed (splitmix64).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn lists_of_many_blocks_are_joined_and_searched() {
    let vocabulary = vocabulary();
    let mut seed = 7;
    let (mut writer, mut model) = (FieldWriter::default(), Model::default());
    for round in 0..12 {
        for _ in 0..400 {
            let lid = (random(&mut seed) % 5000) as u32;
            let words: Vec<u8> =
                (0..random(&mut seed) % 30).map(|_| random(&mut seed) as u8).collect();
            put(&mut writer, &mut model, lid, document(&words, &vocabulary));
        }
        let index = writer.publish();
        if let Some(merge) = writer.merge() {
            writer.install(merge.run());
        }
        check(&index, &model, &vocabulary, 1000..4000);
        check(&stored(&index), &model, &vocabulary, 1000..4000);
        check(&writer.publish(), &model, &vocabulary, round..5000);
    }
    let index = writer.publish();
    check_documents(&index, &model, &vocabulary, 5000);
    check_patterns(&index, &model, 5000);
    assert!(index.segments() < 16, "{} segments", index.segments());
}

#[test]
fn the_best_of_a_term_are_those_of_a_look_at_all() {
    let mut seed = 11;
    // Of 2 and of 40 blocks, and of more than are looked at out of order.
    for documents in [200, 5_000, 20_000] {
        let (mut writer, mut model) = (FieldWriter::default(), Model::default());
        let mut put_one = |writer: &mut FieldWriter, model: &mut Model, lid: u32, most: u64| {
            // Few counts and lengths: many scores are equal.
            let [count, others] = [1 + random(&mut seed) % most, random(&mut seed) % 6];
            let words = (0..count).map(|_| "a").chain((0..others).map(|_| "b"));
            let places = words
                .zip(0..)
                .map(|(word, position)| (word.to_owned(), Occurrence { element: 0, position }));
            put(writer, model, lid, places.collect());
        };
        for lid in 0..documents {
            // The best come late, and now and then.
            let most = if lid > documents / 2 && lid % 97 == 0 { 9 } else { 3 };
            put_one(&mut writer, &mut model, lid, most);
        }
        writer.publish();
        writer.settle();
        // Some are gone, some others are in a segment of their own.
        for lid in (0..documents).step_by(31) {
            put(&mut writer, &mut model, lid, Vec::new());
        }
        for lid in (5..documents).step_by(113) {
            put_one(&mut writer, &mut model, lid, 9);
        }
        let index = writer.publish();
        for count in [1, 2, 10, 300] {
            let terms = [("a", 1.5)];
            let top = Top { count, terms: &terms, bm25: Bm25::new(index.average_element_length()) };
            assert_eq!(index.top(&top, |_| true), model.top(&top, |_| true), "{documents}");
            let wanted = |lid| lid % 7 == 3;
            let best = model.top(&top, wanted);
            assert_eq!(index.top(&top, wanted), best, "{documents}, filtered");
            let least = best.last().map_or(0.0, |worst| worst.score);
            assert_eq!(index.reaching(&top, least, wanted), best, "{documents}, from a score on");
        }
    }
}

#[test]
fn what_rests_is_one_segment_unless_few_came() {
    for (label, more, segments) in [("few", 50, 2), ("a thirtieth", 100, 1)] {
        let mut writer = FieldWriter::default();
        for lids in [0..3000, 3000..3000 + more] {
            for lid in lids {
                let place = Occurrence { element: 0, position: 0 };
                writer.put(lid, ["a", "b"].into_iter().map(|text| (text, place)));
            }
            writer.publish();
            writer.settle();
        }
        let index = writer.publish();
        let expected = (segments, 3000 + more as usize);
        assert_eq!((index.segments(), index.documents()), expected, "{label}");
    }
}

#[test]
fn documents_that_are_gone_leave_nothing() {
    let mut writer = FieldWriter::default();
    let place = Occurrence { element: 0, position: 0 };
    for lid in 0..100 {
        writer.put(lid, ["a", "b"].into_iter().map(|text| (text, place)));
    }
    let index = writer.publish();
    assert_eq!((index.documents(), index.average_length(), index.segments()), (100, 2.0, 1));
    (0..100).for_each(|lid| writer.remove(lid));
    let index = writer.publish();
    assert_eq!(
        (index.documents(), index.average_length(), index.segments(), index.memory()),
        (0, 0.0, 0, 0)
    );
}
